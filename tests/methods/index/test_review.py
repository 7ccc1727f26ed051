"""What a review found: scores at the ends of float32, cancelling sums, bounds with a hole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from likewise_methods.errors import InvalidInput
from likewise_methods.index.inverted import InvertedIndex

LARGEST = float(np.finfo(np.float32).max)


def assert_exact(X: Any, q: Any, k: int) -> None:
    """Ids and scores of one query, against float64 sums in ascending order of words."""
    rows = np.asarray(X, np.float32).astype(np.float64)
    query = np.asarray(q, np.float64).ravel()
    truth = np.zeros(len(rows))
    for word in np.flatnonzero(query):
        truth += query[word] * rows[:, word]
    rounded = np.clip(truth, -LARGEST, LARGEST).astype(np.float32)
    best = np.lexsort((np.arange(len(rows)), -rounded))[:k]
    ids, scores = InvertedIndex.build(X).search(query[None, :], k)
    assert scores[0].tolist() == rounded[best].tolist()
    assert ids[0].tolist() == best.tolist()


@pytest.mark.parametrize("weight", [5e-46, 1e-44, 3e-39, 1e-60, 1e-200])
def test_words_present_may_weigh_next_to_nothing(weight: float) -> None:
    """The heaviest word is in no picture; beside it the others vanish in float32."""
    X = np.zeros((4096, 3))
    X[:, 0] = 1e5 * (1 + np.random.default_rng(0).random(4096))
    assert_exact(X, [weight, 0, 1.0], 5)


def test_scores_below_the_range_of_float32() -> None:
    """Nine pictures of 4,096 are in range; the tenth is the first of those that are not."""
    n = 4096
    rng = np.random.default_rng(0)
    X = np.zeros((n, 22))
    X[:, 0] = rng.random(n)
    X[np.arange(n), 1 + np.arange(n) % 20] = -100 - rng.random(n)
    X[100:109, 1:21] = 0
    q = np.full(22, 3e38)
    q[0] = 1e33
    assert_exact(X, q, 10)


def test_sums_that_cancel() -> None:
    """Forty rows add up to 30 and back to next to nothing: float32 sums are rounding error.

    Where the slack leaves rounding out, one seed in three ends with a wrong picture.
    """
    n, width = 4096, 60
    for signs in (np.where(np.arange(60) < 30, 1.0, -1.0), np.where(np.arange(60) % 2, -1.0, 1.0)):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X = np.full((n, width), 1e-9, np.float32)
            rows = rng.choice(n, 40, replace=False)
            X[rows] = signs * (1 + rng.random((40, width)) * 1e-6)
            assert_exact(X, np.ones(width), 5)


@pytest.mark.parametrize("dead", [0, 4000])
def test_a_hole_in_a_bound_costs_no_picture(dead: int) -> None:
    """A norm of zero is a wrong bound: nothing can be summed, and the block is scanned."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((4096, 40), density=0.3, rng=rng, format="csr", dtype=np.float32)
    index = InvertedIndex.build(X)
    if dead:
        index.remove(np.arange(dead))
    expected = index.search(X[-5:], 8)
    (block,) = index._state.blocks
    views = block.views()
    block._content.views = views._replace(list_norm=0.0, column_norm=0.0)
    for found, right in zip(index.search(X[-5:], 8), expected, strict=True):
        np.testing.assert_array_equal(found >= 0, right >= 0)


def test_ids_end_at_int64() -> None:
    index = InvertedIndex.build([[1.0]], ids=[2**63 - 1])
    with pytest.raises(InvalidInput, match="ids beyond int64"):
        index.add([[2.0]])
    index.add([[2.0]], ids=[4])
    assert len(index) == 2


def test_a_union_of_the_same_ids_is_refused() -> None:
    a = InvertedIndex.build(np.eye(4), [0, 2, 4, 9])
    b = InvertedIndex.build(np.eye(4), [1, 3, 4, 5])
    with pytest.raises(InvalidInput, match="id 4 is in more than one"):
        InvertedIndex.union([a, b])
    a.remove([4])
    assert len(InvertedIndex.union([a, b])) == 7
    assert len(InvertedIndex.union([b, a])) == 7


def test_byte_order_is_the_callers_own() -> None:
    X = np.array([[1.0, 0.0], [0.5, 2.0]])
    plain = InvertedIndex.build(X).search(X, 2)
    for kind in (">f8", ">f4", ">i4"):
        swapped = X.astype(kind)
        index = InvertedIndex.build(swapped, np.array([0, 1], ">i8"))
        found = index.search(X.astype(">f8"), 2, np.ones(2, ">f8"))
        if kind != ">i4":
            np.testing.assert_array_equal(found[0], plain[0])
            np.testing.assert_array_equal(found[1], plain[1])
