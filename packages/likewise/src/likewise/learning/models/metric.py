"""Learn a metric from the pairs in the log and from unlabelled pictures, by S3ML.

Learning is done in the directions in which the pictures differ most.  The weight of the pairs is
chosen on held-out queries.  The space's own distance is kept unless a learned metric is clearly
right more often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.jobs import Progress, Report
from likewise.catalog.segments import metric_of
from likewise.catalog.store import SpaceRow
from likewise.learning.models.constraints import Constraints, Numbers
from likewise.learning.models.rows import agreement, agreement_plain
from likewise.search.learned_models import Basis, Metric

DIRECTIONS = 64
"""Directions a metric is learned in, at most."""
UNLABELLED = 5_000
"""Unlabelled pictures, at most; drawn at random."""
_WHILE_CHOOSING = 1_000
FEWEST = 5
"""Pairs of either kind below which nothing is learned."""
ENOUGH = 10
"""Triplets whose far picture was named, below which far pictures are drawn instead."""
DRAWN = 10
"""Far pictures drawn for each liked one."""
FOLDS = 5
STRENGTHS = (1.0, 3.0, 10.0)
"""Weights of the pairs that are tried, in units of the largest safe one (docs/methods/s3ml.md,
(8))."""
L1 = 0.01
_NOT_BETTER = (
    "on held-out queries no weight of the pairs is clearly right more often than the space alone"
)
_UNTESTED = (
    "nothing can be held out to test it, and pictures that were only shown are too weak evidence; "
    "judge another query, or dislike some pictures"
)


@dataclass(frozen=True)
class LearnedMetric:
    """A metric with its figures."""

    metric: Metric
    figures: dict[str, Any]


def learn_metric(
    said: Constraints, unlabelled: NDArray[np.float32], space: SpaceRow, seed: int, report: Report
) -> LearnedMetric:
    """Learn a metric by S3ML, or keep the space's own distance where that does not help."""
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
        "held_out_from": None, "chosen_by_held_out": False,
    }  # fmt: skip
    reason = _missing_pairs(similar, dissimilar)
    if reason:
        return _keep_space(space, figures, reason)
    strength, found = _choose_strength(said, rows, Z, space, seed, report)
    figures |= found
    if strength == 0.0:
        return _keep_space(space, figures, _UNTESTED if not figures["held_out"] else _NOT_BETTER)
    report(Progress("learning a metric", len(STRENGTHS) * FOLDS, len(STRENGTHS) * FOLDS + 1))
    made = _s3ml(strength, L1).fit(Z, said.pairs, said.same)
    figures |= {
        "learned": True, "strength": strength, "sparsity": float(made.sparsity_),
        "gap": float(made.gap_), "floored": int(made.report_.floored),
    }  # fmt: skip
    return LearnedMetric(Metric(basis, made.components_, made.metric_), figures)


def _keep_space(space: SpaceRow, figures: dict[str, Any], reason: str) -> LearnedMetric:
    """Keep the distance of the space itself, with the reason."""
    if metric_of(space) == "ip":
        # Models rank by distance, so the inner product itself cannot be kept.
        reason += "; the plain distance of the vectors stands for the inner product"
    made = {**figures, "reason": reason, "directions": space.width}
    return LearnedMetric(Metric.plain(space.width), made)


def _missing_pairs(similar: int, dissimilar: int) -> str:
    if min(similar, dissimilar) >= FEWEST:
        return ""
    return (
        f"{similar} similar and {dissimilar} dissimilar pairs so far; {FEWEST} of each are needed "
        "before there is something to learn"
    )


def _s3ml(strength: float, l1: float) -> Any:
    from likewise_methods.s3ml import S3ML

    return S3ML(strength=strength, l1=l1)


@dataclass(frozen=True)
class _TestTriplets:
    """Test triplets, the query of each, and whether their far pictures were named."""

    triplets: Numbers
    queries: Numbers
    named: bool


