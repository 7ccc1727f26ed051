"""Retrieval with learned metrics, concept by concept, as the S3ML paper does it.

For a concept all its pictures (relevant) and four times as many others form a pool.  A fifth of
each is known: two relevant ones are a similar pair, a relevant and an irrelevant one a dissimilar
pair; about two irrelevant ones nothing is said.  Then every other relevant picture asks for the
rest of the pool, known pictures left out; average precision, averaged over questions and concepts.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.deep.rows import space_rows
from benchmarks.s3ml import uci
from benchmarks.s3ml.peers import Job, ask_peers
from benchmarks.s3ml.uci import by_method, fitted, interval, milliseconds
from likewise.vision.holistic import N_COLOUR
from likewise_methods.evaluation.metrics import average_precision

Row = dict[str, object]
KNOWN = 0.2
IRRELEVANT = 4
MOST = {"similar": 200, "dissimilar": 400}
REDUCED = 128

OURS = {name: uci.OURS[name] for name in ("Euclidean", "Mahalanobis", "LRML", "S2ML", "S3ML")}
PEERS = ("ITML", "SDML")
METHODS = ("Euclidean", "Mahalanobis", "ITML", "SDML", "LRML", "S2ML", "S3ML")


class Pictures(NamedTuple):
    """Vectors of a set's pictures and their classes."""

    name: str
    X: Any
    labels: Any


def pictures(dataset: str, kind: str) -> Pictures | None:
    """ "moments": the 225 colour moments; "deep": 128 principal components of deep-dense."""
    made = space_rows(dataset, "holistic" if kind == "moments" else "deep-dense")
    if made is None:
        return None
    X = np.asarray(made.X, np.float64)
    if kind == "moments":
        X = X[:, :N_COLOUR]
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        return Pictures(f"{dataset}, colour moments (225)", X, made.labels)
    X = X - X.mean(axis=0)
    _, V = np.linalg.eigh(X.T @ X)
    return Pictures(f"{dataset}, deep-dense (128)", X @ V[:, : -REDUCED - 1 : -1], made.labels)


class Trial(NamedTuple):
    """A pool of one concept: rows, which are relevant, which known, and the pairs."""

    X: Any
    relevant: Any
    known: Any
    pairs: Any
    same: Any


def trial(data: Pictures, concept: int, seed: int) -> Trial:
    """The pool and the pairs of a draw."""
    rng = np.random.default_rng([34, concept, seed])
    inside = np.flatnonzero(data.labels == concept)
    outside = np.flatnonzero(data.labels != concept)
    outside = rng.choice(outside, min(IRRELEVANT * len(inside), len(outside)), replace=False)
    rows = np.concatenate([inside, outside])
    relevant = np.arange(len(rows)) < len(inside)
    known = np.zeros(len(rows), bool)
    for side in (relevant, ~relevant):
        of = np.flatnonzero(side)
        known[rng.choice(of, max(2, round(KNOWN * len(of))), replace=False)] = True
    good, bad = np.flatnonzero(known & relevant), np.flatnonzero(known & ~relevant)
    i, j = np.triu_indices(len(good), 1)
    similar = _some(np.column_stack([good[i], good[j]]), MOST["similar"], rng)
    apart = np.column_stack([np.repeat(good, len(bad)), np.tile(bad, len(good))])
    apart = _some(apart, MOST["dissimilar"], rng)
    same = np.arange(len(similar) + len(apart)) < len(similar)
    return Trial(data.X[rows], relevant, known, np.concatenate([similar, apart]), same)


def _some(pairs: Any, most: int, rng: np.random.Generator) -> Any:
    if len(pairs) <= most:
        return pairs
    return pairs[np.sort(rng.choice(len(pairs), most, replace=False))]


def mean_precision(t: Trial, components: Any) -> float:
    """Average precision over the questions of a pool."""
    Z = t.X @ np.asarray(components).T
    rest = np.flatnonzero(~t.known)
    away = cdist(Z[rest], Z[rest])
    found = []
    for row, asked in enumerate(rest):
        if t.relevant[asked]:
            order = np.argsort(away[row], kind="stable")
            order = order[order != row]
            found.append(average_precision(t.relevant[rest[order]]))
    return float(np.mean(found))


