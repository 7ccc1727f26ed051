"""The protocol of the SOLIS benchmark: what is drawn, trained on, asked, and how it is judged.

A draw is one set of training triplets and the questions asked afterwards.  Of one group (a
landmark, a class, a scene): seven of its pictures and pictures outside it train, five others ask,
over all pictures not trained on.  Shared: all groups train one weight vector, and all ask.
Whatever a method returns, it is judged here, from the scores it gives to the retrieval set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.solis.data import Bags
from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.metrics import average_precision
from likewise_methods.solis.margin_kernels import moments, new_work
from likewise_methods.solis.rows import Triplets, as_rows
from likewise_methods.solis.triplets import triplets_from_labels
from likewise_methods.validation import generator, whole

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Score = Callable[[Any, Any], Floats]

POSITIVES, NEGATIVES, QUERIES = 7, 300, 5
METHODS = ("tg", "da", "afb", "ada")
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Question:
    """Queries of one group, the pictures they are asked of, and which of those are relevant."""

    queries: Ints
    gallery: Ints
    relevant: NDArray[np.bool_]

    def mean_ap(self, scores: Floats) -> float:
        """Mean trapezoid AP over the queries; ``scores`` is (queries, gallery)."""
        found = []
        for query, row in zip(self.queries, scores, strict=True):
            others = self.gallery != query
            order = np.argsort(-row[others], kind="stable")
            found.append(average_precision(self.relevant[others][order], trapezoid=True))
        return float(np.mean(found))


@dataclass(frozen=True, eq=False)
class Draw:
    """Training triplets over the rows of X, and the questions asked of what was learnt."""

    group: str
    X: Any
    triplets: Ints
    positives: Ints
    negatives: Ints
    questions: tuple[Question, ...]
    scales: dict[str, dict[str, float]] = field(default_factory=dict)  # measured when wanted

    def judged(self, score: Score) -> float:
        """Mean AP over all questions of ``score``, which takes rows of queries and of pictures."""
        X = self.X
        return float(
            np.mean([q.mean_ap(score(X[q.queries], X[q.gallery])) for q in self.questions])
        )

    def ranked(self, weights: Floats) -> float:
        """The same for S_w."""
        found = []
        for q in self.questions:
            left = self.X[q.queries].multiply(weights[None, :]).toarray()
            found.append(q.mean_ap(np.asarray(self.X @ left.T)[q.gallery].T))
        return float(np.mean(found))

    def touched(self) -> NDArray[np.bool_]:
        """Words that some z of the training triplets has."""
        rows = as_rows(self.X)
        total, squares = np.zeros(rows.width), np.zeros(rows.width)
        moments(rows, self.triplets, new_work(rows, len(self.triplets)), total, squares)
        return np.asarray(squares > 0)

    def postings(self, weights: Floats) -> float:
        """Postings a query visits: pictures of the gallery with a word of it that has a weight."""
        found = []
        for q in self.questions:
            df = np.bincount(self.X[q.gallery].indices, minlength=self.X.shape[1])
            words = self.X[q.queries].indices
            found.append((df[words] * (weights[words] != 0)).sum() / len(q.queries))
        return float(np.mean(found))


def draws(bags: Bags, X: Any, seeds: Sequence[int], groups: int | None = None) -> list[Draw]:
    """One group at a time: all groups (or the first few) for each seed."""
    made = []
    everything = np.arange(X.shape[0])
    for number, (group, members) in enumerate(list(bags.groups.items())[:groups]):
        junk = bags.junk.get(group, _NONE)
        for seed in seeds:
            rng = np.random.default_rng([seed, number])
            order = rng.permutation(np.setdiff1d(members, junk))
            positives, queries = order[:POSITIVES], order[POSITIVES : POSITIVES + QUERIES]
            outside = np.setdiff1d(everything, np.union1d(members, junk))
            negatives = rng.choice(outside, min(NEGATIVES, len(outside) // 2), replace=False)
            triplets = protocol_triplets(
                positives.tolist(), negatives.tolist(), left_out=junk.tolist(), random_state=rng
            )
            gallery = np.setdiff1d(everything, np.concatenate([positives, negatives, junk]))
            question = Question(queries, gallery, np.isin(gallery, members))
            made.append(Draw(group, X, triplets, positives, negatives, (question,)))
    return made


def shared_draws(
    bags: Bags, X: Any, seeds: Sequence[int], n_training: int, n_triplets: int
) -> list[Draw]:
    """All groups at once, the paper's second protocol: one weight vector for all of them.

    ``n_training`` pictures of each group and up to 300 of no group train: the anchor and the
    nearer are of one group, the farther is of another or of none.  All groups ask.
    """
    made = []
    everything = np.arange(X.shape[0])
    all_junk = np.unique(np.concatenate([_NONE, *bags.junk.values()]))
    of_groups = np.concatenate(list(bags.groups.values()))
    for seed in seeds:
        rng = np.random.default_rng([seed, len(bags.groups)])
        labels = np.full(X.shape[0], -1)
        train, asked = [], {}
        for number, (group, members) in enumerate(bags.groups.items()):
            order = rng.permutation(np.setdiff1d(members, all_junk))
            train.append(order[:n_training])
            asked[group] = order[n_training : n_training + QUERIES]
            labels[order[:n_training]] = number
        outside = np.setdiff1d(everything, np.union1d(of_groups, all_junk))
        negatives = rng.choice(outside, min(NEGATIVES, len(outside) // 2), replace=False)
        rows = np.concatenate([*train, negatives])
        triplets = rows[triplets_from_labels(labels[rows], n_triplets, rng)]
        questions = []
        for group, queries in asked.items():
            away = np.concatenate([rows, bags.junk.get(group, _NONE)])
            gallery = np.setdiff1d(everything, away)
            questions.append(Question(queries, gallery, np.isin(gallery, bags.groups[group])))
        positives = np.concatenate(train)
        made.append(Draw("all", X, triplets, positives, negatives, tuple(questions)))
    return made


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What ``call`` gives, and the CPU seconds of this thread (numerical libraries have one)."""
    start = time.thread_time()
    found = call()
    return found, time.thread_time() - start


