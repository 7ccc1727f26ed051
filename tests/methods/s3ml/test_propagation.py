"""Affinities and T: the fast forms against the plain formulas, and each other."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.graph import _compare_few, knn_graph
from likewise_methods.s3ml.pairs import Constraints, as_constraints
from likewise_methods.s3ml.propagation import push
from likewise_methods.s3ml.propagation.kernels import push_pairs, sweep
from likewise_methods.s3ml.propagation.push import EPS, Pusher, add_pairs, pushed_scatter
from likewise_methods.s3ml.propagation.scatter import (
    affinities,
    dense_affinities,
    scatter,
)
from likewise_methods.s3ml.propagation.solves import (
    Sum,
    column_sums,
    matrix_free_scatter,
    plain_scatter,
    solve,
)
from tests.methods.s3ml import reference

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


@pytest.mark.parametrize("kind", ["apart", "copies", "near copies", "an outlier"])
def test_graph_of_few_rows_is_exact(kind: str) -> None:
    """The products of rows that are nearly the same differ in their last digits only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12))
    if kind != "apart":
        X = np.repeat(X[:60], 10, axis=0) + (kind == "near copies") * 2e-4 * rng.normal(
            size=(600, 12)
        )
    if kind == "an outlier":
        X = np.concatenate([X + 1e-2 * rng.normal(size=X.shape), np.full((1, 12), 1e5)])
    X = X.astype(np.float32).astype(np.float64)
    found = knn_graph(X, K)
    away = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(away, np.inf)
    nearest = np.sort(away, axis=1)[:, :K]
    # By float32, in which rows are kept.
    np.testing.assert_allclose(
        np.take_along_axis(away, found.astype(int), 1), nearest, atol=1e-6 * np.abs(X).max()
    )
    assert all(len(set(row)) == K for row in found.tolist())


def test_graph_of_rows_that_are_no_numbers_is_refused() -> None:
    X = np.ones((30, 3))
    X[2, 1] = np.inf
    with pytest.raises(InvalidInput, match="NaN or infinity"), np.errstate(invalid="ignore"):
        knn_graph(X, 3)


def test_graph_of_rows_equally_near_names_the_first() -> None:
    assert _compare_few(np.zeros((5, 2), np.float32), 2).tolist() == [
        [1, 2], [0, 2], [0, 1], [0, 1], [0, 1]
    ]  # fmt: skip


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
    close(scatter(X, said, graph, 0.5, 0.0, method="dense")[0], expected, 1e-10)
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
    close(scatter(X, said, graph, 0.5, theta, method="push")[0], expected, 1e-3)
    dense, *counts = scatter(X, said, graph, 0.5, theta, method="dense")
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
        dense = scatter(X, weighed, graph, 0.9, 0.01, method="dense")[0]
        close(scatter(X, weighed, graph, 0.9, 0.01, method="push")[0], dense, 1e-3)


def test_many_classes_and_a_threshold_that_cuts_labelled_pairs() -> None:
    """More classes than a block of solves; theta high enough to drop pairs of labelled rows."""
    X, labels = rows(3), some_labels(3, classes=20)
    graph, said = knn_graph(X, K), as_constraints(labels, None, N)
    for theta in (0.02, 0.45, 0.8):
        dense, *counts = scatter(X, said, graph, 0.5, theta, method="dense")
        pushed, *others = pushed_scatter(X, graph, said, 0.5, theta, eps=1e-12)
        close(pushed, dense, 1e-8)
        assert counts == others


def plain_column(graph: Any, b: Any, a: float) -> Any:
    """Pi b by the plain iteration."""
    F = b.copy()
    for _ in range(200):
        F = (1 - a) * b + a * F[graph].mean(axis=1)
    return F


def by_pairs(graph: Any, said: Constraints, eps: float, budget: float = np.inf) -> Any:
    """What ``push_pairs`` finds, as full arrays: W to free rows, and z among rows in pairs."""
    pusher = Pusher(graph, 0.5, eps / 0.5, None)
    made = Found(np.zeros((said.n, said.n)), np.zeros((said.n, said.n)), pusher)
    rows = said.constrained_rows()
    W0 = said.start_rows(rows)
    place = np.full(said.n, -1, np.int32)
    place[rows] = np.arange(len(rows))
    columns, own_columns = np.empty((2, 200_000), np.int32)
    values, own_values = np.empty((2, 200_000))
    ends, own_ends = np.zeros((2, len(rows) + 1), np.int64)
    hard = np.zeros(len(rows), np.int8)
    push_pairs(
        graph, pusher.links, rows, 0, W0.indptr.astype(np.int64), W0.indices.astype(np.int32),
        W0.data, 0.5, eps, min(budget, 10**12), (0.0, 0.0), place, pusher.work, pusher.again(),
        ends, columns, values, own_ends, own_columns, own_values, hard,
    )  # fmt: skip
    made.hard = hard
    for s, j in enumerate(rows):
        part, own = slice(ends[s], ends[s + 1]), slice(own_ends[s], own_ends[s + 1])
        made.free[columns[part], j] = values[part]
        made.among[rows[own_columns[own]], j] = own_values[own]
    return made


class Found:
    """Full arrays for a test to look into."""

    def __init__(self, free: Any, among: Any, pusher: Pusher) -> None:
        self.free, self.among, self.pusher = free, among, pusher
        self.hard: Any = None


