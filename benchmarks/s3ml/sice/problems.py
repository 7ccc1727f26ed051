"""Problems of sparse inverse covariance: generated, and correlations of real pictures.

``first`` and ``held_out`` are known: constants of our solver were chosen in view of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.records import data_root
from likewise.errors import DatasetError
from likewise.images.decode import decode
from likewise.vision.holistic import colour_moments

# A name, S, and l1.
Named = tuple[str, Any, float]


def chain(m: int, n: int, seed: int, tie: float = 0.6) -> Any:
    """Correlations of n samples of a chain: each variable follows the one before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    for j in range(1, m):
        X[:, j] = tie * X[:, j - 1] + np.sqrt(1 - tie**2) * X[:, j]
    return np.corrcoef(X.T)


def graph(m: int, n: int, seed: int, degree: int = 4) -> Any:
    """Correlations of n samples from a random graph of that mean degree."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, m, (2, m * degree // 2))
    P = np.zeros((m, m))
    P[i, j] = rng.choice([-1.0, 1.0], len(i)) * rng.uniform(0.3, 1.0, len(i))
    P = P + P.T
    np.fill_diagonal(P, 0.0)
    np.fill_diagonal(P, np.abs(P).sum(axis=1) + 0.3)
    X = np.linalg.solve(np.linalg.cholesky(P).T, rng.standard_normal((m, n)))
    return np.corrcoef(X)


def factors(m: int, noise: float, seed: int) -> Any:
    """The covariance of 5 m samples of eight factors and a little noise: ill-conditioned."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5 * m, 8)) @ rng.standard_normal((8, m))
    X += noise * rng.standard_normal((5 * m, m))
    return X.T @ X / (5 * m)


def held_out() -> list[Named]:
    """Problems that played no part in the choice of constants."""
    rng = np.random.default_rng(21)
    made: list[Named] = [
        ("random graph, degree 6, 4 m samples", graph(400, 1600, 22, 6), 0.04),
        ("random graph, m samples", graph(300, 300, 23), 0.15),
        ("chain tied by 0.8", chain(350, 700, 24, 0.8), 0.08),
        ("noise alone", np.corrcoef(rng.standard_normal((250, 750))), 0.06),
        ("five factors and noise", _standard(200, 0.7, rng), 0.1),
    ]
    real = moments()
    if real is not None:
        made += [
            ("every second colour moment", real[::2, ::2], 0.07),
            ("first 150 colour moments", real[:150, :150], 0.03),
        ]
    return made


def _standard(m: int, noise: float, rng: np.random.Generator) -> Any:
    X = rng.standard_normal((3 * m, 5)) @ rng.standard_normal((5, m)) / np.sqrt(5)
    return np.corrcoef((X + noise * rng.standard_normal((3 * m, m))).T)


def moments() -> Any:
    """Correlations of the 225 colour moments of Corel-1k; None without the pictures."""
    kept = harness.cache_dir() / "corel1k-moments.npy"
    if not kept.exists():
        root = data_root()
        try:
            pictures = read_corel1k(root / "corel1k") if root is not None else None
        except DatasetError:
            pictures = None
        if pictures is None:
            return None
        np.save(kept, np.array([colour_moments(decode(path).pixels) for path in pictures.paths]))
    return np.corrcoef(np.load(kept).T)


def first_set(full: bool, seed: int) -> list[Named]:
    """(name, S, l1) of the tables."""
    made: list[Named] = []
    real = moments()
    if real is not None:
        made += [("colour moments of Corel-1k", real, l1) for l1 in (0.2, 0.1, 0.05)]
    for m in (225, 500, 1000):
        made += [
            ("chain", chain(m, 2 * m, seed), 0.1),
            ("random graph", graph(m, 2 * m, seed), 0.1),
        ]
        if m < 1000 or full:
            made.append(("random graph", graph(m, 2 * m, seed), 0.05))
    if full and real is not None:
        made += [("colour moments of Corel-1k", real, l1) for l1 in (0.5, 0.02, 0.01)]
    return made
