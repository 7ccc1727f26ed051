"""Base classes of all learners from triplets: interface, validation, saving.

A learner defines ``_begin``, ``_learn`` and ``weights_``.  ``fit`` starts again and ``partial_fit``
continues; both validate all input first, so bad input leaves a learner unchanged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, check_is_fitted
from likewise_methods.lazy_imports import sparse as sp
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.solis.margin_kernels import margins, new_work
from likewise_methods.solis.rows import Floats, Triplets, as_rows, as_sample_weight, as_triplets
from likewise_methods.sparse_rows import Rows

Saved = tuple[dict[str, Any], dict[str, NDArray[Any]]]


class WeightedSimilarity(Estimator, ABC):
    """A scikit-learn style learner of the weights in S_w(a, b) = sum_j w_j a_j b_j.

    Every learner has ``weights_``, ``sparsity_``, ``changed_``, ``scales_`` (parameters measured or
    used) and ``n_features_in_``.  Batch learners (QPAO) have ``objective_`` and ``n_iter_``, and
    none of the methods and attributes of :class:`OnlineLearner`.
    """

    n_features_in_: int
    scales_: dict[str, float]

    @property
    @abstractmethod
    def weights_(self) -> Floats:
        """float64, one per word; read-only."""

    @property
    def sparsity_(self) -> float:
        """Share of words whose weight is exactly zero."""
        check_is_fitted(self)
        return float(np.mean(self.weights_ == 0))

    @property
    def changed_(self) -> float:
        """Share of words whose weight differs from the one it started with."""
        check_is_fitted(self)
        return float(np.mean(self.weights_ != self._start_weight()))

    @abstractmethod
    def _start_weight(self) -> float: ...

    def similarity(self, A: Any, B: Any) -> Floats:
        """Return S_w of every row of A with every row of B, float64; higher is more similar.

        Parameters
        ----------
        A, B : array or sparse matrix of shapes (n, words) and (m, words)
            One row per picture.

        Returns
        -------
        array of shape (n, m)
        """
        check_is_fitted(self)
        left, right = self._matrix(A, "A"), self._matrix(B, "B")
        return np.asarray((left.multiply(self.weights_[None, :]).tocsr() @ right.T).toarray())

    def margins(self, X: Any, triplets: Any) -> Floats:
        """Return S(x, x+) - S(x, x-) of every triplet: w.z.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            One row per picture.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.

        Returns
        -------
        array of shape (m,)
        """
        check_is_fitted(self)
        rows = as_rows(X, self.n_features_in_)
        return self._margins(rows, as_triplets(triplets, len(rows.ends) - 1))

    def score(self, X: Any, triplets: Any) -> float:
        """Return the share of triplets with a positive margin; a tie counts as wrong.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            One row per picture.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return float(np.mean(self.margins(X, triplets) > 0))

    def _margins(self, rows: Rows, triplets: Triplets) -> Floats:
        out = np.empty(len(triplets))
        margins(rows, triplets, self.weights_, new_work(rows, len(triplets)), out)
        return out

    def _matrix(self, X: Any, name: str) -> Any:
        rows = as_rows(X, self.n_features_in_, name)
        values = rows.values.astype(np.float64)
        shape = (len(rows.ends) - 1, rows.width)
        return sp.csr_array((values, rows.words.astype(np.int64), rows.ends), shape=shape)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


