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

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.protocol import rows
from likewise_methods.s3ml.graph import knn_graph
from likewise_methods.validation import generator, number, whole

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

NEAR = 0.05
"""Two rows are copies when their squared difference is at most this share of what two rows of the
collection differ by.  Pictures with edges cut, other light and new compression are about as far
from the original and nearer to one another; fewer than one in a hundred has another picture so
near.  More would take scanned pages of one layout for copies (docs/results/staying.md)."""
SHARE = 30
"""At most one row in so many is a neighbour: ten of fifty pictures are strangers mostly."""
RIDGE = 1e-6
"""Added to both covariances, as a share of the mean variance: no direction is certain."""
FLOOR = 1e-3
"""The least a direction counts, as a share of the most: what was worth nothing can come back when
somebody teaches it, or when the next generation sees other pictures."""
GROWTH = 1.5
"""By this factor a collection has outgrown its space, whatever came."""
NEW = 0.1
"""New rows say whether the space still fits from this share of the fitted ones on ..."""
MISSED = 1.75
"""... and it does not when they lose so many times what fitted rows lost: more of the same lose 1.4
times as much from a thousand rows on, other content 2 to 3 times."""
_BLOCK = 1_024
_COPIES_BLOCK = 512
_SAME = 1e-13
"""Squared differences of unit rows that float32 cannot tell from nothing."""


_KEPT = {
    "rooted": bool, "n_rows": int, "n_voters": int, "n_pairs": int, "scale": float, "lost": float
}  # fmt: skip


class FittedSpace(Transformer):
    """Rows of any network to ``n_components`` columns of unit length, compared by inner product.

    The numbers are those of docs/methods/staying.md, (1) to (9).

    (1) r = a / |a| of a row a, or of its root where all entries are >= 0.

    (2) One vote a burst: a row takes no part if an earlier one that does is its copy,
    |r_i - r_j|^2 <= NEAR s, with s the mean of |r_i - r_j|^2 over the n rows that take part.

    (3) p = V'(r - mu), of unit length: mu their mean, V the first K directions of their covariance.

    (4) N: pairs i, j each among the min(``n_neighbors``, n / SHARE) nearest of the other.

    (5) C = (sum over N of (p_i - p_j)(p_i - p_j)' / 2 + m_0 c I) / (m + m_0): m pairs, c their mean
    variance of a column, m_0 = K ``n_neighbors`` / 2: the pairs of as many rows as there are
    columns, all directions alike.  With few pairs that is nearly PCA, with many it is forgotten.

    (6) M = C^-1 - t T^-1 with T the covariance of p; negative eigenvalues raised to nearly 0;
    M = L L'.

    (7) z = L' p, of unit length.

    Parameters
    ----------
    n_components : int, default=128
        Columns kept; fewer where there are not as many rows or columns.
    n_neighbors : int, default=10
        Of how many nearest rows each must be for two rows to be neighbours, at most.
    t : float, default=1.0
        How much of what strangers differ by is taken off; 0 only whitens within neighbours.
    max_rows : int, default=5000
        Rows that ``fit`` looks at, at most.
    random_state : int, Generator or None, default=0
        Draws them.

    Attributes
    ----------
    rooted_ : bool
        Whether roots were taken.
    mean_ : array of shape (columns,)
        The mean row.
    directions_ : array of shape (columns, n_components)
        V.
    stretch_ : array of shape (n_components, n_components)
        L.
    scale_ : float
        Half the squared difference of two neighbours, a column.
    n_rows_, n_voters_, n_pairs_ : int
        Rows given, rows that took part, pairs of neighbours.
    lost_ : float
        Share of the variance outside of ``directions_``.

    See Also
    --------
    LocalMetric : what judgements add.
    likewise_methods.coding.Whitening : directions and variances only.
    likewise_methods.s3ml.S3ML : a metric from pairs.

    References
    ----------
    M. Köstinger et al.: Large scale metric learning from equivalence constraints.  CVPR, 2012 (the
    pair-covariance metric; here mutual neighbours are in the place of labelled pairs).

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
        """Learn from the rows there are.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.
        y : object, optional
            Not looked at.

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
        del X  # a caller who keeps none of it has this memory back
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
        """Rows as they are compared.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        float32 array of shape (n, n_components)
            Rows of unit length.
        """
        X = self._checked(X)
        found = np.empty((len(X), self.stretch_.shape[1]), np.float32)
        for start in range(0, len(X), _BLOCK):
            block = prepare(X[start : start + _BLOCK], self.rooted_)
            block -= self.mean_
            P = unit(block @ self.directions_)
            found[start : start + _BLOCK] = unit(P @ self.stretch_)
        return found

    def split(self, parts: Any) -> Floats:
        """What each of some parts of one row adds to it: rows that add up to what ``transform``
        makes of the sum of ``parts``.

        (9) Entry j of r is shared out as entry j of the row is, a_ij / a_j; mu equally.  The rest
        is linear, but for two lengths that are the whole row's.

        >>> X = np.random.default_rng(0).random((60, 5))
        >>> space = FittedSpace(3).fit(X)
        >>> halves = np.array([[0.3, 0, 0.5, 0.1, 0], [0.2, 0.4, 0, 0.1, 0.9]])
        >>> bool(np.allclose(space.split(halves).sum(axis=0), space.transform(halves.sum(0)[None])))
        True
        """
        given = self._checked(parts).astype(np.float64)
        total = given.sum(axis=0)
        whole_row = prepare(total[None].astype(np.float32), self.rooted_)[0]
        shares = np.divide(given, total, out=np.zeros_like(given), where=total != 0)
        P = (shares * whole_row - self.mean_ / len(given)) @ self.directions_
        P = _of_unit_sum(P) @ self.stretch_
        return _of_unit_sum(P)

    def has_outgrown(self, n_rows: int, new: Any = None) -> bool:
        """Whether a collection that holds ``n_rows`` by now should be fitted again.

        (8) It should when it has grown by half, or when the rows that are ``new`` are a tenth of
        the fitted ones and lose MISSED times what those lost: other content came, or the first
        rows were too few to know the directions of the rest.

        Parameters
        ----------
        n_rows : int
            Rows there are now.
        new : array of shape (m, columns), optional
            Those that came since the fit; some of them do.

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
        """The share of what rows differ by from the mean that ``directions_`` do not hold."""
        R = prepare(self._checked(X), self.rooted_) - self.mean_
        return _lost(R, R @ self.directions_)

    def _checked(self, X: Any) -> Rows:
        check_is_fitted(self)
        found: Rows = rows(X, "X")
        if (width := found.shape[1]) != len(self.mean_):
            raise InvalidInput(f"X has {width} columns; {len(self.mean_)} expected, as in fit")
        return found

    # -- files ------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Everything ``transform`` needs, in one file without code."""
        check_is_fitted(self)
        save_arrays(
            path,
            self.kind,
            {**self.get_params(deep=False), **{name: getattr(self, f"{name}_") for name in _KEPT}},
            {"mean": self.mean_, "directions": self.directions_, "stretch": self.stretch_},
        )

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """What :meth:`save` wrote."""
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
    """(1): rows of unit length, after their roots where asked; negative entries have root 0."""
    made = np.empty(X.shape)
    for start in range(0, len(X), _BLOCK):
        # In blocks, since NumPy squares all it is to take the length of, in a matrix of its own.
        block = made[start : start + _BLOCK]
        block[:] = X[start : start + _BLOCK]
        if rooted:
            np.sqrt(np.maximum(block, 0.0, out=block), out=block)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        np.divide(block, norms, out=block, where=norms > 0)
    return made


