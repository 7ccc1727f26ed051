"""A metric from the log: pairs people made and pictures nobody spoke of, by S3ML.

Learning takes place in the directions in which the pictures differ most.  How strongly the pairs
count is chosen by what they say about queries left out.  The space itself is the one to beat: it
is kept, as it is, unless a learned metric is right about more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.catalog.catalog import SpaceRow
from likewise.collection.finding.fitted import Basis, Metric
from likewise.collection.finding.model_rows import agreement, agreement_plain
from likewise.collection.jobs import Progress, Report
from likewise.collection.modelling.told import Told
from likewise.collection.vectors.graphs import metric_of

DIRECTIONS = 64
"""Directions a metric is learned in, at most."""
UNLABELLED = 5_000
"""Pictures nobody spoke of that shape the metric, at most; drawn at random."""
_WHILE_CHOOSING = 1_000
FEWEST = 5
"""Pairs of either kind below which nothing is learned."""
FOLDS = 5
STRENGTHS = (1.0, 3.0, 10.0)
"""Weights of the pairs that are tried, as multiples of the largest safe one (S3ML, section 4)."""
L1 = 0.01


@dataclass(frozen=True)
class LearnedMetric:
    """A metric and what it amounts to."""

    metric: Metric
    figures: dict[str, Any]


def learn_metric(
    said: Told, unlabelled: NDArray[np.float32], space: SpaceRow, seed: int, report: Report
) -> LearnedMetric:
    """S3ML over all pairs and some unlabelled rows; the space where that does not help."""
    rows = np.concatenate([said.X, unlabelled])
    basis = Basis.fit(rows if len(rows) else np.zeros((1, space.width)), DIRECTIONS)
    Z = basis(rows)
    similar, dissimilar = int(said.same.sum()), int((~said.same).sum())
    figures: dict[str, Any] = {
        "learned": False, "reason": "", "similar": similar, "dissimilar": dissimilar,
        "pairs": similar + dissimilar, "comparisons": int(said.compared.sum()),
        "opposed": said.opposed, "pictures": len(said.X), "unlabelled": len(unlabelled),
        "directions": len(basis.matrix), "strength": 0.0, "l1": L1, "agreement": None,
        "agreement_plain": None, "held_out": 0, "sparsity": None, "gap": None, "floored": 0,
    }  # fmt: skip
    reason = _too_little(similar, dissimilar)
    if reason:
        return _kept(space, figures, reason)
    strength, found = _strength(said, Z, space, seed, report)
    figures |= found
    if strength == 0.0:
        return _kept(
            space,
            figures,
            "on queries held out no strength of the pairs agrees more often than the space alone",
        )
    report(Progress("learning a metric", len(STRENGTHS) * FOLDS, len(STRENGTHS) * FOLDS + 1))
    made = _s3ml(strength, L1).fit(Z, said.pairs, said.same)
    figures |= {
        "learned": True, "strength": strength, "sparsity": float(made.sparsity_),
        "gap": float(made.gap_), "floored": int(made.report_.floored),
    }  # fmt: skip
    return LearnedMetric(Metric(basis, made.components_, made.metric_), figures)


def _kept(space: SpaceRow, figures: dict[str, Any], reason: str) -> LearnedMetric:
    """The distance of the space itself, in all its directions, and why."""
    if metric_of(space) == "ip":
        # Models rank by distance, so that the inner product itself cannot be kept.
        reason += "; the plain distance of the vectors stands for the inner product"
    made = {**figures, "reason": reason, "directions": space.width}
    return LearnedMetric(Metric.plain(space.width), made)


def _too_little(similar: int, dissimilar: int) -> str:
    if min(similar, dissimilar) >= FEWEST:
        return ""
    return (
        f"{similar} similar and {dissimilar} dissimilar pairs so far; {FEWEST} of each are needed "
        "before there is something to learn"
    )


def _s3ml(strength: float, l1: float) -> Any:
    from likewise.metric.s3ml import S3ML

    return S3ML(strength=strength, l1=l1)


def _strength(
    said: Told, Z: NDArray[np.float64], space: SpaceRow, seed: int, report: Report
) -> tuple[float, dict[str, Any]]:
    """How strongly pairs shall count, and how often that is right about queries held out.

    0 where no strength is right more often than the space: what it gives is then the space's own.
    """
    queries = np.unique(said.asked_in)
    if len(queries) < 2:
        return STRENGTHS[0], {}
    few = Z[: len(said.X) + _WHILE_CHOOSING]
    parts = np.array_split(
        np.random.default_rng(seed).permutation(queries), min(FOLDS, len(queries))
    )
    right = dict.fromkeys(STRENGTHS, 0)
    plain = 0
    for number, out in enumerate(parts):
        asked = said.triplets[np.isin(said.asked_in, out)]
        pairs, same = said.without(out)
        plain += int(agreement_plain(space, said.X, asked).sum())
        for place, strength in enumerate(STRENGTHS):
            report(
                Progress(
                    "trying strengths", number * len(STRENGTHS) + place, len(parts) * len(STRENGTHS)
                )
            )
            rows = few
            if same.any() and not same.all():
                # Without the penalty the metric is closed form, and ranks nearly alike.
                rows = _s3ml(strength, 0.0).fit(few, pairs, same).transform(few)
            right[strength] += int(agreement(rows, asked).sum())
    n = len(said.triplets)
    # Of two that are right as often, the one that moves less.
    best = max(right, key=lambda strength: (right[strength], -strength))
    learned = right[best] > plain
    return best if learned else 0.0, {
        "agreement": (right[best] if learned else plain) / n,
        "agreement_plain": plain / n,
        "held_out": n,
    }
