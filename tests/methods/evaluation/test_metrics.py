"""The yardsticks: hand-made cases, and other people's (or slower, plainer) formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.metrics import (
    average_precision,
    precision_at,
    recall_at,
    relevance,
    sparsity,
    triplet_error,
)

ranked_lists = st.lists(st.booleans(), min_size=1, max_size=60).filter(any)


def oxford_official(hits: list[bool], n_positives: int) -> float:
    """The Oxford benchmark's own walk down the list, step by step."""
    old_recall, old_precision, area, found = 0.0, 1.0, 0.0, 0
    for place, hit in enumerate(hits):
        found += hit
        recall, precision = found / n_positives, found / (place + 1)
        area += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
    return area


@given(ranked_lists, st.integers(0, 5))
def test_trapezoid_is_the_official_walk(hits: list[bool], missed: int) -> None:
    total = sum(hits) + missed
    ours = average_precision(hits, total, trapezoid=True)
    assert ours == pytest.approx(oxford_official(hits, total), abs=1e-12)


@given(ranked_lists)
def test_plain_is_scikit_learns(hits: list[bool]) -> None:
    falling = -np.arange(len(hits), dtype=float)
    assert average_precision(hits) == pytest.approx(average_precision_score(hits, falling))


def test_average_precision_by_hand() -> None:
    assert average_precision([1, 1, 0]) == 1.0
    assert average_precision([0, 1]) == 0.5
    # One of two positives was never ranked.
    assert average_precision([1, 0], 2) == 0.5
    assert average_precision([0, 0], 2) == 0.0
    # First hit at rank 1: (1 + 1) / 2; second at rank 3: (2/3 + 1/2) / 2; mean of the two.
    assert average_precision([1, 0, 1], trapezoid=True) == pytest.approx((1 + 7 / 12) / 2)
    # A hit at rank 2 after a miss: precision falls from 0 to rise to 1/2.
    assert average_precision([0, 1], trapezoid=True) == 0.25


def test_junk_leaves_the_ranking_before_ranks_are_counted() -> None:
    hits = relevance(["junk", "good", "bad", "junk2", "ok"], {"good", "ok"}, {"junk", "junk2"})
    assert hits.tolist() == [True, False, True]


def test_precision_and_recall_at() -> None:
    hits = [1, 0, 1, 1]
    assert precision_at(hits, 3) == pytest.approx(2 / 3)
    assert precision_at(hits, 8) == pytest.approx(3 / 8)
    assert recall_at(hits, 3) == pytest.approx(2 / 3)
    assert recall_at(hits, 3, n_positives=4) == 0.5
    with pytest.raises(InvalidInput, match="k is 0"):
        precision_at(hits, 0)


def test_triplet_error_by_hand() -> None:
    x = [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 0.0]]
    assert triplet_error(x, [[0, 1, 2]]) == 0.0
    assert triplet_error(x, [[0, 2, 1]]) == 1.0
    # A tie is an error, and so is NaN.
    assert triplet_error(x, [[0, 1, 3]]) == 1.0
    assert triplet_error([[0.0], [np.nan], [1.0]], [[0, 1, 2], [0, 2, 1]]) == 1.0
    # Quadruplets: d(0, 1) = 1 against d(2, 3) = sqrt 10, both ways.
    assert triplet_error(x, [[0, 1, 2, 3], [2, 3, 0, 1]]) == 0.5


@given(hnp.arrays(np.float64, (6, 2), elements=st.floats(-5, 5)), st.integers(0, 1000))
def test_triplet_error_against_a_loop(x: np.ndarray, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 6, (10, 4))
    wrong = 0
    for i, j, l, k in rows:  # noqa: E741
        wrong += not ((x[i] - x[j]) ** 2).sum() < ((x[l] - x[k]) ** 2).sum()
    assert triplet_error(x, rows) == pytest.approx(wrong / 10)


def test_sparsity() -> None:
    assert sparsity([0.0, 1.0, -0.0, 1e-300]) == 0.5
    assert sparsity([0.0, 1.0, 0.0], [True, True, False]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_precision([0, 0]), "no positives"),
        (lambda: average_precision([1, 1], 1), "n_positives is 1, but 2"),
        (lambda: average_precision([[1]]), r"shape \(1, 1\)"),
        (lambda: average_precision([0.5, 1]), "relevance has 0.5; true or false"),
        (lambda: recall_at([0], 1), "no positives"),
        (lambda: triplet_error([[0.0]], [[0, 0, 1]]), "from 0 to 0"),
        (lambda: triplet_error([[0.0]], [[0, 0]]), "anchor, nearer, farther"),
        (lambda: triplet_error([[0.0]], np.zeros((0, 3), int)), "no comparisons"),
        (lambda: sparsity([]), "no weights"),
        (lambda: recall_at([1, 1], 2, n_positives=1), "n_positives is 1, but 2"),
        (lambda: relevance(["a", "b", "a"], {"a"}), "names 'a' twice"),
        (lambda: sparsity([1.0], [True, False]), "touched"),
    ],
)
def test_bad_input_is_explained(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
