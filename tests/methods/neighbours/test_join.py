"""The nearest rows of all rows at once, against comparing all with all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.neighbours import join as module
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.join import join, walk_order


def rows(n: int, seed: int = 0) -> Any:
    """A smooth map of three coordinates into twelve features, and a little noise."""
    rng = np.random.default_rng(seed)
    made = np.sin(rng.random((n, 3)) @ rng.normal(size=(3, 12)) * 2)
    return (made + 0.02 * rng.normal(size=(n, 12))).astype(np.float32)


@pytest.fixture(scope="module")
def joined() -> tuple[Any, Any, float]:
    X = rows(4000)
    return X, *join(X, 6)


def test_nearly_all_of_the_nearest_are_found(joined: tuple[Any, Any, float]) -> None:
    X, graph, said = joined
    exact = Exact("l2").build(X).search(X, 7)[0][:, 1:]
    found = np.mean([len(np.intersect1d(a, b)) / 6 for a, b in zip(graph, exact, strict=True)])
    assert found > 0.95
    # What it says of itself is measured on a sample of 256 rows.
    assert abs(found - said) < 0.03


def test_lists_are_whole_sorted_and_without_the_row_itself(
    joined: tuple[Any, Any, float],
) -> None:
    X, graph, _ = joined
    assert graph.dtype == np.int32
    assert (graph >= 0).all()
    assert (graph < len(X)).all()
    assert not (graph == np.arange(len(X))[:, None]).any()
    assert all(len(set(row)) == 6 for row in graph.tolist())
    away = np.square(X[graph].astype(np.float64) - X[:, None]).sum(axis=2)
    assert (np.diff(away, axis=1) >= -1e-5).all()


def test_the_same_seed_gives_the_same_bits(joined: tuple[Any, Any, float]) -> None:
    X, graph, recall = joined
    again, said = join(X, 6)
    np.testing.assert_array_equal(again, graph)
    assert said == recall


def test_rounds_find_what_trees_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two trees: all neighbours within the leaves of one lie in the same leaf."""
    rng = np.random.default_rng(1)
    X = np.sin(rng.random((3000, 6)) @ rng.normal(size=(6, 16)) * 2).astype(np.float32)
    monkeypatch.setattr(module, "TREES", 2)
    monkeypatch.setattr(module, "ROUNDS", 0)
    _, trees = join(X, 6)
    monkeypatch.setattr(module, "ROUNDS", 4)
    _, both = join(X, 6)
    assert trees + 0.05 < both


def test_equal_rows_do_not_stop_it() -> None:
    graph, recall = join(np.zeros((1500, 3), np.float32), 5)
    assert (graph >= 0).all()
    assert not (graph == np.arange(1500)[:, None]).any()
    assert recall == 1.0


def test_many_neighbours_fill_their_lists() -> None:
    graph, _ = join(rows(1500), 60)
    assert (graph >= 0).all()
    assert all(len(set(row)) == 60 for row in graph.tolist())


def test_a_walk_brings_linked_rows_together() -> None:
    rng = np.random.default_rng(0)
    ring = rng.permutation(500)
    graph = np.empty((500, 1), np.int32)
    graph[ring, 0] = np.roll(ring, 1)
    order = walk_order(graph)
    assert sorted(order) == list(range(500))
    place = np.argsort(order)
    assert np.abs(place[np.arange(500)] - place[graph[:, 0]]).max() <= 2
