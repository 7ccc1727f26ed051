"""What the speed benchmarks of product sparse coding share: SIFT, codebooks, names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.oxford import read_oxford
from benchmarks.readers.records import data_root
from benchmarks.vocabulary.report import descriptors
from likewise_methods.psc.product_coder import ProductSparseCoder

Floats = NDArray[np.float64]

ALPHA = 0.3
K = 128
SIZES = (32, 64, 90, 128, 256)
CODED, TRAINED, ROUNDS = 100_000, 100_000, 15
SEED = 0
NAMES = {"approximate": "APSC", "iterative": "IPSC, 10 bisections", "exact": "exact PSC"}


def sift() -> NDArray[np.float32] | None:
    """SIFT of unit length from the RootSIFT of oxford1k; None where the set is not here."""
    root = data_root()
    if root is None or not (root / "oxford1k").is_dir():
        return None
    X, _ = descriptors(read_oxford(root / "oxford1k"))
    rng = np.random.default_rng(SEED)
    chosen = rng.choice(len(X), CODED + TRAINED, replace=False)
    found = np.asarray(X[np.sort(chosen)], np.float32) ** 2
    found = found[rng.permutation(len(found))]
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def trained(X: Any, k: int, rounds: int = ROUNDS) -> list[Floats]:
    """Two sub-codebooks, trained with APSC."""
    coder = ProductSparseCoder(k, alpha=ALPHA, random_state=SEED, n_iter=rounds)
    return list(coder.fit(X).codebooks_)


def halves(X: Any) -> list[Any]:
    """The upper and the lower cells."""
    return [np.ascontiguousarray(X[:, :64]), np.ascontiguousarray(X[:, 64:])]
