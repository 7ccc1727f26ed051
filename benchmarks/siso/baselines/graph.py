"""Graphs over pictures: who is whose neighbour, as lists and as sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.lsh import LSH

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
# An index over unit rows, metric "ip".
Index = Exact | LSH


def build_lsh(X: Any, seed: int) -> LSH:
    """Unit rows in as many hashes as leave some thousand candidates (as SISO's "lsh" has them)."""
    hashes = int(np.clip(np.round(np.log(max(len(X), 1) / 50) / 1.31), 2, 12))
    return LSH(
        "ip", hash_width=1.0, n_hashes=hashes, n_tables=20, n_probes=8, max_candidates=5000,
        random_state=seed,
    ).build(X)  # fmt: skip


def lists_to(index: Index, Q: Any, k: int) -> tuple[Ids, Floats]:
    """The k nearest held rows of each query and their squared distances; -1 for none."""
    ids, near = index.search(Q, k)
    return ids, _squares(ids, near)


def lists_within(index: Index, X: Any, k: int) -> tuple[Ids, Floats]:
    """The k nearest *others* of each held row, X being the rows held."""
    ids, near = index.search(X, k + 1)
    own = ids == np.arange(len(ids))[:, None]
    # Among many equal rows a row may not be in its own list: then the last one goes.
    own[~own.any(axis=1), -1] = True
    ids = ids[~own].reshape(len(ids), k)
    return ids, _squares(ids, near[~own].reshape(len(ids), k))


def _squares(ids: Ids, near: Any) -> Floats:
    """Squared distances of unit rows, 2 - 2 a.q; infinity for nobody."""
    return np.where(ids >= 0, np.maximum(2 - 2 * near.astype(np.float64), 0), np.inf)


def matrix(ids: Ids, weights: Floats, n: int) -> Any:
    """The weights of lists as CSR (lists by n pictures); entries of 0 and of nobody left out."""
    kept = (ids >= 0) & (weights > 0)
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    made = sp.csr_array((weights[kept], ids[kept], ends), shape=(len(ids), n))
    made.sort_indices()
    return made


def gaussian_width(squares: Floats) -> float:
    """A width s^2 that fits the data: the mean squared distance to the farthest of a list."""
    far = squares[:, -1][np.isfinite(squares[:, -1])]
    mean = float(far.mean()) if len(far) else 0.0
    return mean if mean > 0 else 1.0


def gaussian(squares: Floats, width: float) -> Floats:
    """exp(-d^2 / s^2); 0 for nobody."""
    return np.exp(-squares / width)
