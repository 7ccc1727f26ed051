"""What is compared: the learner, a logistic regression as a user would write it, the query part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.concepts.protocol import PAGE, Floats, Ids
from benchmarks.staying.data import Pictures
from likewise_methods.concepts import ConceptLearner
from likewise_methods.solis import expand

Asking = Literal["worth asking", "nearest 1/2", "first page"]


def next_page(p: Floats, free: Ids, asking: Asking) -> list[int]:
    """Twelve free pictures: those of least certainty, or the first of the ranking."""
    key = np.abs(p[free] - 0.5) if asking == "nearest 1/2" else -p[free]
    return [int(row) for row in free[np.argsort(key, kind="stable")[:PAGE]]]


class Ours:
    """``ConceptLearner`` on the rows of the fitted space."""

    def __init__(self, fitted: ConceptLearner, asking: Asking, draw: int) -> None:
        self._learner, self._asking = fitted, asking
        self._learner.set_params(random_state=draw)
        self._learner.forget(list(self._learner.answers_))

    def teach(self, rows: Sequence[int], said: Sequence[bool]) -> None:
        answers = list(zip(rows, said, strict=True))
        self._learner.partial_fit(
            [r for r, yes in answers if yes], [r for r, y in answers if not y]
        )

    def scores(self) -> Floats:
        p: Floats = self._learner.predict_proba()[:, 1]
        return p

    def page(self, free: Ids) -> list[int]:
        if self._asking == "worth asking":
            return [one.row for one in self._learner.ask(PAGE, among=free)]
        return next_page(self.scores(), free, self._asking)


class Regression:
    """A logistic regression on the network's activations, as one writes it in thirty lines.

    The first round asks the six pictures nearest to the given one and six at random.
    """

    def __init__(self, pictures: Pictures, asking: Asking, draw: int) -> None:
        roots = np.sqrt(np.maximum(pictures.activations, 0)).astype(np.float64)
        self._rows = np.sqrt(30) * roots / np.linalg.norm(roots, axis=1)[:, None]
        self._asking = asking
        self._rng = np.random.default_rng(draw)
        self._at: list[int] = []
        self._said: list[bool] = []
        self._model: LogisticRegression | None = None

    def teach(self, rows: Sequence[int], said: Sequence[bool]) -> None:
        self._at += rows
        self._said += said
        if len(set(self._said)) == 2:
            model = LogisticRegression(class_weight="balanced", max_iter=1_000)
            self._model = model.fit(self._rows[self._at], self._said)

    def scores(self) -> Floats:
        if self._model is None:
            likeness: Floats = self._rows @ self._rows[self._at].mean(axis=0)
            return likeness
        p: Floats = self._model.predict_proba(self._rows)[:, 1]
        return p

    def page(self, free: Ids) -> list[int]:
        if self._model is not None or self._asking == "first page":
            return next_page(self.scores(), free, self._asking)
        near = next_page(self.scores(), free, "first page")[: PAGE // 2]
        others: NDArray[np.int64] = np.setdiff1d(free, near)
        return near + [int(row) for row in self._rng.choice(others, PAGE // 2, replace=False)]


class QueryPart:
    """What a search makes of judgements about its own query: liked rows mixed in, disliked out."""

    def __init__(self, pictures: Pictures) -> None:
        self._rows = pictures.rows
        self._at: list[int] = []
        self._said: list[bool] = []

    def teach(self, rows: Sequence[int], said: Sequence[bool]) -> None:
        self._at += rows
        self._said += said

    def scores(self) -> Floats:
        at, said = np.array(self._at), np.array(self._said)
        query = expand(self._rows[at[0]], self._rows[at[said]], self._rows[at[~said]])
        scores: Floats = (self._rows @ query).astype(np.float64)
        return scores

    def page(self, free: Ids) -> list[int]:
        return next_page(self.scores(), free, "first page")
