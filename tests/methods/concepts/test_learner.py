"""The learner of concepts: a function of the set of answers, right on easy data, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from likewise_methods.concepts import ConceptLearner, NeighbourGraph
from likewise_methods.concepts.learner import DECAY, PRIOR, SCALE, STEPS, logistic_regression
from likewise_methods.errors import InvalidInput


def clusters(n: int = 60, kinds: int = 5, columns: int = 16, spread: float = 0.45) -> Any:
    """Rows around ``kinds`` directions, and the kind of each."""
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(kinds, columns))
    kind = np.repeat(np.arange(kinds), n)
    rows = centres[kind] / np.linalg.norm(centres[kind], axis=1)[:, None]
    rows = rows + spread * rng.normal(size=rows.shape) / np.sqrt(columns)
    return rows.astype(np.float32), kind


@pytest.fixture(scope="module")
def data() -> Any:
    return clusters()


def taught(data: Any, n_answers: int = 20, seed: int = 0) -> ConceptLearner:
    rows, kind = data
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(rows), n_answers, replace=False)
    belongs = np.isin(kind[chosen], (0, 3))
    return ConceptLearner().fit(rows).partial_fit(chosen[belongs], chosen[~belongs])


def test_the_order_of_answers_does_not_matter(data: Any) -> None:
    rows, _ = data
    whole = taught(data)
    pieces = ConceptLearner().fit(rows)
    for row, said in reversed(whole.answers_.items()):
        pieces.partial_fit([row] if said else [], [] if said else [row])
    assert np.array_equal(whole.predict_proba(), pieces.predict_proba())
    assert whole.ask(12) == pieces.ask(12)


def test_an_answer_that_is_taken_back_leaves_no_trace(data: Any) -> None:
    learner = taught(data)
    before, asked = learner.predict_proba(), learner.ask(12)
    other = next(row for row in range(len(data[0])) if row not in learner.answers_)
    learner.partial_fit(yes=[other])
    assert not np.array_equal(before, learner.predict_proba())
    learner.forget([other])
    assert np.array_equal(before, learner.predict_proba())
    assert asked == learner.ask(12)


def test_a_second_answer_replaces_the_first(data: Any) -> None:
    learner, again = taught(data), taught(data)
    row, said = next(iter(learner.answers_.items()))
    again.partial_fit([] if said else [row], [row] if said else [])
    again.partial_fit([row] if said else [], [] if said else [row])
    assert np.array_equal(learner.predict_proba(), again.predict_proba())


def test_pictures_that_belong_come_first(data: Any) -> None:
    learner = taught(data, 30)
    belongs = np.isin(data[1], (0, 3))
    p = learner.predict_proba()[:, 1]
    assert belongs[np.argsort(-p)[: belongs.sum()]].mean() > 0.95
    assert p[belongs].mean() > 0.6
    assert p[~belongs].mean() < 0.4


def test_probabilities_of_new_rows_are_those_of_their_surroundings(data: Any) -> None:
    learner = taught(data, 30)
    rows, kind = data
    new = learner.predict_proba(rows + 1e-3)[:, 1]
    old = learner.predict_proba()[:, 1]
    assert np.abs(new - old).mean() < 0.1
    assert np.corrcoef(new, old)[0, 1] > 0.95
    assert kind is not None


def test_the_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6))
    y = X[:, 0] + rng.normal(size=40) > 0.3
    duals, bias = logistic_regression(X @ X.T, y, 0.5)
    other = LogisticRegression(C=0.5, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(X, y)
    assert np.allclose(duals @ X, other.coef_[0], atol=1e-5)
    assert bias == pytest.approx(other.intercept_[0], abs=1e-5)


def test_the_regression_meets_its_optimality_conditions_when_classes_are_apart() -> None:
    X = np.array([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0]]) * np.sqrt(SCALE)
    y = np.array([True, True, False])
    duals, bias = logistic_regression(X @ X.T, y, 10.0)
    sign, share = np.where(y, 1.0, -1.0), 10.0 * np.where(y, 3 / 4, 3 / 2)
    miss = 1 / (1 + np.exp(sign * (X @ X.T @ duals + bias)))
    assert np.allclose(duals, share * sign * miss, atol=1e-9)
    assert abs(duals.sum()) < 1e-9


def test_answers_travel_as_in_a_dense_reference(data: Any) -> None:
    """Formula (5), step by step over the whole matrix."""
    rows, _ = data
    graph = NeighbourGraph.build(rows)
    B = graph.weights.toarray()
    assert np.array_equal(B, B.T)
    root = 1 / np.sqrt(B.sum(axis=1))
    S = root[:, None] * B * root
    seeds = np.array([3, 70, 200])
    values = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    Y = np.zeros((len(rows), 2))
    Y[seeds] = values
    F = Y
    for _ in range(STEPS):
        F = DECAY * S @ F + Y
    reached, amounts = graph.propagate(seeds, values, DECAY, STEPS)
    found = np.zeros_like(Y)
    found[reached] = amounts
    assert np.abs(found - F).max() < PRIOR
    assert np.allclose(found[seeds], F[seeds], atol=1e-3)


def test_rows_are_smoothed_as_in_a_dense_reference(data: Any) -> None:
    """Formula (2)."""
    rows = data[0] / np.linalg.norm(data[0], axis=1)[:, None]
    graph = NeighbourGraph.build(rows)
    mean = graph.weights.toarray() / graph.weights.toarray().sum(axis=1)[:, None]
    mixed = rows
    for _ in range(3):
        mixed = rows / 2 + mean @ mixed / 2
    mixed /= np.linalg.norm(mixed, axis=1)[:, None]
    assert np.allclose(graph.smooth(rows), mixed, atol=1e-5)


def test_questions_are_new_different_and_of_three_kinds(data: Any) -> None:
    learner = taught(data, 24)
    asked = learner.ask(12)
    assert len({one.row for one in asked}) == 12
    assert not {one.row for one in asked} & learner.answers_.keys()
    kinds = [one.why for one in asked]
    assert (kinds.count("unsure"), kinds.count("likely"), kinds.count("random")) == (8, 2, 2)
    assert {one.chance for one in asked if one.why != "random"} == {1.0}
    assert all(one.chance == 2 / (300 - 24) for one in asked if one.why == "random")


def test_every_free_row_is_drawn_at_random_equally_often(data: Any) -> None:
    rows, _ = data
    counts = np.zeros(len(rows))
    learner = taught(data, 24)
    for seed in range(400):
        learner.random_state = seed
        for one in learner.ask(12):
            counts[one.row] += one.why == "random"
    free = np.setdiff1d(np.arange(len(rows)), list(learner.answers_))
    expected = counts.sum() / len(free)
    # Chi-squared of 276 cells has mean 275 and standard deviation 23.
    assert ((counts[free] - expected) ** 2 / expected).sum() < 275 + 5 * 23


def test_copies_are_not_asked_together() -> None:
    rows, _ = clusters(20)
    doubled = np.concatenate([rows, rows, rows])
    learner = ConceptLearner().fit(doubled).partial_fit(yes=[0], no=[30])
    asked = [one.row % len(rows) for one in learner.ask(12)]
    assert len(set(asked)) == len(asked)


def test_questions_stay_among_what_may_be_asked(data: Any) -> None:
    learner = taught(data)
    allowed = np.arange(0, 300, 7)
    assert {one.row for one in learner.ask(12, among=allowed)} <= set(allowed.tolist())
    mask = np.zeros(300, bool)
    mask[:4] = True
    few = learner.ask(12, among=mask)
    assert {one.row for one in few} <= {0, 1, 2, 3} - learner.answers_.keys()
    assert learner.ask(12, among=list(learner.answers_)) == []


def test_one_kind_of_answers_is_enough_to_go_on(data: Any) -> None:
    rows, kind = data
    nothing = ConceptLearner().fit(rows)
    assert np.array_equal(nothing.predict_proba(), np.full((300, 2), 0.5))
    assert len(nothing.ask(12)) == 12
    only_yes = ConceptLearner().fit(rows).partial_fit(yes=[0])
    p = only_yes.predict_proba()[:, 1]
    assert (kind[np.argsort(-p)[:30]] == 0).mean() > 0.9
    kinds = {one.why for one in only_yes.ask(12)}
    assert kinds == {"likely", "random"}
    only_no = ConceptLearner().fit(rows).partial_fit(no=[0])
    assert only_no.predict_proba()[:, 1].max() <= 0.5
    assert len(only_no.ask(12)) == 12


def test_a_handful_of_rows_is_no_reason_to_fail() -> None:
    for n in (1, 2, 3):
        learner = ConceptLearner().fit(np.eye(3)[:n]).partial_fit(yes=[0])
        assert np.isfinite(learner.predict_proba()).all()
        assert len(learner.ask(12)) == n - 1


def test_many_rows_are_asked_about_by_way_of_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    from likewise_methods.concepts import learner as module

    rows, kind = clusters(200)
    monkeypatch.setattr(module, "ALL_UP_TO", 100)
    monkeypatch.setattr(module, "POOL", 200)
    learner = ConceptLearner().fit(rows).partial_fit(yes=[0, 1, 610], no=[300, 900])
    asked = learner.ask(12)
    assert len({one.row for one in asked}) == 12
    # Random questions come from the whole collection, not from the candidates.
    assert all(one.chance == 2 / (1000 - 5) for one in asked if one.why == "random")
    p = learner.predict_proba()[:, 1]
    unsure = np.abs(p[[one.row for one in asked if one.why == "unsure"]] - 0.5)
    assert unsure.mean() < np.abs(p - 0.5).mean()
    assert kind is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.partial_fit(yes=[300]), "yes holds 300; a row from 0 to 299 expected"),
        (lambda c: c.partial_fit(no=[-1]), "no holds -1"),
        (lambda c: c.partial_fit(yes=[1.5]), r"yes holds 1\.5"),
        (lambda c: c.partial_fit(yes=[True]), "yes holds True"),
        (lambda c: c.partial_fit(yes=[4], no=[4]), "row 4 is in yes and in no"),
        (lambda c: c.forget([4]), "row 4 has no answer"),
        (lambda c: c.ask(0), "n is 0"),
        (lambda c: c.ask(3, among=np.ones(5, bool)), r"among has shape \(5,\)"),
        (lambda c: c.predict_proba(np.ones((2, 3))), "X has 3 columns; 16 expected"),
        (lambda c: c.predict_proba([[np.nan] * 16]), "X"),
        (lambda c: c.fit(np.eye(3), graph=NeighbourGraph(np.zeros((2, 2)))), "graph has 2 rows"),
        (lambda c: ConceptLearner(C=0).fit(np.eye(3)), "C is 0"),
        (lambda c: ConceptLearner(n_neighbors=0).fit(np.eye(3)), "n_neighbors is 0"),
    ],
)
def test_bad_input_is_refused_in_words(data: Any, call: Any, message: str) -> None:
    learner = ConceptLearner().fit(data[0])
    with pytest.raises(InvalidInput, match=message):
        call(learner)
    assert learner.answers_ == {}


def test_asking_teaches_faster_than_the_first_page(data: Any) -> None:
    """Questions worth asking reach both parts of a concept that has two."""
    rows, kind = clusters(100, kinds=8)
    belongs = np.isin(kind, (1, 5))

    def precision(pages: Any) -> float:
        learner = ConceptLearner().fit(rows).partial_fit(yes=[100])
        for _ in range(4):
            chosen = pages(learner)
            learner.partial_fit(
                [r for r in chosen if belongs[r]], [r for r in chosen if not belongs[r]]
            )
        p = learner.predict_proba()[:, 1]
        return float(belongs[np.argsort(-p)[: belongs.sum()]].mean())

    def first(learner: ConceptLearner) -> list[int]:
        p = learner.predict_proba()[:, 1]
        free = np.setdiff1d(np.arange(len(rows)), list(learner.answers_))
        return [int(row) for row in free[np.argsort(-p[free], kind="stable")[:12]]]

    assert precision(lambda c: [one.row for one in c.ask(12)]) > precision(first) + 0.1
