"""The doors of product codes: words of one length, finite rows, a weight above zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._validation import matrix
from likewise.errors import InvalidInput

# How far a word's norm may be from what is expected, as a share of it.
_NORM = 1e-4


def as_words(words: Any, name: str, norm: float) -> NDArray[np.float64]:
    """Words as float64 rows of the norm expected."""
    found = matrix(words, name).astype(np.float64)
    if not found.size:
        raise InvalidInput(f"{name} has shape {found.shape}; at least one word expected")
    norms = np.linalg.norm(found, axis=1)
    # A norm that is not finite is wrong, too.
    wrong = np.flatnonzero(~(np.abs(norms - norm) <= _NORM * norm))
    if len(wrong):
        raise InvalidInput(
            f"word {wrong[0]} of {name} has norm {norms[wrong[0]]:.6g}; {norm:.6g} expected: "
            "scale every row"
        )
    return np.asarray(found * (norm / norms)[:, None])


def check_rows(X: NDArray[Any], name: str, width: int) -> None:
    """Refuse rows of another width, or with entries that are not finite."""
    if X.shape[1] != width:
        raise InvalidInput(f"{name} has {X.shape[1]} columns; {width} expected, as its words have")
    if not np.isfinite(X).all():
        bad = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
        raise InvalidInput(f"row {bad} of {name} is not finite; replace or drop it")


def as_weight(alpha: Any) -> float:
    """A finite number above zero."""
    number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
    if not number or not 0 < alpha < np.inf:
        raise InvalidInput(f"alpha is {alpha!r}; a positive number expected")
    return float(alpha)


def as_count(value: Any, name: str, least: int) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"{name} is {value!r}; a whole number of at least {least} expected")
    return int(value)
