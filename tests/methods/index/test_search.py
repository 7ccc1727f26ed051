"""What a search promises: exactness, ties, weights, odd inputs, threads, cached kernels."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.index.inverted import InvertedIndex
from tests.methods.index.reference import DictIndex, assert_same, random_rows


def zipf_pictures(n: int, width: int, words: int, seed: int, signed: bool = False) -> sp.csr_array:
    """Pictures with frequent and rare words, tf-idf like: large enough for the pruned path."""
    rng = np.random.default_rng(seed)
    chance = 1 / (np.arange(width) + 10.0)
    drawn = rng.choice(width, size=(n, words), p=chance / chance.sum())
    X = sp.csr_array(
        (np.ones(n * words), (np.repeat(np.arange(n), words), drawn.ravel())), shape=(n, width)
    )
    X.sum_duplicates()
    idf = np.log(1 + 1 / chance)
    X.data *= idf[X.indices] * (rng.choice([-1, 1], X.nnz) if signed else 1)
    return sp.csr_array(
        sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X, dtype=np.float32
    )


def float64_ranking(X: Any, Q: Any, k: int, ids: Any) -> tuple[Any, Any]:
    """Column by column, which adds up in ascending order of words, as the index promises."""
    C = sp.csc_array(X, dtype=np.float64)
    Q = sp.csr_array(Q, dtype=np.float64)
    all_ids, all_scores = [], []
    for q in range(Q.shape[0]):
        s = np.zeros(X.shape[0])
        for p in range(Q.indptr[q], Q.indptr[q + 1]):
            span = slice(C.indptr[Q.indices[p]], C.indptr[Q.indices[p] + 1])
            s[C.indices[span]] += Q.data[p] * C.data[span]
        rounded = s.astype(np.float32)
        best = np.lexsort((ids, -rounded))[:k]
        all_ids.append(ids[best])
        all_scores.append(rounded[best])
    return np.array(all_ids), np.array(all_scores)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("k", [1, 10, 300])
def test_large_blocks_are_exact_to_the_bit(signed: bool, k: int) -> None:
    n = 70_000 if k == 10 else 9_000
    X = zipf_pictures(n, 2_000, 30, seed=k, signed=signed)
    ids = np.random.default_rng(0).permutation(3 * n)[:n]
    index = InvertedIndex.build(X, ids)
    queries = sp.vstack([zipf_pictures(12, 2_000, 30, 99, signed), X[:4]], format="csr")
    for weights in (None, np.random.default_rng(1).choice([0, 0, 1.0, -0.5, 3], 2_000)):
        # Folded in float64, as the index does; scipy would multiply in another precision.
        Q = sp.csr_array(queries, dtype=np.float64, copy=True)
        if weights is not None:
            Q.data *= weights[Q.indices]
            Q.eliminate_zeros()
        found = index.search(queries, k, weights)
        expected = float64_ranking(X, Q, k, ids)
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("signed", [False, True])
def test_removed_pictures_are_not_found(signed: bool) -> None:
    X = zipf_pictures(6_000, 500, 40, seed=5, signed=signed)
    Q = zipf_pictures(40, 500, 40, seed=6, signed=signed)
    gone = np.arange(0, 6_000, 3)
    living = np.setdiff1d(np.arange(6_000), gone)
    index = InvertedIndex.build(X)
    index.remove(gone)
    for weights in (None, np.random.default_rng(1).normal(size=500)):
        folded = sp.csr_array(Q, dtype=np.float64, copy=True)
        if weights is not None:
            folded.data *= weights[folded.indices]
        for k in (1, 20):
            expected = float64_ranking(X[living], folded, k, living)
            for a, b in zip(index.search(Q, k, weights), expected, strict=True):
                np.testing.assert_array_equal(a, b)
    best = np.take_along_axis(index.scores(Q), np.searchsorted(living, index.search(Q, 10)[0]), 1)
    np.testing.assert_array_equal(best, index.search(Q, 10)[1])


def test_near_ties_that_float32_sums_cannot_tell_apart() -> None:
    # Scores differ in the last bit of float32, or not at all: many nominees, ids decide.
    rng = np.random.default_rng(3)
    X = np.full((4_000, 12), 0.1, np.float32)
    X[:, 0] += rng.integers(0, 3, 4_000).astype(np.float32) * np.float32(2**-24)
    ids = rng.permutation(4_000)
    index, truth = InvertedIndex.build(X, ids), DictIndex()
    truth.add(X, ids.tolist())
    assert_same(index, truth, np.full((1, 12), 1 / 3), 20)


def test_zero_scores_rank_before_negative_ones() -> None:
    X = np.zeros((5_000, 3))
    X[:2_400, 0] = -1
    X[2_400:2_403, 0] = 2
    ids = np.arange(5_000)[::-1]
    index = InvertedIndex.build(X, ids)
    found, scores = index.search([[1.0, 0, 0]], 6)
    assert found.tolist() == [[2597, 2598, 2599, 0, 1, 2]]
    assert scores.tolist() == [[2, 2, 2, 0, 0, 0]]
    found, scores = index.search([[1.0, 0, 0]], 3, weights=[-1.0, 0, 0])
    assert found.tolist() == [[2600, 2601, 2602]]


def test_extreme_magnitudes() -> None:
    rng = np.random.default_rng(0)
    for power_x, power_q in ((-44, -300), (-40, 30), (37, 38), (37, -320), (0, -42)):
        X = (rng.random((3_000, 5)) * 10.0**power_x).astype(np.float32)
        Q = rng.random((2, 5)) * 10.0**power_q
        index, truth = InvertedIndex.build(X), DictIndex()
        truth.add(X, list(range(3_000)))
        assert_same(index, truth, Q, 5)


def test_few_matches_many_pictures_and_k_beyond_the_collection() -> None:
    X = sp.csr_array(([1.0], ([2_500], [7])), shape=(3_000, 10))
    index = InvertedIndex.build(X)
    ids, scores = index.search(sp.csr_array(([1.0], ([0], [7])), shape=(1, 10)), 3)
    assert ids.tolist() == [[2_500, 0, 1]]
    ids, scores = index.search(np.zeros((2, 10)), 3_002)
    assert ids[1, -3:].tolist() == [2_999, -1, -1]
    assert scores[1, -3:].tolist() == [0, -np.inf, -np.inf]


def test_empty_index_and_no_queries() -> None:
    index = InvertedIndex()
    ids, scores = index.search(np.ones((2, 4)), 2)
    assert ids.tolist() == [[-1, -1]] * 2
    assert np.isneginf(scores).all()
    assert index.scores(np.ones((2, 4))).shape == (2, 0)
    index.add(np.ones((3, 4)))
    assert index.search(np.ones((0, 4)), 2)[0].shape == (0, 2)
    index.remove([0, 1, 2])
    assert len(index) == 0
    index.add(np.ones((1, 4)))
    assert index.ids.tolist() == [3]


def test_duplicates_are_summed_and_unseen_words_ignored() -> None:
    X = sp.csr_array((np.array([1.0, 2.0, -1.0]), [2, 2, 0], [0, 3]), shape=(1, 3))
    index = InvertedIndex.build(X)
    Q = sp.csr_array((np.array([1.0, 1.0, 5.0]), [2, 2, 900], [0, 3]), shape=(1, 1_000))
    assert index.search(Q, 1)[1].tolist() == [[6.0]]


def test_a_huge_vocabulary_needs_no_table() -> None:
    rng = np.random.default_rng(0)
    words = np.sort(rng.choice(2**31 - 1, 40, replace=False))
    X = sp.csr_array((np.ones(40), words, np.arange(0, 41, 4)), shape=(10, 2**31 - 1))
    index = InvertedIndex.build(X)
    ids, scores = index.search(X, 1)
    assert ids[:, 0].tolist() == list(range(10))
    assert (scores == 4).all()


def test_compact_drops_postings_and_a_weight_can_return(tmp_path: Any) -> None:
    X = zipf_pictures(3_000, 200, 20, seed=8)
    Q = zipf_pictures(5, 200, 20, seed=9)
    index, whole = InvertedIndex.build(X), InvertedIndex.build(X)
    weights = np.zeros(200)
    weights[100:] = 1
    index.compact(weights)
    assert index.stats().postings < 0.5 * whole.stats().postings
    index.save(tmp_path / "i")
    for some in (index, InvertedIndex.open(tmp_path / "i")):
        for w in (weights, None, np.linspace(-1, 1, 200)):
            a, b = some.search(Q, 10, w), whole.search(Q, 10, w)
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])
    index.compact()
    assert index.stats() == whole.stats()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.add([[np.nan, 0]]), "not finite"),
        (lambda i: i.add([[1e39, 0]]), "float32"),
        (lambda i: i.add([1.0, 2.0]), "1 dimensions; 2 expected"),
        (lambda i: i.add([["a", "b"]]), "real numbers"),
        (lambda i: i.add([[1.0, 0]], ids=[5]), "id 5 is already in the index"),
        (lambda i: i.add([[1.0, 0]] * 2, ids=[8, 8]), "8 more than once"),
        (lambda i: i.add([[1.0, 0]], ids=[-1]), "below 0"),
        (lambda i: i.add([[1.0, 0]], ids=[0.5]), "integers expected"),
        (lambda i: i.add([[1.0, 0]], ids=[1, 2]), "one per row"),
        (lambda i: i.remove([5, 77]), "id 77 is not in the index"),
        (lambda i: i.search([[np.inf, 0]], 1), "not finite"),
        (lambda i: i.search([[1e300, 0]], 1), "range of float32"),
        (lambda i: i.search([[1.0, 0]], 0), "k is 0"),
        (lambda i: i.search([[1.0, 0]], 1, weights=[1.0]), r"weights has shape \(1,\)"),
        (lambda i: i.search([[1.0, 2]], 1, weights=[1.0, np.nan]), "not finite"),
        (lambda i: i.compact(weights=[1.0]), r"\(2,\) expected"),
        (lambda i: i.merge(InvertedIndex.build([[1.0]], ids=[5])), "already in the index"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(call: Any, message: str) -> None:
    index = InvertedIndex.build([[1.0, 2.0], [0.0, 1.0]], ids=[5, 6])
    with pytest.raises(InvalidInput, match=message):
        call(index)
    assert index.ids.tolist() == [5, 6]
    assert index.search([[1.0, 1.0]], 2)[1].tolist() == [[3.0, 1.0]]
    index.add([[0.0, 4.0]])
    assert index.ids.tolist() == [5, 6, 7]


def test_a_matrix_with_wild_indices_is_refused() -> None:
    X = sp.csr_array(np.eye(3))
    X.indices[1] = 1_000
    with pytest.raises(InvalidInput, match="out of range"):
        InvertedIndex.build(X)


def test_many_small_adds_make_few_blocks() -> None:
    index = InvertedIndex()
    for i in range(100):
        index.add(np.eye(3)[[i % 3]])
    assert index.stats().blocks <= 8
    index.merge()
    assert index.stats().blocks == 1
    assert len(index) == 100


def test_concurrent_searches_and_changes() -> None:
    X = zipf_pictures(5_000, 300, 20, seed=1)
    Q = zipf_pictures(30, 300, 20, seed=2)
    index = InvertedIndex.build(X)
    expected = index.search(Q, 10)

    def look(_: int) -> bool:
        return all(
            (a == b).all() for a, b in zip(index.search(Q, 10), expected, strict=True)
        )  # the pictures that come and go share no word with the queries

    with ThreadPoolExecutor(4) as pool:
        looks = [pool.submit(look, i) for i in range(40)]
        for i in range(10):
            index.add(sp.csr_array(([1.0], ([0], [300])), shape=(1, 301)), ids=[90_000 + i])
            index.remove([90_000 + i])
        assert all(f.result() for f in looks)


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    code = (
        "import sys, numpy as np\n"
        "from likewise_methods.index.inverted import InvertedIndex\n"
        "i = InvertedIndex.build(np.eye(4, dtype=np.float32))\n"
        "i.search(np.eye(4, dtype=np.float32), 2); i.scores(np.eye(4)); i.compact()\n"
        "i.verify()\n"
        "misses = hits = 0\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('likewise_methods.index'):\n"
        "        for thing in vars(module).values():\n"
        "            if hasattr(thing, 'py_func') and hasattr(thing, 'stats'):\n"
        "                misses += sum(thing.stats.cache_misses.values())\n"
        "                hits += sum(thing.stats.cache_hits.values())\n"
        "sys.stdout.write(f'{hits} {misses}')\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    hits, misses = map(int, done.stdout.split())
    assert hits > 5
    assert misses == 0


def test_random_rows_have_ties() -> None:
    """The reference is only as good as its data."""
    X = random_rows(np.random.default_rng(0), 50, 3)
    assert len(np.unique(X, axis=0)) < 50