def _test_triplets(said: Constraints, n_rows: int, rng: np.random.Generator) -> _TestTriplets:
    """Return triplets to test a metric: far pictures that were named, else random ones.

    Pictures shown above the liked one were mostly ranked there by the space itself, which would
    always fail such a triplet; they are not used.
    """
    triplets, queries = said.triplets[said.explicit], said.asked_in[said.explicit]
    if len(triplets) >= ENOUGH and len(np.unique(queries)) > 1:
        return _TestTriplets(triplets, queries, True)
    query = said.said_in[said.same]
    liked = said.pairs[said.same].sum(axis=1) - query
    made = [np.zeros((0, 3), np.int64)]
    for one in np.unique(query).tolist():
        near = liked[query == one]
        # A pair is also similar if it was liked from the other picture.
        known = said.pairs[said.same & (said.pairs == one).any(axis=1)]
        others = np.setdiff1d(np.arange(n_rows), [one, *known.ravel()])
        if len(others):
            far = rng.choice(others, (len(near), DRAWN))
            made += [np.stack([np.full(DRAWN, one), np.full(DRAWN, a), b], axis=1)
                     for a, b in zip(near, far, strict=True)]  # fmt: skip
    drawn = np.concatenate(made)
    return _TestTriplets(drawn, drawn[:, 0].copy(), False)


def _is_clearly_better(
    right: NDArray[np.bool_], plain: NDArray[np.bool_], queries: Numbers
) -> bool:
    """Return whether one is right about at least two more triplets, beyond one standard error.

    The error is that of the paired difference, with queries as independent units.
    """
    won = right.astype(np.float64) - plain
    names, of = np.unique(queries, return_inverse=True)
    if won.sum() < 2 or len(names) < 2:
        return False
    spread = np.bincount(of, won - won.mean())
    error = np.sqrt((spread**2).sum() * len(names) / (len(names) - 1))
    return bool(won.sum() > error)


def _choose_strength(
    said: Constraints,
    rows: NDArray[np.float32],
    Z: NDArray[np.float64],
    space: SpaceRow,
    seed: int,
    report: Report,
) -> tuple[float, dict[str, Any]]:
    """Choose the weight of the pairs on held-out queries; return it with its figures.

    0 where no weight is clearly right more often than the space.  The agreement is counted on the
    triplets that chose the weight.
    """
    rng = np.random.default_rng(seed)
    used = np.arange(len(Z))
    if len(Z) > len(said.X) + _WHILE_CHOOSING:
        unlabelled = rng.choice(used[len(said.X) :], _WHILE_CHOOSING, replace=False)
        used = np.concatenate([used[: len(said.X)], np.sort(unlabelled)])
    rows, few = rows[used], Z[used]
    asked = _test_triplets(said, len(few), rng)
    queries = np.unique(asked.queries)
    if len(queries) < 2:
        return (STRENGTHS[0] if said.explicit.any() else 0.0), {}
    parts = np.array_split(rng.permutation(queries), min(FOLDS, len(queries)))
    plain = agreement_plain(space, rows, asked.triplets)
    right = {strength: np.zeros(len(plain), bool) for strength in STRENGTHS}
    for number, out in enumerate(parts):
        held = np.isin(asked.queries, out)
        pairs, same = said.without(out, asked.triplets[held])
        for place, strength in enumerate(STRENGTHS):
            report(
                Progress(
                    "trying strengths", number * len(STRENGTHS) + place, len(parts) * len(STRENGTHS)
                )
            )
            mapped = few
            if same.any() and not same.all():
                # Without the penalty the metric has a closed form, and ranks nearly the same.
                mapped = _s3ml(strength, 0.0).fit(few, pairs, same).transform(few)
            right[strength][held] = agreement(mapped, asked.triplets[held])
    # Of two that are right equally often, the one that changes less.
    best = max(right, key=lambda strength: (right[strength].sum(), -strength))
    learned = _is_clearly_better(right[best], plain, asked.queries)
    return best if learned else 0.0, {
        "agreement": float((right[best] if learned else plain).mean()),
        "agreement_plain": float(plain.mean()),
        "held_out": len(plain),
        "held_out_from": "people" if asked.named else "random",
        "chosen_by_held_out": learned,
    }
