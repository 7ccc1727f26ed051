"""Base classes of OASIS and LEGO: one weight per word, or a full matrix (up to 10,000 words)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.solis.base import OnlineLearner, Saved, WeightedSimilarity, scatter
from likewise_methods.solis.rival_kernels import LOSSES, ROUNDS
from likewise_methods.solis.rows import Floats, Triplets
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import one_of

MAX_FULL = 10_000
_CHUNK = 1000
_FORMS = ("diagonal", "full")


class OnlineRival(OnlineLearner):
    """A learner of weights or a matrix that starts at ones or the identity."""

    form: str
    _state: Floats
    _counters: NDArray[np.int64]
    _begun_with: dict[str, Any]

    @property
    def weights_(self) -> Floats:
        """Weights, float64, one per word; read-only.  The full form has ``matrix_``."""
        if self._is_full():
            raise AttributeError("the full form has no weights_; see matrix_")
        view = self._state.view()
        view.flags.writeable = False
        return view

    @property
    def matrix_(self) -> Floats:
        """Matrix, float64, words by words."""
        if not self._is_full():
            self._refuse_large(len(self._state))
            return np.diag(self._state)
        view = self._state.view()
        view.flags.writeable = False
        return view

    @property
    def sparsity_(self) -> float:
        """Share of weights (or entries of the matrix) that are exactly zero."""
        check_is_fitted(self)
        return float(np.mean(self._state == 0))

    @property
    def changed_(self) -> float:
        """Share of weights (or entries of the matrix) that differ from the start."""
        check_is_fitted(self)
        start = np.eye(len(self._state)) if self._is_full() else 1.0
        return float(np.mean(self._state != start))

    @property
    def n_rounds_(self) -> int:  # type: ignore[override]
        """Triplets learnt from."""
        return int(self._counters[ROUNDS])

    @property
    def n_losses_(self) -> int:  # type: ignore[override]
        """Triplets that caused an update."""
        return int(self._counters[LOSSES])

    def similarity(self, A: Any, B: Any) -> Floats:
        """Return the similarity of every row of A with every row of B, float64."""
        if not self._is_full():
            return super().similarity(A, B)
        left, right = self._matrix(A, "A"), self._matrix(B, "B")
        return np.asarray((right @ (left @ self._state).T).T)

    def _margins(self, rows: Rows, triplets: Triplets) -> Floats:
        if not self._is_full():
            return super()._margins(rows, triplets)
        values = rows.values.astype(np.float64)
        shape = (len(rows.ends) - 1, rows.width)
        X = sp.csr_array((values, rows.words.astype(np.int64), rows.ends), shape=shape)
        out = np.empty(len(triplets))
        for at in range(0, len(triplets), _CHUNK):
            a, p, n = triplets[at : at + _CHUNK].T
            out[at : at + _CHUNK] = self._full_margins(X[a], X[p], X[n])
        return out

    def _full_margins(self, x: Any, nearer: Any, farther: Any) -> Floats:
        gap = (nearer - farther).toarray()
        return np.asarray(np.einsum("ij,ij->i", x @ self._state, gap))

    def _start_weight(self) -> float:
        return 1.0

    def _is_full(self) -> bool:
        return hasattr(self, "_state") and self._state.ndim == 2

    # -- learning ---------------------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> dict[str, Any]:
        """Return the validated parameters."""

    def _begin(self, rows: Rows, triplets: Triplets) -> None:
        given = {**self._check_parameters(), "form": one_of(self.form, "form", _FORMS)}
        full = given["form"] == "full"
        if full:
            self._refuse_large(rows.width)
        self._measure(rows, triplets, given)
        self._state = np.eye(rows.width) if full else np.ones(rows.width)
        self._counters = np.zeros(2, np.int64)
        self._begun_with = given
        self.n_features_in_ = rows.width

    @abstractmethod
    def _measure(self, rows: Rows, triplets: Triplets, given: dict[str, Any]) -> None:
        """Set ``scales_``."""

    def _resume(self) -> None:
        given = {**self._check_parameters(), "form": one_of(self.form, "form", _FORMS)}
        for name, value in given.items():
            if value != self._begun_with[name]:
                raise InvalidInput(
                    f"{name} is {value!r}, but learning began with {self._begun_with[name]!r}; "
                    "set it back, or begin anew with fit"
                )

    @staticmethod
    def _refuse_large(width: int) -> None:
        if width > MAX_FULL:
            raise InvalidInput(
                f"a full matrix over {width} words is refused (at most {MAX_FULL}); "
                "use form='diagonal'"
            )

    # -- saving -----------------------------------------------------------------------------

    def _pack_state(self) -> Saved:
        touched = (
            np.arange(len(self._state)) if self._is_full() else np.flatnonzero(self._state != 1)
        )
        meta = {"width": self.n_features_in_, "scales": self.scales_}
        return meta, {"words": touched, "state": self._state[touched], "counters": self._counters}

    def _restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        given = {**self._check_parameters(), "form": one_of(self.form, "form", _FORMS)}
        width = int(meta["width"])
        state = scatter(arrays["words"], arrays["state"], width, fill=1.0)
        counters = arrays["counters"].astype(np.int64)
        shape = (width, width) if given["form"] == "full" else (width,)
        if state.shape != shape or counters.shape != (2,):
            raise ValueError(f"state of shape {state.shape}, {len(counters)} counters")
        self._state, self._counters, self._begun_with = state, counters, given
        self.scales_ = {str(name): float(value) for name, value in meta["scales"].items()}
        self.n_features_in_ = width


class MinusDistance(WeightedSimilarity):
    """A learner of a metric: similarity is minus the squared weighted distance."""

    def similarity(self, A: Any, B: Any) -> Floats:
        """Return minus the distance of every row of A to every row of B."""
        inner = super().similarity(A, B)
        left, right = (self._powers(self._matrix(X, n)) for X, n in ((A, "A"), (B, "B")))
        return np.asarray(2 * inner - left[:, None] - right[None, :])

    def _margins(self, rows: Rows, triplets: Triplets) -> Floats:
        # d(x, x-) - d(x, x+) = 2 w.z - (x+'Wx+ - x-'Wx-)
        inner = super()._margins(rows, triplets)
        values = rows.values.astype(np.float64)
        shape = (len(rows.ends) - 1, rows.width)
        X = sp.csr_array((values, rows.words.astype(np.int64), rows.ends), shape=shape)
        power = self._powers(X)
        return np.asarray(2 * inner - (power[triplets[:, 1]] - power[triplets[:, 2]]))

    def _powers(self, X: Any) -> Floats:
        """Return x'Wx of every row."""
        matrix = getattr(self, "_state", None)
        if matrix is not None and matrix.ndim == 2:
            return np.asarray(X.multiply(X @ matrix).sum(axis=1)).reshape(-1)
        return np.asarray(X.power(2) @ self.weights_)
