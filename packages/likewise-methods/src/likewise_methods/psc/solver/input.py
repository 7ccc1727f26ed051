"""The door of product codes: words of one length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import matrix

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
