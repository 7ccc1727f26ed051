"""The four losses of a comparison: GNMDS, STE, t-STE and CKL, with their compiled kernels.

A loss maps the two squared distances of a comparison, a (should be small) and b (should be large),
to a value f(a, b) and its derivatives f_a and f_b (docs/methods/ordinal.md, (1) to (6)).  Solvers
call the four kernels that a loss names.  A new loss is a pair of functions, four thin kernels over
the shared loops (``solver/kernels.py``), a class and a row in ``LOSSES``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.kernels import (
    FAST,
    evaluate_of,
    online_of,
    svrg_of,
    sweep_of,
)
from likewise_methods.validation import number, one_of

Floats = NDArray[np.float64]


class Kernels(NamedTuple):
    """The compiled loops of one loss; ``solver/kernels.py`` describes each."""

    evaluate: Any
    sweep: Any
    svrg: Any
    online: Any


class Weights(NamedTuple):
    """Value and derivatives of the loss for every comparison."""

    f: Floats
    fa: Floats
    fb: Floats


@dataclass(frozen=True)
class ComparisonLoss:
    """What the four losses share."""

    name: ClassVar[str]
    kernels: ClassVar[Kernels]
    # Good steps for n = 100, p = 10 and 10,000 comparisons.
    sgd_step: ClassVar[float] = 0.02
    svrg_step: ClassVar[float] = 0.01

    def adagrad_step(self, n_components: int) -> float:
        """Return AdaGrad's step, the length of an object's first move on the map.

        GNMDS and STE fix the unit of length themselves (a margin, a likeness of 1 / e).
        """
        return 1.0

    @property
    def parameter(self) -> float:
        """The number the kernels take; 0 where the loss has none."""
        return 0.0

    def weights(self, a: ArrayLike, b: ArrayLike) -> Weights:
        """Return f, f_a and f_b of squared distances ``a`` and ``b``."""
        near, far = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        flat = [np.ascontiguousarray(x).ravel() for x in (near, far)]
        out = [np.empty(near.size) for _ in range(3)]
        self.kernels.evaluate(*flat, self.parameter, *out)
        return Weights(*(x.reshape(near.shape) for x in out))

    def value(self, a: ArrayLike, b: ArrayLike) -> Floats:
        """Return f of squared distances ``a`` and ``b``."""
        return self.weights(a, b).f


# -- GNMDS ------------------------------------------------------------------------------------


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _gnmds_weights(a, b, parameter):  # type: ignore[no-untyped-def]
    """f_a and f_b."""
    # Written so that NaN does not pass for a satisfied comparison.
    if 1.0 + a - b <= 0.0:
        return 0.0, 0.0
    return 1.0, -1.0


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _gnmds_loss(a, b, parameter):  # type: ignore[no-untyped-def]
    """f, f_a and f_b."""
    fa, fb = _gnmds_weights(a, b, parameter)
    if fa == 0.0:
        return 0.0, fa, fb
    return 1.0 + a - b, fa, fb


@kernel(fastmath=FAST)
def _gnmds_evaluate(a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    evaluate_of(_gnmds_loss, a, b, parameter, f, fa, fb)


@kernel(fastmath=FAST)
def _gnmds_sweep(X, rows, parameter, G):  # type: ignore[no-untyped-def]
    return sweep_of(_gnmds_loss, X, rows, parameter, G)


@kernel(fastmath=FAST)
def _gnmds_svrg(X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    svrg_of(_gnmds_weights, X, S, slope, done, rows, parameter, step, steps, seed, room)


@kernel(fastmath=FAST)
def _gnmds_online(X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    online_of(_gnmds_weights, X, squares, rows, parameter, step, first, stride, room)


@dataclass(frozen=True)
class GNMDS(ComparisonLoss):
    """max(0, 1 + a - b): a hinge with margin 1.

    It is the fastest where people hardly contradict each other.

    See Also
    --------
    STE : a good first choice.
    OrdinalEmbedding : takes it as ``loss``.

    References
    ----------
    Agarwal et al., 2007.

    docs/methods/ordinal.md, (2).

    Examples
    --------
    >>> GNMDS().value([0.0, 2.0], [3.0, 1.0]).tolist()
    [0.0, 2.0]
    """

    name: ClassVar[str] = "gnmds"
    kernels: ClassVar[Kernels] = Kernels(_gnmds_evaluate, _gnmds_sweep, _gnmds_svrg, _gnmds_online)


# -- STE --------------------------------------------------------------------------------------


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _ste_weights(a, b, parameter):  # type: ignore[no-untyped-def]
    """f_a and f_b; no exponential overflows."""
    e = math.exp(-abs(a - b))
    wrong = (1.0 if a >= b else e) / (1.0 + e)
    return wrong, -wrong


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _ste_loss(a, b, parameter):  # type: ignore[no-untyped-def]
    """f, f_a and f_b."""
    fa, fb = _ste_weights(a, b, parameter)
    return max(a - b, 0.0) + math.log1p(math.exp(-abs(a - b))), fa, fb


@kernel(fastmath=FAST)
def _ste_evaluate(a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    evaluate_of(_ste_loss, a, b, parameter, f, fa, fb)


@kernel(fastmath=FAST)
def _ste_sweep(X, rows, parameter, G):  # type: ignore[no-untyped-def]
    return sweep_of(_ste_loss, X, rows, parameter, G)


@kernel(fastmath=FAST)
def _ste_svrg(X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    svrg_of(_ste_weights, X, S, slope, done, rows, parameter, step, steps, seed, room)


@kernel(fastmath=FAST)
def _ste_online(X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    online_of(_ste_weights, X, squares, rows, parameter, step, first, stride, room)


@dataclass(frozen=True)
class STE(ComparisonLoss):
    """log(1 + e^(a - b)): minus the log likelihood of an answer when likeness is e^-d2.

    The paper on SVRG-SBB prints it with the wrong sign (docs/methods/ordinal.md, O1).

    See Also
    --------
    TSTE : heavier tails, clearer clusters.
    OrdinalEmbedding : takes it as ``loss``.

    References
    ----------
    van der Maaten and Weinberger, 2012.

    docs/methods/ordinal.md, (3).

    Examples
    --------
    >>> round(float(STE().value(1.0, 1.0)), 4)  # a coin's
    0.6931
    """

    name: ClassVar[str] = "ste"
    kernels: ClassVar[Kernels] = Kernels(_ste_evaluate, _ste_sweep, _ste_svrg, _ste_online)


# -- t-STE ------------------------------------------------------------------------------------


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _tste_weights(a, b, alpha):  # type: ignore[no-untyped-def]
    """f_a and f_b, through the logarithm of the ratio, which never overflows."""
    power = 0.5 * (alpha + 1.0)
    z = power * (math.log(alpha + a) - math.log(alpha + b))
    e = math.exp(-abs(z))
    wrong = (1.0 if z >= 0.0 else e) / (1.0 + e)
    return wrong * power / (alpha + a), -wrong * power / (alpha + b)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _tste_loss(a, b, alpha):  # type: ignore[no-untyped-def]
    """f, f_a and f_b."""
    z = 0.5 * (alpha + 1.0) * (math.log(alpha + a) - math.log(alpha + b))
    fa, fb = _tste_weights(a, b, alpha)
    return max(z, 0.0) + math.log1p(math.exp(-abs(z))), fa, fb


@kernel(fastmath=FAST)
def _tste_evaluate(a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    evaluate_of(_tste_loss, a, b, parameter, f, fa, fb)


@kernel(fastmath=FAST)
def _tste_sweep(X, rows, parameter, G):  # type: ignore[no-untyped-def]
    return sweep_of(_tste_loss, X, rows, parameter, G)


@kernel(fastmath=FAST)
def _tste_svrg(X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    svrg_of(_tste_weights, X, S, slope, done, rows, parameter, step, steps, seed, room)


@kernel(fastmath=FAST)
def _tste_online(X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    online_of(_tste_weights, X, squares, rows, parameter, step, first, stride, room)


@dataclass(frozen=True)
class TSTE(ComparisonLoss):
    """log(1 + ((alpha + a) / (alpha + b))^((alpha + 1) / 2)): STE with Student's t for likeness.

    Distant objects pull little, so clusters come out clearer.

    Parameters
    ----------
    alpha : float, default=1.0
        Degrees of freedom; p - 1 is the usual choice for p dimensions.

    See Also
    --------
    STE : light tails.
    OrdinalEmbedding : takes it as ``loss``.

    References
    ----------
    van der Maaten and Weinberger, 2012.

    docs/methods/ordinal.md, (4).
    """

    alpha: float = 1.0
    name: ClassVar[str] = "tste"
    kernels: ClassVar[Kernels] = Kernels(_tste_evaluate, _tste_sweep, _tste_svrg, _tste_online)
    sgd_step: ClassVar[float] = 0.2
    svrg_step: ClassVar[float] = 0.1

    @property
    def parameter(self) -> float:
        return float(self.alpha)

    def adagrad_step(self, n_components: int) -> float:
        """Return sqrt(alpha), the length at which likeness begins to fall."""
        return math.sqrt(self.alpha)


# -- CKL --------------------------------------------------------------------------------------


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _ckl_weights(a, b, mu):  # type: ignore[no-untyped-def]
    """f_a and f_b."""
    both = a + b + 2.0 * mu
    far = b + mu
    return 1.0 / both, -(a + mu) / (both * far)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def _ckl_loss(a, b, mu):  # type: ignore[no-untyped-def]
    """f, f_a and f_b."""
    fa, fb = _ckl_weights(a, b, mu)
    return math.log(a + b + 2.0 * mu) - math.log(b + mu), fa, fb


@kernel(fastmath=FAST)
def _ckl_evaluate(a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    evaluate_of(_ckl_loss, a, b, parameter, f, fa, fb)


@kernel(fastmath=FAST)
def _ckl_sweep(X, rows, parameter, G):  # type: ignore[no-untyped-def]
    return sweep_of(_ckl_loss, X, rows, parameter, G)


@kernel(fastmath=FAST)
def _ckl_svrg(X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    svrg_of(_ckl_weights, X, S, slope, done, rows, parameter, step, steps, seed, room)


@kernel(fastmath=FAST)
def _ckl_online(X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    online_of(_ckl_weights, X, squares, rows, parameter, step, first, stride, room)


@dataclass(frozen=True)
class CKL(ComparisonLoss):
    """log(a + b + 2 mu) - log(b + mu): crowd kernel learning; it hardly depends on the scale.

    It leaves more comparisons violated than the other losses, with every solver
    (docs/results/ordinal.md).  The paper on SVRG-SBB prints it with the wrong sign
    (docs/methods/ordinal.md, O2).

    Parameters
    ----------
    mu : float, default=0.05
        Keeps small distances apart from 0.

    See Also
    --------
    STE : a good first choice.
    suggest_comparisons : questions as crowd kernel learning asks them.

    References
    ----------
    Tamuz et al., 2011.

    docs/methods/ordinal.md, (5).
    """

    mu: float = 0.05
    name: ClassVar[str] = "ckl"
    kernels: ClassVar[Kernels] = Kernels(_ckl_evaluate, _ckl_sweep, _ckl_svrg, _ckl_online)

    @property
    def parameter(self) -> float:
        return float(self.mu)

    def adagrad_step(self, n_components: int) -> float:
        """Return sqrt(p / 10), about the size of the random start, sqrt(p / 12).

        The loss has no length of its own.  Longer moves would only make another, larger random
        start, and AdaGrad's steps shrink as they add up.
        """
        return math.sqrt(n_components / 10)


def _tste(n_components: int, alpha: float | None, mu: float) -> TSTE:
    return TSTE(number(max(n_components - 1, 1) if alpha is None else alpha, "alpha", above=0))


# Made from (n_components, alpha, mu).
LOSSES: dict[str, Callable[[int, float | None, float], ComparisonLoss]] = {
    "ste": lambda _, alpha, mu: STE(),
    "tste": _tste,
    "gnmds": lambda _, alpha, mu: GNMDS(),
    "ckl": lambda _, alpha, mu: CKL(number(mu, "mu", above=0)),
}


def loss_of(
    name: Any, n_components: int, *, alpha: float | None = None, mu: float = 0.05
) -> ComparisonLoss:
    """Return the loss of a name; a loss is returned as it is.  ``alpha`` None is p - 1.

    >>> loss_of("tste", 10).parameter
    9.0
    """
    if isinstance(name, ComparisonLoss):
        return name
    return LOSSES[one_of(name, "loss", tuple(LOSSES))](n_components, alpha, mu)
