"""The four losses of a comparison as small objects: a name, a parameter, and four kernels.

A loss turns the two squared distances of a comparison, a (should be small) and b (should be large),
into a value f(a, b) to minimise and two weights f_a, f_b; everything a solver does follows from
these (docs/methods/ordinal.md, (1) to (6)).  Solvers never see a formula: they call the kernels
that a loss names.  A new loss is one file of kernels like its neighbours and one class here.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.validation import number, one_of

Floats = NDArray[np.float64]


class Weights(NamedTuple):
    """Value and the two weights of every comparison."""

    f: Floats
    fa: Floats
    fb: Floats


@dataclass(frozen=True)
class ComparisonLoss:
    """What all four share."""

    name: ClassVar[str]
    convex: ClassVar[bool] = False
    # Steps found good for n = 100, p = 10 and 10,000 comparisons.
    sgd_step: ClassVar[float] = 0.02
    svrg_step: ClassVar[float] = 0.01

    def adagrad_step(self, n_components: int) -> float:
        """AdaGrad's step: the length of an object's first move, so a length on the map.

        GNMDS and STE fix the unit of length themselves (a margin, a likeness of 1 / e).
        """
        return 1.0

    @property
    def parameter(self) -> float:
        """The number the kernels take; 0 where there is none."""
        return 0.0

    @property
    def kernels(self) -> Any:
        """The module of this loss's kernels: ``evaluate``, ``sweep``, ``svrg`` and ``online``."""
        return importlib.import_module(f"likewise_methods.ordinal.{self.name}_kernels")

    def weights(self, a: ArrayLike, b: ArrayLike) -> Weights:
        """f, f_a and f_b of squared distances ``a`` and ``b``."""
        near, far = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        flat = [np.ascontiguousarray(x).ravel() for x in (near, far)]
        out = [np.empty(near.size) for _ in range(3)]
        self.kernels.evaluate(*flat, self.parameter, *out)
        return Weights(*(x.reshape(near.shape) for x in out))

    def value(self, a: ArrayLike, b: ArrayLike) -> Floats:
        """f alone."""
        return self.weights(a, b).f


@dataclass(frozen=True)
class GNMDS(ComparisonLoss):
    """max(0, 1 + a - b): a hinge with margin 1.

    The fastest where people hardly contradict each other.

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
    convex: ClassVar[bool] = True


@dataclass(frozen=True)
class STE(ComparisonLoss):
    """log(1 + e^(a - b)): how unlikely the answer is when likeness falls like e^-d2.

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
    convex: ClassVar[bool] = True


@dataclass(frozen=True)
class TSTE(ComparisonLoss):
    """STE with likeness (1 + d2 / alpha)^(-(alpha + 1) / 2), whose tails are heavy.

    Far-off objects pull little, so clusters come out clearer.

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
    sgd_step: ClassVar[float] = 0.2
    svrg_step: ClassVar[float] = 0.1

    @property
    def parameter(self) -> float:
        return float(self.alpha)

    def adagrad_step(self, n_components: int) -> float:
        """sqrt(alpha), the length at which likeness begins to fall."""
        return math.sqrt(self.alpha)


@dataclass(frozen=True)
class CKL(ComparisonLoss):
    """log(a + b + 2 mu) - log(b + mu): crowd kernel learning; hardly depends on the scale.

    The ratio's exponent of 1 makes it stall at more violated comparisons than the others, with
    every solver (docs/results/ordinal.md).

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

    @property
    def parameter(self) -> float:
        return float(self.mu)

    def adagrad_step(self, n_components: int) -> float:
        """sqrt(p / 10): about the size of the random start, sqrt(p / 12).

        The loss has no length of its own.  Moves longer than the start is wide only make another
        random start, a larger one, and use up the steps, which shrink as they add up.
        """
        return math.sqrt(n_components / 10)


def _tste(n_components: int, alpha: float | None, mu: float) -> TSTE:
    return TSTE(number(max(n_components - 1, 1) if alpha is None else alpha, "alpha", above=0))


# Made from (n_components, alpha, mu), of which each takes what it has.
LOSSES: dict[str, Callable[[int, float | None, float], ComparisonLoss]] = {
    "ste": lambda _, alpha, mu: STE(),
    "tste": _tste,
    "gnmds": lambda _, alpha, mu: GNMDS(),
    "ckl": lambda _, alpha, mu: CKL(number(mu, "mu", above=0)),
}


def loss_of(
    name: Any, n_components: int, *, alpha: float | None = None, mu: float = 0.05
) -> ComparisonLoss:
    """The loss by its name; ``alpha`` None is p - 1, at least 1.

    >>> loss_of("tste", 10).parameter
    9.0
    """
    if isinstance(name, ComparisonLoss):
        return name
    return LOSSES[one_of(name, "loss", tuple(LOSSES))](n_components, alpha, mu)
