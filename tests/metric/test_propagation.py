"""Affinities and T: the fast forms against the plain formulas, and each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.metric.graph import knn_graph
from likewise.metric.pairs import Constraints, as_constraints
from likewise.metric.propagation.dense import dense_affinities
from likewise.metric.propagation.kernels import sweep
from likewise.metric.propagation.matrix_free import (
    column_sums,
    matrix_free_scatter,
    plain_scatter,
    solve,
)
from likewise.metric.propagation.methods import affinities, scatter, scatter_and_counts
from likewise.metric.propagation.push import pushed_scatter
from tests.metric import reference

N, K = 150, 6


def rows(seed: int = 0, n: int = N) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) + 100 + 3 * rng.integers(0, 3, n)[:, None]


def some_labels(seed: int = 0, n: int = N, classes: int = 4) -> Any:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    labels[rng.random(n) < 0.8] = -1
    return labels


def some_pairs(seed: int = 0, n: int = N, count: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n, (count, 2))
    drawn = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    return drawn, rng.random(len(drawn)) < 0.5


def both_kinds() -> dict[str, tuple[Constraints, Any]]:
    labels = some_labels()
    pairs, same = some_pairs()
    return {
        "labels": (
            as_constraints(labels, None, N),
            reference.start_matrix(N, *reference.pairs_of_labels(labels)),
        ),
        "pairs": (as_constraints(pairs, same, N), reference.start_matrix(N, pairs, same)),
    }


def close(T: Any, expected: Any, tol: float) -> None:
    assert np.abs(T - expected).max() <= tol * np.abs(expected).max()


def test_graph_is_that_of_all_distances() -> None:
    X = rows()
    graph = knn_graph(X, K)
    P = np.zeros((N, N))
    np.put_along_axis(P, graph.astype(np.int64), 1 / K, axis=1)
    np.testing.assert_array_equal(P, reference.walk_matrix(X, K))


def test_graph_of_equal_rows_never_names_the_row_itself() -> None:
    graph = knn_graph(np.zeros((20, 2)), 4)
    assert not (graph == np.arange(20)[:, None]).any()
    assert all(len(set(row)) == 4 for row in graph.tolist())


def test_graph_of_few_rows_takes_all_others() -> None:
    assert knn_graph(np.arange(3.0)[:, None], 6).tolist() == [[1, 2], [0, 2], [1, 0]]
    assert knn_graph(np.zeros((1, 2)), 6).shape == (1, 0)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_start_matrix_is_applied_without_being_made(kind: str) -> None:
    said, W0 = both_kinds()[kind]
    V = np.random.default_rng(1).normal(size=(N, 3))
    np.testing.assert_allclose(said.apply(V), W0 @ V, atol=1e-12)
    assert said.n_similar == (np.triu(W0, 1) > 0).sum()
    assert said.n_dissimilar == (np.triu(W0, 1) < 0).sum()
    first, second, alike = said.list_pairs()
    assert len(first) == said.n_similar + said.n_dissimilar
    np.testing.assert_array_equal(W0[first, second], np.where(alike, 1, -1))


@pytest.mark.parametrize("theta", [0.0, 0.01])
def test_affinities_are_the_papers_iteration(theta: float) -> None:
    X, labels = rows(), some_labels()
    pairs, same = some_pairs()
    P = reference.walk_matrix(X, K)
    for y, alike, W0 in (
        (labels, None, reference.start_matrix(N, *reference.pairs_of_labels(labels))),
        (pairs, same, reference.start_matrix(N, pairs, same)),
    ):
        W = affinities(X, y, alike, threshold=theta)
        np.testing.assert_allclose(W, reference.affinities(P, W0, 0.5, theta), atol=1e-12)


def test_solves_and_column_sums() -> None:
    X = rows()
    graph = knn_graph(X, K)
    for a in (0.0, 0.5, 0.95):
        Pi = (1 - a) * np.linalg.inv(np.eye(N) - a * reference.walk_matrix(X, K))
        B = np.random.default_rng(0).normal(size=(N, 3))
        np.testing.assert_allclose(solve(graph, B, a), Pi @ B, atol=1e-10)
        np.testing.assert_allclose(column_sums(graph, a), Pi.sum(axis=0), atol=1e-8)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
@pytest.mark.parametrize("minus", [1.0, 0.3])
def test_matrix_free_is_the_dense_scatter(kind: str, minus: float) -> None:
    X = rows()
    said, W0 = both_kinds()[kind]
    said = Constraints(said.n, said.codes, said.first, said.second, said.alike, minus)
    W0 = np.where(W0 < 0, -minus, W0)
    graph = knn_graph(X, K)
    expected = reference.scatter(X, reference.affinities(reference.walk_matrix(X, K), W0, 0.5, 0.0))
    close(matrix_free_scatter(X, graph, said, 0.5), expected, 1e-10)
    close(scatter(X, said, graph, 0.5, 0.0, method="dense"), expected, 1e-10)
    close(plain_scatter(X, said), reference.scatter(X, W0), 1e-10)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
@pytest.mark.parametrize("theta", [0.01, 0.05])
@pytest.mark.parametrize("minus", [3.0, 1.0, 0.02])
def test_push_is_the_dense_scatter(kind: str, theta: float, minus: float) -> None:
    """With a small residual to rounding, with the default one to the error it promises."""
    X = rows()
    said, W0 = both_kinds()[kind]
    said = replace(said, minus=minus)
    W0 = np.where(W0 < 0, -minus, W0)
    graph = knn_graph(X, K)
    W = reference.affinities(reference.walk_matrix(X, K), W0, 0.5, theta)
    expected = reference.scatter(X, W)
    uncut = [int(np.triu((sign == W0) & (W != 0), 1).sum()) for sign in (1, -minus)]
    pushed, *counts = pushed_scatter(X, graph, said, 0.5, theta, eps=1e-12)
    close(pushed, expected, 1e-8)
    assert counts == uncut
    close(scatter(X, said, graph, 0.5, theta, method="push"), expected, 1e-3)
    dense, *counts = scatter_and_counts(X, said, graph, 0.5, theta, method="dense")
    close(dense, expected, 1e-10)
    assert counts == uncut


def test_the_cut_does_not_depend_on_the_weight_of_dissimilar_pairs() -> None:
    """With only dissimilar pairs given everything they spread is kept, or cut, at any weight."""
    X = rows()
    pairs, _ = some_pairs()
    graph, said = knn_graph(X, K), as_constraints(pairs, np.zeros(len(pairs), bool), N)
    full = dense_affinities(graph, said, 0.0, 0.2)
    weak = dense_affinities(graph, replace(said, minus=1e-4), 0.0, 0.2)
    np.testing.assert_allclose(np.minimum(weak, 0), 1e-4 * np.minimum(full, 0))
    assert (weak < 0).sum() == 2 * len(pairs)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_push_keeps_its_promise_where_affinities_spread_far(kind: str) -> None:
    X, (said, _) = rows(), both_kinds()[kind]
    graph = knn_graph(X, K)
    for minus in (1.0, 0.02):
        weighed = replace(said, minus=minus)
        dense = scatter(X, weighed, graph, 0.9, 0.01, method="dense")
        close(scatter(X, weighed, graph, 0.9, 0.01, method="push"), dense, 1e-3)


def test_many_classes_and_a_threshold_that_cuts_labelled_pairs() -> None:
    """More classes than a block of solves; theta high enough to drop pairs of labelled rows."""
    X, labels = rows(3), some_labels(3, classes=20)
    graph, said = knn_graph(X, K), as_constraints(labels, None, N)
    for theta in (0.02, 0.45, 0.8):
        dense, *counts = scatter_and_counts(X, said, graph, 0.5, theta, method="dense")
        pushed, *others = pushed_scatter(X, graph, said, 0.5, theta, eps=1e-12)
        close(pushed, dense, 1e-8)
        assert counts == others


def test_float32_rows_need_no_float64_copy() -> None:
    X = rows().astype(np.float32)
    graph, said = knn_graph(X, K), as_constraints(some_labels(), None, N)
    wide = X.astype(np.float64)
    close(
        matrix_free_scatter(X, graph, said, 0.5), matrix_free_scatter(wide, graph, said, 0.5), 1e-6
    )


def test_progress_is_told() -> None:
    X = rows()
    graph, said = knn_graph(X, K), as_constraints(some_labels(), None, N)
    told: list[tuple[str, int, int]] = []

    def note(what: str, done: int, of: int) -> None:
        told.append((what, done, of))

    scatter(X, said, graph, 0.5, 0.0, method="matrix-free", progress=note)
    assert told[-1][1] == told[-1][2] == X.shape[1]
    told.clear()
    scatter(X, said, graph, 0.5, 0.01, method="push", progress=note)
    assert {what for what, _, _ in told} == {
        "finding neighbourhoods", "looking back", "classes", "classes: neighbourhoods",
    }  # fmt: skip


def test_kernels_are_cached_and_typed_once() -> None:
    X = rows()
    solve(knn_graph(X, K), X, 0.5)
    assert len(sweep.signatures) == 1


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"propagation": 1.0}, "propagation is 1.0"),
        ({"propagation": "half"}, "propagation is 'half'"),
        ({"threshold": -0.1}, "threshold is -0.1"),
        ({"method": "guess"}, "method is 'guess'"),
        ({"method": "matrix-free"}, "threshold of 0, and it is 0.01; use dense or push"),
        ({"method": "push", "threshold": 0.0}, "threshold above 0"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], match: str) -> None:
    X = rows()
    given: dict[str, Any] = {"propagation": 0.5, "threshold": 0.01, **wrong}
    with pytest.raises(InvalidInput, match=match):
        scatter(X, as_constraints(some_labels(), None, N), knn_graph(X, K), **given)


@pytest.mark.parametrize("wrong", [0, -3, 2.5, True])
def test_affinities_need_a_whole_number_of_neighbours(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="n_neighbors is"):
        affinities(np.arange(6.0)[:, None], [[0, 5]], [False], n_neighbors=wrong)


def test_affinities_refuse_nan() -> None:
    with pytest.raises(InvalidInput, match="NaN in row 1"):
        affinities([[0.0], [np.nan], [1.0]], [[0, 2]], [True])
