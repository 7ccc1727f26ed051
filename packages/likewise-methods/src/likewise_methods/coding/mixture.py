"""A Gaussian mixture with diagonal covariances, for Fisher vectors.

Training and coding need three sums over the rows, weighted by posteriors: of 1, x and x².
Posteriors come from two matrix products (``log p = const + x·(m / v) - x²·(1 / 2v)``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.coding.kmeans import approximate_kmeans

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

_ROWS_AT_ONCE = 4_096
# Smallest variance, as a share of the whole data's.
_LEAST_VARIANCE = 1e-2


class Sums(NamedTuple):
    """Sums over rows: each component's share, sum and sum of squares; log likelihood."""

    shares: Doubles
    first: Doubles
    second: Doubles
    likelihood: float

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> Sums:
        """Return the sums of no rows; ``shape`` is (components, columns)."""
        return cls(np.zeros(shape[0]), np.zeros(shape), np.zeros(shape), 0.0)

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(
            self.shares + other.shares,
            self.first + other.first,
            self.second + other.second,
            self.likelihood + other.likelihood,
        )


class Mixture(NamedTuple):
    """Weights, means and variances of the components."""

    weights: Doubles
    means: Doubles
    variances: Doubles

    def posteriors(self, X: Floats) -> tuple[Floats, Doubles]:
        """Return the components' shares of each row, and the log likelihoods."""
        precision = 1 / self.variances
        const = (
            np.log(self.weights)
            - 0.5 * np.log(2 * np.pi * self.variances).sum(axis=1)
            - 0.5 * (self.means**2 * precision).sum(axis=1)
        )
        logs = X @ (self.means * precision).T.astype(np.float32)
        logs -= (X**2) @ (0.5 * precision).T.astype(np.float32)
        logs += const.astype(np.float32)
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - top)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        return shares, (top[:, 0] + np.log(total[:, 0])).astype(np.float64)

    def sums(self, X: Floats) -> Sums:
        """Return the sums over the rows of ``X``, computed in blocks."""
        total = Sums.none(self.means.shape)
        for a in range(0, len(X), _ROWS_AT_ONCE):
            part = X[a : a + _ROWS_AT_ONCE]
            posterior, logs = self.posteriors(part)
            first = (posterior.T @ part).astype(np.float64)
            second = (posterior.T @ part**2).astype(np.float64)
            shares = posterior.sum(axis=0, dtype=np.float64)
            total = total.plus(Sums(shares, first, second, float(logs.sum())))
        return total


def fit_mixture(
    X: Floats, n_components: int, *, n_iter: int, rng: np.random.Generator
) -> tuple[Mixture, list[float]]:
    """Fit a mixture by expectation maximisation from k-means; return it and the log likelihoods.

    A component with almost no rows moves to a row with a low likelihood.
    """
    start, _ = approximate_kmeans(X, n_components, n_iter=5, n_near=min(32, n_components), rng=rng)
    spread = X.var(axis=0, dtype=np.float64) + 1e-12
    least = _LEAST_VARIANCE * spread
    mixture = Mixture(
        np.full(n_components, 1 / n_components),
        start.astype(np.float64),
        np.tile(spread / max(n_components ** (2 / X.shape[1]), 1.0), (n_components, 1)),
    )
    history = []
    for _ in range(n_iter):
        found = mixture.sums(X)
        history.append(found.likelihood / len(X))
        alive = found.shares > 1.0
        count = np.where(alive, found.shares, 1.0)[:, None]
        means = np.where(alive[:, None], found.first / count, mixture.means)
        squares = np.where(alive[:, None], found.second / count, mixture.means**2)
        variances = np.maximum(squares - means**2, least)
        weights = np.where(alive, found.shares, 1.0)
        dead = np.flatnonzero(~alive)
        if len(dead):
            means[dead] = X[_badly_fitted(mixture, X, len(dead), rng)]
            variances[dead] = spread
        mixture = Mixture(weights / weights.sum(), means, variances)
    return mixture, history


def _badly_fitted(
    mixture: Mixture, X: Floats, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the rows with the lowest likelihood of a random sample."""
    drawn = rng.choice(len(X), min(len(X), _ROWS_AT_ONCE), replace=False)
    _, logs = mixture.posteriors(X[drawn])
    return np.resize(drawn[np.argsort(logs, kind="stable")], count)
