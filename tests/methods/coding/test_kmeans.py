"""Approximate k-means: kernels against plain versions, re-seeding, and how near Lloyd it comes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from likewise_methods.coding import _kmeans_kernels as kernels
from likewise_methods.coding import kmeans
from likewise_methods.coding.kmeans import approximate_kmeans, move_words, nearest_words
from likewise_methods.coding.reservoir import Reservoir
from likewise_methods.neighbours.exact import Exact


def blobs(n: int, width: int, seed: int, centres: int = 60) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    C = np.random.default_rng(7).normal(size=(centres, width)) * 2
    return (C[rng.integers(centres, size=n)] + rng.normal(size=(n, width))).astype(np.float32)


def train(X: NDArray[np.float32], k: int, **other: Any) -> tuple[Any, list[float]]:
    ways = {"n_iter": 15, "n_near": 16, "rng": np.random.default_rng(0), **other}
    return approximate_kmeans(X, k, **ways)


def exact_kmeans(X: NDArray[np.float32], k: int) -> Any:
    """Centres of Lloyd's algorithm, every row compared with every centre."""
    plain = faiss.Kmeans(X.shape[1], k, niter=15, seed=0, max_points_per_centroid=len(X))
    plain.train(X)
    return np.asarray(plain.centroids)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40))
def test_group_is_a_stable_sort(labels: list[int]) -> None:
    members, starts = kernels.group(np.array(labels, np.int32), 7)
    assert members.tolist() == np.argsort(labels, kind="stable").tolist()
    assert np.diff(starts).tolist() == np.bincount(labels, minlength=7).tolist()


def test_reassign_against_the_plain_version() -> None:
    X, words = blobs(200, 5, 0), blobs(20, 5, 1)
    near = nearest_words(words, 6)
    labels = np.random.default_rng(2).integers(20, size=200).astype(np.int32)
    expected = []
    for x, c in zip(X, labels, strict=True):
        candidates = [int(c), *near[c].tolist()]
        expected.append(min(candidates, key=lambda j: float(((x - words[j]) ** 2).sum())))
    errors = np.empty(200, np.float32)
    members, starts = kernels.group(labels, 20)
    kernels.reassign(0, 20, X, words, near, members, starts, labels, errors)
    assert labels.tolist() == expected
    np.testing.assert_allclose(errors, ((X - words[labels]) ** 2).sum(1), rtol=1e-5)


def test_words_move_to_means() -> None:
    X = blobs(100, 4, 3)
    labels = np.arange(100, dtype=np.int32) % 7
    words = np.zeros((7, 4), np.float32)
    assert move_words(X, words, labels, np.ones(100, np.float32)) == 0
    expected = [X[labels == c].mean(axis=0, dtype=np.float64) for c in range(7)]
    np.testing.assert_allclose(words, expected, rtol=1e-6)


def test_an_unused_word_takes_the_worst_member_of_the_costliest() -> None:
    X = np.array([[0.0], [0.1], [5.0], [9.0], [9.0], [9.1]], np.float32)
    labels = np.array([0, 0, 0, 1, 1, 1], np.int32)
    words = np.array([[0.0], [9.0], [77.0], [88.0]], np.float32)
    errors = ((X - words[labels]) ** 2)[:, 0]
    assert move_words(X, words, labels, errors) == 2
    # Word 2 gets row 2 (error 25); word 3 the worst of the next word, row 5.
    assert labels.tolist() == [0, 0, 2, 1, 1, 3]
    np.testing.assert_allclose(words[:, 0], [0.05, 9.0, 5.0, 9.1], rtol=1e-6)


def test_fewer_distinct_rows_than_words_is_no_trouble() -> None:
    X = np.repeat(blobs(10, 3, 4), 8, axis=0)
    words, history = train(X, 20)
    assert np.isfinite(words).all()
    assert history[-1] == pytest.approx(0, abs=1e-9)


def test_no_word_is_left_unused() -> None:
    X = blobs(4000, 8, 5)
    words, _ = train(X, 300)
    used = np.unique(Exact("l2").build(words).search(X, 1)[0])
    assert len(used) >= 298


