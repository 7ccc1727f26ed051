"""Compact flat search: ranking and scores are those of the rows, whatever the codes say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods.neighbours import compact
from likewise_methods.neighbours.compact import CompactFlat
from likewise_methods.neighbours.protocol import Metric
from likewise_methods.neighbours.scores import Flat, row_scores

METRICS: tuple[Metric, ...] = ("ip", "l2")


def check(flat: CompactFlat | Flat, rows: Any, alive: Any, query: Any, k: int) -> int:
    """The k best and all ties of the last, with their scores by definition; how many were named."""
    places, values = flat.best(rows, alive, query, k)
    every = row_scores(rows, np.arange(len(rows)), query, flat.metric)
    living = np.flatnonzero(alive)
    assert alive[places].all()
    assert len(set(places.tolist())) == len(places)
    np.testing.assert_array_equal(values, every[places])
    if len(living):
        last = np.sort(every[living])[max(len(living) - k, 0)]
        assert set(living[every[living] >= last]) <= set(places.tolist())
    first = np.lexsort((places, -values))[:k]
    expected = living[np.lexsort((living, -every[living]))][:k]
    assert places[first].tolist() == expected.tolist()
    return len(places)


KINDS = ("whole", "unit", "near", "sizes", "shifted", "huge", "tiny")


def rows_of(kind: str, n: int, width: int, rng: np.random.Generator) -> Any:
    """Rows that are hard in some way: ties, near ties, sizes far apart, the ends of float32."""
    made = rng.normal(size=(n, width))
    if kind == "whole":
        made = rng.integers(-2, 3, (n, width)).astype(float)
    elif kind == "unit":
        made /= np.linalg.norm(made, axis=1, keepdims=True) + 1e-30
    elif kind == "near":
        made = 1 + 1e-6 * made
    elif kind == "sizes":
        made *= 10.0 ** rng.integers(-8, 9, (n, 1))
    elif kind == "shifted":
        made = 1000 + 1e-3 * made
    elif kind == "huge":
        made *= 10.0 ** rng.integers(15, 38, (n, 1))
    else:
        made *= 10.0 ** rng.integers(-46, -18, (n, 1))
    made = np.clip(made, -3.4e38, 3.4e38).astype(np.float32)
    made[rng.random(n) < 0.1] = 0
    copies = rng.random(n) < 0.3
    made[copies] = made[rng.integers(0, n, copies.sum())]
    return made


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    asked=st.sampled_from(("row", "same kind", "zero", *KINDS)),
    metric=st.sampled_from(METRICS),
    n=st.integers(1, 90),
    width=st.sampled_from((1, 2, 3, 8, 17, 64)),
    k=st.integers(1, 100),
    held=st.floats(0, 1),
    dead=st.sampled_from((0.0, 0.3, 1.0)),
    seed=st.integers(0, 2**31),
)
def test_the_best_are_the_best_by_definition(
    kind: str,
    asked: str,
    metric: Metric,
    n: int,
    width: int,
    k: int,
    held: float,
    dead: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    rows = rows_of(kind, n, width, rng)
    if asked == "row":
        query = rows[rng.integers(n)]
    elif asked == "zero":
        query = np.zeros(width, np.float32)
    else:
        query = rows_of(kind if asked == "same kind" else asked, 1, width, rng)[0]
    first = int(held * n)
    flat = CompactFlat(metric, rows[:first]).add(rows[first:])
    assert len(flat) == n
    check(flat, rows, rng.random(n) >= dead, query, k)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_may_come_one_by_one_and_fill_many_blocks(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "_BLOCK", 7)
    monkeypatch.setattr(compact, "_CHUNK", 3)
    rng = np.random.default_rng(0)
    rows = rows_of("unit", 40, 12, rng)
    flat = CompactFlat(metric, rows[:0])
    for n in range(1, 41):
        flat.add(rows[n - 1 : n])
        check(flat, rows[:n], np.ones(n, bool), rows[rng.integers(n)] * 3, 5)


@pytest.mark.parametrize("metric", METRICS)
def test_few_rows_are_looked_up(metric: Metric) -> None:
    """The bounds are narrow: of 20,000 rows hardly more than were asked for are scored."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(200, 64))
    rows = (centres[rng.integers(0, 200, 20_000)] + 0.5 * rng.normal(size=(20_000, 64))).astype(
        np.float32
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    flat = CompactFlat(metric, rows)
    alive = rng.random(20_000) < 0.9
    for k in (1, 10, 300):
        assert check(flat, rows, alive, rows[17] + rows[18], k) <= 2 * k + 20
    assert flat.n_bytes == 20_000 * (64 + 12)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_in_rising_order_fill_the_list_of_nominees_again_and_again(metric: Metric) -> None:
    rows = np.linspace(0, 1, 30_000, dtype=np.float32)[:, None] * np.ones(4, np.float32)
    check(CompactFlat(metric, rows), rows, np.ones(30_000, bool), rows[-1], 3)


@pytest.mark.parametrize("metric", METRICS)
def test_no_score_lies_outside_of_its_bounds(metric: Metric) -> None:
    """Products in the largest int32 there can be, and every row below its highest worth."""
    rng = np.random.default_rng(2)
    for width in (3, 500, 3000):
        rows = rng.choice([-1.0, 1.0], (300, width)).astype(np.float32)
        rows[::3] *= rng.random((100, 1)).astype(np.float32)
        flat = CompactFlat(metric, rows)
        alive = np.ones(300, bool)
        for query in (rows[1], -rows[1], rows[2] * np.float32(0.3), rows[1] + rows[2]):
            asked = flat._ask(query)
            assert asked is not None
            places, highest = flat._nominees(asked, alive, 299)
            moved = rows.astype(float) - flat._centre
            q = query.astype(float)
            worth = moved @ q
            if metric == "l2":
                worth = moved @ (q - flat._centre) - (moved**2).sum(axis=1) / 2
            assert (highest >= worth[places]).all()
            assert (highest - worth[places] <= 0.05 * np.abs(worth).max() + 1e-3 * width).all()
            check(flat, rows, alive, query, 7)


def codes_exactly(rng: np.random.Generator, n: int, width: int) -> Any:
    """Rows that their codes hold without a loss: whole numbers up to 127, around nothing."""
    half = rng.integers(-127, 128, (n // 2, width))
    half[:, 0] = 127
    return np.concatenate([half, -half]).astype(np.float32)


def test_what_the_question_loses_is_in_the_bounds() -> None:
    rng = np.random.default_rng(4)
    rows = codes_exactly(rng, 400, 16)
    flat = CompactFlat("ip", rows)
    for query in rng.normal(size=(20, 16)).astype(np.float32):
        asked = flat._ask(query)
        assert asked is not None
        places, highest = flat._nominees(asked, np.ones(400, bool), 399)
        assert (highest >= (rows.astype(float) @ query.astype(float))[places]).all()


def test_scores_that_only_float32_takes_for_one_tie() -> None:
    """Codes know these sums to the last digit; the scores are rounded, and tie."""
    rng = np.random.default_rng(5)
    rows = codes_exactly(rng, 2000, 64)
    rows[:1000, 1:] = rows[0, 1:]
    rows[:1000, 5] = rng.integers(-3, 4, 1000)
    rows[1000:] = -rows[:1000]
    query = rng.integers(-32767, 32768, 64).astype(np.float32)
    query[1:] = np.abs(query[1:]) * np.sign(rows[0, 1:])
    query[0], query[5] = 32767, 1
    every = row_scores(rows, np.arange(2000), query, "ip")
    exact = rows.astype(float) @ query.astype(float)
    assert len(np.unique(exact[:1000])) > len(np.unique(every[:1000]))
    flat = CompactFlat("ip", rows)
    for k in (1, 50, 400, 900):
        check(flat, rows, np.ones(2000, bool), query, k)


def test_it_says_what_flat_says() -> None:
    rng = np.random.default_rng(3)
    rows = rows_of("whole", 500, 6, rng)
    alive = rng.random(500) < 0.8
    for metric in METRICS:
        for k in (1, 9, 499):
            check(Flat(metric, rows), rows, alive, rows[4], k)
            check(CompactFlat(metric, rows), rows, alive, rows[4], k)
