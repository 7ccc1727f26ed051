"""The metric around a query: the formulas, what bounds it, and that it is a function of a set."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods.errors import InvalidInput
from likewise_methods.spaces import local_metric
from likewise_methods.spaces.local_metric import (
    CHOOSE_FROM,
    JUDGEMENT_REACH,
    PRIOR,
    PRIORS,
    REACH,
    SESSION_JUDGEMENTS,
    LocalMetric,
)
from tests.methods.spaces.reference import Lesson as Plain
from tests.methods.spaces.reference import ask

WIDTH = 6
SCALE = 0.03


def unit(X: np.ndarray) -> np.ndarray:
    return (X / np.linalg.norm(X, axis=-1, keepdims=True)).astype(np.float32)


def lessons(n: int, seed: int = 0) -> list[Plain]:
    """Judgements about pictures in a cone, so that they are near one another."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        rows = unit(np.eye(WIDTH)[0] + 0.5 * rng.normal(size=(9, WIDTH)))
        alike = int(rng.integers(0, 5))
        weight = float(rng.choice([1.0, 0.25]))
        found.append(Plain(number, rows[0], list(rows[1 : 1 + alike]), list(rows[5:]), weight))
    return found


def taught(given_: list[Plain], prior: float | None = None) -> LocalMetric:
    metric = LocalMetric(WIDTH, SCALE, prior)
    for one in given_:
        metric.add(one.number, one.query, one.alike, one.unlike, one.weight)
    return metric


@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from([30.0, 100.0, 1000.0]))
@settings(max_examples=40, deadline=None)
def test_it_is_the_formula(seed: int, n: int, prior: float) -> None:
    said = lessons(n, seed)
    row = unit(np.eye(WIDTH)[0] + 0.5 * np.random.default_rng(seed).normal(size=WIDTH))
    found = taught(said, prior).ask(row)
    assert np.allclose(found, ask(said, row, SCALE, prior), atol=2e-5)


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), max_size=6))
@settings(max_examples=40, deadline=None)
def test_order_and_detours_leave_no_trace(order: list[int], gone: set[int]) -> None:
    """Lessons given in any order, some taken back, are the bits of those that stand."""
    said = lessons(12)
    metric = taught([said[i] for i in order]).discard(gone)
    alone = taught([one for one in said if one.number not in gone])
    for row in (said[0].query, np.ones(WIDTH)):
        assert np.array_equal(metric.ask(row), alone.ask(row))
    assert np.array_equal(metric.overall(), alone.overall())


def test_nothing_learned_is_the_row_itself() -> None:
    row = unit(np.arange(1.0, WIDTH + 1))
    metric = LocalMetric(WIDTH, SCALE)
    assert np.array_equal(metric.ask(row), row)
    assert np.array_equal(metric.overall(), np.eye(WIDTH))
    assert metric.influence(row) == 0
    # Not alike and not unlike teaches nothing.
    assert len(metric.add(1, row, [], [])) == 0


def test_far_from_what_was_judged_nothing_changes() -> None:
    said = [Plain(0, np.eye(WIDTH, dtype=np.float32)[0], [], list(np.eye(WIDTH)[1:2]), 1.0)]
    row = np.eye(WIDTH, dtype=np.float32)[3]
    assert np.array_equal(taught(said).ask(row), row)


@given(st.integers(0, 1000), st.floats(1e-6, 1.0))
@settings(max_examples=30, deadline=None)
def test_influence_is_capped(seed: int, scale: float) -> None:
    """One judgement moves a query by half its length at most, all together by its length."""
    rng = np.random.default_rng(seed)
    metric = LocalMetric(WIDTH, scale)
    for number in range(20):
        rows = unit(np.eye(WIDTH)[0] + rng.normal(size=(81, WIDTH)))
        metric.add(number, rows[0], rows[1:41], rows[41:])
        values = np.linalg.eigvalsh(metric.overall())
        assert values.min() > -3
        assert values.max() < 4
        for row in (rows[0], unit(np.ones(WIDTH))):
            moved = float(np.linalg.norm(metric.ask(row) - row))
            assert moved <= (JUDGEMENT_REACH if number == 0 else REACH) + 1e-6


