"""What sparse coders accept: rows of finite numbers, words of one length, a positive alpha."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InvalidInput

# How far a word's norm may be from what is expected, as a share of it.
_NORM = 1e-4


def vectors(X: ArrayLike, name: str = "X", width: int | None = None) -> NDArray[Any]:
    """Rows as they are: float32 stays float32, anything else becomes float64."""
    if sp.issparse(X):
        raise InvalidInput(f"{name} is a sparse matrix; an array of descriptors expected")
    try:
        a = np.asarray(X)
        dimensions = a.ndim
        if a.dtype.kind == "c":
            raise InvalidInput(f"{name} is complex.  Complex data not supported")
        if a.dtype.kind not in "fiubO" or a.dtype.itemsize > 8:
            raise InvalidInput(f"{name} has type {a.dtype}; real numbers expected")
        a = np.ascontiguousarray(a, np.float32 if a.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{name} is not a rectangular array of numbers: {error}") from error
    if dimensions != 2:
        raise InvalidInput(
            f"{name} has {dimensions} dimensions; 2 expected (rows, columns).  Reshape your data"
        )
    if width is not None and a.shape[1] != width:
        raise InvalidInput(f"{name} has {a.shape[1]} columns (features); {width} expected")
    if a.shape[1] == 0:
        raise InvalidInput(f"{name} has 0 columns; at least 1 expected")
    if len(a) and not np.isfinite(a).all():
        bad = int(np.flatnonzero(~np.isfinite(a).all(axis=1))[0])
        raise InvalidInput(f"{name} has NaN or infinity in row {bad}; finite numbers expected")
    return a


def codebook(words: ArrayLike, name: str, norm: float) -> NDArray[np.float64]:
    """Words as float64 rows of the norm expected."""
    a = vectors(words, name).astype(np.float64)
    if not len(a):
        raise InvalidInput(f"{name} has no words; at least 1 expected")
    norms = np.linalg.norm(a, axis=1)
    wrong = np.flatnonzero(np.abs(norms - norm) > _NORM * norm)
    if len(wrong):
        raise InvalidInput(
            f"word {wrong[0]} of {name} has norm {norms[wrong[0]]:.6g}; {norm:.6g} expected: "
            "scale every row"
        )
    return np.asarray(a * (norm / norms)[:, None])


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Real)
        or not 0 < float(value) < np.inf
    ):
        raise InvalidInput(f"{name} is {value!r}; a positive number expected")
    return float(value)


def one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    """A word of a list."""
    if value not in known:
        raise InvalidInput(f"{name} is {value!r}; one of {', '.join(known)} expected")
