"""The Fisher vector: the gradient of a mixture's log likelihood for a picture's descriptors.

Perronnin et al. (2010), the improved version: descriptors are projected (PCA) and assigned to the
components of a mixture with diagonal covariances by shares g; with u = (x - m_k) / s_k the parts
are ``sum g u / (N sqrt(w_k))`` and ``sum g (u² - 1) / (N sqrt(2 w_k))``, then a signed root and
unit length (docs/methods/psc.md, (18)).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from likewise_methods.coding.aggregate import checked_power, rooted_sums, unit_rows
from likewise_methods.coding.mixture import Mixture, Sums, fit_mixture
from likewise_methods.coding.word_search import (
    Descriptors,
    Floats,
    batches_of,
    pictures_of,
    sampled_rows,
)
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import generator, whole


class FisherVector(Transformer):
    """Gradients of a mixture: one vector per picture, of ``2 * components * dimensions`` numbers.

    A picture is an array of descriptors, or an iterator of such arrays (batches).

    Parameters
    ----------
    n_components : int, default=256
        Number of Gaussians.
    n_dims : int or None, default=80
        Columns after the projection; None for no projection.
    power : float, default=0.5
        Exponent of the signed root, above 0 and at most 1.
    n_iter : int, default=12
        Rounds of expectation maximisation, after k-means.
    sample : int, optional
        Most descriptors for training; by default 1,000 per component.
    random_state : int, Generator or None, default=None
        Seed of the sample and the start.

    Attributes
    ----------
    mixture_ : Mixture
        Weights, means and variances.
    mean_, directions_ : array
        The projection (None without one).
    history_ : list of float
        Mean log likelihood of the sample before each round.
    n_features_in_ : int
        Columns of a descriptor.

    See Also
    --------
    VLAD : uses words.
    SpatialPyramid : pools codes per region.

    References
    ----------
    Perronnin et al., 2010.

    docs/methods/psc.md, (18).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> coder = FisherVector(n_components=4, n_dims=3, random_state=0).fit(X)
    >>> coder.transform([X[:50], X[50:]]).shape
    (2, 24)
    """

    def __init__(
        self,
        n_components: int = 256,
        *,
        n_dims: int | None = 80,
        power: float = 0.5,
        n_iter: int = 12,
        sample: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_dims = n_dims
        self.power = power
        self.n_iter = n_iter
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Descriptors, y: object = None) -> Self:
        """Learn the projection and the mixture.

        Parameters
        ----------
        X : array of shape (n, columns), or iterable of such arrays
            Descriptors.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        n_components = whole(self.n_components, "n_components")
        checked_power(self.power)
        n_iter = whole(self.n_iter, "n_iter")
        size = 1_000 * n_components if self.sample is None else whole(self.sample, "sample")
        rng = generator(self.random_state)
        drawn = sampled_rows(X, size, rng)
        if len(drawn) < n_components:
            raise InvalidInput(
                f"{len(drawn)} descriptors for {n_components} components; at least one each "
                "expected"
            )
        self.n_features_in_ = drawn.shape[1]
        self._fit_projection(drawn)
        self.mixture_: Mixture
        self.mixture_, self.history_ = fit_mixture(
            self._project(drawn), n_components, n_iter=n_iter, rng=rng
        )
        return self

    def transform(self, pictures: Any) -> Floats:
        """Return one row per picture.

        Parameters
        ----------
        pictures : iterable of pictures, or one array
            Each an array of descriptors, or an iterator of such arrays.

        Returns
        -------
        float32 array of shape (pictures, 2 * components * dimensions)
            Rows of unit length, or zero.
        """
        check_is_fitted(self, "mixture_")
        made = [self.encode(picture) for picture in pictures_of(pictures)]
        width = 2 * self.mixture_.means.size
        return np.stack(made) if made else np.zeros((0, width), np.float32)

    def encode(self, picture: Any) -> Floats:
        """Return the vector of one picture; zero without descriptors."""
        return self.vector(self.sums(picture))

    def sums(self, picture: Any) -> Sums:
        """Return the sums behind a vector; those of regions add up (``plus``)."""
        check_is_fitted(self, "mixture_")
        total = Sums.none(self.mixture_.means.shape)
        for batch in batches_of(picture):
            part = self._project(rows(batch, "X", self.n_features_in_))
            total = total.plus(self.mixture_.sums(part))
        return total

    def vector(self, found: Sums) -> Floats:
        """The vector of descriptors with these sums."""
        # Each descriptor's shares sum to one: together they count the descriptors.
        gradient = _gradient(self.mixture_, found, max(float(found.shares.sum()), 1.0))
        rooted = rooted_sums(gradient, checked_power(self.power))
        made: Floats = unit_rows(rooted.reshape(1, -1))[0].astype(np.float32)
        return made

    def _fit_projection(self, drawn: Floats) -> None:
        self.mean_: Floats | None = None
        self.directions_: Floats | None = None
        if self.n_dims is None:
            return
        n_dims = whole(self.n_dims, "n_dims")
        if n_dims > drawn.shape[1]:
            raise InvalidInput(f"n_dims is {n_dims}; descriptors have {drawn.shape[1]} columns")
        centre = drawn.mean(axis=0, dtype=np.float64)
        centred = drawn - centre
        _, vectors = np.linalg.eigh(centred.T @ centred / len(drawn))
        kept = vectors[:, ::-1][:, :n_dims].T
        # A sign that does not depend on the solver: the largest entry is positive.
        largest = kept[np.arange(n_dims), np.abs(kept).argmax(axis=1)]
        self.mean_ = centre.astype(np.float32)
        self.directions_ = (kept * np.sign(largest)[:, None]).astype(np.float32)

    def _project(self, X: ArrayLike) -> Floats:
        if self.directions_ is None or self.mean_ is None:
            return np.asarray(X, np.float32)
        made: Floats = (np.asarray(X) - self.mean_) @ self.directions_.T
        return made


def _gradient(mixture: Mixture, found: Sums, n: float) -> Any:
    """Return both parts from the sums, in shape (2, components, dimensions)."""
    w, m, v = mixture.weights[:, None], mixture.means, mixture.variances
    shares = found.shares[:, None]
    mean_part = (found.first - shares * m) / np.sqrt(v) / (n * np.sqrt(w))
    squares = (found.second - 2 * m * found.first + shares * m**2) / v
    variance_part = (squares - shares) / (n * np.sqrt(2 * w))
    return np.stack([mean_part, variance_part])
