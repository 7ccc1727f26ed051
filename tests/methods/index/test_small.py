"""Few rows are searched without a kernel, to the bits of the index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from likewise_methods import sparse_rows as _csr
from likewise_methods.errors import InvalidInput
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.small import EMPTY_INDEX, SmallIndex

WIDTH = 40


def rows(n: int, seed: int, density: float = 0.3) -> Any:
    """Rows of both signs and very different sizes; one is empty, one repeats another."""
    rng = np.random.default_rng(seed)
    made = sparse.random(n, WIDTH, density, random_state=rng, data_rvs=rng.standard_normal)
    dense = made.toarray() * 10.0 ** rng.integers(-8, 9, (n, 1))
    if n > 4:
        dense[2], dense[3] = 0, dense[4]
    return sparse.csr_array(dense.astype(np.float32))


def same_answers(few: SmallIndex, index: InvertedIndex, queries: Any, weights: Any = None) -> None:
    assert len(few) == len(index)
    assert np.array_equal(few.ids, index.ids)
    for k in {1, min(3, len(few)), len(few)} - {0}:
        found, expected = few.search(queries, k, weights), index.search(queries, k, weights)
        assert np.array_equal(found[0], expected[0])
        assert found[1].tobytes() == expected[1].tobytes()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60))
def test_the_same_bits(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    X, ids = rows(n, seed), rng.permutation(3 * n)[:n]
    few, index = SmallIndex.build(X, ids), InvertedIndex.build(X, ids)
    queries = sparse.vstack([X[: min(n, 3)], rows(4, seed + 1)]).tocsr()
    same_answers(few, index, queries)
    same_answers(few, index, queries, rng.standard_normal(WIDTH) * (rng.random(WIDTH) < 0.7))
    asked = rng.permutation(ids)[: n // 2 + 1]
    assert (few.rows(asked) != index.rows(asked)).nnz == 0
    counted = index.frequencies()
    assert np.array_equal(few.frequencies()[: len(counted)], counted)


def test_rows_come_are_replaced_and_go() -> None:
    few, index = EMPTY_INDEX, InvertedIndex()
    for turn, ids in enumerate(([5, 1, 9], [2, 7], [9, 3])):
        X = rows(len(ids), turn)
        known = [one for one in ids if index.contains([one])[0]]
        if known:
            index.remove(known)
        index.add(X, ids)
        few = few.with_rows(X, ids)
        same_answers(few, index, rows(5, 99))
    before = few
    index.remove([1, 7])
    few = few.without([1, 7, 4])
    same_answers(few, index, rows(5, 99))
    assert few.contains([1, 2, 4]).tolist() == [False, True, False]
    assert 1 in before.ids
    assert few.without([4]) is few


def test_a_query_may_be_wider_and_an_unknown_id_is_refused() -> None:
    few = SmallIndex.build(rows(6, 0)[:, :10], [1, 2, 3, 4, 5, 6])
    index = InvertedIndex.build(rows(6, 0)[:, :10], [1, 2, 3, 4, 5, 6])
    same_answers(few, index, rows(5, 1))
    with pytest.raises(InvalidInput, match="id 8 is not in the index"):
        few.rows([1, 8])


def csr(ends: list[int], words: list[int], values: list[float]) -> tuple[Any, Any, Any]:
    return np.array(ends, np.int64), np.array(words, np.int32), np.array(values, np.float32)


@pytest.mark.parametrize(
    "arrays",
    [
        csr([0, 2, 3], [0, 3, 1], [1, -2, 3]),
        csr([0, 0, 0], [], []),
        csr([0, 2, 3], [3, 0, 1], [1, 2, 3]),
        csr([0, 2, 3], [3, 3, 1], [1, 2, 3]),
        csr([0, 1, 2], [3, 3], [1, 0]),
        csr([0, 1, 2], [3, 1], [1, np.nan]),
        csr([0, 1, 2], [3, 1], [-np.inf, 30]),
        csr([0, 1, 2], [3, 9], [1, 2]),
        csr([0, 1, 2], [3, -1], [1, 2]),
        csr([0, 2, 1], [0, 1], [1, 2]),
        csr([1, 2, 2], [0, 1], [1, 2]),
        csr([0, 1, 5], [0, 1], [1, 2]),
        csr([0, 1, 1], [0, 9], [1, np.nan]),
    ],
)
def test_inspected_as_by_the_kernel(arrays: tuple[Any, Any, Any]) -> None:
    for peak in (20.0, 1e100, np.inf):
        expected = _csr._inspect(*arrays, 5, peak)
        assert _csr._inspect_numpy(*arrays, 5, peak) == expected
