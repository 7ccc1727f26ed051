"""What judgements teach for queries nobody judged: gains, harm, settings, agreement with S3ML."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import rankdata

from benchmarks.staying import peers
from benchmarks.staying.data import Floats, Pictures
from benchmarks.staying.protocol import (
    COUNTS,
    LIKES,
    PASSED,
    SHOWN,
    Judgement,
    Learner,
    Local,
    Scores,
    Split,
    counts_for,
    curve,
    inner,
    judgements,
    precisions,
    searched,
)
from likewise_methods.spaces import local_metric

DEEP, SPACE, LOCAL = "deep, nothing learned", "fitted space, nothing learned", "local metric"
OWN_PAGES = "local metric, pages shown by itself"
SUMS, OLD = "sums over all pairs, N0 1000", "deep, old profile"
S3ML, BEST_S3ML = "S3ML, its defaults", "S3ML, best of four settings for these queries"
NCA, LMNN = "NCA, told the classes", "LMNN, told the classes"
DIAGONAL = "LMNN, one weight a column"
CEILING = "linear SVM, classes of the whole judged half"
METHODS = (
    DEEP, OLD, SPACE, LOCAL, OWN_PAGES, SUMS, S3ML, BEST_S3ML, NCA, LMNN, DIAGONAL, CEILING,
)  # fmt: skip
PEERS_AT = (100, 1000)
PEER_DRAWS = 2
AGREED_AT = (100, 300)
OWN_MOST = 300
"""Judgements on pages of its own, at most: the metric is packed anew before each."""
WRONG = 0.2
HARM_AT = (1, 3, 10, 30, 100, 300, 1000)
PRIORS = (50.0, 100.0, 200.0, 500.0, 1500.0)
NEARNESSES = (1, 2, 3, 4, 6)
TRIED_AT = 100

THOSE, OTHERS = "half of the classes judged: those", "half of the classes judged: the others"
CLICKS = "all, 20 % wrong clicks"
ONLY_LIKES = "all, likes only, page unknown"
LIKES_SHOWN = "all, likes only, passed over counts"
Gains = dict[str, dict[int, list[float]]]
"""By what was done and the number of judgements: the change of mAP in each draw, in points."""


def _gains() -> Gains:
    return defaultdict(lambda: defaultdict(list))


@dataclass
class Outcome:
    """Everything measured on one set: mAP (%) in each draw by method and number, and changes."""

    name: str
    maps: Gains = field(default_factory=_gains)
    harm: Gains = field(default_factory=_gains)
    chosen: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    settings: Gains = field(default_factory=_gains)
    agreement: Gains = field(default_factory=_gains)

    def gain(self, method: str, count: int, over: str) -> Floats:
        """Change of mAP in each draw that the method was measured in."""
        found = self.maps[method][count]
        return np.asarray(np.subtract(found, self.maps[over][0][: len(found)]))


def measure(pictures: Pictures, seeds: Sequence[int], asked: int, *, tune: bool) -> Outcome:
    """All draws of a set; ``tune`` tries other constants, too."""
    made = Outcome(pictures.name)
    for number, seed in enumerate(seeds):
        split = Split.draw(pictures, seed, asked)
        said = list(judgements(split, COUNTS[-1]))
        _learning(made, split, said, slow=number < PEER_DRAWS)
        _harm(made, split)
        if tune:
            _settings(made, split)
    return made


def _learning(made: Outcome, split: Split, said: Sequence[Judgement], *, slow: bool) -> None:
    pictures, counts = split.pictures, counts_for(split)
    local, own = Local(pictures), Local(pictures)
    flat: dict[str, Scores] = {
        DEEP: peers.OldProfile(pictures, split.seed).scores(),
        SPACE: inner(pictures.rows),
        CEILING: peers.svm(split),
    }
    for method, scores in flat.items():
        made.maps[method][0].append(_percent(precisions(split, scores)))
    learners: dict[str, tuple[Learner, Iterator[Judgement]]] = {
        LOCAL: (local, iter(said)),
        SUMS: (peers.Sums(pictures), iter(said)),
        OLD: (peers.OldProfile(pictures, split.seed), iter(said)),
        OWN_PAGES: (own, judgements(split, OWN_MOST, ask=own.ask)),
    }
    for method, (learner, told) in learners.items():
        for count, found in curve(split, told, learner, counts):
            made.maps[method][count].append(_percent(found))
            if learner is local:
                made.chosen[count].append(local.metric.used_prior())
    _metrics(made, split, said, counts, slow=slow)


def _metrics(
    made: Outcome, split: Split, said: Sequence[Judgement], counts: Sequence[int], *, slow: bool
) -> None:
    """Metrics learned at once from all judgements so far; the slow ones only where asked for."""
    pictures = split.pictures
    for count in (n for n in counts if n in PEERS_AT or n in AGREED_AT):
        some = said[:count]
        sparse_metric = peers.s3ml(pictures, some, {}, split.seed)
        others: dict[str, Scores | None] = {
            S3ML: sparse_metric,
            BEST_S3ML: peers.best_s3ml(split, some),
        }
        if slow and count in PEERS_AT:
            others[NCA] = peers.nca(pictures, some)
            others[LMNN] = peers.lmnn(pictures, some)
            others[DIAGONAL] = peers.diagonal_lmnn(pictures, some, split.seed)
        for method, scores in others.items():
            if scores is not None:
                made.maps[method][count].append(_percent(precisions(split, scores)))
        if count in AGREED_AT:
            _agreement(made, split, some, sparse_metric)


def _harm(made: Outcome, split: Split) -> None:
    """What judgements cost: other classes, wrong clicks, likes alone."""
    pictures = split.pictures
    before = precisions(split, inner(pictures.rows))
    those, _ = split.half_of_classes()
    mine = np.isin(pictures.labels[split.queries], those)
    counts = [n for n in counts_for(split, those) if n in HARM_AT]
    told = judgements(split, COUNTS[-1], classes=those)
    for count, after in curve(split, told, Local(pictures), counts):
        for name, whose in ((THOSE, mine), (OTHERS, ~mine)):
            made.harm[name][count].append(_percent((after - before)[whose]))
    counts = [n for n in counts_for(split) if n in HARM_AT]
    kinds: dict[str, Iterator[Judgement]] = {
        CLICKS: judgements(split, COUNTS[-1], wrong=WRONG),
        ONLY_LIKES: judgements(split, COUNTS[-1], kind=LIKES),
        LIKES_SHOWN: judgements(split, COUNTS[-1], kind=PASSED),
    }
    for name, said in kinds.items():
        for count, after in curve(split, said, Local(pictures), counts):
            made.harm[name][count].append(_percent(after - before))


# -- other constants ---------------------------------------------------------------------------


@contextmanager
def nearness(power: int) -> Iterator[None]:
    """Another power of the nearest judgement's cosine, for a while."""
    before = local_metric.NEARNESS
    local_metric.NEARNESS = power
    try:
        yield
    finally:
        local_metric.NEARNESS = before


