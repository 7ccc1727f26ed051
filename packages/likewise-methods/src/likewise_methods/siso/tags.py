"""The door for tags: a 0/1 matrix, or a list of names for each picture, becomes a CSR matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput


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