def unit(X: Floats) -> Floats:
    """Rows of unit length; a row of zeros stays one."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(np.divide(X, norms, out=np.zeros_like(X), where=norms > 0))


def _of_unit_sum(parts: Floats) -> Floats:
    """Parts of a row, divided by its length."""
    length = float(np.linalg.norm(parts.sum(axis=0)))
    return parts / length if length > 0 else np.zeros_like(parts)


def voters(R: Floats) -> NDArray[np.int64]:
    """(2): numbers of the rows that are no copies of earlier ones, in order.

    A burst neighbours itself only, and where bursts are many C is what copies differ by.  The mean
    difference is taken again without the copies found, until there are none: a scene that fills
    the collection would make it small.  Where fewer than SHARE rows would be left all take part:
    copies are then what the collection consists of.

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
    """Rows in turn, each left out that has a squared difference of NEAR or less to one before."""
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
    """Some rows, in order, moved to the front of their own matrix: there is no second one."""
    for start in range(0, len(part), _BLOCK):
        some = part[start : start + _BLOCK]
        R[start : start + len(some)] = R[some]
    return R[: len(part)]


def mutual_neighbours(P: Floats, n_neighbors: int) -> NDArray[np.int64]:
    """(4): pairs (i, j), i < j, each among the other's nearest rows.

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
        values, vectors = np.linalg.eigh(R @ R.T)
        values = values[n - count :]
        made = R.T @ vectors[:, n - count :]
        made /= np.maximum(np.linalg.norm(made, axis=0), np.finfo(float).tiny)
    else:
        # numpy's: a tenth slower than scipy's for some of them, and a second of imports cheaper.
        values, made = np.linalg.eigh(R.T @ R)
        values, made = values[d - count :], made[:, d - count :]
    keep = values > values.max(initial=0.0) * 1e-10
    made = made[:, keep][:, ::-1] if keep.any() else made[:, -1:]
    signs = np.sign(made[np.abs(made).argmax(axis=0), np.arange(made.shape[1])])
    return np.ascontiguousarray(made * np.where(signs == 0, 1.0, signs))


def _lost(R: Floats, P: Floats) -> float:
    """The share of the squares of R that its coordinates P do not hold."""
    # No array of squares: R is the largest thing there is while a space is fitted.
    of_all, held = float(np.einsum("ij,ij->", R, R)), float(np.einsum("ij,ij->", P, P))
    return max(0.0, 1 - held / of_all) if of_all > 0 else 0.0


def _stretch(P: Floats, pairs: NDArray[np.int64], t: float, prior: float) -> Floats:
    """(5) and (6): L with L L' = C^-1 - t T^-1; ``prior`` is m_0."""
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
    if values[-1] <= 0:  # Neighbours differ as strangers do, in every direction.
        return np.eye(k)
    # Only ratios count: rows get unit length.
    return np.asarray(vectors * np.sqrt(np.maximum(values / values[-1], FLOOR)))


def _pair_scale(Z: Floats, pairs: NDArray[np.int64]) -> float:
    """(9): half the mean squared difference of neighbours, a column; without any, of strangers.

    The trace of the neighbours' covariance over its width: the unit in which
    :class:`likewise_methods.spaces.local_metric.LocalMetric` measures the pairs people judged.
    """
    if not len(pairs):
        return float(1 / Z.shape[1])
    D = Z[pairs[:, 0]] - Z[pairs[:, 1]]
    return float(max(np.mean(D**2) / 2, 1e-6 / Z.shape[1]))