class Outcome(NamedTuple):
    """Average precision (concepts, draws), NaN without a metric; CPU seconds of a fit; failures."""

    precision: dict[str, Any]
    seconds: dict[str, float]
    failures: dict[str, tuple[int, int]]
    sparsity: float


def measure(data: Pictures, concepts: Any, n_draws: int, peer_draws: int, seed: int) -> Outcome:
    """All methods on the same pools and pairs; the peers on the first draws of each concept."""
    trials = [
        trial(data, int(concept), 1000 * seed + draw)
        for concept in concepts
        for draw in range(n_draws)
    ]
    shape = (len(concepts), n_draws)
    precision: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    failures: dict[str, tuple[int, int]] = {}
    sparse = []
    for name, make in OURS.items():
        spent, found = 0.0, []
        for t in trials:
            start = time.process_time()
            model = fitted(make(), t.X, t.pairs, t.same)
            spent += time.process_time() - start
            if model is None:
                found.append(np.nan)
                continue
            found.append(mean_precision(t, model.components_))
            if name == "S3ML":
                sparse.append(model.sparsity_)
        seconds[name] = spent / len(trials)
        precision[name] = np.array(found).reshape(shape)
        failures[name] = int(np.isnan(found).sum()), len(trials)
    asked = [i for i in range(len(trials)) if i % n_draws < peer_draws]
    jobs = [_job(trials[i]) for i in asked]
    for name in PEERS:
        key = f"retrieval {data.name} {len(concepts)} {peer_draws} {seed}"
        answers = ask_peers(name, jobs, key)
        if answers is None:
            continue
        cells = np.full(len(trials), np.nan)
        for i, answer in zip(asked, answers, strict=True):
            if answer.components is not None:
                cells[i] = mean_precision(trials[i], answer.components)
        precision[name] = cells.reshape(shape)
        seconds[name] = float(np.mean([answer.seconds for answer in answers]))
        failures[name] = sum(bool(answer.why) for answer in answers), len(answers)
    return Outcome(precision, seconds, failures, float(np.mean(sparse)))


def _job(t: Trial) -> Job:
    """The rows the pairs speak of, and nothing else: the peers use no others."""
    used, number = np.unique(t.pairs, return_inverse=True)
    return Job("pairs", t.X[used], number.reshape(t.pairs.shape), t.same)


def rows(outcomes: dict[str, Outcome]) -> list[Row]:
    """MAP by method and data, S3ML's gain over each, failures in brackets."""
    return by_method(METHODS, outcomes, _cell)


def _cell(outcome: Outcome, method: str) -> str:
    found = outcome.precision.get(method)
    if found is None:
        return "not measured"
    failed, asked = outcome.failures.get(method, (0, 0))
    note = f" (fails {failed}/{asked})" if failed else ""
    if np.isnan(found).all():
        return note.strip(" ()")
    text = f"{100 * np.nanmean(found):.1f}{note}"
    if method != "S3ML":
        gap, reach = gain(outcome, method)
        text += f"; S3ML {100 * gap:+.1f} ± {100 * reach:.1f}"
    return text


def gain(outcome: Outcome, other: str) -> tuple[float, float]:
    """S3ML's MAP minus another's, on the draws of both."""
    return by_concept(outcome.precision["S3ML"] - outcome.precision[other])


def by_concept(gaps: Any) -> tuple[float, float]:
    """Mean of differences (concepts, draws) and half its 95 % interval; a concept counts once."""
    with np.errstate(invalid="ignore"):
        there = ~np.isnan(gaps)
        sums, counts = np.where(there, gaps, 0).sum(axis=1), there.sum(axis=1)
        return interval(sums[counts > 0] / counts[counts > 0])


def concept_rows(outcomes: dict[str, Outcome], names: dict[str, list[str]]) -> list[Row]:
    """AP of each concept."""
    made = []
    for name, outcome in outcomes.items():
        for c, concept in enumerate(names[name]):
            row: Row = {"data": name, "concept": concept}
            for method in METHODS:
                if method in outcome.precision:
                    row[method] = f"{100 * np.nanmean(outcome.precision[method][c]):.1f}"
            made.append(row)
    return made


def seconds_rows(outcomes: dict[str, Outcome]) -> list[Row]:
    """CPU milliseconds of a fit."""
    return by_method(METHODS, outcomes, milliseconds)
