"""A space fitted to a collection: rows are reduced, and scaled by how neighbours differ.

It needs no labels and has a closed form.  Directions in which neighbours differ less than random
pairs are useful in this collection: the pair-covariance metric of Köstinger et al. (2012), with
mutual neighbours instead of labelled pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.protocol import rows
from likewise_methods.s3ml.graph import knn_graph
from likewise_methods.validation import generator, number, whole

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

NEAR = 0.05
"""Two rows are copies if their squared difference is at most this share of the mean one: edited
copies are about as near to the original, and fewer than one other picture in a hundred is.  A
larger share would treat scanned pages of one layout as copies (docs/results/staying.md)."""
SHARE = 30
"""At most one row in so many is a neighbour of a row."""
RIDGE = 1e-6
"""Added to both covariances, as a share of the mean variance."""
FLOOR = 1e-3
"""Smallest weight of a direction, as a share of the largest, so that judgements can raise it."""
GROWTH = 1.5
"""A collection that grew by this factor has outgrown its space."""
NEW = 0.1
"""New rows are tested if they are at least this share of the fitted rows."""
MISSED = 1.75
"""The space does not fit new rows that lose so many times the variance of fitted rows.  Similar
content loses up to 1.4 times as much, other content 2 to 3 times."""
_BLOCK = 1_024
_COPIES_BLOCK = 512
_SAME = 1e-13
"""Squared differences of unit rows that are 0 in float32."""


_KEPT = {
    "rooted": bool, "n_rows": int, "n_voters": int, "n_pairs": int, "scale": float, "lost": float
}  # fmt: skip


class FittedSpace(Transformer):
    """Map rows of a network to ``n_components`` columns, of unit length, for inner products.

    With the equations of docs/methods/staying.md, (1) to (9):

    (1) r = a / |a| of a row a, or of its root if all entries are >= 0.

    (2) Copies of earlier rows are left out: |r_i - r_j|^2 <= NEAR s, with s the mean of
    |r_i - r_j|^2 over the n remaining rows.

    (3) p = V'(r - mu), of unit length, with their mean mu and the first K directions V of their
    covariance.

    (4) N: pairs i, j each among the min(``n_neighbors``, n / SHARE) nearest of the other.

    (5) C = (sum over N of (p_i - p_j)(p_i - p_j)' / 2 + m_0 c I) / (m + m_0): m pairs, c their mean
    variance per column, m_0 = K ``n_neighbors`` / 2.  The prior m_0 matters with few pairs, where
    the result is nearly PCA.

    (6) M = C^-1 - t T^-1 with T the covariance of p; negative eigenvalues raised to nearly 0;
    M = L L'.

    (7) z = L' p, of unit length.

    Parameters
    ----------
    n_components : int, default=128
        Number of columns; fewer if there are fewer rows or columns.
    n_neighbors : int, default=10
        Two rows are neighbours if each is among the other's nearest, at most so many.
    t : float, default=1.0
        Weight of the term of random pairs; 0 only whitens the differences of neighbours.
    max_rows : int, default=5000
        Most rows that ``fit`` uses.
    random_state : int, Generator or None, default=0
        Seed of the sample of rows.

    Attributes
    ----------
    rooted_ : bool
        Whether roots of entries are used.
    mean_ : array of shape (columns,)
        The mean row.
    directions_ : array of shape (columns, n_components)
        V.
    stretch_ : array of shape (n_components, n_components)
        L.
    scale_ : float
        Half the squared difference of neighbours, per column.
    n_rows_, n_voters_, n_pairs_ : int
        Rows given, rows without copies, pairs of neighbours.
    lost_ : float
        Share of the variance outside of ``directions_``.

    See Also
    --------
    LocalMetric : learns from judgements.
    likewise_methods.coding.Whitening : uses variances only.
    likewise_methods.s3ml.S3ML : learns a metric from pairs.

    References
    ----------
    M. Köstinger et al.: Large scale metric learning from equivalence constraints.  CVPR, 2012 (the
    pair-covariance metric, there with labelled pairs).

    docs/methods/staying.md, (1) to (9).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.eye(3, 20), 100, axis=0)
    >>> X = groups + 0.4 * rng.random((300, 20))
    >>> Z = FittedSpace(8).fit_transform(X)
    >>> inside, across = (Z[:100] @ Z[:100].T).mean(), (Z[:100] @ Z[100:].T).mean()
    >>> bool(inside > 0.7 and across < -0.3)
    True
    """

    kind: ClassVar[str] = "fitted space"

    def __init__(
        self,
        n_components: int = 128,
        *,
        n_neighbors: int = 10,
        t: float = 1.0,
        max_rows: int = 5_000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.t = t
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit the space to rows.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        wanted = whole(self.n_components, "n_components")
        n_neighbors = whole(self.n_neighbors, "n_neighbors")
        t = number(self.t, "t", least=0)
        X = rows(X, "X")
        most = whole(self.max_rows, "max_rows", 3)
        if X.shape[1] < 2:
            raise InvalidInput("X has 1 column (n_features = 1); rows have directions from 2 on")
        n_rows = len(X)
        if n_rows > most:
            drawn = generator(self.random_state).choice(n_rows, most, replace=False)
            X = X[np.sort(drawn)]
        self.n_features_in_ = X.shape[1]
        rooted = bool((X >= 0).all())
        R = prepare(X, rooted)
        del X  # frees memory if the caller keeps no reference
        if n_rows >= 3 and len(part := voters(R)) < len(R):
            R = _kept(R, part)
        if len(R) < 3:
            raise InvalidInput(
                f"X has n_samples = {n_rows} rows, all of one direction or fewer than 3; "
                "at least 3 rows, not all the same, expected"
            )
        self.rooted_, self.n_rows_, self.n_voters_ = rooted, n_rows, len(R)
        self.mean_ = R.mean(axis=0)
        R -= self.mean_
        self.directions_ = _directions(R, min(wanted, len(R) - 1, R.shape[1]))
        P = R @ self.directions_
        self.lost_ = _lost(R, P)
        P = unit(P)
        pairs = mutual_neighbours(P, min(n_neighbors, -(-len(P) // SHARE)))
        self.n_pairs_ = len(pairs)
        self.stretch_ = _stretch(P, pairs, t, P.shape[1] * n_neighbors / 2)
        Z = unit(P @ self.stretch_)
        self.scale_ = _pair_scale(Z, pairs)
        return self

    def transform(self, X: Any) -> Rows:
        """Return rows to compare by inner product.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        float32 array of shape (n, n_components)
            Rows of unit length.
        """
        X = self._check_rows(X)
        found = np.empty((len(X), self.stretch_.shape[1]), np.float32)
        for start in range(0, len(X), _BLOCK):
            block = prepare(X[start : start + _BLOCK], self.rooted_)
            block -= self.mean_
            P = unit(block @ self.directions_)
            found[start : start + _BLOCK] = unit(P @ self.stretch_)
        return found

    def split(self, parts: Any) -> Floats:
        """Return the contribution of each part of a row; they add up to ``transform`` of its sum.

        (9) Part i gets the share a_ij / a_j of entry j of r, and an equal share of mu.  The rest is
        linear, except for two lengths, which are those of the whole row.

        >>> X = np.random.default_rng(0).random((60, 5))
        >>> space = FittedSpace(3).fit(X)
        >>> halves = np.array([[0.3, 0, 0.5, 0.1, 0], [0.2, 0.4, 0, 0.1, 0.9]])
        >>> bool(np.allclose(space.split(halves).sum(axis=0), space.transform(halves.sum(0)[None])))
        True
        """
        given = self._check_rows(parts).astype(np.float64)
        total = given.sum(axis=0)
        whole_row = prepare(total[None].astype(np.float32), self.rooted_)[0]
        shares = np.divide(given, total, out=np.zeros_like(given), where=total != 0)
        P = (shares * whole_row - self.mean_ / len(given)) @ self.directions_
        P = _of_unit_sum(P) @ self.stretch_
        return _of_unit_sum(P)

    def has_outgrown(self, n_rows: int, new: Any = None) -> bool:
        """Return whether the space should be fitted again, for a collection of ``n_rows`` rows.

        (8) It should if the collection grew by half, or if the ``new`` rows are at least a tenth of
        the fitted ones and lose MISSED times as much variance.

        Parameters
        ----------
        n_rows : int
            Number of rows now.
        new : array of shape (m, columns), optional
            Rows added since the fit, or a sample of them.

        Returns
        -------
        bool
        """
        check_is_fitted(self)
        if n_rows >= GROWTH * self.n_rows_:
            return True
        if new is None or n_rows < (1 + NEW) * self.n_rows_:
            return False
        return self.lost(new) > MISSED * max(self.lost_, RIDGE)

    def lost(self, X: Any) -> float:
        """Return the share of the rows' variance outside of ``directions_``."""
        R = prepare(self._check_rows(X), self.rooted_) - self.mean_
        return _lost(R, R @ self.directions_)

    def _check_rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        found: Rows = rows(X, "X")
        if (width := found.shape[1]) != len(self.mean_):
            raise InvalidInput(f"X has {width} columns; {len(self.mean_)} expected, as in fit")
        return found

    # -- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything that ``transform`` needs to one file."""
        check_is_fitted(self)
        save_arrays(
            path,
            self.kind,
            {**self.get_params(deep=False), **{name: getattr(self, f"{name}_") for name in _KEPT}},
            {"mean": self.mean_, "directions": self.directions_, "stretch": self.stretch_},
        )

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a file that :meth:`save` wrote."""
        meta, arrays = open_arrays(path, cls.kind)
        try:
            names = cls._get_param_names()
            made = cls(**{name: meta[name] for name in names})
            for name, kind in _KEPT.items():
                setattr(made, f"{name}_", kind(meta[name]))
            made.mean_, made.directions_ = arrays["mean"], arrays["directions"]
            made.stretch_ = arrays["stretch"]
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a whole fitted space ({error})") from error
        shapes = (made.mean_.shape, made.directions_.shape, made.stretch_.shape)
        d, k = made.directions_.shape if made.directions_.ndim == 2 else (0, 0)
        if shapes != ((d,), (d, k), (k, k)):
            raise DamagedFile(f"{path}: arrays of shapes {shapes} do not fit together")
        made.n_features_in_ = d
        return made


def prepare(X: Rows, rooted: bool) -> Floats:
    """Return rows of unit length, (1), optionally of their roots; negative entries have root 0."""
    made = np.empty(X.shape)
    for start in range(0, len(X), _BLOCK):
        # In blocks, since NumPy allocates the squares.
        block = made[start : start + _BLOCK]
        block[:] = X[start : start + _BLOCK]
        if rooted:
            np.sqrt(np.maximum(block, 0.0, out=block), out=block)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        np.divide(block, norms, out=block, where=norms > 0)
    return made


def unit(X: Floats) -> Floats:
    """Scale rows to unit length; rows of zeros stay zero."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(np.divide(X, norms, out=np.zeros_like(X), where=norms > 0))


