"""What else learns from the same judgements: sums over all pairs, the old profile, S3ML, NCA, LMNN.

Each gives a function from queries to scores of all pictures.  Metrics begin where ours does, at the
rows of the fitted space; the old profile weighs the words of ``deep``.  NCA and LMNN need classes:
they are given the true classes of the queries and of what was liked, which is more than the pairs
say.  Rocchio is not here: it moves one query and has nothing to say about the next.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.svm import LinearSVC

from benchmarks.loop.data import Pictures as SparsePictures
from benchmarks.loop.methods import Teacher
from benchmarks.s3ml.peers import Job, ask_peers, interpreter
from benchmarks.solis.lmnn import LMNN
from benchmarks.staying.data import Floats, Ints, Pictures
from benchmarks.staying.protocol import Judgement, Scores, Split, inner, precisions
from likewise_methods.s3ml.s3ml import S3ML
from likewise_methods.solis import judging
from likewise_methods.spaces.fitted import FLOOR, RIDGE, mutual_neighbours, prepare, unit

SUMS_PRIOR = 1000.0
S3ML_SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"strength": strength, "dissimilar": weight}
    for strength in (1.0, 10.0)
    for weight in (0.2, 1.0)
)
"""What S3ML is tried with besides its defaults; the best on the asked queries is reported, which
favours it."""
PAIRS = 4_000
"""S3ML gets at most so many pairs of each kind, drawn: its fit is linear in them."""
NCA_ROUNDS = 30
LMNN_ROUNDS = 60
TRIPLETS = 20
"""Triplets of one judgement that LMNN gets, at most."""


class Sums:
    """The probe's rule: two sums over all pairs, one metric for all queries (KISSME with priors).

    C_s = (N0 C + S) / (N0 + n_s), C_d = (N0 T + D) / (N0 + n_d), M = C_s^-1 - C_d^-1.
    """

    def __init__(self, pictures: Pictures) -> None:
        self.P = pictures.reduced
        k = self.P.shape[1]
        self.T = np.cov(self.P.T, bias=True)
        self.ridge = RIDGE * np.trace(self.T) / k * np.eye(k)
        pairs = mutual_neighbours(self.P, pictures.space.n_neighbors)
        self.C = _sum(self.P[pairs[:, 0]] - self.P[pairs[:, 1]]) / len(pairs)
        self.S, self.D = np.zeros((k, k)), np.zeros((k, k))
        self.n_similar = self.n_dissimilar = 0.0

    def judge(self, said: Judgement) -> None:
        self.S += _sum(self.P[said.liked] - self.P[said.query])
        self.D += said.weight * _sum(self.P[said.disliked] - self.P[said.query])
        self.n_similar += len(said.liked)
        self.n_dissimilar += said.weight * len(said.disliked)

    def scores(self) -> Scores:
        near = (SUMS_PRIOR * self.C + self.S) / (SUMS_PRIOR + self.n_similar) + self.ridge
        far = (SUMS_PRIOR * self.T + self.D) / (SUMS_PRIOR + self.n_dissimilar) + self.ridge
        values, vectors = eigh(np.linalg.inv(near) - np.linalg.inv(far))
        values = np.maximum(values, FLOOR * values.max())
        return inner(unit(self.P @ (vectors * np.sqrt(values))))


def _sum(differences: Floats) -> Floats:
    return np.asarray(differences.T @ differences / 2)


class OldProfile:
    """SOLIS weights on ``deep``, taught as the product does."""

    def __init__(self, pictures: Pictures, seed: int) -> None:
        self.X = pictures.deep
        held = SparsePictures(pictures.name, self.X, {}, {})
        self.teacher = Teacher(held, judging.profile_learner(), seed, True)

    def judge(self, said: Judgement) -> None:
        self.teacher.judge(said.query, said.liked, said.disliked)

    def scores(self) -> Scores:
        weights = self.teacher.weights()

        def found(queries: Ints) -> Floats:
            asked = self.X[queries].toarray() * weights
            return np.asarray((self.X @ asked.T).T)

        return found


def pairs_of(
    said: Sequence[Judgement], seed: int, most: int = PAIRS
) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Pairs (query, picture) and whether they are alike; each once."""
    rng = np.random.default_rng([seed, 4])
    kinds = []
    for sides in ([one.liked for one in said], [one.disliked for one in said]):
        made = [
            (one.query, int(other)) for one, side in zip(said, sides, strict=True) for other in side
        ]
        pairs = np.unique(np.array(made, np.int64).reshape(-1, 2), axis=0)
        if len(pairs) > most:
            pairs = pairs[np.sort(rng.choice(len(pairs), most, replace=False))]
        kinds.append(pairs)
    return np.concatenate(kinds), np.arange(sum(map(len, kinds))) < len(kinds[0])


