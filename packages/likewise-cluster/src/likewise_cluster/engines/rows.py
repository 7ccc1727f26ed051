"""Rows for an engine: checked arguments, fingerprints, and bounds of rounding errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.engines.protocol import Facts, Ids, RowKind, plain_rows
from likewise.errors import InvalidInput
from likewise_methods.index import id_vector
from likewise_methods.lazy_imports import sparse

ROUNDING = 2.0**-24
"""Half an ulp of float32: the largest relative error of one operation."""


def check_put(
    kind: RowKind, ids: Any, rows: Any, facts: Sequence[Facts] | None
) -> tuple[Ids, Any, Sequence[Facts]]:
    """Return the arguments of ``put`` as ids, float32 rows (CSR or array) and facts."""
    made = plain_rows(kind, rows)
    names = id_vector(ids, made.shape[0])
    if facts is None:
        facts = [Facts()] * len(names)
    if len(facts) != len(names):
        raise InvalidInput(f"facts has {len(facts)} entries; {len(names)} expected, one per row")
    return names, made, facts


def no_rows(kind: RowKind) -> Any:
    """Return a matrix of this kind without a row."""
    if kind.is_sparse:
        return sparse.csr_array((0, kind.width), dtype=np.float32)
    return np.zeros((0, kind.width), np.float32)


def marks_of(kind: RowKind, rows: Any) -> list[str]:
    """Return fingerprints of rows from ``plain_rows``: equal only for equal bytes."""
    return [
        hashlib.blake2b(b"".join(_bytes_of(kind, rows, at)), digest_size=12).hexdigest()
        for at in range(rows.shape[0])
    ]


def _bytes_of(kind: RowKind, rows: Any, at: int) -> Iterable[bytes]:
    if not kind.is_sparse:
        yield rows[at].astype("<f4").tobytes()
        return
    start, end = rows.indptr[at], rows.indptr[at + 1]
    yield rows.indices[start:end].astype("<u4").tobytes()
    yield rows.data[start:end].astype("<f4").tobytes()


def error_bounds(kind: RowKind, rows: Any) -> NDArray[np.float64]:
    """Bound the float32 rounding error of each row's score for a unit query, in roundings.

    A float32 sum of n products, in any order, is wrong by at most n roundings of the sum of their
    sizes (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), which is at most
    the product of both lengths; three more for the rounded query, the products and the result.
    """
    n = rows.shape[0]
    if not kind.is_sparse:
        squares = (rows.astype(np.float64) ** 2).sum(axis=1)
        return np.asarray((kind.width + 3) * np.sqrt(squares))
    row_of = np.repeat(np.arange(n), np.diff(rows.indptr))
    squares = np.bincount(row_of, rows.data.astype(np.float64) ** 2, minlength=n)
    return np.asarray((np.diff(rows.indptr) + 3) * np.sqrt(squares))
