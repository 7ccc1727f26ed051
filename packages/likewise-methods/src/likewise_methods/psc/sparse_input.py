"""What sparse coders accept as a codebook: finite words of one length."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import finite_rows

# How far a word's norm may be from what is expected, as a share of it.
_NORM = 1e-4


def codebook(words: ArrayLike, name: str, norm: float) -> NDArray[np.float64]:
    """Words as float64 rows of the norm expected."""
    a = finite_rows(words, name).astype(np.float64)
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
