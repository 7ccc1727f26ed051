"""Check comparisons: an int32 array of three or four columns.

A triplet (i, j, k) says that j is nearer to i than k is; a quadruplet (i, j, l, k) says that i and
j are nearer to each other than l and k.  An object compared with itself, or a pair with itself, is
refused.  A comparison and its opposite are both kept and counted, since people do differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import as_array

Rows = NDArray[np.int32]
MAX_OBJECTS = (1 << 31) - 1


class ComparisonCounts(NamedTuple):
    """Counts of comparisons.

    ``repeats``: rows that repeat an earlier row.  ``contradictions``: questions that were answered
    both ways.
    """

    comparisons: int
    repeats: int
    contradictions: int


def as_comparisons(comparisons: Any, n_objects: int | None = None) -> Rows:
    """Return (n, 3) or (n, 4) int32, every object below ``n_objects`` where that is given.

    Whole numbers stored as floats, as in spreadsheets and data frames, are accepted.

    >>> as_comparisons([[0, 1, 2.0]]).tolist()
    [[0, 1, 2]]
    """
    found = as_array(comparisons, "comparisons")
    if found.ndim != 2 or found.shape[1] not in (3, 4):
        raise InvalidInput(
            f"comparisons has shape {found.shape}; (n, 3) triplets (anchor, nearer, farther) or "
            "(n, 4) quadruplets expected"
        )
    if not len(found):
        raise InvalidInput("comparisons is empty; at least one expected")
    if found.dtype.kind == "f":
        _refuse_fractions(found)
    elif found.dtype.kind not in "iu":
        raise InvalidInput(
            f"comparisons has type {found.dtype}; integers expected, numbers of objects"
        )
    low, high = int(found.min()), int(found.max())
    top = MAX_OBJECTS if n_objects is None else n_objects
    if low < 0 or high >= top:
        bad = low if low < 0 else high
        row = _first((found == bad).any(axis=1))
        raise InvalidInput(f"comparisons names object {bad} in row {row}; 0 to {top - 1} expected")
    rows = np.ascontiguousarray(found, np.int32)
    _refuse_empty(rows)
    return rows


def _refuse_fractions(found: NDArray[Any]) -> None:
    """Refuse floats that are not whole numbers; name the first row."""
    # Floats above 2^53 are not exact; the check of the range refuses them.
    whole = np.isfinite(found) & (found == np.rint(found))
    if not whole.all():
        row = _first(~whole.all(axis=1))
        value = found[row][~whole[row]][0]
        shown = "NaN" if np.isnan(value) else f"{value:g}"
        raise InvalidInput(
            f"comparisons has {shown} in row {row}; whole numbers of objects expected"
        )


def _first(rows: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(rows)[0])


def _refuse_empty(rows: Rows) -> None:
    """Refuse rows that compare an object or a pair with itself."""
    i, j, l, k = columns(rows)  # noqa: E741
    nothing = (i == j) | (l == k) | ((i == l) & (j == k)) | ((i == k) & (j == l))
    if nothing.any():
        row = _first(nothing)
        raise InvalidInput(
            f"{int(nothing.sum())} comparisons name an object twice or compare a pair with itself, "
            f"first row {row}: {rows[row].tolist()}; leave them out"
        )


def columns(rows: Any) -> tuple[Rows, Rows, Rows, Rows]:
    """Return i, j, l, k of every row; l = i for triplets."""
    if rows.shape[1] == 3:
        return rows[:, 0], rows[:, 1], rows[:, 0], rows[:, 2]
    return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]


def quadruplets(rows: Rows) -> Rows:
    """Return the rows as quadruplets."""
    return np.ascontiguousarray(np.column_stack(columns(rows)), np.int32)


def count_repeats(rows: Rows) -> ComparisonCounts:
    """Count repeats and contradictions exactly, by sorting.

    >>> count_repeats(as_comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2], [3, 1, 0]]))
    ComparisonCounts(comparisons=4, repeats=1, contradictions=1)
    """
    near, far = pair_numbers(rows)
    question = np.minimum(near, far), np.maximum(near, far)
    way = near < far
    order = np.lexsort((way, question[1], question[0]))
    low, high, way = question[0][order], question[1][order], way[order]
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    agrees = way[1:] == way[:-1]
    return ComparisonCounts(len(rows), int((same & agrees).sum()), int((same & ~agrees).sum()))


def pair_numbers(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for the pair {i, j} and one for {l, k}, in either order."""
    i, j, l, k = (c.astype(np.int64) for c in columns(rows))  # noqa: E741
    n = int(rows.max()) + 1
    return np.minimum(i, j) * n + np.maximum(i, j), np.minimum(l, k) * n + np.maximum(l, k)
