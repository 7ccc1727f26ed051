"""The protocol of the SOLIS benchmark: draws, training, ranking, and what was ranked how well.

A draw takes some pictures of a group (a landmark, a class, a scene) and pictures outside it for
training; five of the group's other pictures are queries over all pictures not trained on.
Whatever a method returns, it is judged here, from the scores it gives to that retrieval set.
"""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness  # noqa: F401

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from likewise.bench.solis_data import Bags
from likewise.evaluation.metrics import average_precision
from likewise.similarity.lego import LEGO
from likewise.similarity.lmnn import LMNN
from likewise.similarity.margin_kernels import moments, new_work
from likewise.similarity.oasis import OASIS
from likewise.similarity.qpao import QPAO
from likewise.similarity.rows import as_rows
from likewise.similarity.scales import measured_scales
from likewise.similarity.solis import SOLIS
from likewise.similarity.triplets import protocol_triplets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

POSITIVES, NEGATIVES, QUERIES = 7, 300, 5
METHODS = ("tg", "da", "afb", "ada")


@dataclass(frozen=True, eq=False)
class Draw:
    """One group of one draw: what is trained on, what is asked, what is searched."""

    group: str
    X: Any
    triplets: Ints
    positives: Ints
    negatives: Ints
    queries: Ints
    gallery: Ints
    relevant: NDArray[np.bool_]
    scales: dict[str, dict[str, float]] = field(default_factory=dict)  # measured when wanted

    def mean_ap(self, scores: Floats) -> float:
        """Mean trapezoid AP over the queries; ``scores`` is (queries, gallery)."""
        found = []
        for query, row in zip(self.queries, scores, strict=True):
            others = self.gallery != query
            order = np.argsort(-row[others], kind="stable")
            found.append(average_precision(self.relevant[others][order], trapezoid=True))
        return float(np.mean(found))

    def ranked(self, weights: Floats) -> float:
        """mean_ap of S_w."""
        left = self.X[self.queries].multiply(weights[None, :]).tocsr()
        return self.mean_ap((left @ self.X[self.gallery].T).toarray())

    def touched(self) -> NDArray[np.bool_]:
        """Words that some z of the training triplets has."""
        rows = as_rows(self.X)
        total, squares = np.zeros(rows.width), np.zeros(rows.width)
        moments(rows, self.triplets, new_work(rows), total, squares)
        return np.asarray(squares > 0)

    def postings(self, weights: Floats) -> float:
        """Postings a query visits: pictures of the gallery with a word of it that has a weight."""
        df = np.bincount(self.X[self.gallery].indices, minlength=self.X.shape[1])
        queries = self.X[self.queries]
        kept = weights[queries.indices] != 0
        return float((df[queries.indices] * kept).sum() / len(self.queries))


def draws(bags: Bags, X: Any, seeds: Sequence[int], groups: int | None = None) -> list[Draw]:
    """All groups (or the first few) for each seed."""
    made = []
    for number, (group, members) in enumerate(list(bags.groups.items())[:groups]):
        junk = bags.junk.get(group, np.zeros(0, np.int64))
        for seed in seeds:
            rng = np.random.default_rng([seed, number])
            order = rng.permutation(np.setdiff1d(members, junk))
            positives, queries = order[:POSITIVES], order[POSITIVES : POSITIVES + QUERIES]
            outside = np.setdiff1d(np.arange(X.shape[0]), np.union1d(members, junk))
            negatives = rng.choice(outside, min(NEGATIVES, len(outside) // 2), replace=False)
            triplets = protocol_triplets(
                positives.tolist(), negatives.tolist(), left_out=junk.tolist(), random_state=rng
            )
            away = np.concatenate([positives, negatives, junk])
            gallery = np.setdiff1d(np.arange(X.shape[0]), away)
            relevant = np.isin(gallery, members)
            made.append(Draw(group, X, triplets, positives, negatives, queries, gallery, relevant))
    return made


# -- what is fitted ----------------------------------------------------------------------------


def solis(method: str, draw: Draw, share: float, gain: float, **options: Any) -> SOLIS:
    """SOLIS at a share of lambda_max and a gain of the data's step, unfitted."""
    if method not in draw.scales:
        rows = as_rows(draw.X)
        draw.scales[method] = measured_scales(rows, draw.triplets, method, 1.0, None, gain=1.0)
    scales = draw.scales[method]
    step = "gamma" if method == "da" else "eta"
    own: dict[str, Any] = {step: scales[step] / gain if method == "da" else scales[step] * gain}
    if "delta" in scales:
        own["delta"] = scales["delta"]
    return SOLIS(method, l1=share * scales["lambda_max"], **own, **options)


def fused(learner: SOLIS, draw: Draw, times: float = 3.0) -> Floats:
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
    left = draw.X[draw.queries].toarray() + beta * mean
    return draw.mean_ap(np.asarray((draw.X[draw.gallery] @ left.T).T))


def linear_svm(draw: Draw) -> float:
    """Positives against negatives; its decision value ranks, whatever the query."""
    rows = np.concatenate([draw.positives, draw.negatives])
    truth = np.arange(len(rows)) < len(draw.positives)
    model = LinearSVC(C=1.0, class_weight="balanced", random_state=0)
    model.fit(draw.X[rows], truth)
    value = model.decision_function(draw.X[draw.gallery])
    return draw.mean_ap(np.tile(value, (len(draw.queries), 1)))


Fit = Callable[[Draw], Any]

RIVALS: Mapping[str, tuple[Sequence[float], Callable[[float], Any]]] = {
    "QPAO": ((0.1, 1.0, 10.0, 100.0), lambda C: QPAO(C, tol=1e-2, max_iter=60)),
    "OASIS": ((0.1, 0.3, 1.0, 3.0, 10.0, 30.0), lambda C: OASIS(C)),
    "LEGO": ((0.1, 10.0), lambda eta: LEGO(eta)),
    "LMNN": ((10, 30, 100), lambda steps: LMNN(0.5, max_iter=int(steps))),
}
"""Grid of the one parameter (C, C, eta, iterations), and the learner with it."""


def rival_scores(learner: Any, draw: Draw) -> float:
    """mean_ap by the rival's own similarity (minus distance for the metrics)."""
    return draw.mean_ap(learner.similarity(draw.X[draw.queries], draw.X[draw.gallery]))


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What ``call`` gives, and its CPU seconds."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start
