"""The metrics of the benchmarks, against scikit-learn, loops and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, top_k_accuracy_score

from benchmarks.metrics import (
    annotation_at,
    average_precision_at,
    flat_cost,
    label_map,
    mean_average_precision,
)
from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.metrics import precision_at

ranked_lists = st.lists(st.booleans(), min_size=1, max_size=60).filter(any)


def test_mean_average_precision() -> None:
    rankings = [([1, 0], None), ([0, 1], None), ([0, 0], 3)]
    assert mean_average_precision(rankings) == pytest.approx(0.5)
    with pytest.raises(InvalidInput, match="no rankings"):
        mean_average_precision([])


@given(ranked_lists, st.integers(1, 80), st.integers(0, 5))
def test_ap_at_k_is_the_sum_of_the_ordinal_spec(hits: list[bool], k: int, missed: int) -> None:
    total = sum(hits) + missed
    expected = sum(precision_at(hits, q) * hits[q - 1] for q in range(1, min(k, len(hits)) + 1))
    assert average_precision_at(hits, k, total) == pytest.approx(expected / total)


def test_ap_at_k_does_not_count_what_is_further_down() -> None:
    assert average_precision_at([1, 0, 0, 1], k=3, n_positives=2) == 0.5
    assert average_precision_at([0, 0, 1], k=2, n_positives=1) == 0.0


score_problems = st.integers(0, 10_000).map(
    lambda seed: (
        np.random.default_rng(seed).random((12, 7)),
        np.random.default_rng(seed + 1).random((12, 7)) < 0.3,
    )
)


@given(score_problems)
def test_label_map_is_scikit_learns_macro_mean(problem: tuple[np.ndarray, np.ndarray]) -> None:
    scores, truth = problem
    if not truth.any():
        return
    columns = truth.any(axis=0)
    expected = average_precision_score(truth[:, columns], scores[:, columns], average="macro")
    assert label_map(scores, truth) == pytest.approx(expected)
    assert label_map(scores, sp.csr_matrix(truth)) == pytest.approx(expected)


@given(score_problems, st.integers(1, 9))
def test_annotation_against_loops(problem: tuple[np.ndarray, np.ndarray], k: int) -> None:
    scores, truth = problem
    if not truth.any():
        return
    given_to: dict[int, set[int]] = {label: set() for label in range(7)}
    for picture in range(12):
        for label in sorted(range(7), key=lambda j: (-scores[picture, j], j))[:k]:
            given_to[label].add(picture)
    precision, recall, found = [], [], 0
    for label in range(7):
        having = set(np.flatnonzero(truth[:, label]).tolist())
        if not having:
            continue
        right = len(given_to[label] & having)
        precision.append(right / len(given_to[label]) if given_to[label] else 0.0)
        recall.append(right / len(having))
        found += right > 0
    result = annotation_at(scores, truth, k)
    assert result.precision == pytest.approx(np.mean(precision))
    assert result.recall == pytest.approx(np.mean(recall))
    assert result.n_plus == found


def test_flat_cost_against_scikit_learn_and_ties() -> None:
    rng = np.random.default_rng(0)
    scores, truth = rng.random((200, 20)), rng.integers(0, 20, 200)
    expected = 1 - top_k_accuracy_score(truth, scores, k=5, labels=np.arange(20))
    assert flat_cost(scores, truth) == pytest.approx(expected)
    # All equal: the five lowest class numbers are the answer.
    assert flat_cost(np.zeros((2, 9)), [4, 5]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_precision_at([1, 1], 2, 1), "n_positives is 1"),
        (lambda: label_map([[1.0]], [[0]]), "no label"),
        (lambda: label_map([[1.0]], [[1, 0]]), "expected of both"),
        (lambda: flat_cost([[1.0, 2.0]], [2]), "from 0 to 1"),
        (lambda: flat_cost([[1.0, 2.0]], [[0]]), "expected"),
        (lambda: flat_cost([[1.0, 2.0], [np.nan, 0.0]], [0, 0]), "row 1 have NaN"),
        (lambda: label_map([[np.nan], [1.0]], [[1], [0]]), "row 0 have NaN"),
        (lambda: annotation_at([[np.nan, 1.0]], [[1, 0]]), "row 0 have NaN"),
    ],
)
def test_bad_input_is_explained(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
