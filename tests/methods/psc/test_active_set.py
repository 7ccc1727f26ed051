"""Words entering at one threshold, lane_at the readable version of the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise_methods.psc import product_codes
from likewise_methods.psc.solver import active_set
from likewise_methods.psc.solver.product_paths import pack_rows
from likewise_methods.psc.solver.simd import pad_width
from tests.methods.psc.psc_reference import by_sklearn, unit_words

Floats = NDArray[np.float64]
K, D, N, LEVEL = 40, 12, 75, 0.05


def readable(G: Floats, c: Floats, level: float) -> tuple[Floats, int]:
    """Lawson and Hanson's method as the kernel takes it, and how often words left."""
    support: list[int] = []
    u, left = np.zeros(len(c)), 0
    while True:
        above = c - level - G @ u
        above[support] = 0
        while above.max() > 1e-9:
            support.append(int(above.argmax()))
            u = np.zeros(len(c))
            u[support] = np.linalg.solve(G[np.ix_(support, support)], c[support] - level)
            above = c - level - G @ u
            above[support] = 0
        if (u >= 0).all():
            return u, left
        while (u[support] <= 0).any():
            support = [j for j in support if u[j] > 0]
            u = np.zeros(len(c))
            u[support] = np.linalg.solve(G[np.ix_(support, support)], c[support] - level)
            left += 1


def given(words: Floats, X: Floats, dtype: Any) -> tuple[Any, Any, Any]:
    """Gram matrices and correlations with the room that kernels want, one part."""
    wide = pad_width(len(words))
    E, C = np.zeros((wide, wide)), np.zeros((1, len(X), wide), dtype)
    E[: len(words), : len(words)] = words @ words.T
    C[0, :, : len(words)] = X @ words.T
    return E.astype(dtype), E, C


def coded(words: Floats, X: Floats, dtype: Any) -> tuple[Floats, NDArray[np.uint8]]:
    cap = min(words.shape) + 1
    ids, values = np.zeros((1, len(X), cap), np.int32), np.zeros((1, len(X), cap))
    counts, status = np.zeros((1, len(X)), np.int64), np.zeros(len(X), np.uint8)
    space = active_set.room(len(words), cap, len(X), dtype)
    still = 2.5e-7 if dtype is np.float32 else 1e-12
    G, E, C = given(words, X, dtype)
    active_set.at_level(G, E, space, C, LEVEL, still, 6, ids, values, counts, status)
    made = np.zeros((len(X), len(words)))
    for row, n in enumerate(counts[0]):
        assert len(set(ids[0, row, :n])) == n
        made[row, ids[0, row, :n]] = values[0, row, :n]
    return made, status


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_the_readable_version_and_as_another_solver(dtype: Any) -> None:
    """Words all of whose numbers are positive: near to each other, so that some leave again."""
    words = unit_words(K, D, 1.0, 0)
    X = np.abs(np.random.default_rng(1).standard_normal((N, D)))
    found, status = coded(words, X, dtype)
    atol = 1e-5 if dtype is np.float32 else 1e-9
    gram, times_left = words @ words.T, 0
    # A few meet more words than there are dimensions, and are left to ``marching``.
    assert status.mean() < 0.15
    for x, u in zip(X[status == 0], found[status == 0], strict=True):
        wanted, left = readable(gram, words @ x, LEVEL)
        times_left += left
        np.testing.assert_allclose(u, wanted, atol=atol)
        np.testing.assert_allclose(u, by_sklearn(words, x, 2 * LEVEL), atol=1e-5)
    assert times_left > 5


def test_rows_of_a_batch_are_sorted_where_they_are_packed() -> None:
    """Supports of one word and of more than a register has room for, two parts; what stands
    behind a support is another vector's."""
    rng, sizes = np.random.default_rng(3), [[1, 20, 0], [16, 17, 5]]
    ids = np.array([[rng.permutation(32) for _ in row] for row in sizes], np.int32)
    values = rng.random(ids.shape)
    packed = pack_rows(ids, values, np.array(sizes))
    for i, (own_ids, own_values, counts) in enumerate(packed):
        assert counts.tolist() == sizes[i]
        start = 0
        for row, n in enumerate(sizes[i]):
            order = np.argsort(ids[i, row, :n])
            here = slice(start, start + n)
            assert own_ids[here].tolist() == ids[i, row, order].tolist()
            assert own_values[here].tolist() == values[i, row, order].tolist()
            start += n


def test_nothing_above_the_threshold() -> None:
    words = unit_words(K, D, 1.0, 0)
    found, status = coded(words, np.full((3, D), -1.0), np.float64)
    assert not found.any()
    assert not status.any()


def test_a_copy_of_a_word_is_never_entered_twice_and_dependence_is_reported() -> None:
    """A copy stays at the threshold with its original; a word between two others may be wanted by
    rounding alone, and is then left to other methods."""
    words = unit_words(K, D, 1.0, 0)
    X = np.abs(np.random.default_rng(1).standard_normal((N, D)))
    single, first = coded(words, X, np.float64)
    double, second = coded(np.vstack([words, words]), X, np.float64)
    fine = (first == 0) & (second == 0)
    assert fine.mean() > 0.5
    both = double[:, :K] + double[:, K:]
    np.testing.assert_allclose(both[fine], single[fine], atol=1e-7)
    # Through the door every row is right.
    codes = product_codes([X], [np.vstack([words, words])], 2 * LEVEL, method="approximate")[0]
    summed = codes.toarray()[:, :K] + codes.toarray()[:, K:]
    wanted = np.array([by_sklearn(words, x, 2 * LEVEL) for x in X])
    np.testing.assert_allclose(summed, wanted, atol=1e-5)
