"""Check what annotators are given: rows, ids and tags; and what all annotators share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator
from likewise_methods.validation import as_array, finite_rows

if TYPE_CHECKING:
    from sklearn.utils import Tags

Rows = NDArray[np.floating[Any]]
_LAST_ID = 2**63 - 1


class Annotator(Estimator):
    """An estimator whose targets are tags, given by name or as a matrix."""

    # Names of the tags, empty where ``fit`` was given a matrix.
    _by_name: bool
    _names: list[str]

    def _first_tags(self, Y: Any, n: int) -> tuple[bool, Any, list[str]]:
        """Return whether ``fit`` was given names, the CSR matrix of tags, and the names."""
        Y = as_list(Y)
        by_name = is_names(Y)
        labels, names = from_names(Y, n, []) if by_name else (from_matrix(Y, n), [])
        if not labels.nnz:
            raise InvalidInput("there are no tags in Y; at least one picture must have one")
        return by_name, labels, names

    def _more_tags(self, Y: Any, n: int, known: int, new: bool = True) -> tuple[Any, list[str]]:
        """Return the CSR matrix of tags of n more pictures and all names.

        ``known`` tags there are; only with ``new`` may there be others.
        """
        if sp.issparse(Y) and self._by_name and not new:
            labels = from_matrix(Y, n)
            if labels.shape[1] != known:
                raise InvalidInput(f"Y has {labels.shape[1]} columns; {known} expected, one a tag")
            return labels, self._names
        Y = as_list(Y)
        by_name = is_names(Y)
        if by_name != self._by_name and n:
            kinds = ("a matrix", "names")
            raise InvalidInput(
                f"Y is {kinds[by_name]}, but fit was given {kinds[self._by_name]}; stay with one"
            )
        if self._by_name:
            labels, names = from_names(Y, n, self._names)
            if not new and len(names) > known:
                raise InvalidInput(f"no picture has the tag {names[known]!r}")
            return labels, names
        labels = from_matrix(Y, n)
        if labels.shape[1] < known or (not new and labels.shape[1] > known):
            raise InvalidInput(
                f"Y has {labels.shape[1]} columns; {known}{' or more' * new} expected, one a tag"
            )
        return labels, []

    def _best_tags(self, scores: NDArray[np.float64], k: int, scored: Any = True) -> Any:
        """Return the k best tags of each row; rows that are not ``scored`` get none."""
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scored = np.broadcast_to(scored, len(scores))
        if self._by_name:
            rows = zip(best.tolist(), scored, strict=True)
            return [[self._names[i] for i in row] if has else [] for row, has in rows]
        made = np.full((len(scores), k), -1, np.int64)
        made[:, : best.shape[1]] = best
        made[~scored] = -1
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.input_tags.sparse = True
        return tags


def dense(X: Any) -> Any:
    """Return X as an array if it is a sparse matrix."""
    sparse = sp.issparse(X)
    return X.toarray() if sparse else X


def as_rows(X: Any, width: int | None = None) -> Rows:
    """Return X as finite float32 or float64 rows of the expected width, copied only if needed."""
    found = as_array(dense(X), "X")
    # Small whole numbers and half floats lose nothing in float32.
    small = found.dtype.kind in "fiub" and found.dtype.itemsize <= 2
    kind = np.float32 if small else None
    made: Rows = finite_rows(found, "X", width, dtype=kind, of="pictures, features")
    return made


def unit(X: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Return a copy with rows of unit length, and which rows were not all zeros."""
    # Divide by the largest entry first: squares could leave the range of the type.
    largest = np.abs(X).max(axis=1, keepdims=True)
    nonzero = largest[:, 0] > 0
    made = X / np.where(largest > 0, largest, 1)
    made /= np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1)
    return made, nonzero


def unit_rows(X: Rows, name: str) -> Rows:
    """Return rows of unit length; refuse a row of zeros."""
    made, nonzero = unit(X)
    if not nonzero.all():
        empty = np.flatnonzero(~nonzero)
        raise InvalidInput(
            f"row {int(empty[0])} of {name} is all zeros ({len(empty)} such rows); a picture "
            "without features is like no other: drop it"
        )
    return made


def as_ids(ids: Any, n: int) -> NDArray[Any]:
    """Return n different ids: int64 if all are whole numbers, else objects."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids is {ids!r}; one id a picture expected")
    given = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if len(given) != n:
        raise InvalidInput(f"{len(given)} ids for {n} pictures; one each expected")
    # NaN is not equal to itself and could not be found again.
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
    """Return one more than the largest number in ``ids`` (301.0 is 301), at least ``before``."""
    if ids.dtype == np.int64:
        return max(before, int(ids.max(initial=-1)) + 1)
    numbers = [i for i in ids.tolist() if isinstance(i, (int, float)) and abs(i) <= _LAST_ID]
    return max([before, *(int(np.floor(i)) + 1 for i in numbers)])


def automatic_ids(first: int, n: int) -> NDArray[np.int64]:
    """Return n ids from ``first`` on."""
    if first + n > _LAST_ID:
        raise InvalidInput(f"no whole numbers are left after the id {first - 1}; give ids")
    return np.arange(first, first + n)


def as_list(Y: Any) -> Any:
    """Return Y readable several times: a matrix unchanged, all else as a list without iterators."""
    if sp.issparse(Y) or isinstance(Y, str) or not isinstance(Y, Iterable):
        return Y
    if hasattr(Y, "__array__"):
        Y = np.asarray(Y)
        if Y.dtype != object:
            return Y
        Y = Y.tolist()
    return [list(one) if isinstance(one, Iterator) else one for one in Y]


def is_names(Y: Any) -> bool:
    """Return whether Y is lists of names rather than a matrix."""
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
    """Return Y as a float64 CSR matrix of ones with n rows."""
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
    """Return Y as CSR and all names: those ``known`` first, then new ones in order of arrival."""
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
        # str.__str__ makes a plain str of any subclass, such as numpy strings.
        plain = [str.__str__(name) for name in one]
        columns += sorted({place.setdefault(name, len(place)) for name in plain})
        ends.append(len(columns))
    shape = (n, len(place))
    ones = np.ones(len(columns))
    return sp.csr_array((ones, np.array(columns, np.int64), ends), shape=shape), list(place)
