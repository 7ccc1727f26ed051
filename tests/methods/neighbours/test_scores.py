"""One score a row: whichever way nominated it, and the k best even among many that tie."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from likewise_methods import kernels as _kernels
from likewise_methods.neighbours.protocol import Metric
from likewise_methods.neighbours.scores import Flat, row_scores, unit_length

METRICS: tuple[Metric, ...] = ("ip", "l2")


@pytest.fixture(autouse=True, params=[True, False], ids=["kernels", "without"])
def compiler(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Few rows are scored without a kernel where none was called yet: everything holds for both."""
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: request.param)


def by_definition(row: np.ndarray, query: np.ndarray, metric: Metric) -> np.float32:
    """Rational arithmetic, rounded where the score is."""
    pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(row, query, strict=True)]
    if metric == "ip":
        return np.float32(float(sum((a * b for a, b in pairs), Fraction(0))))
    return np.float32(-np.sqrt(float(sum(((a - b) ** 2 for a, b in pairs), Fraction(0)))))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("width", [1, 3, 4, 9, 128])
def test_scores_are_those_of_rational_arithmetic(metric: Metric, width: int) -> None:
    rng = np.random.default_rng(width)
    rows = (rng.normal(size=(40, width)) * 10.0 ** rng.integers(-6, 7, (40, 1))).astype(np.float32)
    query = rng.normal(size=width).astype(np.float32)
    places = rng.permutation(40)[:25]
    made = row_scores(rows, places, query, metric)
    expected = np.array([by_definition(rows[i], query, metric) for i in places], np.float32)
    # Float64 keeps 29 bits more than float32: wrong only where those cancel or lie on the edge.
    np.testing.assert_allclose(made, expected, rtol=1.2e-7, atol=1e-12)
    assert (made == expected).mean() > 0.9


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_depends_on_its_row_alone(metric: Metric) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 37)).astype(np.float32)
    query = rows[7] + np.float32(0.1)
    together = row_scores(rows, np.arange(300), query, metric)
    alone = [row_scores(rows, np.array([i]), query, metric)[0] for i in range(300)]
    moved = row_scores(np.asfortranarray(rows[::-1]), np.arange(300), query, metric)[::-1]
    assert together.tolist() == alone == moved.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_no_row_that_ties_is_left_out(metric: Metric) -> None:
    """Of a thousand rows all but a few score the same; the last of the k best is any of them."""
    rng = np.random.default_rng(1)
    rows = np.repeat(rng.normal(size=(1, 12)), 1000, axis=0).astype(np.float32)
    rows[[5, 500, 995]] += rows[0] if metric == "ip" else 0.5
    query = rows[0]
    alive = np.ones(1000, bool)
    alive[::10] = False
    places, values = Flat(metric, rows).best(rows, alive, query, 4)
    every = row_scores(rows, np.arange(1000), query, metric)
    last = np.sort(every[alive])[-4]
    assert alive[places].all()
    assert set(np.flatnonzero(alive & (every >= last))) <= set(places.tolist())
    np.testing.assert_array_equal(values, every[places])


@pytest.mark.parametrize("metric", METRICS)
def test_the_best_are_the_best_by_definition(metric: Metric) -> None:
    """Rows so near to each other that float32 sums order them at random."""
    rng = np.random.default_rng(2)
    rows = (100 + 1e-4 * rng.normal(size=(3000, 64))).astype(np.float32)
    query = rows[3]
    flat = Flat(metric, rows[:2000]).add(rows[2000:])
    every = row_scores(rows, np.arange(3000), query, metric)
    for k in (1, 20, 400, 5000):
        places, values = flat.best(rows, np.ones(3000, bool), query, k)
        first = np.lexsort((places, -values))[:k]
        expected = np.lexsort((np.arange(3000), -every))[:k]
        assert places[first].tolist() == expected.tolist()


def test_more_columns_than_asked_for_do_not_count() -> None:
    rows = np.random.default_rng(3).normal(size=(30, 10)).astype(np.float32)
    short = np.ascontiguousarray(rows[:, :6])
    found = row_scores(rows, np.arange(30), short[4], "l2")
    assert found.tolist() == row_scores(short, np.arange(30), short[4], "l2").tolist()


def test_beyond_float32_is_infinity_and_ranks_so() -> None:
    rows = np.array([[3e38, 3e38], [1, 1], [-3e38, 0]], np.float32)
    assert row_scores(rows, np.arange(3), rows[0], "ip").tolist()[0] == np.inf
    places, values = Flat("l2", rows).best(rows, np.ones(3, bool), rows[1], 1)
    assert places[np.argmax(values)] == 1


@pytest.mark.parametrize("width", [1, 3, 4, 77])
def test_unit_length_is_that_of_float64_in_every_layout(width: int) -> None:
    rng = np.random.default_rng(width)
    # Float32 squares of these would be infinite, or nothing.
    rows = (rng.normal(size=(60, width)) * 10.0 ** rng.integers(-30, 31, (60, 1))).astype(
        np.float32
    )
    rows[7] = 0
    before = rows.copy()
    made = unit_length(rows)
    wide = rows.astype(np.float64)
    lengths = np.array([max(float(np.hypot.reduce(row)), 1e-300) for row in wide])[:, None]
    np.testing.assert_allclose(made, wide / lengths, rtol=1.2e-7, atol=1e-30)
    assert (rows == before).all(), "what was given stays"
    frozen = rows.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2], frozen):
        assert unit_length(other).tobytes() == made.tobytes()
    assert unit_length(rows[::-1])[::-1].tobytes() == made.tobytes()
    assert unit_length(rows[5:6]).tobytes() == made[5:6].tobytes()
