"""PCA whitening: few columns with equal variances.

Jégou and Chum (2012): subtract the mean, keep the strongest directions, divide each by the root of
its variance (plus ``ridge``), scale to unit length.  Sparse rows stay sparse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise_methods.coding.linear import products
from likewise_methods.coding.pooling import normalise_rows
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Transformer, check_is_fitted
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import number, whole

Floats = NDArray[np.float32]


class Whitening(Transformer):
    """Map rows (dense or CSR) to ``n_components`` whitened columns, of unit length.

    Parameters
    ----------
    n_components : int, default=128
        Number of columns; fewer than the rows given to ``fit``.
    ridge : float, default=0.0
        Added to each variance, as a share of the largest; 0 whitens fully.
    normalise : bool, default=True
        Scale rows to unit length at the end.

    Attributes
    ----------
    mean_ : array of shape (columns,)
        The mean row.
    directions_ : array of shape (n_components, columns)
        Directions divided by the roots of the variances.
    variances_ : array of shape (n_components,)
        Variances along the directions.
    n_features_in_ : int
        Columns of a row.

    See Also
    --------
    likewise_methods.spaces.FittedSpace : also uses the differences of neighbours.

    References
    ----------
    Jégou and Chum, 2012.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [9.0, 3.0, 1.0]
    >>> made = Whitening(2, normalise=False).fit_transform(X)
    >>> made.std(axis=0).round(2)
    array([1., 1.], dtype=float32)
    """

    kind: ClassVar[str] = "whitening"

    def __init__(
        self, n_components: int = 128, *, ridge: float = 0.0, normalise: bool = True
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.normalise = normalise

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn mean, directions and variances.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.
        y : object, optional
            Ignored.

        Returns
        -------
        self
        """
        n_components = whole(self.n_components, "n_components")
        number(self.ridge, "ridge", least=0)
        X = _matrix(X)
        n, width = X.shape
        if n < 2:
            raise InvalidInput(f"n_samples = {n}; at least 2 rows expected")
        if n_components > min(n - 1, width):
            raise InvalidInput(
                f"{n_components} components from {n} rows of {width} columns; "
                f"at most {min(n - 1, width)} expected"
            )
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)
        self.variances_, vectors = _principal(X, mean, n_components)
        largest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
        vectors *= np.where(largest < 0, -1, 1)[:, None]
        scale = self.variances_ + self.ridge * self.variances_[0]
        # A direction without variance is 0 rather than infinite.
        flat = scale <= 1e-12 * max(self.variances_[0], np.finfo(float).tiny)
        factors = np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, scale)))
        self.mean_ = mean.astype(np.float32)
        self.directions_ = (vectors * factors[:, None]).astype(np.float32)
        self.n_features_in_ = width
        return self

    def transform(self, X: Any) -> Floats:
        """Return whitened rows, dense float32.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            Rows.

        Returns
        -------
        array of shape (n, n_components)
        """
        check_is_fitted(self, "directions_")
        X = _matrix(X, self.n_features_in_)
        made = np.asarray(X @ self.directions_.T, np.float32)
        # After the product, so that sparse rows stay sparse.
        made -= (self.mean_.astype(np.float64) @ self.directions_.T).astype(np.float32)
        return normalise_rows(made, "l2") if self.normalise else made

    def save(self, path: str | Path) -> None:
        """Write one checksummed file."""
        check_is_fitted(self, "directions_")
        save_arrays(path, self.kind, *self.pack())

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a saved file; raise ``DamagedFile`` if it was altered."""
        try:
            return cls.unpack(*open_arrays(path, cls.kind))
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path}: not a usable whitening ({error})") from error

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return plain values and arrays for ``unpack``."""
        meta = {"ridge": float(self.ridge), "normalise": bool(self.normalise)}
        arrays = {
            "mean": self.mean_,
            "directions": self.directions_,
            "variances": self.variances_,
        }
        return meta, arrays

    @classmethod
    def unpack(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Create a whitening from the result of ``pack``; raise KeyError or ValueError."""
        directions = arrays["directions"].astype(np.float32)
        made = cls(len(directions), ridge=meta["ridge"], normalise=meta["normalise"])
        made.mean_ = arrays["mean"].astype(np.float32)
        made.directions_ = directions
        made.variances_ = arrays["variances"].astype(np.float64)
        if directions.ndim != 2 or made.mean_.shape != directions.shape[1:]:
            raise ValueError(f"mean {made.mean_.shape}, directions {directions.shape}")
        made.n_features_in_ = directions.shape[1]
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _matrix(X: Any, width: int | None = None) -> Any:
    """Return finite float32 rows, dense or CSR."""
    if not sparse.issparse(X):
        return rows(X, "X", width)
    made: Any = sparse.csr_array(X, dtype=np.float32)  # type: ignore[call-overload]
    if width is not None and made.shape[1] != width:
        raise InvalidInput(f"X has {made.shape[1]} columns; {width} expected")
    if not np.isfinite(made.data).all():
        raise InvalidInput("X has NaN or inf")
    return made


def _principal(X: Any, mean: Any, n_components: int) -> tuple[Any, Any]:
    """Return the largest variances and their unit directions, one per row, in float64."""
    n, width = X.shape
    if width <= n:
        covariance = products(X.T) / n - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        order = np.argsort(values, kind="stable")[::-1][:n_components]
        return np.maximum(values[order], 0), np.ascontiguousarray(vectors[:, order].T)
    # Fewer rows than columns: the products of the rows have the same spectrum.
    along = np.asarray(X @ mean, np.float64).reshape(-1)
    centred = products(X) - along[:, None] - along[None] + mean @ mean
    values, vectors = np.linalg.eigh(centred / n)
    order = np.argsort(values, kind="stable")[::-1][:n_components]
    weights = np.ascontiguousarray(vectors[:, order].T)
    directions = np.asarray((X.T @ weights.T).T, np.float64)
    directions -= weights.sum(axis=1, keepdims=True) * mean
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.maximum(values[order], 0), directions / np.where(norms > 0, norms, 1)