class OnlineLearner(WeightedSimilarity):
    """A learner that takes triplets one batch at a time and can be saved.

    ``n_rounds_`` counts the triplets learnt from, ``n_losses_`` those below the margin.
    """

    kind: ClassVar[str]
    n_rounds_: int
    n_losses_: int

    def fit(self, X: Any, triplets: Any, sample_weight: Any = None) -> Self:
        """Start again and learn from the triplets in the given order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            One row per picture.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.
        sample_weight : array of shape (m,), optional
            Multiplies the loss of each triplet; 0 is a round without a loss.

        Returns
        -------
        self
        """
        rows, triplets, sample_weight = self._check_input(X, triplets, sample_weight, None)
        self._begin(rows, triplets)
        self._learn(rows, triplets, sample_weight)
        return self

    def partial_fit(self, X: Any, triplets: Any, sample_weight: Any = None) -> Self:
        """Continue learning; the first call starts.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, words)
            Rows of pictures, as wide as those of the first call.
        triplets : int array of shape (m, 3)
            Rows of X: anchor, nearer, farther.
        sample_weight : array of shape (m,), optional
            Multiplies the loss of each triplet; 0 is a round without a loss.

        Returns
        -------
        self
        """
        going = self.__sklearn_is_fitted__()
        width = self.n_features_in_ if going else None
        rows, triplets, sample_weight = self._check_input(X, triplets, sample_weight, width)
        if going:
            self._resume()
        else:
            self._begin(rows, triplets)
        self._learn(rows, triplets, sample_weight)
        return self

    def _check_input(
        self, X: Any, triplets: Any, sample_weight: Any, width: int | None
    ) -> tuple[Rows, Triplets, Floats]:
        rows = as_rows(X, width)
        triplets = as_triplets(triplets, len(rows.ends) - 1)
        return rows, triplets, as_sample_weight(sample_weight, len(triplets))

    @abstractmethod
    def _begin(self, rows: Rows, triplets: Triplets) -> None:
        """Validate the parameters and create an empty state for ``rows.width`` words."""

    @abstractmethod
    def _resume(self) -> None:
        """Raise InvalidInput if a parameter changed since learning began."""

    @abstractmethod
    def _learn(self, rows: Rows, triplets: Triplets, sample_weight: Floats) -> None:
        """Learn from validated input."""

    # -- saving -----------------------------------------------------------------------------

    @abstractmethod
    def _pack_state(self) -> Saved:
        """Return the exact state: numbers for the header, and arrays of touched words."""

    @abstractmethod
    def _restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None: ...

    def save(self, path: str | Path) -> None:
        """Write the exact state to one checksummed file."""
        check_is_fitted(self)
        meta, arrays = self._pack_state()
        parameters = {}
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, np.random.Generator):
                raise InvalidInput(f"{name} is a Generator, which cannot be saved; use a seed")
            if isinstance(value, (np.ndarray, list, tuple)):
                arrays[f"parameter_{name}"] = np.asarray(value, np.float64)
            else:
                # JSON has no infinity.
                plain = value.item() if isinstance(value, np.generic) else value
                parameters[name] = str(plain) if plain in (np.inf, -np.inf) else plain
        save_arrays(path, self.kind, {**meta, "parameters": parameters}, arrays)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a file that ``save`` wrote; raise ``DamagedFile`` if it was altered."""
        meta, arrays = open_arrays(path, cls.kind)
        try:
            parameters: dict[str, Any] = {
                name: float(value) if value in ("inf", "-inf") else value
                for name, value in meta["parameters"].items()
            }
            for name, value in arrays.items():
                if name.startswith("parameter_"):
                    parameters[name.removeprefix("parameter_")] = value.copy()
            made = cls(**parameters)
            made._restore(meta, arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DamagedFile(f"{path}: not a usable {cls.kind} ({error})") from error
        return made


def scatter(words: NDArray[Any], values: NDArray[Any], width: int, fill: float = 0.0) -> Floats:
    """Return the state of all words from the rows of the touched ones."""
    if len(words) != len(values) or (len(words) and not 0 <= words.min() <= words.max() < width):
        raise ValueError(f"{len(words)} words for {len(values)} values, {width} words in all")
    shape = (width, *values.shape[1:])
    # Memory from zeros() that is never written costs nothing; full() writes everything.
    out = np.full(shape, fill) if fill else np.zeros(shape)
    out[words] = values
    return out
