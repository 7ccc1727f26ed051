"""Registers as values: each function against numpy, in both types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from likewise_methods.psc.solver.simd import (
    BYTES,
    below,
    broadcast,
    count_up,
    if_less,
    if_same,
    label,
    labels,
    lane_at,
    lanes,
    least,
    load,
    lowest,
    minus,
    most,
    n_bits,
    pad_support,
    pad_width,
    peek,
    plus,
    ratio,
    store,
    times,
    total,
    word_of,
    zeros,
)


@njit
def _everything(A, out):  # type: ignore[no-untyped-def]
    """Rows 1 and 2 of A, from the fourth number on, through every function."""
    a, b = load(A, (1, 3)), load(A, (2, 3))
    two, places = broadcast(A, 2.0), count_up(A, 5)
    store(out, (0, 1), plus(a, b, two))
    store(out, (1, 1), minus(a, b, two))
    store(out, (2, 1), times(a, b))
    store(out, (3, 1), ratio(a, b))
    store(out, (4, 1), if_less(a, b, places, two))
    store(out, (5, 1), if_same(places, broadcast(A, 7.0), a, b))
    small = least(a)
    return lanes(A), peek(A, (2, 4)), total(a), small, most(a), lane_at(a, small, places)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_registers(dtype: type) -> None:
    n = BYTES // np.dtype(dtype).itemsize
    A: NDArray[Any] = (1 + np.random.default_rng(0).random((3, n + 7))).astype(dtype)
    out: NDArray[Any] = np.zeros((6, n + 2), dtype)
    count, entry, whole, small, large, where = _everything(A, out)
    a, b = A[1, 3 : 3 + n], A[2, 3 : 3 + n]
    expected = [
        a + 2 * b,
        a - 2 * b,
        a * b,
        a / b,
        np.where(a < b, 5 + np.arange(n), 2),
        np.where(np.arange(n) == 2, a, b),
    ]
    np.testing.assert_allclose(out[:, 1:-1], expected, rtol=1e-6)
    assert not out[:, [0, -1]].any()
    assert (count, entry, small, large) == (n, A[2, 4], a.min(), a.max())
    assert where == 5 + a.argmin()
    np.testing.assert_allclose(whole, a.sum(), rtol=1e-6)


@njit
def _lowest(bits):  # type: ignore[no-untyped-def]
    return lowest(bits)


@njit
def _largest(A, bits):  # type: ignore[no-untyped-def]
    """The largest of row 1 and its word, words counted from 5."""
    top = most(label(load(A, (1, 0)), bits, labels(A, 5)))
    return top, word_of(top, bits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_label_comes_along_with_the_largest(dtype: type) -> None:
    """Numbers of either sign are off by what the last seven bits of their type are worth."""
    n = BYTES // np.dtype(dtype).itemsize
    rng = np.random.default_rng(1)
    for sign in (1.0, -1.0):
        A: NDArray[Any] = (sign * rng.random((2, n))).astype(dtype)
        top, word = _largest(A, np.int64(7))
        assert word == 5 + A[1].argmax()
        assert abs(top - A[1].max()) <= 2**7 * np.finfo(dtype).eps * abs(A[1].max())


@njit
def _below(ids, number):  # type: ignore[no-untyped-def]
    bits = below(load(ids, (0, 0)), number)
    return bits, n_bits(bits)


def test_whole_numbers_below_another() -> None:
    ids = np.random.default_rng(2).integers(0, 100, (1, 16)).astype(np.int32)
    bits, count = _below(ids, np.int32(50))
    assert bits == sum(1 << lane for lane in range(16) if ids[0, lane] < 50)
    assert count == (ids < 50).sum()


def test_room_and_bits() -> None:
    assert [pad_support(n) for n in (1, 16, 17)] == [16, 16, 32]
    assert [pad_width(k) for k in (1, 64, 65, 128)] == [64, 64, 128, 128]
    for shape in ((3, 5), (1, 64, 64)):
        made = zeros(shape, np.float32)
        assert made.shape == shape
        assert made.flags.c_contiguous
        assert made.ctypes.data % BYTES == 0
        assert not made.any()
    assert [_lowest(x) for x in (1, 8, 3 << 40, -(2**63))] == [0, 3, 40, 63]
