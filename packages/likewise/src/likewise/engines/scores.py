"""The single definition of a score and of the order of results, for all engines.

An engine adds float32 terms in its own order, so it only returns candidates.  Their scores are
computed here in float64, in the defined order.
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


def sparse_query(kind: RowKind, row: Any) -> Rows:
    """Return one query as words in ascending order and float64 values without zeros."""
    found = query_rows(row, None)
    if len(found.ends) != 2 or found.width > kind.width:
        shape = (len(found.ends) - 1, found.width)
        raise InvalidInput(f"row has shape {shape}; one row of at most {kind.width} columns wanted")
    return found


def dense_query(kind: RowKind, row: Any) -> NDArray[np.float32]:
    """Return one query as float32 numbers."""
    found = dense_rows(np.reshape(np.asarray(row), (1, -1)), "row", kind.width)
    made: NDArray[np.float32] = found[0]
    return made


def sparse_scores(rows: Any, query: Rows) -> NDArray[np.float32]:
    """Score CSR rows with the same bits as :class:`likewise_methods.index.InvertedIndex`.

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
    """Score dense rows."""
    return row_scores(rows, np.arange(len(rows)), query, kind.metric)


def scores(kind: RowKind, rows: Any, row: Any) -> NDArray[np.float32]:
    """Score rows of a kind by a query row."""
    if kind.is_sparse:
        return sparse_scores(rows, sparse_query(kind, row))
    return dense_scores(kind, rows, dense_query(kind, row))


def best_of(ids: Ids, values: NDArray[np.float32], k: int) -> Found:
    """Return the k best, best first, ties by id."""
    order = np.lexsort((ids, -values))[:k]
    return ids[order], values[order]
