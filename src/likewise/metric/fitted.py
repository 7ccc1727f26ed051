"""A space that fits its collection: rows reduced, and stretched by how neighbours differ.

Label-free and in closed form.  A network's activations are made for all the pictures of the world;
a collection holds some of them.  Directions in which pictures that are each other's neighbours
differ as much as strangers do say nothing there, and directions in which neighbours agree and
strangers differ say everything: the pair-covariance metric of Köstinger et al. (2012), with mutual
neighbours in the place of labelled pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from likewise._estimators import Transformer, check_is_fitted
from likewise._validation import generator, number, whole
from likewise.errors import InvalidInput
from likewise.metric.graph import knn_graph
from likewise.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise.neighbours.protocol import rows

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

RIDGE = 1e-6
"""Added to both covariances, as a share of the mean variance: no direction is certain."""
FLOOR = 1e-3
"""The least a direction counts, as a share of the most: what was worth nothing can come back when
somebody teaches it, or when the next generation sees other pictures."""
_BLOCK = 8_192


class FittedSpace(Transformer):
    """Rows of any network to ``n_components`` columns of unit length, compared by inner product.

    With r a row (its root where all entries are >= 0) of unit length, mu their mean and V the first
    directions of their covariance, p = (r - mu) V of unit length.  C is the covariance of
    differences (p_i - p_j) / sqrt(2) over mutual neighbours, T that of all rows.  The metric is
    M = C^-1 - t T^-1, negative eigenvalues raised to nearly 0; M = L L', and a row becomes L' p, of
    unit length.

    Parameters
    ----------
    n_components : columns kept; fewer where there are not as many rows or columns.
    n_neighbors : of how many nearest rows each must be for two rows to be neighbours.
    t : how much of what strangers differ by is taken off; 0 only whitens within neighbours.
    max_rows : rows that ``fit`` looks at, at most; drawn by ``random_state``.

    Attributes: ``rooted_`` (whether roots were taken), ``mean_``, ``directions_`` (columns given,
    components), ``stretch_`` (L), ``scale_`` (half the squared difference of two neighbours, a
    column), ``n_pairs_`` (pairs of neighbours).

    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.eye(3, 20), 30, axis=0)
    >>> X = groups + 0.4 * rng.random((90, 20))
    >>> Z = FittedSpace(8).fit_transform(X)
    >>> inside, across = (Z[:30] @ Z[:30].T).mean(), (Z[:30] @ Z[30:].T).mean()
    >>> bool(inside > 0.9 and across < 0)
    True
    """

    kind: ClassVar[str] = "fitted space"

    def __init__(
        self,
        n_components: int = 128,
        *,
        n_neighbors: int = 10,
        t: float = 1.0,
        max_rows: int = 20_000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.t = t
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from the rows there are; ``y`` is not looked at."""
        wanted = whole(self.n_components, "n_components")
        n_neighbors = whole(self.n_neighbors, "n_neighbors")
        t = number(self.t, "t", least=0)
        X = rows(X, "X")
        most = whole(self.max_rows, "max_rows", 2)
        if len(X) > most:
            drawn = generator(self.random_state).choice(len(X), most, replace=False)
            X = X[np.sort(drawn)]
        if len(X) < 3:
            raise InvalidInput(f"X has {len(X)} rows; at least 3 expected")
        self.rooted_ = bool((X >= 0).all())
        R = prepare(X, self.rooted_)
        self.mean_ = R.mean(axis=0)
        R -= self.mean_
        self.directions_ = _directions(R, min(wanted, len(R) - 1, R.shape[1]))
        P = unit(R @ self.directions_)
        pairs = mutual_neighbours(P, n_neighbors)
        self.n_pairs_ = len(pairs)
        self.stretch_ = _stretch(P, pairs, t)
        Z = unit(P @ self.stretch_)
        self.scale_ = _pair_scale(Z, pairs)
        return self

    def transform(self, X: Any) -> Rows:
        """Rows as they are compared: float32, of unit length."""
        check_is_fitted(self)
        X = rows(X, "X")
        if X.shape[1] != len(self.mean_):
            raise InvalidInput(f"X has {X.shape[1]} columns; {len(self.mean_)} expected, as in fit")
        found = np.empty((len(X), self.stretch_.shape[1]), np.float32)
        for start in range(0, len(X), _BLOCK):
            block = prepare(X[start : start + _BLOCK], self.rooted_) - self.mean_
            P = unit(block @ self.directions_)
            found[start : start + _BLOCK] = unit(P @ self.stretch_)
        return found

    # -- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Everything ``transform`` needs, in one file without code."""
        check_is_fitted(self)
        save_arrays(
            path,
            self.kind,
            {**self.get_params(deep=False), "rooted": self.rooted_, "n_pairs": self.n_pairs_,
             "scale": self.scale_},
            {"mean": self.mean_, "directions": self.directions_, "stretch": self.stretch_},
        )  # fmt: skip

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """What :meth:`save` wrote."""
        meta, arrays = open_arrays(path, cls.kind)
        try:
            names = cls._get_param_names()
            made = cls(**{name: meta[name] for name in names})
            made.rooted_, made.n_pairs_ = bool(meta["rooted"]), int(meta["n_pairs"])
            made.scale_ = float(meta["scale"])
            made.mean_, made.directions_ = arrays["mean"], arrays["directions"]
            made.stretch_ = arrays["stretch"]
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a whole fitted space ({error})") from error
        shapes = (made.mean_.shape, made.directions_.shape, made.stretch_.shape)
        d, k = made.directions_.shape if made.directions_.ndim == 2 else (0, 0)
        if shapes != ((d,), (d, k), (k, k)):
            raise DamagedFile(f"{path}: arrays of shapes {shapes} do not fit together")
        return made