@pytest.mark.parametrize("minus", [1.0, 0.1])
def test_columns_of_pairs_are_within_their_bound(minus: float) -> None:
    """Every entry of z within eps of the plain iteration: rows of Pi sum to 1."""
    X = rows()
    graph, said = knn_graph(X, K), replace(both_kinds()["pairs"][0], minus=minus)
    eps = 1e-4
    found = by_pairs(graph, said, eps)
    W0 = np.where(both_kinds()["pairs"][1] < 0, -minus, both_kinds()["pairs"][1])
    Z = plain_column(graph, W0, 0.5)
    Pi = plain_column(graph, np.eye(N), 0.5)
    paired = said.constrained_rows()
    free = np.setdiff1d(np.arange(N), paired)
    among = found.among[np.ix_(paired, paired)] - Z[np.ix_(paired, paired)]
    np.fill_diagonal(among, 0)
    assert np.abs(among).max() <= eps
    # Here a row of Pi comes in, too, low by eps times the sum of the column at most.
    bound = eps * (1 + Pi.sum(axis=0).max()) / 2
    W = (Z + Pi.T)[np.ix_(free, paired)] / 2
    assert np.abs(found.free[np.ix_(free, paired)] - W).max() <= bound
    assert not found.hard.any()


def test_work_goes_with_pairs_plus_rows() -> None:
    """Links followed, not time: twice the rows cost nothing more for the same pairs."""
    work = {}
    for n in (2_000, 8_000):
        X = rows(n=n)
        graph = knn_graph(X, K)
        for count in (20, 40):
            first = np.arange(count) * 7
            pairs, same = np.stack([first, first + 3], axis=1), np.arange(count) % 2 == 0
            said = as_constraints(pairs, same, n)
            work[n, count] = by_pairs_work(graph, said)
    assert work[8_000, 40] < 1.3 * work[2_000, 40]
    assert 1.5 * work[8_000, 20] < work[8_000, 40] < 2.5 * work[8_000, 20]


def by_pairs_work(graph: Any, said: Constraints) -> int:
    """Links followed for the part of W that touches pairs."""
    pusher = Pusher(graph, 0.5, EPS, None)
    free = np.ones(said.n, bool)
    free[said.constrained_rows()] = False
    add_pairs(Sum(np.zeros((said.n, 1))), pusher, said, free, 0.01)
    return pusher.followed


def test_columns_that_reach_everywhere_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes but the way: with no links to follow every column is solved by sweeps."""
    X, (said, _) = rows(), both_kinds()["pairs"]
    graph = knn_graph(X, K)
    pushed, *counts = pushed_scatter(X, graph, said, 0.5, 0.01, eps=1e-12)
    monkeypatch.setattr(push, "BUDGET", 0)
    swept, *others = pushed_scatter(X, graph, said, 0.5, 0.01, eps=1e-12)
    close(swept, pushed, 1e-8)
    assert counts == others


def test_hubs_are_pushed_to_instead_of_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    X, (said, W0) = rows(), both_kinds()["pairs"]
    graph = knn_graph(X, K)
    expected = reference.scatter(
        X, reference.affinities(reference.walk_matrix(X, K), W0, 0.5, 0.01)
    )
    for crowd in (0, 10**9):
        monkeypatch.setattr(push, "CROWD", crowd)
        close(pushed_scatter(X, graph, said, 0.5, 0.01)[0], expected, 1e-3)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_the_order_of_rows_in_memory_does_not_matter(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, (said, _) = rows(), both_kinds()[kind]
    graph = knn_graph(X, K)
    plain, *counts = pushed_scatter(X, graph, said, 0.5, 0.01, eps=1e-12)
    monkeypatch.setattr(push, "ORDERED_FROM", 0)
    ordered, *others = pushed_scatter(X, graph, said, 0.5, 0.01, eps=1e-12)
    close(ordered, plain, 1e-8)
    assert counts == others


def test_memory_goes_with_rows_and_pairs() -> None:
    """No array of pairs x pairs, nor of rows x pairs."""
    n, count = 20_000, 2_000
    rng = np.random.default_rng(0)
    graph = (np.arange(n)[:, None] + rng.integers(1, 20, (n, K))).astype(np.int32) % n
    pairs = rng.permutation(n)[: 2 * count].reshape(-1, 2)
    said = as_constraints(pairs, np.arange(count) % 2 == 0, n)
    X = rng.normal(size=(n, 4))
    scatter(X, said, graph, 0.5, 0.01, method="push")
    tracemalloc.start()
    scatter(X, said, graph, 0.5, 0.01, method="push")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 4,000 rows are in pairs: their square alone would be 128 MB, with n rows 640 MB.
    assert peak < 70e6


def test_float32_rows_need_no_float64_copy() -> None:
    X = rows().astype(np.float32)
    graph, said = knn_graph(X, K), as_constraints(some_labels(), None, N)
    wide = X.astype(np.float64)
    close(
        matrix_free_scatter(X, graph, said, 0.5), matrix_free_scatter(wide, graph, said, 0.5), 1e-6
    )


def test_progress_is_reported() -> None:
    X = rows()
    graph, said = knn_graph(X, K), as_constraints(some_labels(), None, N)
    reported: list[tuple[str, int, int]] = []

    def note(what: str, done: int, of: int) -> None:
        reported.append((what, done, of))

    scatter(X, said, graph, 0.5, 0.0, method="matrix-free", progress=note)
    assert reported[-1][1] == reported[-1][2] == X.shape[1]
    reported.clear()
    scatter(X, said, graph, 0.5, 0.01, method="push", progress=note)
    assert {what for what, _, _ in reported} == {
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
