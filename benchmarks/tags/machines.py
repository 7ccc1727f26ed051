"""Reconstruction alone, linear machine alone, their mix, and logistic regression beside them.

All three of ours are the product's own evidence in a real collection, asked with a mix of 0, of 1,
and with the one that left-out pictures chose; logistic regression is scikit-learn's on the same
rows.  One tag a picture, so the first suggestion is right or wrong.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.tags.collection import balanced, collection_of, stored_as, tag_as_listed
from benchmarks.tags.quality import (
    Row,
    Said,
    Setting,
    calibration_error,
    error_by_chance,
)
from likewise.collection.collection import Collection
from likewise.tags.calibration import CalibrationRun
from likewise.tags.evidence import Opinion

ASKED = 1_000
"""Held-out pictures asked about in a split, at most."""
STRENGTH = 10.0
"""Logistic regression's C: the best of 1, 10 and 100 over the sets, in hindsight."""


@dataclass
class Split:
    """Shares of first suggestions that were right, in per cent, and what the mix said of itself."""

    tagged: int
    asked: int
    shares: float
    linear: float
    mix: float
    logistic: float
    weight: float
    said: Said


@dataclass
class Comparison:
    """All splits of one setting."""

    setting: Setting
    splits: list[Split] = field(default_factory=list)


def compared(setting: Setting, seeds: Iterable[int], folder: Path) -> Comparison:
    """Every split of a setting, each in a collection of its own."""
    made = Comparison(setting)
    template = folder / "template.lw"
    collection_of(template, setting.space, setting.rows)
    for seed in seeds:
        root = folder / f"split-{seed}.lw"
        shutil.copytree(template, root)
        with Collection.open(root) as col:
            made.splits.append(split(col, setting, seed))
        shutil.rmtree(root)
    shutil.rmtree(template)
    return made


def split(col: Collection, setting: Setting, seed: int) -> Split:
    """Tag some pictures, let left-out ones choose the mix, and ask about others."""
    tagged, held_out = balanced(setting.labels, setting.each, seed)
    names = [f"class {label}" for label in setting.labels.tolist()]
    tag_as_listed(col, {image: [names[image - 1]] for image in tagged})
    asked = np.random.default_rng(seed).permutation(held_out)[:ASKED].tolist()
    truth = [names[image - 1] for image in asked]
    space = stored_as(setting.space)
    evidence = col.tags.suggester.evidence((space,))
    run = CalibrationRun(evidence, ((space, 1),))
    while not run.is_done:
        run.measure_some(evidence, col._views)
    curve = run.curve(evidence)
    _, rows = evidence.rows_of(col._views, asked)
    opinions = evidence.opinions(rows)
    best = [_best(opinion, curve.mix) for opinion in opinions]
    said = Said(
        np.array([curve.confidence(score) for _, score in best]),
        np.array([tag == true for (tag, _), true in zip(best, truth, strict=True)], bool),
    )
    here, there = np.array(tagged) - 1, np.array(asked) - 1
    model = LogisticRegression(C=STRENGTH, max_iter=500)
    model.fit(setting.rows[here], setting.labels[here])
    return Split(
        tagged=len(tagged),
        asked=len(asked),
        shares=_right([_best(one, 0.0)[0] for one in opinions], truth),
        linear=_right([_best(one, 1.0)[0] for one in opinions], truth),
        mix=100 * float(said.right.mean()),
        logistic=100 * float(np.mean(model.predict(setting.rows[there]) == setting.labels[there])),
        weight=curve.mix,
        said=said,
    )


def machine_row(comparison: Comparison, seed: int) -> Row:
    """First suggestions right, per cent, of each; and whether the mix is true to its word."""
    splits = comparison.splits

    def mean(values: Iterable[Any], digits: int = 1) -> float:
        return round(float(np.mean(list(values))), digits)

    excess = [s.said.confidence.mean() - s.said.right.mean() for s in splits]
    better = max(np.mean([s.shares for s in splits]), np.mean([s.linear for s in splits]))
    ours = np.array([s.mix for s in splits])
    return {
        "pictures": comparison.setting.data,
        "space": comparison.setting.space,
        "tagged": splits[0].tagged,
        "asked": splits[0].asked,
        "SISO %": mean(s.shares for s in splits),
        "linear %": mean(s.linear for s in splits),
        "mix %": mean(ours),
        "mix less better": f"{ours.mean() - better:+.2f}",
        "logistic %": mean(s.logistic for s in splits),
        "mix less logistic": f"{np.mean([s.mix - s.logistic for s in splits]):+.2f}",
        "one split ±": round(float(np.std(ours, ddof=1)), 1) if len(ours) > 1 else "",
        "weight of linear": mean((s.weight for s in splits), 2),
        "error, mix": mean((calibration_error(s.said) for s in splits), 3),
        "by chance": mean((error_by_chance(s.said, seed) for s in splits), 3),
        "said minus right": mean(excess, 3),
    }


def _best(opinion: Opinion, mix: float) -> tuple[str, float]:
    """The first suggestion and its score; an empty one where there is none."""
    scores = opinion.scores(mix)
    if not scores:
        return "", 0.0
    return min(scores.items(), key=lambda one: (-one[1], one[0]))


def _right(said: Sequence[str], truth: Sequence[str]) -> float:
    return 100 * float(np.mean([a == b for a, b in zip(said, truth, strict=True)]))
