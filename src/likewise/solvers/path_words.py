"""Many vectors over one explicit codebook: homotopy, feature-sign search, or near words only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.solvers.path_codes import ProductPaths

Floats = NDArray[np.float64]


class WordPaths:
    """A codebook of unit words."""

    def __init__(self, words: Floats, *, lazily: bool) -> None:
        self.words = np.ascontiguousarray(words, np.float64)
        self.lazily = lazily

    def code(
        self, X: NDArray[Any], alpha: float, method: str, *, n_nearest: int, n_threads: int
    ) -> Any:
        """CSR (vectors by words)."""
        paths = ProductPaths([self.words], alpha)
        return paths.code([X], "approximate", n_threads=n_threads)[0]
