"""What the SOLIS benchmark fits: SOLIS at scaled parameters, its rivals, and the yardsticks.

Every method is judged by ``Draw``; here is only how each is made from a point of its grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.solis.lmnn import LMNN
from benchmarks.solis.protocol import Draw, Floats
from likewise_methods.solis.lego import LEGO
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.qpao import QPAO
from likewise_methods.solis.rows import as_rows
from likewise_methods.solis.scales import measured_scales
from likewise_methods.solis.solis import SOLIS


@dataclass(frozen=True)
class Ladder:
    """Values of a parameter in order, and the part of them that is tried first."""

    values: tuple[float, ...]
    first: float
    last: float

    @property
    def window(self) -> tuple[int, int]:
        """Places of the first and the last value tried first."""
        return self.values.index(self.first), self.values.index(self.last)


# Of lambda_max; 0 is no penalty at all.  Gains: docs/methods/solis.md, (14).
SHARES = Ladder((0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3), 3e-3, 0.03)
GAINS = Ladder((0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), 0.3, 3.0)
TIMES = Ladder((0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), 1.0, 10.0)
BETAS = Ladder((0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0), 1.0, 4.0)
SVM_C = Ladder((1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4), 0.1, 10.0)

RIVALS: Mapping[str, tuple[Ladder, Callable[[float], Any]]] = {
    "QPAO": (
        Ladder((1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5), 0.1, 100.0),
        lambda C: QPAO(C, tol=1e-2, max_iter=60),
    ),
    "OASIS": (
        Ladder((0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0), 0.1, 30.0),
        lambda C: OASIS(C),
    ),
    "LEGO": (
        Ladder((1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4), 0.1, 10.0),
        lambda eta: LEGO(eta),
    ),
    "LMNN": (
        Ladder((1, 3, 10, 30, 100, 300, 1000), 10, 300),
        lambda steps: LMNN(0.5, max_iter=int(steps)),
    ),
}
"""Ladder of the one parameter (C, C, eta, iterations), and the learner with it."""


def solis(method: str, draw: Draw, share: float, gain: float, **options: Any) -> SOLIS:
    """SOLIS at a share of lambda_max and a gain of the data's step, unfitted."""
    if method not in draw.scales:
        rows = as_rows(draw.X)
        draw.scales[method] = measured_scales(rows, draw.triplets, method, 1.0, None, gain=1.0)
    return at_scales(method, draw.scales[method], share, gain, **options)


def at_scales(
    method: str, scales: Mapping[str, float], share: float, gain: float, **options: Any
) -> SOLIS:
    """The same from scales measured with a gain of 1."""
    step = "gamma" if method == "da" else "eta"
    own: dict[str, Any] = {step: scales[step] / gain if method == "da" else scales[step] * gain}
    if "delta" in scales:
        own["delta"] = scales["delta"]
    return SOLIS(method, l1=share * scales["lambda_max"], **own, **options)


def fused(learner: SOLIS, draw: Draw, times: float) -> Floats:
    """1 + ``times`` the learnt weights, scaled so that their mean margin is the plain one."""
    learnt = float(np.mean(learner.margins(draw.X, draw.triplets)))
    plain = SOLIS(l1=1.0, eta=1.0, delta=1.0, start="ones").fit(draw.X, draw.triplets[:1])
    wanted = float(np.mean(plain.margins(draw.X, draw.triplets)))
    if learnt <= 0:
        return np.ones(draw.X.shape[1])
    return np.asarray(1.0 + times * learner.weights_ * (wanted / learnt))


def rocchio(draw: Draw, beta: float) -> float:
    """Expansion of each query by the mean of the training positives; nothing is learnt."""
    mean = np.asarray(draw.X[draw.positives].mean(axis=0)).reshape(1, -1)
    return draw.judged(lambda Q, G: np.asarray((G @ (Q.toarray() + beta * mean).T).T))


def linear_svm(draw: Draw, C: float) -> float:
    """Positives against negatives; its decision value ranks, whatever the query."""
    rows = np.concatenate([draw.positives, draw.negatives])
    truth = np.arange(len(rows)) < len(draw.positives)
    model = LinearSVC(C=C, class_weight="balanced", random_state=0).fit(draw.X[rows], truth)
    return draw.judged(lambda Q, G: np.tile(model.decision_function(G), (Q.shape[0], 1)))


def rival_value(learner: Any, draw: Draw) -> float:
    """Mean AP by the rival's own similarity (minus distance for the metrics)."""
    return draw.judged(learner.similarity)
