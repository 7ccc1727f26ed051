"""The contestants of the loop benchmark: each is told what was liked and disliked, and ranks.

A session belongs to one query.  ``judge`` tells it the pictures of one judgement; ``scores`` ranks
all pictures with what it knows by then.  Closed forms keep the pictures, learners learn on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.loop.data import Case, Floats, Ints, Pictures
from likewise_methods.solis import judging
from likewise_methods.solis.expansion import RULE, QueryRule, expand
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.solis import SOLIS


class Session(Protocol):
    """One query and what a method has learnt about it."""

    def judge(self, liked: Ints, disliked: Ints) -> None: ...

    def scores(self) -> Floats: ...


Method = Callable[[Case], Session]


class Closed:
    """A method whose ranking is a function of all pictures judged so far."""

    def __init__(self, case: Case, rank: Callable[[Case, Ints, Ints], Floats]) -> None:
        self.case, self.rank = case, rank
        self.liked = self.disliked = np.zeros(0, np.int64)

    def judge(self, liked: Ints, disliked: Ints) -> None:
        self.liked = np.concatenate([self.liked, liked])
        self.disliked = np.concatenate([self.disliked, disliked])

    def scores(self) -> Floats:
        return self.rank(self.case, self.liked, self.disliked)


class Weights:
    """A method that learns weights for words from triplets, and may expand the query besides."""

    def __init__(
        self, case: Case, learner: Any, *, rule: QueryRule | None = None, capped: bool = False
    ) -> None:
        self.teacher = Teacher(case.pictures, learner, case.seed, capped)
        self.query = Closed(case, lambda c, liked, disliked: expanded(c, liked, disliked, rule))

    def judge(self, liked: Ints, disliked: Ints) -> None:
        self.teacher.judge(self.query.case.query, liked, disliked)
        self.query.judge(liked, disliked)

    def scores(self) -> Floats:
        return self.query.case.pictures.score(self.query.scores() * self.teacher.weights())


class Teacher:
    """Feeds judgements to a learner as the product does: negatives, triplets, caps."""

    def __init__(self, pictures: Pictures, learner: Any, seed: int, capped: bool) -> None:
        self.pictures, self.learner, self.seed, self.capped = pictures, learner, seed, capped
        self.count = 0

    def weights(self) -> Floats:
        if not hasattr(self.learner, "n_features_in_"):
            return np.ones(self.pictures.X.shape[1])
        return np.asarray(self.learner.weights_)

    def judge(self, query: int, liked: Ints, disliked: Ints) -> None:
        """One judgement: the disliked are the negatives, else random pictures, which weigh less."""
        if not len(liked) + len(disliked):
            return
        rng = np.random.default_rng([self.seed, query, self.count])
        self.count += 1
        weight = 1.0
        if not len(disliked):
            others = np.setdiff1d(np.arange(len(self.pictures)), [query, *liked])
            disliked = rng.choice(others, judging.N_RANDOM, replace=False)
            weight = judging.RANDOM_WEIGHT
        triplets = judging.judgement_triplets(len(liked), len(disliked), seed=rng)
        rows = self.pictures.X[np.concatenate([[query], liked, disliked]).astype(np.int64)]
        before = self.weights()
        margin = self.learner.margin
        self.learner.partial_fit(*judging.lesson(rows, triplets, weight, margin=margin))
        if self.capped:
            _hold(self.learner, before)


def _hold(learner: SOLIS, before: Floats) -> None:
    """Apply the caps; a session of the benchmark begins at plain weights."""
    now = learner.weights_
    held = 1 + judging.within_reach(now - 1, before - 1, np.zeros_like(now))
    moved = np.flatnonzero(held != now)
    if len(moved):
        learner.assign(moved, held[moved])


def expanded(case: Case, liked: Ints, disliked: Ints, rule: QueryRule | None) -> Floats:
    """The query as a 1-D row, after the rule where there is one."""
    X = case.pictures.X
    if rule is None:
        return np.asarray(case.pictures.row(case.query), np.float64)
    known = {"frequency": case.pictures.frequency, "n_pictures": len(case.pictures)}
    query = X[[case.query]] if case.pictures.sparse else X[case.query]
    made = expand(query, X[liked], X[disliked], rule=rule, **known)
    return np.asarray(made.toarray()[0] if case.pictures.sparse else made, np.float64)


# -- by name -----------------------------------------------------------------------------------


def none() -> Method:
    return lambda case: Closed(case, lambda c, *_: c.pictures.score(c.pictures.row(c.query)))


def query_part(rule: QueryRule = RULE) -> Method:
    """The product's expansion alone."""
    return lambda case: Closed(
        case, lambda c, liked, disliked: c.pictures.score(expanded(c, liked, disliked, rule))
    )