def _settings(made: Outcome, split: Split) -> None:
    """Gain with other constants at one number of judgements: all classes, and classes nobody
    judged where half of them were."""
    pictures = split.pictures
    before = precisions(split, inner(pictures.rows))
    those, _ = split.half_of_classes()
    other = ~np.isin(pictures.labels[split.queries], those)
    for name, classes, whose in (("all", None, other | True), ("others", those, other)):
        said = list(judgements(split, TRIED_AT, classes=classes))
        for prior in PRIORS:
            after = precisions(split, _taught(pictures, said, prior).scores())
            made.settings[f"{name}, N0 {prior:g}"][TRIED_AT].append(
                _percent((after - before)[whose])
            )
        for power in NEARNESSES:
            with nearness(power):
                after = precisions(split, _taught(pictures, said).scores())
            made.settings[f"{name}, power {power}"][TRIED_AT].append(
                _percent((after - before)[whose])
            )


def _taught(pictures: Pictures, said: Sequence[Judgement], prior: float | None = None) -> Local:
    made = Local(pictures, prior)
    for one in said:
        made.judge(one)
    return made


# -- agreement ---------------------------------------------------------------------------------


def _agreement(made: Outcome, split: Split, said: Sequence[Judgement], other: Scores) -> None:
    """How S3ML and the local metric rank the same pictures, each also against the space alone."""
    pictures, count = split.pictures, len(said)
    local = _taught(pictures, said).scores()
    plain = inner(pictures.rows)
    trio = {"local": local, "S3ML": other, "space": plain}
    for a, b in (("local", "S3ML"), ("local", "space"), ("S3ML", "space")):
        correlation, common = alike_rankings(split, trio[a], trio[b])
        made.agreement[f"rank correlation, {a} and {b}"][count].append(correlation)
        made.agreement[f"common of 20, {a} and {b}"][count].append(common)
    both = [one for one in said if len(one.liked) and len(one.disliked)]
    orders = {name: ordered(both, scores) for name, scores in trio.items()}
    for name, right in orders.items():
        made.agreement[f"judged right, {name}"][count].append(100 * float(right.mean()))
    same = float((orders["local"] == orders["S3ML"]).mean())
    made.agreement["judged alike, local and S3ML"][count].append(100 * same)


def alike_rankings(split: Split, a: Scores, b: Scores) -> tuple[float, float]:
    """Mean over queries: rank correlation (%) and share (%) of common pictures among the best."""
    correlations, common = [], []
    for query, one, two in zip(split.queries, a(split.queries), b(split.queries), strict=True):
        there = searched(split.pictures, int(query), ~split.judged)
        correlations.append(np.corrcoef(rankdata(one[there]), rankdata(two[there]))[0, 1])
        best = [set(np.argsort(-s[there], kind="stable")[:SHOWN].tolist()) for s in (one, two)]
        common.append(len(best[0] & best[1]) / SHOWN)
    return 100 * float(np.mean(correlations)), 100 * float(np.mean(common))


def ordered(said: Sequence[Judgement], scores: Scores) -> Floats:
    """For every liked and disliked picture of a judgement: does the liked one come first?"""
    found = scores(np.array([one.query for one in said]))
    parts = [
        (row[one.liked][:, None] > row[one.disliked][None, :]).ravel()
        for one, row in zip(said, found, strict=True)
    ]
    return np.concatenate(parts)


def _percent(values: Floats) -> float:
    return 100 * float(np.mean(values))