def _of_unit_sum(parts: Floats) -> Floats:
    """Divide the parts of a row by its length."""
    length = float(np.linalg.norm(parts.sum(axis=0)))
    return parts / length if length > 0 else np.zeros_like(parts)


def voters(R: Floats) -> NDArray[np.int64]:
    """Return the numbers of the rows that are not copies of earlier ones, in order, (2).

    Otherwise C would measure how copies differ.  The mean difference is computed again without the
    copies until none are found.  If fewer than SHARE rows would remain, all are returned.

    >>> X = np.random.default_rng(0).normal(size=(40, 8))
    >>> len(voters(X)), len(voters(np.repeat(X, 5, axis=0)))
    (40, 40)
    """
    left = np.arange(len(R))
    while len(left) > 1:
        rows = R if len(left) == len(R) else R[left]
        mean, Q = rows.mean(axis=0), np.empty(rows.shape, np.float32)
        for start in range(0, len(rows), _BLOCK):
            Q[start : start + _BLOCK] = rows[start : start + _BLOCK] - mean
        s = 2 * float(np.einsum("ij,ij->", Q, Q, dtype=np.float64)) / (len(Q) - 1)
        if s <= _SAME:
            return left[:1]
        Q /= np.float32(np.sqrt(s))
        first = _without_copies(Q)
        if len(first) == len(left):
            break
        left = left[first]
    return left if len(left) >= SHARE else np.arange(len(R))


