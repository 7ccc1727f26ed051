"""SOLIS: sparse online learning of a weight per word from triplets, in four variants.

Gao et al., ACM TIST 8(5):64, 2017, with its formulas corrected.  Every variant minimises mean hinge
loss + l1 |w|_1 (docs/methods/solis.md, (1) and (4)).  They differ in their state (weights, or mean
gradient) and their step (one for all words, or AdaGrad's per word).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import check_is_fitted
from likewise_methods.kernels import prefer_numpy
from likewise_methods.solis import numpy_reference
from likewise_methods.solis.base import OnlineLearner, Saved, scatter
from likewise_methods.solis.margin_kernels import new_work
from likewise_methods.solis.rows import PEAK, Floats, Triplets, as_rows, costs
from likewise_methods.solis.scales import STEP_SIZES, measured_scales
from likewise_methods.solis.solis_kernels import (
    ALL,
    LOSS,
    LOSSES,
    METHODS,
    N_COUNTERS,
    PRINTED,
    ROUNDS,
    SKIPPED,
    STEPS,
    Rule,
    offsets,
    some_offsets,
)
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import as_array, check_seed, number, one_of, truth, whole

_CLOCKS = {"all": ALL, "loss": LOSS, "printed": PRINTED}
_STARTS = {"zeros": 0.0, "ones": 1.0}
# The methods that use an option; with others it is an error.
_MEANT_FOR = {
    "eta": ("tg", "afb", "ada"),
    "gamma": ("da",),
    "rho": ("da",),
    "delta": ("afb", "ada"),
    "theta": ("tg",),
}


class SOLIS(OnlineLearner):
    """Learn ``S_w(a, b) = sum_j w_j a_j b_j`` from triplets; most weights end at exactly zero.

    ``l1``, ``eta``, ``gamma`` and ``delta`` are measured on the triplets of the first call if they
    are None.  This ignores ``sample_weight`` and ``word_cost``, so give them if those are far from
    1 on average.  An option that the method does not use is an error.

    Parameters
    ----------
    method : {"ada", "afb", "da", "tg"}, default="ada"
        Adaptive dual averaging, adaptive forward-backward, dual averaging or truncated gradient.
        The first two step per word, as AdaGrad does.
    l1 : float, optional
        Weight of the penalty, per round; 0 or more.
    eta : float, optional
        Step (tg, afb, ada); above 0.
    gamma : float, optional
        Strength of the proximity term (da); above 0.
    rho : float, default=0.0
        Adds ``gamma rho / sqrt t`` to l1 (da); 0 or more.
    delta : float, optional
        Added to each word's AdaGrad scale (afb, ada); 0 or more.
    theta : float, default=inf
        Weights above it are not shrunk (tg); 0 or more.
    clock : {"all", "loss", "printed"}, default="all"
        With "all" every triplet is a step, with "loss" only those below the margin.  "printed" is
        the paper's algorithms as printed: da and ada count every triplet but renew weights only on
        a loss, tg and afb are as "loss".
    margin : float, default=1.0
        The hinge is ``max(0, margin - w.z)``; above 0.
    start : {"zeros", "ones"}, default="zeros"
        "ones" is plain similarity; then the offset w - 1 is learnt and penalised.
    nonnegative : bool, default=False
        Keep w >= 0, by projection after each update.
    word_cost : array of shape (words,), optional
        Factors of 0 or more for l1 (not rho), such as :func:`posting_cost`.
    skip_empty : bool, default=False
        Skip triplets without a shared word instead of counting a lost round.
    random_state : int, Generator or None, default=None
        Seed of the sample on which parameters are measured; None takes evenly spaced triplets.
        The methods themselves are deterministic.

    Attributes
    ----------
    weights_ : array of shape (words,)
        The weights, float64.
    sparsity_ : float
        Share of words whose weight is exactly zero.
    changed_ : float
        Share of words whose weight differs from its start.
    scales_ : dict of str to float
        The parameters used, given or measured.
    n_rounds_, n_losses_, n_skipped_ : int
        Triplets learnt from, triplets below the margin, and triplets skipped.
    touched_ : array of int
        Words of rounds below the margin.
    n_features_in_ : int
        Number of words.

    See Also
    --------
    tune : chooses l1 and the step on held-out triplets.
    posting_cost : a cost that makes the index smaller.
    triplets_from_labels : triplets from classes.
    likewise_methods.spaces.LocalMetric : learns from judgements in dense spaces.
    OASIS : learns the same similarity, not sparse.

    References
    ----------
    X. Gao, S. C. H. Hoi, Y. Zhang, J. Zhou, J. Wan, Z. Chen, J. Li and J. Zhu: Sparse online
    learning of image similarity.  ACM Transactions on Intelligent Systems and Technology 8(5):64,
    2017.

    Similarity and objective: docs/methods/solis.md, (1) and (4); the four updates: (6) to (9); the
    parameters measured: (13) and (14).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> learner = SOLIS("tg", l1=0.01, eta=0.5).fit(X, [[0, 1, 2], [1, 0, 2]])
    >>> learner.weights_.round(3).tolist()  # word 0 is what 0 and 1 share
    [0.99, -0.49, -0.495]
    >>> learner.score(X, [[0, 1, 2]])
    1.0
    """

    kind: ClassVar[str] = "SOLIS learner"
    _weights: Floats | None

    def __init__(
        self,
        method: str = "ada",
        *,
        l1: float | None = None,
        eta: float | None = None,
        gamma: float | None = None,
        rho: float = 0.0,
        delta: float | None = None,
        theta: float = np.inf,
        clock: str = "all",
        margin: float = 1.0,
        start: str = "zeros",
        nonnegative: bool = False,
        word_cost: Any = None,
        skip_empty: bool = False,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.l1 = l1
        self.eta = eta
        self.gamma = gamma
        self.rho = rho
        self.delta = delta
        self.theta = theta
        self.clock = clock
        self.margin = margin
        self.start = start
        self.nonnegative = nonnegative
        self.word_cost = word_cost
        self.skip_empty = skip_empty
        self.random_state = random_state

    # -- what was learnt --------------------------------------------------------------------

    @property
    def weights_(self) -> Floats:
        """Weights, float64, one per word; read-only."""
        if self._weights is None:
            out = self._offsets(slice(None), self.n_features_in_)
            out += self._rule.start
            out.flags.writeable = False
            self._weights = out
        return self._weights

    @property
    def n_rounds_(self) -> int:  # type: ignore[override]
        """Triplets learnt from."""
        return int(self._counters[ROUNDS])

    @property
    def n_losses_(self) -> int:  # type: ignore[override]
        """Rounds below the margin."""
        return int(self._counters[LOSSES])

    @property
    def n_skipped_(self) -> int:
        """Triplets skipped because of ``skip_empty``."""
        return int(self._counters[SKIPPED])

    @property
    def touched_(self) -> NDArray[np.int64]:
        """Words of rounds below the margin; all others have their initial weight."""
        return np.flatnonzero(self._state.any(axis=1))

    def _start_weight(self) -> float:
        return self._rule.start

    def weights_of(self, words: Any) -> Floats:
        """Return ``weights_`` of some words, without computing the others.

        Parameters
        ----------
        words : array of int
            Columns.

        Returns
        -------
        array of float64
            One weight per word.
        """
        check_is_fitted(self)
        out = self._offsets(self._check_words(words), len(words))
        out += self._rule.start
        return out

    def _offsets(self, words: Any, n: int) -> Floats:
        """Return the current offsets of n words: a list, or a slice of all."""
        kept = self._state, self._counters, self._rule, self._cost
        if prefer_numpy(n):
            return numpy_reference.offsets(self._method, words, *kept)
        out = np.empty(n)
        code = list(METHODS).index(self._method)
        if isinstance(words, slice):
            offsets(code, *kept, out)
        else:
            some_offsets(code, words, *kept, out)
        return out

    # -- learning ---------------------------------------------------------------------------

    def begin(self, n_words: int) -> Self:
        """Start without triplets; every parameter that is otherwise measured must be given.

        Parameters
        ----------
        n_words : int
            Columns of the rows to follow.

        Returns
        -------
        self
        """
        given = self._check_parameters()
        method = given["method"]
        names = ["l1", *STEP_SIZES[method].names]
        lacking = [name for name in names if given[name] is None]
        if lacking:
            raise InvalidInput(f"{lacking[0]} is None; a start without triplets needs a number")
        width = whole(n_words, "n_words", 1)
        cost = self._checked_cost(width)
        scales = {name: given[name] for name in names}
        self._start_anew(method, given, scales, _rule(given, scales), cost, width)
        return self

    def assign(self, words: Any, weights: Any) -> Self:
        """Set the weights of some words; learning continues from there.

        Only for "afb" and "tg", whose state is the weight itself.

        Parameters
        ----------
        words : array of int
            Columns.
        weights : array of float
            One finite number per word.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if self._method not in ("afb", "tg"):
            raise InvalidInput(f"method {self._method!r} keeps sums, not weights; use afb or tg")
        named = self._check_words(words)
        values = as_array(weights, "weights").astype(np.float64)
        if values.shape != named.shape or not (np.abs(values) <= PEAK).all():
            raise InvalidInput(
                f"weights has shape {values.shape}; one finite number a word expected"
            )
        offset = np.maximum(values - self._rule.start, self._rule.floor)
        self._weights = None
        self._state[named, 0] = offset
        self._state[named, 1] = self._counters[STEPS]
        if self._method == "afb":
            self._state[named, 3] = self._rule.delta + np.sqrt(self._state[named, 2])
        return self

    def _check_words(self, words: Any) -> NDArray[np.int64]:
        named = as_array(words, "words")
        if named.ndim != 1 or named.dtype.kind not in "iu":
            raise InvalidInput(f"words has type {named.dtype}; a list of whole numbers expected")
        if len(named) and not 0 <= named.min() <= named.max() < self.n_features_in_:
            raise InvalidInput(f"words names a word outside 0 to {self.n_features_in_ - 1}")
        return named.astype(np.int64)

    def _begin(self, rows: Rows, triplets: Triplets) -> None:
        given = self._check_parameters()
        cost = self._checked_cost(rows.width)
        method = given["method"]
        scales = {name: given[name] for name in ("l1", *STEP_SIZES[method].names)}
        if any(value is None for value in scales.values()):
            measured = measured_scales(rows, triplets, method, given["margin"], self.random_state)
            scales = {name: measured[name] if v is None else v for name, v in scales.items()}
            scales["lambda_max"] = measured["lambda_max"]
        rule = _rule(given, scales)
        self._start_anew(method, given, scales, rule, cost, rows.width)

    def _start_anew(
        self,
        method: str,
        given: dict[str, Any],
        scales: dict[str, float],
        rule: Rule,
        cost: Floats,
        width: int,
    ) -> None:
        self._method, self._begun_with, self._rule, self._cost = method, given, rule, cost
        self._state = np.zeros((width, METHODS[method][1]))
        self._counters = np.zeros(N_COUNTERS, np.int64)
        self._weights = None
        self.scales_ = scales
        self.n_features_in_ = width

    def _resume(self) -> None:
        given = self._check_parameters()
        for name, value in given.items():
            if value != self._begun_with[name]:
                raise InvalidInput(
                    f"{name} is {value!r}, but learning began with {self._begun_with[name]!r}; "
                    "set it back, or begin anew with fit"
                )
        if not np.array_equal(self._checked_cost(self.n_features_in_), self._cost):
            raise InvalidInput("word_cost has changed since learning began; begin anew with fit")

    def _learn(self, rows: Rows, triplets: Triplets, sample_weight: Floats) -> None:
        self._weights = None
        kept = self._state, self._counters, self._rule, self._cost
        if numpy_reference.prefer_numpy(len(triplets)):
            numpy_reference.learn(self._method, rows, triplets, sample_weight, *kept)
        else:
            kernel, _ = METHODS[self._method]
            kernel(rows, triplets, sample_weight, *kept, new_work(rows, len(triplets)))

    # -- parameters -------------------------------------------------------------------------

    def _check_parameters(self) -> dict[str, Any]:
        """Return the validated parameters without word_cost; None where they will be measured."""
        method = one_of(self.method, "method", METHODS)
        unset = {"eta": None, "gamma": None, "delta": None, "rho": 0.0, "theta": np.inf}
        for name, methods in _MEANT_FOR.items():
            value = getattr(self, name)
            if value is not unset[name] and value != unset[name] and method not in methods:
                raise InvalidInput(
                    f"{name} is {value!r}, but method {method!r} has no {name}; "
                    f"it belongs to {', '.join(methods)}"
                )
        for name in ("nonnegative", "skip_empty"):
            truth(getattr(self, name), name)
        check_seed(self.random_state)
        return {
            "method": method,
            "l1": None if self.l1 is None else number(self.l1, "l1", least=0),
            "eta": None if self.eta is None else number(self.eta, "eta", above=0),
            "gamma": None if self.gamma is None else number(self.gamma, "gamma", above=0),
            "rho": number(self.rho, "rho", least=0),
            "delta": None if self.delta is None else number(self.delta, "delta", least=0),
            "theta": _theta(self.theta),
            "clock": one_of(self.clock, "clock", _CLOCKS),
            "margin": number(self.margin, "margin", above=0),
            "start": one_of(self.start, "start", _STARTS),
            "nonnegative": bool(self.nonnegative),
            "skip_empty": bool(self.skip_empty),
        }

    def _checked_cost(self, width: int) -> Floats:
        if self.word_cost is None:
            return np.zeros(0)
        return costs(self.word_cost, "word_cost", width, "one per word")

    # -- saving -----------------------------------------------------------------------------

    def state(self) -> Saved:
        """Return the exact state of touched words, to store it elsewhere than in a file."""
        check_is_fitted(self)
        return self._pack_state()

    def restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Continue from the ``state`` of a learner with the same parameters."""
        self._restore(meta, arrays)
        return self

    def _pack_state(self) -> Saved:
        touched = self.touched_
        meta = {"width": self.n_features_in_, "scales": self.scales_}
        arrays = {"words": touched, "state": self._state[touched], "counters": self._counters}
        return meta, arrays

    def _restore(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        given, width = self._check_parameters(), int(meta["width"])
        scales = {str(name): float(value) for name, value in meta["scales"].items()}
        state = scatter(arrays["words"], arrays["state"], width)
        counters = arrays["counters"].astype(np.int64)
        method = given["method"]
        if state.shape != (width, METHODS[method][1]) or counters.shape != (N_COUNTERS,):
            raise ValueError(f"state of shape {state.shape}, {len(counters)} counters")
        self._start_anew(
            method, given, scales, _rule(given, scales), self._checked_cost(width), width
        )
        self._state, self._counters = state, counters


def _theta(theta: Any) -> float:
    if isinstance(theta, (float, np.floating)) and theta == np.inf:
        return np.inf
    return number(theta, "theta", least=0)


def _rule(given: dict[str, Any], scales: dict[str, float]) -> Rule:
    start = _STARTS[given["start"]]
    clock = _CLOCKS[given["clock"]]
    if clock == PRINTED and given["method"] in ("tg", "afb"):
        clock = LOSS
    return Rule(
        l1=scales["l1"],
        eta=scales.get("eta", 0.0),
        gamma=scales.get("gamma", 1.0),
        rho=given["rho"],
        delta=scales.get("delta", 0.0),
        theta=given["theta"],
        margin=given["margin"],
        start=start,
        floor=0.0 - start if given["nonnegative"] else -np.inf,
        clock=clock,
        skip_empty=given["skip_empty"],
    )


def posting_cost(X: Any) -> Floats:
    """Return a ``word_cost`` for SOLIS: document frequency over its mean for words that occur.

    A search reads one posting per picture with a word, so this penalises words by what they cost.
    A word that does not occur counts as in one picture.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, words)
        Rows of the indexed pictures.

    Returns
    -------
    array of shape (words,)
        Costs, 1 on average over the words that occur.

    See Also
    --------
    SOLIS : takes it as ``word_cost``.

    References
    ----------
    docs/methods/solis.md, (4).

    Examples
    --------
    >>> posting_cost(np.array([[1.0, 1, 0], [1, 0, 0]])).round(3).tolist()
    [1.333, 0.667, 0.667]
    """
    rows = as_rows(X)
    df: NDArray[np.int64] = np.bincount(rows.words, minlength=rows.width)
    present = df > 0
    if not present.any():
        return np.ones(rows.width)
    return np.asarray(np.maximum(df, 1) / df[present].mean())