def protocol_triplets(
    positives: Sequence[int],
    negatives: Sequence[int],
    *,
    left_out: Collection[int] = (),
    n_positives: int | None = None,
    n_negatives: int | None = None,
    random_state: Any = None,
) -> Triplets:
    """The Oxford protocol: every ordered pair of positives with every negative, shuffled.

    7 positives and 500 negatives in the paper: 7 x 6 x 500 = 21,000 triplets.

    Parameters
    ----------
    positives, negatives : sequence of int
        Rows of pictures that are alike, and of others.
    left_out : collection of int, optional
        Rows that never appear (junk and query pictures).
    n_positives, n_negatives : int, optional
        Draw that many first.
    random_state : int, Generator or None, default=None
        Draws and shuffles.

    Returns
    -------
    int64 array of shape (n, 3)
        Rows: anchor, nearer, farther.

    See Also
    --------
    triplets_from_labels : from classes.
    SOLIS : learns from them.

    References
    ----------
    X. Gao et al.: Sparse online learning of image similarity.  ACM Transactions on Intelligent
    Systems and Technology 8(5):64, 2017.

    Examples
    --------
    >>> len(protocol_triplets(range(9), range(9, 40), left_out={0}, n_positives=7, n_negatives=20))
    840
    """
    rng = generator(random_state)
    out = set(left_out)
    good, bad = (
        _draw_rows(sorted(set(rows) - out), size, name, rng)
        for rows, size, name in (
            (positives, n_positives, "positives"),
            (negatives, n_negatives, "negatives"),
        )
    )
    if set(good.tolist()) & set(bad.tolist()):
        raise InvalidInput("positives and negatives share pictures")
    if len(good) < 2 or not len(bad):
        raise InvalidInput(
            f"{len(good)} positives and {len(bad)} negatives; at least 2 and 1 expected"
        )
    a, p, n = np.meshgrid(good, good, bad, indexing="ij")
    made = np.stack([a.ravel(), p.ravel(), n.ravel()], axis=1)
    made = made[made[:, 0] != made[:, 1]]
    return np.ascontiguousarray(rng.permutation(made), np.int64)


def _draw_rows(rows: list[int], size: int | None, name: str, rng: np.random.Generator) -> Any:
    found = np.asarray(rows, np.int64)
    if size is None:
        return found
    if whole(size, f"n_{name}", 1) > len(found):
        raise InvalidInput(f"n_{name} is {size}, but there are {len(found)} {name}")
    return rng.choice(found, size, replace=False)
