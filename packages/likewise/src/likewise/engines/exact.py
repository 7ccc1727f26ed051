"""The one score of a row and the one order of scores, for rows that an engine nominated.

An engine adds float32 terms in an order of its own, so that it only nominates; the score of a
nominee is computed here in float64, in the order that defines it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.engines.protocol import Found, Ids, RowKind
from likewise.errors import InvalidInput
from likewise_methods.index import query_rows
from likewise_methods.neighbours import row_scores
from likewise_methods.neighbours import rows as dense_rows
from likewise_methods.sparse_rows import Rows

ROUNDING = 2.0**-24
"""Half an ulp of float32: what one operation may be wrong by, relatively."""


def sparse_query(kind: RowKind, row: Any) -> Rows:
    """One query, as words in ascending order and float64 values without zeros."""
    found = query_rows(row, None)
    if len(found.ends) != 2 or found.width > kind.width:
        shape = (len(found.ends) - 1, found.width)
        raise InvalidInput(f"row has shape {shape}; one row of at most {kind.width} columns wanted")
    return found


def dense_query(kind: RowKind, row: Any) -> NDArray[np.float32]:
    """One query as float32 numbers."""
    found = dense_rows(np.reshape(np.asarray(row), (1, -1)), "row", kind.width)
    made: NDArray[np.float32] = found[0]
    return made


def sparse_scores(rows: Any, query: Rows) -> NDArray[np.float32]:
    """Scores of CSR rows, to the bits of :class:`likewise_methods.index.InvertedIndex`.

    ``bincount`` adds the products of a row one after another, in the order they are stored.
    """
    n = rows.shape[0]
    if not len(query.words) or not rows.nnz:
        return np.zeros(n, np.float32)
    at = np.searchsorted(query.words, rows.indices)
    at[at == len(query.words)] = 0
    shared = query.words[at] == rows.indices
    row_of = np.repeat(np.arange(n), np.diff(rows.indptr))[shared]
    products = query.values[at[shared]] * rows.data[shared].astype(np.float64)
    with np.errstate(over="ignore"):
        made: NDArray[np.float32] = np.bincount(row_of, products, minlength=n).astype(np.float32)
    return made


def dense_scores(kind: RowKind, rows: Any, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores of dense rows."""
    return row_scores(rows, np.arange(len(rows)), query, kind.metric)


def best_of(ids: Ids, values: NDArray[np.float32], k: int) -> Found:
    """The k best, best first, ties by id."""
    order = np.lexsort((ids, -values))[:k]
    return ids[order], values[order]


def reaches(kind: RowKind, rows: Any) -> NDArray[np.float64]:
    """How wrong a float32 score of each row can be, for a query of length 1, in roundings.

    A float32 sum of n products, in any order, is wrong by n roundings of the sum of their sizes
    (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), which is at most the
    product of both lengths; three more for the rounded query, the products and the result.
    """
    n = rows.shape[0]
    if not kind.is_sparse:
        squares = (rows.astype(np.float64) ** 2).sum(axis=1)
        return np.asarray((kind.width + 3) * np.sqrt(squares))
    row_of = np.repeat(np.arange(n), np.diff(rows.indptr))
    squares = np.bincount(row_of, rows.data.astype(np.float64) ** 2, minlength=n)
    return np.asarray((np.diff(rows.indptr) + 3) * np.sqrt(squares))