def s3ml(
    pictures: Pictures, said: Sequence[Judgement], settings: Mapping[str, Any], seed: int
) -> Scores:
    """S3ML from the rows of the fitted space; by cosine, which is better here than its distance.

    Its prior is the identity: "auto" would undo the stretch where few directions matter.
    """
    pairs, same = pairs_of(said, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model: Any = S3ML(prior="identity", **settings)
        model.fit(pictures.rows.astype(np.float64), pairs, same)
    return inner(unit(pictures.rows @ model.components_.T))


def best_s3ml(split: Split, said: Sequence[Judgement]) -> Scores:
    """With the settings that serve the asked queries best."""
    tried = [s3ml(split.pictures, said, settings, split.seed) for settings in S3ML_SETTINGS]
    return max(tried, key=lambda scores: float(precisions(split, scores).mean()))


def labelled(pictures: Pictures, said: Sequence[Judgement]) -> Ints:
    """Queries and what was liked: the pictures whose class the judgements tell."""
    told = [np.append(one.liked, one.query) for one in said]
    return np.unique(np.concatenate(told)) if told else np.zeros(0, np.int64)


def nca(pictures: Pictures, said: Sequence[Judgement]) -> Scores:
    """scikit-learn's NCA from the identity."""
    told = labelled(pictures, said)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NeighborhoodComponentsAnalysis(
            init="identity", max_iter=NCA_ROUNDS, random_state=0
        ).fit(pictures.rows[told], pictures.labels[told])
    return inner(unit(pictures.rows @ model.components_.T))


def lmnn(pictures: Pictures, said: Sequence[Judgement]) -> Scores | None:
    """metric-learn's LMNN; None where it is not installed (see ``benchmarks.s3ml.peers``)."""
    if interpreter() is None:
        return None
    told = labelled(pictures, said)
    labels = pictures.labels[told]
    # A class of one has no target neighbour.
    several = np.isin(labels, np.flatnonzero(np.bincount(labels) > 1))
    rows = pictures.rows[told[several]].astype(np.float64)
    answers = ask_peers("LMNN", [Job("labels", rows, labels[several], None)], pictures.name)
    if answers is None or answers[0].components is None:
        return None
    return inner(unit(pictures.rows @ answers[0].components.T))


def diagonal_lmnn(pictures: Pictures, said: Sequence[Judgement], seed: int) -> Scores:
    """This project's LMNN: one weight a column, from triplets of query, liked and disliked."""
    rng = np.random.default_rng([seed, 5])
    made = [
        np.column_stack([np.full(len(at), one.query), one.liked[at[:, 0]], one.disliked[at[:, 1]]])
        for one in said
        for at in [_some_of(len(one.liked), len(one.disliked), rng)]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LMNN(max_iter=LMNN_ROUNDS).fit(pictures.rows, np.concatenate(made))
    return inner(unit(pictures.rows.astype(np.float64) * np.sqrt(model.weights_)))


def _some_of(n_liked: int, n_disliked: int, rng: np.random.Generator) -> Ints:
    """Some of all combinations of liked and disliked pictures, as places (n, 2)."""
    total = n_liked * n_disliked
    drawn = rng.choice(total, min(total, TRIPLETS), replace=False)
    return np.column_stack([drawn // max(n_disliked, 1), drawn % max(n_disliked, 1)])


def svm(split: Split) -> Scores:
    """The ceiling: a linear machine with the true classes of the whole judged half; a query ranks
    by the score of the class that it is itself taken for."""
    pictures = split.pictures
    X = prepare(pictures.activations, pictures.space.rooted_)
    known = np.flatnonzero(split.judged & (pictures.labels >= 0))
    strangers = np.flatnonzero(split.judged & (pictures.labels < 0))
    rows = np.concatenate([known, strangers])
    columns = []
    for label in pictures.classes:
        model = LinearSVC(C=1.0, class_weight="balanced", random_state=0)
        model.fit(X[rows], pictures.labels[rows] == label)
        columns.append(model.decision_function(X))
    decided = np.stack(columns, axis=1)
    return lambda queries: decided[:, decided[queries].argmax(axis=1)].T