def rocchio(beta: float, gamma: float) -> Method:
    """q + beta mean(liked) - gamma mean(disliked), and nothing else."""
    return query_part(QueryRule(beta, gamma, patience=0.0, sharpness=0.0))


def svm(C: float) -> Method:
    """Query and liked against disliked; while nothing is disliked, the mean of the former."""

    def rank(case: Case, liked: Ints, disliked: Ints) -> Floats:
        X, good = case.pictures.X, np.concatenate([[case.query], liked])
        if not len(disliked):
            return case.pictures.score(np.asarray(X[good].mean(axis=0)).ravel())
        rows = np.concatenate([good, disliked])
        model = LinearSVC(C=C, class_weight="balanced", random_state=0)
        with warnings.catch_warnings():
            # At C = 100 the margin is hard; where it stops at the limit, it ranks with what it has.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[rows], np.arange(len(rows)) < len(good))
        return np.asarray(model.decision_function(X))

    return lambda case: Closed(case, rank)


def profile_part() -> Method:
    """The product's weights alone."""
    return lambda case: Weights(case, judging.profile_learner(), capped=True)


def product(rule: QueryRule = RULE) -> Method:
    """Both parts: the expanded query under the profile's weights."""
    return lambda case: Weights(case, judging.profile_learner(), rule=rule, capped=True)


def oasis(C: float) -> Method:
    return lambda case: Weights(case, OASIS(C))


def solis_zeros(eta: float) -> Method:
    """ADA from zeros; without a penalty the step only says when the margin is reached."""
    return lambda case: Weights(case, SOLIS("ada", l1=1e-4, eta=eta, delta=0.01))


def solis_ones(eta: float) -> Method:
    """ADA from plain weights."""
    return lambda case: Weights(
        case, SOLIS("ada", l1=0.0, eta=eta, delta=0.01, start="ones", nonnegative=True)
    )


GRIDS: dict[str, tuple[Callable[..., Method], list[tuple[float, ...]]]] = {
    "Rocchio, tuned": (
        rocchio,
        [(b, g) for b in (1.0, 3.0, 6.0, 12.0) for g in (0.5, 1.5, 3.0, 6.0)],
    ),
    "linear SVM": (svm, [(0.1,), (1.0,), (10.0,), (100.0,)]),
    "OASIS": (oasis, [(0.1,), (1.0,), (10.0,), (100.0,)]),
    "SOLIS from zeros": (solis_zeros, [(0.1,), (1.0,), (10.0,), (100.0,)]),
    "SOLIS from ones": (solis_ones, [(0.03,), (0.1,), (0.3,), (1.0,), (3.0,)]),
}
"""Rivals with a constant to choose on each set; the product has the same constants on all."""

PLAIN, ROCCHIO, BOTH = "no learning", "Rocchio, beta 3 gamma .5", "both (product)"
QUERY, PROFILE = "query part", "profile part"
FIXED: dict[str, Callable[[], Method]] = {
    PLAIN: none,
    ROCCHIO: lambda: rocchio(3.0, 0.5),
    QUERY: query_part,
    PROFILE: profile_part,
    BOTH: product,
}
DENSE = (PLAIN, ROCCHIO, "Rocchio, tuned", "linear SVM", QUERY)
"""What means something for dense vectors, which have no words to weigh."""
