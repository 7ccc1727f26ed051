"""Check what annotators are given: rows, ids and tags."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import as_array, finite_rows

Rows = NDArray[np.floating[Any]]
_LAST_ID = 2**63 - 1


def dense(X: Any) -> Any:
    """X, a plain array if it was sparse."""
    sparse = sp.issparse(X)
    return X.toarray() if sparse else X


def as_rows(X: Any, width: int | None = None) -> Rows:
    """X as finite rows, float32 or float64, of the expected width; no copy where none is needed."""
    found = as_array(dense(X), "X")
    # Small whole numbers and half floats lose nothing in float32.
    small = found.dtype.kind in "fiub" and found.dtype.itemsize <= 2
    kind = np.float32 if small else None
    made: Rows = finite_rows(found, "X", width, dtype=kind, of="pictures, features")
    return made


def unit(X: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """A copy with rows of unit length, and which were not all zeros; the type stays."""
    # By the largest entry first: the squares of a length could leave the range of its type.
    largest = np.abs(X).max(axis=1, keepdims=True)
    said = largest[:, 0] > 0
    made = X / np.where(largest > 0, largest, 1)
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1)
    return made, said


def unit_rows(X: Rows, name: str) -> Rows:
    """Rows of unit length; refuses a row of zeros, as ``SparseAnnotator`` does."""
    made, said = unit(X)
    if not said.all():
        empty = np.flatnonzero(~said)
        raise InvalidInput(
            f"row {int(empty[0])} of {name} is all zeros ({len(empty)} such rows); a picture "
            "without features is like nothing: drop it"
        )
    return made


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """n different ids: int64 if all are whole numbers, else objects."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids is {ids!r}; one id a picture expected")
    given = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if len(given) != n:
        raise InvalidInput(f"{len(given)} ids for {n} pictures; one each expected")
    # NaN is not equal to itself: it could never be found again.
    for i in given:
        if not isinstance(i, Hashable) or i != i:
            raise InvalidInput(f"{i!r} cannot be an id; numbers or names expected")
    if len(set(given)) != n:
        seen: set[Any] = set()
        twice = next(i for i in given if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InvalidInput(f"id {twice!r} is there twice; each picture needs its own")
    whole = all(
        isinstance(i, int) and not isinstance(i, bool) and abs(i) <= _LAST_ID for i in given
    )
    made = np.empty(n, np.int64 if whole else object)
    for place, i in enumerate(given):
        made[place] = i
    return made


def next_id(ids: NDArray[Any], before: int) -> int:
    """One past the largest number among ``ids``, at least ``before``; 301.0 is the number 301."""
    if ids.dtype == np.int64:
        return max(before, int(ids.max(initial=-1)) + 1)
    numbers = [i for i in ids.tolist() if isinstance(i, (int, float)) and abs(i) <= _LAST_ID]
    return max([before, *(int(np.floor(i)) + 1 for i in numbers)])


def automatic_ids(first: int, n: int) -> NDArray[np.int64]:
    """n ids from ``first`` on."""
    if first + n > _LAST_ID:
        raise InvalidInput(f"no whole numbers are left after the id {first - 1}; give ids")
    return np.arange(first, first + n)


def as_list(Y: Any) -> Any:
    """Y such that it can be read several times: a matrix as it is, anything else as a list.

    What can be read only once, Y itself or the tags of a picture, is read here and nowhere else.
    """
    if sp.issparse(Y) or isinstance(Y, str) or not isinstance(Y, Iterable):
        return Y
    if hasattr(Y, "__array__"):
        Y = np.asarray(Y)
        if Y.dtype != object:
            return Y
        Y = Y.tolist()
    return [list(one) if isinstance(one, Iterator) else one for one in Y]


def is_names(Y: Any) -> bool:
    """Whether Y are lists of names rather than a matrix."""
    if sp.issparse(Y) or isinstance(Y, np.ndarray):
        return False
    if isinstance(Y, str) or not isinstance(Y, Iterable):
        raise InvalidInput(
            "Y is neither a matrix nor lists of names; give a 0/1 matrix, one column a tag, "
            "or one list of tag names for each picture"
        )
    return any(_holds_names(one) for one in Y) or all(_is_empty(one) for one in Y)


def _holds_names(one: Any) -> bool:
    if isinstance(one, str):
        raise InvalidInput(f"Y has the plain name {one!r}; a list of names expected: [{one!r}]")
    return isinstance(one, Iterable) and any(isinstance(name, str) for name in one)


def _is_empty(one: Any) -> bool:
    return isinstance(one, Iterable) and not list(one)


def from_matrix(Y: Any, n: int) -> Any:
    """Y as CSR of ones, float64; n rows expected."""
    sparse = sp.issparse(Y)
    try:
        Y = Y.tocsr() if sparse else np.asarray(Y)
    except ValueError as error:
        raise InvalidInput(f"Y is not a matrix, its rows differ in length: {error}") from error
    if Y.ndim != 2 or Y.dtype.kind not in "buif":
        raise InvalidInput(
            f"Y has {Y.ndim} dimensions and type {Y.dtype}; a 0/1 matrix (pictures, tags) expected"
        )
    if Y.shape[0] != n:
        raise InvalidInput(f"Y has {Y.shape[0]} rows, X has {n}; one row of tags a picture")
    made = sp.csr_array(Y, dtype=np.float64, copy=True)
    made.sum_duplicates()
    made.eliminate_zeros()
    if not np.isin(made.data, 1).all():
        odd = made.data[made.data != 1][0]
        raise InvalidInput(f"Y holds {odd:g}; only 0 and 1 expected (1: the picture has the tag)")
    return made


def from_names(Y: Sequence[Any], n: int, known: Sequence[str]) -> tuple[Any, list[str]]:
    """Y as CSR and all names: those ``known`` in their order, then new ones in order of arrival."""
    lists = [list(one) if isinstance(one, Iterable) else [one] for one in Y]
    if len(lists) != n:
        raise InvalidInput(f"Y has {len(lists)} lists of names, X has {n} rows; one a picture")
    place = {name: i for i, name in enumerate(known)}
    columns: list[int] = []
    ends = [0]
    for row, one in enumerate(lists):
        for name in one:
            if not isinstance(name, str) or not name.strip():
                raise InvalidInput(f"picture {row} has the tag {name!r}; a name (text) expected")
        # str.__str__: a plain str of a numpy string, or of any other kind of str.
        plain = [str.__str__(name) for name in one]
        columns += sorted({place.setdefault(name, len(place)) for name in plain})
        ends.append(len(columns))
    shape = (n, len(place))
    ones = np.ones(len(columns))
    return sp.csr_array((ones, np.array(columns, np.int64), ends), shape=shape), list(place)
