"""KernelMap: places in an embedding for pictures without comparisons, from their features.

RBF kernel ridge (docs/methods/ordinal.md, (15)): with K_ij = exp(-gamma |f_i - f_j|^2) and centred
places Y, the coefficients are C = (K + alpha I)^-1 Y and a new picture lies at k(f) C + mean.  With
many pictures, K is approximated through some of them (Nystroem): with landmarks Z, C solves (K_zn
K_nz + alpha K_zz) C = K_zn Y, which is the same C when Z has all pictures (docs/methods/ordinal.md,
(16)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.lazy_imports import linalg
from likewise_methods.validation import finite_rows, generator, is_number, refuse, whole

Floats = NDArray[np.float64]

_CHUNK = 4_096
_SAMPLE = 500
"""Rows whose distances determine the width of the kernel."""
_GAMMAS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the median heuristic that ``gamma="cv"`` tries."""
_ALPHAS = (1e-3, 1e-2, 0.1, 1.0)
_JITTER = 1e-10


class KernelMap(Transformer):
    """RBF kernel ridge from features to an embedding.

    Parameters left open are chosen by the leave-one-out error, which has a closed form.

    Parameters
    ----------
    gamma : float, "median" or "cv", default="median"
        Width of the kernel; "median" is 1 / (2 median |f - g|^2).
    alpha : float or "cv", default=0.1
        The ridge penalty.
    n_landmarks : int, default=2000
        With more rows, this many are drawn as landmarks.
    random_state : int, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    landmarks_ : array of shape (landmarks, columns)
        Rows of features.
    coefficients_ : array of shape (landmarks, dimensions)
        The coefficients C.
    mean_ : array of shape (dimensions,)
        The mean place.
    gamma_, alpha_ : float
        The values in use.
    loo_error_ : float
        The root mean squared distance between the place of a row and the place predicted from the
        others, on the rows it was measured with.

    See Also
    --------
    OrdinalEmbedding : makes the embedding.

    References
    ----------
    docs/methods/ordinal.md, (15) and (16).

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> places = np.hstack([X, X**2])
    >>> made = KernelMap(alpha=1e-4).fit(X, places)
    >>> made.transform([[0.5]]).round(2).tolist()
    [[0.5, 0.25]]
    """

    landmarks_: Floats
    coefficients_: Floats
    mean_: Floats

    def __init__(
        self,
        gamma: float | Literal["median", "cv"] = "median",
        alpha: float | Literal["cv"] = 0.1,
        n_landmarks: int = 2_000,
        random_state: Any = 0,
    ) -> None:
        self.gamma = gamma
        self.alpha = alpha
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, embedding: Any) -> Self:
        """Learn from rows of features and the place of each.

        Parameters
        ----------
        X : array of shape (n, columns)
            Features.
        embedding : array of shape (n, dimensions)
            Places.

        Returns
        -------
        self
        """
        self._check()
        X = _matrix(X, "X")
        Y = _matrix(embedding, "embedding")
        if len(X) != len(Y):
            raise InvalidInput(f"X has {len(X)} rows and embedding {len(Y)}; as many expected")
        if not len(X):
            raise InvalidInput("X has no rows; at least one picture with a place is needed")
        rng = generator(self.random_state)
        self.n_features_in_ = X.shape[1]
        self.mean_ = Y.mean(axis=0)
        some = _some(rng, len(X), _SAMPLE)
        self.gamma_, self.alpha_, self.loo_error_ = self._widths(X[some], Y[some] - self.mean_)
        chosen = _some(rng, len(X), self.n_landmarks)
        self.landmarks_ = X[chosen].copy()
        self.coefficients_ = self._solve(X, Y - self.mean_, whole=len(chosen) == len(X))
        return self

    def transform(self, X: Any) -> Floats:
        """Return the place of each row.

        Parameters
        ----------
        X : array of shape (n, columns)
            Features.

        Returns
        -------
        array of shape (n, dimensions)
        """
        check_is_fitted(self)
        X = _matrix(X, "X")
        if X.shape[1] != self.n_features_in_:
            raise InvalidInput(f"X has {X.shape[1]} columns; {self.n_features_in_} expected")
        out = np.empty((len(X), len(self.mean_)))
        for start in range(0, len(X), _CHUNK):
            rows = slice(start, start + _CHUNK)
            out[rows] = rbf(X[rows], self.landmarks_, self.gamma_) @ self.coefficients_
        return out + self.mean_

    def state(self) -> dict[str, Floats]:
        """Return everything ``transform`` needs, as plain arrays."""
        check_is_fitted(self)
        return {
            "landmarks": self.landmarks_,
            "coefficients": self.coefficients_,
            "mean": self.mean_,
            "widths": np.array([self.gamma_, self.alpha_, self.loo_error_]),
        }

    @classmethod
    def from_state(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the fitted map of a ``state``."""
        try:
            landmarks, coefficients, mean, widths = (
                np.asarray(arrays[name], np.float64)
                for name in ("landmarks", "coefficients", "mean", "widths")
            )
            fits = coefficients.shape == (len(landmarks), len(mean)) and widths.shape == (3,)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"no state of a KernelMap: {error!r}") from error
        if landmarks.ndim != 2 or mean.ndim != 1 or not fits:
            raise InvalidInput("no state of a KernelMap: its arrays do not fit each other")
        made = cls(gamma=float(widths[0]), alpha=float(widths[1]), n_landmarks=len(landmarks))
        made.landmarks_, made.coefficients_, made.mean_ = landmarks, coefficients, mean
        made.gamma_, made.alpha_, made.loo_error_ = (float(width) for width in widths)
        made.n_features_in_ = landmarks.shape[1]
        return made

    def _check(self) -> None:
        for name, words in (("gamma", ("median", "cv")), ("alpha", ("cv",))):
            value = getattr(self, name)
            named = isinstance(value, str) and value in words
            if not named and not (is_number(value) and value > 0):
                said = " or ".join(map(repr, words))
                raise refuse(name, value, f"a finite number above 0 or {said}")
        whole(self.n_landmarks, "n_landmarks")

    def _widths(self, X: Floats, Y: Floats) -> tuple[float, float, float]:
        """Return (gamma, alpha, leave-one-out error); open parameters minimise that error."""
        squares = squared_distances(X, X)
        apart = squares[np.triu_indices(len(X), 1)]
        middle = float(np.median(apart)) if len(apart) else 0.0
        # If more than half of the distances are 0, use their mean.
        middle = middle or float(apart.mean() if len(apart) else 0.0) or 1.0
        usual = 1.0 / (2.0 * middle)
        if self.gamma == "cv":
            gammas = [times * usual for times in _GAMMAS]
        else:
            gammas = [usual if self.gamma == "median" else float(self.gamma)]
        alphas = list(_ALPHAS) if self.alpha == "cv" else [float(self.alpha)]
        best = (np.inf, gammas[0], alphas[0])
        for gamma in gammas:
            values, vectors = linalg.eigh(np.exp(-gamma * squares))
            values = np.maximum(values, 0.0)
            turned = vectors.T @ Y
            for alpha in alphas:
                scale = 1.0 / (values + alpha)
                # The residual of row i left out is C_i / [(K + alpha I)^-1]_ii.
                inner = np.einsum("ij,j,ij->i", vectors, scale, vectors)
                residual = (vectors @ (scale[:, None] * turned)) / inner[:, None]
                error = float(np.sqrt((residual**2).sum(axis=1).mean()))
                best = min(best, (error, gamma, alpha))
        error, gamma, alpha = best
        return gamma, alpha, error

    def _solve(self, X: Floats, Y: Floats, *, whole: bool) -> Floats:
        Z = self.landmarks_
        inner = rbf(Z, Z, self.gamma_)
        if whole:
            inner[np.diag_indices_from(inner)] += self.alpha_
            return _solve_psd(inner, Y)
        left, right = self.alpha_ * inner, np.zeros((len(Z), Y.shape[1]))
        for start in range(0, len(X), _CHUNK):
            rows = slice(start, start + _CHUNK)
            cross = rbf(X[rows], Z, self.gamma_)
            left += cross.T @ cross
            right += cross.T @ Y[rows]
        return _solve_psd(left, right)


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Return |a - b|^2 for all rows of A and B, centred so that rounding errors stay small."""
    origin = B.mean(axis=0) if len(B) else 0.0
    A, B = A - origin, B - origin
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :] - 2.0 * (A @ B.T)
    made: Floats = np.maximum(squares, 0.0)
    return made


def rbf(A: Floats, B: Floats, gamma: float) -> Floats:
    """Return exp(-gamma |a - b|^2) for all rows of A and B."""
    made: Floats = np.exp(-gamma * squared_distances(A, B))
    return made


def _solve_psd(left: Floats, right: Floats) -> Floats:
    """Solve a positive semi-definite system, with jitter where landmarks nearly coincide."""
    jitter = 0.0
    while True:
        try:
            made = left.copy()
            made[np.diag_indices_from(made)] += jitter
            found: Floats = linalg.cho_solve(linalg.cho_factor(made, lower=True), right)
            return found
        except linalg.LinAlgError:
            scale = max(float(np.trace(left)) / len(left), 1e-300)
            jitter = max(10.0 * jitter, _JITTER * scale)


def _some(rng: np.random.Generator, n: int, most: int) -> NDArray[np.int64]:
    """Return at most ``most`` of n row numbers, in order."""
    if n <= most:
        return np.arange(n)
    made: NDArray[np.int64] = np.sort(rng.choice(n, most, replace=False))
    return made


def _matrix(X: Any, name: str) -> Floats:
    made: Floats = finite_rows(X, name, dtype=np.float64)
    return made