@pytest.mark.parametrize("rough", [1_000, 10])
@pytest.mark.parametrize("graph", [20_000, 10])
def test_distortion_is_near_that_of_exact_kmeans(
    monkeypatch: pytest.MonkeyPatch, rough: int, graph: int
) -> None:
    """All four ways: first assignment exact or IVF, graph of words exact or HNSW."""
    monkeypatch.setattr(kmeans, "_ROUGH_EXACT", rough)
    monkeypatch.setattr(kmeans, "GRAPH_EXACT", graph)
    X, held_out = blobs(6000, 12, 6), blobs(2000, 12, 60)

    def distortion(words: NDArray[np.float32]) -> float:
        return float(Exact("l2").build(words).search(held_out, 1)[1].mean())

    words, history = train(X, 150)
    assert distortion(words) <= 1.03 * distortion(exact_kmeans(X, 150))
    # The reported error is that of a real assignment: never below the best one.
    assert history[-1] >= 0.999 * float(Exact("l2").build(words).search(X, 1)[1].mean())
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(history))


def test_same_seed_same_bits_and_threads_do_not_matter_here() -> None:
    X = blobs(3000, 8, 8)
    first, history = train(X, 120)
    for n_threads in (1, 2, 3):
        again, other = train(X, 120, n_threads=n_threads)
        np.testing.assert_array_equal(first, again)
        assert other == history
    assert (train(X, 120, rng=np.random.default_rng(1))[0] != first).any()


def test_the_sample_is_left_alone() -> None:
    X = blobs(500, 4, 9)
    before = X.copy()
    train(X, 50)
    np.testing.assert_array_equal(X, before)


def test_the_reservoir_keeps_each_row_equally_often() -> None:
    n, size, trials = 60, 12, 3000
    seen = np.zeros(n)
    stream = np.arange(n, dtype=np.float32)[:, None]
    rng = np.random.default_rng(0)
    for _ in range(trials):
        keep = Reservoir(size, rng)
        for a in range(0, n, 7):
            keep.add(stream[a : a + 7])
        assert keep.n_seen == n
        assert len(np.unique(keep.rows)) == size
        seen[keep.rows[:, 0].astype(int)] += 1
    expected = trials * size / n
    # 60 binomials with standard deviation 22: five of them.
    assert np.abs(seen - expected).max() < 5 * np.sqrt(expected * (1 - size / n))


@settings(max_examples=50, deadline=None)
@given(cuts=st.lists(st.integers(0, 50), max_size=6), size=st.integers(1, 60))
def test_the_reservoir_does_not_care_how_the_stream_is_cut(cuts: list[int], size: int) -> None:
    stream = np.arange(50, dtype=np.float32)[:, None]
    whole, parts = (Reservoir(size, np.random.default_rng(3)) for _ in range(2))
    whole.add(stream)
    for part in np.split(stream, sorted(cuts)):
        parts.add(part)
    np.testing.assert_array_equal(whole.rows, parts.rows)
    assert len(whole.rows) == min(size, 50)


@pytest.mark.parametrize("n_iter", [0, 1, 4])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_last_error_is_that_of_the_words_returned(
    n_iter: int, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of the words before they moved for the last time."""
    last: list[NDArray[Any]] = []

    def watch(X: Any, words: Any, labels: Any, *rest: Any) -> int:
        moved = move_words(X, words, labels, *rest)
        last[:] = [labels.copy()]
        return moved

    monkeypatch.setattr(kmeans, "move_words", watch)
    X = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    words, history = approximate_kmeans(
        X, 40, n_iter=n_iter, n_near=8, rng=np.random.default_rng(1), n_threads=n_threads
    )
    assert len(history) == n_iter + 2
    error = ((X.astype(float) - words[last[0]]) ** 2).sum(axis=1).mean()
    assert history[-1] == pytest.approx(error, rel=1e-5)
    assert history[-1] < history[-2]