def _without_copies(Q: Rows) -> NDArray[np.int64]:
    """Return the rows without those within a squared difference of an earlier one."""
    squares = np.einsum("ij,ij->i", Q, Q)
    found: NDArray[np.int64] = np.empty(0, np.int64)
    for start in range(0, len(Q), _COPIES_BLOCK):
        block = np.arange(start, min(start + _COPIES_BLOCK, len(Q)))
        if len(found):
            near = squares[found] - 2 * (Q[block] @ Q[found].T)
            block = block[near.min(axis=1) + squares[block] > NEAR]
        near = squares[block] - 2 * (Q[block] @ Q[block].T) + squares[block][:, None] <= NEAR
        copied = np.zeros(len(block), bool)
        for i in range(len(block)):
            if not copied[i]:
                copied[i + 1 :] |= near[i, i + 1 :]
        found = np.concatenate([found, block[~copied]])
    return found


def _kept(R: Floats, part: NDArray[np.int64]) -> Floats:
    """Move some rows to the front of their matrix, in place."""
    for start in range(0, len(part), _BLOCK):
        some = part[start : start + _BLOCK]
        R[start : start + len(some)] = R[some]
    return R[: len(part)]


def mutual_neighbours(P: Floats, n_neighbors: int) -> NDArray[np.int64]:
    """Return pairs (i, j), i < j, that are among each other's nearest rows, (4).

    >>> mutual_neighbours(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), 1).tolist()
    [[0, 1]]
    """
    graph = knn_graph(P, n_neighbors)
    n, k = graph.shape
    i, j = np.repeat(np.arange(n), k), graph.ravel().astype(np.int64)
    # A pair found from both ends is mutual.
    both, times = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_counts=True)
    found = both[times > 1]
    return np.stack([found // n, found % n], axis=1)


def _directions(R: Floats, count: int) -> Floats:
    """Return the directions of largest variance, each with its largest entry positive."""
    n, d = R.shape
    if n < d:
        values, vectors = np.linalg.eigh(R @ R.T)
        values = values[n - count :]
        made = R.T @ vectors[:, n - count :]
        made /= np.maximum(np.linalg.norm(made, axis=0), np.finfo(float).tiny)
    else:
        # NumPy's: up to a tenth slower than SciPy's, but SciPy takes a second to import.
        values, made = np.linalg.eigh(R.T @ R)
        values, made = values[d - count :], made[:, d - count :]
    keep = values > values.max(initial=0.0) * 1e-10
    made = made[:, keep][:, ::-1] if keep.any() else made[:, -1:]
    signs = np.sign(made[np.abs(made).argmax(axis=0), np.arange(made.shape[1])])
    return np.ascontiguousarray(made * np.where(signs == 0, 1.0, signs))


def _lost(R: Floats, P: Floats) -> float:
    """Return the share of the squares of R outside of its coordinates P."""
    # No array of squares: R is the largest array.
    of_all, held = float(np.einsum("ij,ij->", R, R)), float(np.einsum("ij,ij->", P, P))
    return max(0.0, 1 - held / of_all) if of_all > 0 else 0.0


def _stretch(P: Floats, pairs: NDArray[np.int64], t: float, prior: float) -> Floats:
    """Return L with L L' = C^-1 - t T^-1, (5) and (6); ``prior`` is m_0."""
    k = P.shape[1]
    if not len(pairs):
        return np.eye(k)
    T = np.cov(P.T, bias=True).reshape(k, k)
    D = P[pairs[:, 0]] - P[pairs[:, 1]]
    C = D.T @ D / 2
    alike = np.eye(k) * np.trace(C) / (k * len(D))
    C = (C + prior * alike) / (len(D) + prior)
    ridge = RIDGE * np.trace(T) / k * np.eye(k)
    M = np.linalg.inv(C + ridge) - t * np.linalg.inv(T + ridge)
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    if values[-1] <= 0:  # Neighbours differ like random pairs in every direction.
        return np.eye(k)
    # Only ratios matter: rows get unit length.
    return np.asarray(vectors * np.sqrt(np.maximum(values / values[-1], FLOOR)))


def _pair_scale(Z: Floats, pairs: NDArray[np.int64]) -> float:
    """Return half the mean squared difference of neighbours per column, else of random pairs.

    The unit in which :class:`likewise_methods.spaces.local_metric.LocalMetric` measures pairs.
    """
    if not len(pairs):
        return float(1 / Z.shape[1])
    D = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    return float(max(np.mean(D**2) / 2, 1e-6 / Z.shape[1]))