def test_a_session_is_capped() -> None:
    """A whole sitting moves a query by three quarters of its length at most."""
    metric, free = LocalMetric(WIDTH, SCALE), LocalMetric(WIDTH, SCALE)
    row = unit(np.eye(WIDTH)[0])
    for at in range(30):
        metric.add(at, row, [], [-row] * 20, session=7)
        free.add(at, row, [], [-row] * 20)
    capped = JUDGEMENT_REACH * SESSION_JUDGEMENTS
    assert np.linalg.norm(metric.ask(row) - row) <= capped + 1e-6
    assert np.linalg.norm(free.ask(row) - row) > capped


def test_the_prior_is_chosen_by_what_others_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgements that agree are learned; where they contradict one another, little is."""
    rng = np.random.default_rng(1)
    base = np.eye(WIDTH)[0]

    def judged(number: int, clean: bool) -> Plain:
        query = base + 0.2 * rng.normal(size=WIDTH)
        near = query + 0.4 * rng.normal(size=(20, WIDTH)) * [1, 3, 1, 1, 1, 1]
        near[10:, 3] += 0.5
        kind = np.arange(20) < 10 if clean else rng.random(20) < 0.5
        rows = unit(near)
        return Plain(number, unit(query), list(rows[kind]), list(rows[~kind]), 1.0)

    agreeing = taught([judged(i, True) for i in range(2 * CHOOSE_FROM)])
    noise = taught([judged(i, False) for i in range(2 * CHOOSE_FROM)])
    assert agreeing.used_prior() == PRIORS[0]
    assert noise.used_prior() in PRIORS
    assert taught([judged(i, False) for i in range(CHOOSE_FROM - 1)]).used_prior() == PRIOR
    monkeypatch.setattr(local_metric, "PRIORS", (np.inf,))
    row = unit(base)
    silent = taught([judged(i, False) for i in range(2 * CHOOSE_FROM)])
    assert np.array_equal(silent.ask(row), row)


def test_the_prior_is_chosen_by_what_lessons_say_and_not_by_their_places() -> None:
    """A lesson replaced under its number, as a contradiction does, may choose another one."""
    said = lessons(2 * CHOOSE_FROM, seed=5)
    for seed in range(12):
        metric = taught(said)
        metric.used_prior()
        other = [
            one._replace(number=number) for number, one in enumerate(lessons(CHOOSE_FROM, seed))
        ]
        metric.discard(range(CHOOSE_FROM))
        for one in other:
            metric.add(one.number, one.query, one.alike, one.unlike, one.weight)
        alone = taught([*other, *said[CHOOSE_FROM:]])
        assert metric.used_prior() == alone.used_prior()
        assert np.array_equal(metric.ask(said[0].query), alone.ask(said[0].query))


def test_the_nearest_judgements_count_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = lessons(40)
    row = said[7].query
    whole = taught(said, 100.0).ask(row)
    monkeypatch.setattr(local_metric, "NEAREST", 40)
    assert np.array_equal(taught(said, 100.0).ask(row), whole)
    monkeypatch.setattr(local_metric, "NEAREST", 1)
    middle = {one.number: unit(one.query + np.sum([*one.alike], axis=0)) for one in said}
    nearest = max(said, key=lambda one: float(middle[one.number] @ row))
    expected = taught([nearest], 100.0).ask(row)
    assert np.allclose(taught(said, 100.0).ask(row), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LocalMetric(0, 1.0), "width is 0"),
        (lambda: LocalMetric(3, 0.0), "scale is 0"),
        (lambda: LocalMetric(3, 1.0, prior=-1.0), "prior is -1"),
        (lambda: LocalMetric(3, 1.0).ask([1.0, 2.0]), "rows of 3 columns expected"),
        (lambda: LocalMetric(3, 1.0).ask([1.0, 2.0, np.nan]), "NaN or infinite"),
        (lambda: LocalMetric(3, 1.0).add(0, np.ones(3), [], [], -1.0), "weight is -1"),
    ],
)
def test_bad_input_is_refused(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()


def test_a_row_of_zeros_stays_one() -> None:
    metric = taught(lessons(3))
    assert not metric.ask(np.zeros(WIDTH)).any()


def test_judging_while_others_ask_loses_nothing() -> None:
    said = lessons(60)
    metric, rows = LocalMetric(WIDTH, SCALE), [one.query for one in said]
    done = threading.Event()

    def ask_on() -> None:
        while not done.is_set():
            for row in rows[:5]:
                metric.ask(row)

    asking = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in asking:
        thread.start()
    for one in said:
        metric.add(one.number, one.query, one.alike, one.unlike, one.weight)
    done.set()
    for thread in asking:
        thread.join()
    alone = taught(said)
    assert all(np.array_equal(metric.ask(row), alone.ask(row)) for row in rows)
