"""A metric from the log: pairs people made and pictures nobody spoke of, by S3ML.

Learning takes place in the directions in which the pictures differ most.  How strongly the pairs
count is chosen by what they say about queries left out.  The space itself is the one to beat: it
is kept, as it is, unless a learned metric is clearly right about more of them.
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
from likewise.search.learned_models import Basis, Metric
from likewise.search.model_rows import agreement, agreement_plain

DIRECTIONS = 64
"""Directions a metric is learned in, at most."""
UNLABELLED = 5_000
"""Pictures nobody spoke of that shape the metric, at most; drawn at random."""
_WHILE_CHOOSING = 1_000
FEWEST = 5
"""Pairs of either kind below which nothing is learned."""
ENOUGH = 10
"""Triplets with a far picture that people named, below which far pictures are drawn instead."""
DRAWN = 10
"""Far pictures drawn for each liked one, where they are drawn."""
FOLDS = 5
STRENGTHS = (1.0, 3.0, 10.0)
"""Weights of the pairs that are tried, in units of the largest safe one (docs/methods/s3ml.md,
(8))."""
L1 = 0.01
_NOT_BETTER = (
    "on queries held out no strength of the pairs is clearly right more often than the space alone"
)
_UNTESTED = (
    "nothing can be held out to test it, and pictures that were only passed over are too weak a "
    "word to go by untested; judge another query, or say what is not alike"
)


@dataclass(frozen=True)
class LearnedMetric:
    """A metric and what it amounts to."""

    metric: Metric
    figures: dict[str, Any]


def learn_metric(
    said: Constraints, unlabelled: NDArray[np.float32], space: SpaceRow, seed: int, report: Report
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
    """The distance of the space itself, in all its directions, and why."""
    if metric_of(space) == "ip":
        # Models rank by distance, so that the inner product itself cannot be kept.
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
    """Triplets that decide, the query each belongs to, and whether people named their far ends."""

    triplets: Numbers
    queries: Numbers
    named: bool


def _test_triplets(said: Constraints, n_rows: int, rng: np.random.Generator) -> _TestTriplets:
    """What decides between metric and space: what people named, else pictures drawn at random.

    A picture that was passed over was shown above the liked one, mostly by the space itself.  The
    space has lost such a triplet before it is asked, so that it says nothing about the two.
    """
    triplets, queries = said.triplets[said.explicit], said.asked_in[said.explicit]
    if len(triplets) >= ENOUGH and len(np.unique(queries)) > 1:
        return _TestTriplets(triplets, queries, True)
    query = said.said_in[said.same]
    liked = said.pairs[said.same].sum(axis=1) - query
    made = [np.zeros((0, 3), np.int64)]
    for one in np.unique(query).tolist():
        near = liked[query == one]
        # Alike is meant both ways: what was liked from the other end is no far picture either.
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
    """Whether one is right about more triplets: about two at least, and beyond one standard error.

    The error is that of the paired difference.  Triplets of one query hang together, so that it is
    the queries that are counted as independent.
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
    """How strongly pairs shall count, and how often that is right about queries held out.

    0 where no strength is clearly right more often than the space: what it gives is then the
    space's own.  The strength is chosen by the triplets that the agreement is counted on.
    """
    rng = np.random.default_rng(seed)
    used = np.arange(len(Z))
    if len(Z) > len(said.X) + _WHILE_CHOOSING:
        nobody = rng.choice(used[len(said.X) :], _WHILE_CHOOSING, replace=False)
        used = np.concatenate([used[: len(said.X)], np.sort(nobody)])
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
                # Without the penalty the metric is closed form, and ranks nearly alike.
                mapped = _s3ml(strength, 0.0).fit(few, pairs, same).transform(few)
            right[strength][held] = agreement(mapped, asked.triplets[held])
    # Of two that are right as often, the one that moves less.
    best = max(right, key=lambda strength: (right[strength].sum(), -strength))
    learned = _is_clearly_better(right[best], plain, asked.queries)
    return best if learned else 0.0, {
        "agreement": float((right[best] if learned else plain).mean()),
        "agreement_plain": float(plain.mean()),
        "held_out": len(plain),
        "held_out_from": "people" if asked.named else "random",
        "chosen_by_held_out": learned,
    }
