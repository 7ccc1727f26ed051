"""How good suggested tags are, and how far their confidence can be trusted: held-out pictures.

Some pictures of a set are tagged with their class in a real collection; all others are asked about
through :meth:`Collection.suggest_tags`, and offered to a bulk run.  The annotator never saw them,
nor did the calibration, so what it says of itself is put to a real test.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.tags.collection import balanced, collection_of, stored_as, tag_as_listed
from likewise.collection.collection import Collection
from likewise.tags.calibration import Calibration, CalibrationRun, fit_isotonic
from likewise.tags.suggest import Suggestion

ABOVE = 0.6
"""The confidence from which a bulk run gives a tag, if not told otherwise."""
BINS = 10
ACCEPTED = 40
SAME_SCORE = (0.2, 0.4)
"""Scores between which first and later suggestions are compared."""
_DRAWS = 200

Row = dict[str, object]


class Setting(NamedTuple):
    """Rows of a set in a space, its classes, and how many pictures of each are tagged."""

    data: str
    space: str
    rows: Any
    labels: NDArray[np.int64]
    each: int


class Said(NamedTuple):
    """Confidence of suggestions, and which were right."""

    confidence: NDArray[np.float64]
    right: NDArray[np.bool_]


@dataclass
class Split:
    """What one split of the pictures showed; times are CPU seconds."""

    tagged: int
    held_out: int
    top: Said
    every: Said
    alone: Said
    firsts: Said
    hindsight: Said
    ranked: list[tuple[int, float, bool]]
    bulk_right: int
    bulk_wrong: int
    bulk_none: int
    suggesting: harness.Timing
    accepting: harness.Timing
    measured: float
    measured_alone: float


@dataclass
class Quality:
    """All splits of one setting."""

    setting: Setting
    splits: list[Split] = field(default_factory=list)

    def said(self, which: str) -> Said:
        """Of all splits together."""
        parts = [getattr(split, which) for split in self.splits]
        return Said(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def calibration_error(said: Said, bins: int = BINS) -> float:
    """Mean distance of said and true over equal ranges of confidence, by how many are in each."""
    if not len(said.right):
        return 0.0
    return sum(n * abs(mean - share) for n, mean, share in reliability(said, bins)) / len(
        said.right
    )


def reliability(said: Said, bins: int = BINS) -> list[tuple[int, float, float]]:
    """(how many, mean confidence, share that was right) of each range that has any."""
    at = np.minimum((said.confidence * bins).astype(np.int64), bins - 1)
    return [
        (
            int(np.sum(at == b)),
            float(said.confidence[at == b].mean()),
            float(said.right[at == b].mean()),
        )
        for b in range(bins)
        if (at == b).any()
    ]


def error_by_chance(said: Said, seed: int) -> float:
    """The calibration error that confidences which are exactly true would have on so few."""
    rng = np.random.default_rng(seed)
    draws = [
        calibration_error(Said(said.confidence, rng.random(len(said.right)) < said.confidence))
        for _ in range(_DRAWS)
    ]
    return float(np.mean(draws))


def measured(setting: Setting, seeds: Iterable[int], folder: Path) -> Quality:
    """Every split of a setting, each in a collection of its own."""
    quality = Quality(setting)
    template = folder / "template.lw"
    collection_of(template, setting.space, setting.rows)
    for seed in seeds:
        root = folder / f"split-{seed}.lw"
        shutil.copytree(template, root)
        with Collection.open(root) as col:
            quality.splits.append(split(col, setting, seed))
        shutil.rmtree(root)
    shutil.rmtree(template)
    return quality


def split(col: Collection, setting: Setting, seed: int) -> Split:
    """Tag some pictures, ask about the others, tag in bulk, accept some."""
    tagged, held_out = balanced(setting.labels, setting.each, seed)
    names = [f"class {label}" for label in setting.labels.tolist()]
    tag_as_listed(col, {image: [names[image - 1]] for image in tagged})
    truth = [names[image - 1] for image in held_out]
    evidence = col.tags.suggester.evidence((stored_as(setting.space),))
    spent, curve = _timed(lambda: col.tags.suggester.calibration(evidence))
    answers: list[list[Suggestion]] = []
    suggesting = harness.cpu_times(
        lambda image: answers.append(col.suggest_tags(image)), held_out, warm_up=0
    )
    spent_alone, (alone, firsts) = _timed(lambda: _alone(col, setting, curve))
    tops = [some[:1] for some in answers]
    ranked = [
        (rank, one.score, one.tag == true)
        for some, true in zip(answers, truth, strict=True)
        for rank, one in enumerate(some)
    ]
    known = _curve([(score, right) for _, score, right in ranked])
    found = col.tags.suggest_for_all(above=ABOVE, dry_run=True).found
    given = [[tag for tag, _ in found.get(image, [])] for image in held_out]
    some = min(ACCEPTED, len(held_out) // 2)
    right = [tags.count(true) for tags, true in zip(given, truth, strict=True)]
    return Split(
        tagged=len(tagged),
        held_out=len(held_out),
        top=_said(tops, truth),
        every=_said(answers, truth),
        alone=_said(tops, truth, alone),
        firsts=_said(tops, truth, firsts),
        hindsight=_said(tops, truth, known),
        ranked=ranked,
        bulk_right=sum(right),
        bulk_wrong=sum(map(len, given)) - sum(right),
        bulk_none=sum(not tags for tags in given),
        suggesting=suggesting,
        accepting=accepting(col, held_out[:some], truth, held_out[some:]),
        measured=spent,
        measured_alone=spent_alone,
    )  # fmt: skip


def accepting(
    col: Collection, pictures: Sequence[int], tags: Sequence[str], others: Sequence[int]
) -> harness.Timing:
    """CPU from an accepted tag until the suggestions for the next picture."""

    def turn(at: int) -> None:
        col.tags.accept(pictures[at], tags[at])
        col.suggest_tags(others[at % len(others)])

    return harness.cpu_times(turn, range(len(pictures)), warm_up=0)


def _alone(
    col: Collection, setting: Setting, curve: Calibration
) -> tuple[Calibration, Calibration]:
    """The curve when each tagged picture is taken out alone; and that of first suggestions only."""
    evidence = col.tags.suggester.evidence((stored_as(setting.space),))
    coming = CalibrationRun(evidence, curve.spaces, together=1)
    while not coming.is_done:
        coming.measure_some(evidence, col._views)
    firsts = [(score, right) for answers in coming.answers for _, score, right in answers[:1]]
    return coming.curve(evidence), _curve(firsts)


def _curve(found: Sequence[tuple[float, bool]]) -> Calibration:
    x, y = fit_isotonic(np.array([f[0] for f in found]), np.array([f[1] for f in found], bool))
    return Calibration((), 0, len(found), tuple(x.tolist()), tuple(y.tolist()))


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = call()
    return time.process_time() - start, made


def _said(
    answers: Iterable[Sequence[Suggestion]], truth: Sequence[str], curve: Calibration | None = None
) -> Said:
    """Confidence (of the answers, or by another curve) and truth of suggestions."""
    pairs = [
        (one.confidence if curve is None else curve.confidence(one.score), one.tag == true)
        for some, true in zip(answers, truth, strict=True)
        for one in some
    ]
    return Said(np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], bool))


# -- rows of the tables ---------------------------------------------------------------------


def quality_row(quality: Quality) -> Row:
    """What a person who tags sees."""
    setting, splits = quality.setting, quality.splits
    first = splits[0]
    # A picture without any suggestion counts as wrong.
    tops = [float(s.top.right.sum()) / s.held_out for s in splits]
    right = sum(s.bulk_right for s in splits)
    wrong = sum(s.bulk_wrong for s in splits)
    asked = sum(s.held_out for s in splits)
    sure = quality.said("top")
    high = sure.confidence >= 0.9
    return {
        "pictures": setting.data,
        "space": setting.space,
        "tags": len(set(setting.labels.tolist())),
        "tagged": first.tagged,
        "held out": first.held_out,
        "top right %": round(100 * float(np.mean(tops)), 1),
        "least to most": f"{100 * min(tops):.1f} to {100 * max(tops):.1f}",
        "said 90 % and more": f"{100 * high.mean():.0f} %",
        "of these right %": round(100 * float(sure.right[high].mean()), 1) if high.any() else "",
        "bulk precision %": round(100 * right / max(right + wrong, 1), 1),
        "bulk recall %": round(100 * right / asked, 1),
        "bulk: nothing said %": round(100 * sum(s.bulk_none for s in splits) / asked, 1),
    }


def trust_row(quality: Quality, seed: int) -> Row:
    """Whether confidence keeps its word; group-wise and one by one."""
    setting, splits = quality.setting, quality.splits

    def mean(values: Iterable[float], digits: int = 3) -> float:
        return round(float(np.mean(list(values))), digits)

    return {
        "pictures": setting.data,
        "space": setting.space,
        "tagged": splits[0].tagged,
        "leave together": max(1, splits[0].tagged // 50),
        "error, top": mean(calibration_error(s.top) for s in splits),
        "by chance": mean(error_by_chance(s.top, seed) for s in splits),
        "error, all": mean(calibration_error(s.every) for s in splits),
        "said minus right, top": mean(_excess(s.top) for s in splits),
        "one by one: error": mean(calibration_error(s.alone) for s in splits),
        "one by one: said minus right": mean(_excess(s.alone) for s in splits),
        "measuring, CPU s": mean((s.measured for s in splits), 2),
        "one by one, CPU s": mean((s.measured_alone for s in splits), 2),
    }


def cause_row(quality: Quality) -> Row:
    """What first suggestions owe to the one curve for all ranks, and what to leaving out."""
    setting, splits = quality.setting, quality.splits
    low, high = SAME_SCORE
    row: Row = {"pictures": setting.data, "space": setting.space, "tagged": splits[0].tagged}
    named = {
        "as it is": "top",
        "measured on firsts only": "firsts",
        "in hindsight, all ranks": "hindsight",
    }
    for name, which in named.items():
        each = [_excess(getattr(split, which)) for split in splits]
        row[name] = round(float(np.mean(each)), 3)
        row[f"{name}, least to most"] = f"{min(each):+.3f} to {max(each):+.3f}"
    same = [(r, right) for s in splits for r, score, right in s.ranked if low <= score < high]
    for name, wanted in (("firsts", True), ("later ones", False)):
        some = [right for rank, right in same if (rank == 0) == wanted]
        right = f"{100 * float(np.mean(some)):.0f} % of {len(some):,}" if some else "none"
        row[f"{name} of score {low} to {high} right"] = right
    return row


def _excess(said: Said) -> float:
    return float(said.confidence.mean() - said.right.mean())


def time_row(quality: Quality) -> Row:
    """CPU milliseconds."""
    setting, splits = quality.setting, quality.splits
    asking = harness.Timing([t for s in splits for t in s.suggesting.seconds])
    accepted = harness.Timing([t for s in splits for t in s.accepting.seconds])
    return {
        "pictures": setting.data,
        "space": setting.space,
        "tagged": splits[0].tagged,
        "suggestion ms": 1e3 * asking.median,
        "p99 ms": 1e3 * asking.p99,
        "accepted to next ms": 1e3 * accepted.median,
        "longest ms": 1e3 * max(accepted.seconds),
    }