def prepare(X: Rows, rooted: bool) -> Floats:
    """Rows of unit length, after their roots where asked; negative entries have root 0."""
    made = X.astype(np.float64)
    if rooted:
        np.sqrt(np.maximum(made, 0.0, out=made), out=made)
    return unit(made)


def unit(X: Floats) -> Floats:
    """Rows of unit length; a row of zeros stays one."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)


def mutual_neighbours(P: Floats, n_neighbors: int) -> NDArray[np.int64]:
    """Pairs (i, j), i < j, each among the other's nearest rows.

    >>> mutual_neighbours(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), 1).tolist()
    [[0, 1]]
    """
    graph = knn_graph(P, n_neighbors)
    n, k = graph.shape
    i, j = np.repeat(np.arange(n), k), graph.ravel().astype(np.int64)
    # Seen from both ends: a pair that is there twice is mutual.
    both, times = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_counts=True)
    found = both[times > 1]
    return np.stack([found // n, found % n], axis=1)


def _directions(R: Floats, count: int) -> Floats:
    """The directions of largest variance, strongest first, each with its largest entry positive.

    With more columns than rows they come from the rows' products, which are fewer.
    """
    n, d = R.shape
    if n < d:
        values, vectors = eigh(R @ R.T, subset_by_index=(n - count, n - 1))
        made = R.T @ vectors
        made /= np.maximum(np.linalg.norm(made, axis=0), np.finfo(float).tiny)
    else:
        values, made = eigh(R.T @ R, subset_by_index=(d - count, d - 1))
    keep = values > values.max(initial=0.0) * 1e-10
    made = made[:, keep][:, ::-1] if keep.any() else made[:, -1:]
    signs = np.sign(made[np.abs(made).argmax(axis=0), np.arange(made.shape[1])])
    return np.ascontiguousarray(made * np.where(signs == 0, 1.0, signs))


def _stretch(P: Floats, pairs: NDArray[np.int64], t: float) -> Floats:
    """L with L L' = C^-1 - t T^-1, negative eigenvalues raised to nearly 0."""
    k = P.shape[1]
    T = np.cov(P.T, bias=True).reshape(k, k)
    ridge = RIDGE * max(np.trace(T) / k, np.finfo(float).tiny) * np.eye(k)
    if not len(pairs):
        return np.eye(k)
    D = P[pairs[:, 0]] - P[pairs[:, 1]]
    C = D.T @ D / (2 * len(D)) + ridge
    M = np.linalg.inv(C) - t * np.linalg.inv(T + ridge)
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    values = np.maximum(values, FLOOR * max(values.max(), np.finfo(float).tiny))
    # Only ratios count: rows get unit length.
    return np.asarray(vectors * np.sqrt(values / values.max()))


def _pair_scale(Z: Floats, pairs: NDArray[np.int64]) -> float:
    """Half the mean squared difference of neighbours, a column; of strangers where there are none.

    The trace of the neighbours' covariance over its width: the unit in which
    :class:`likewise.similarity.local_metric.LocalMetric` measures the pairs people judged.
    """
    if not len(pairs):
        return 1.0 / Z.shape[1]
    D = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    return float(max(np.mean(D**2) / 2, 1e-6 / Z.shape[1]))
