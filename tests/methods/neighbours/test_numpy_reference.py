"""Few rows are scored and shortened without a kernel, to the bits of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods import kernels as _kernels
from likewise_methods.neighbours import numpy_reference
from likewise_methods.neighbours.scores import _inner, _minus_distance, _shorten

WIDTHS = [1, 2, 3, 4, 5, 7, 128, 1283]


def vectors(n: int, width: int) -> Any:
    """Rows of very different sizes, up to the ends of float32; one of zeros, one that repeats."""
    rng = np.random.default_rng(width)
    made = rng.normal(size=(n, width)) * 10.0 ** rng.integers(-30, 30, (n, 1))
    made *= 10.0 ** rng.integers(-4, 5, (n, width))
    made[3] = 0
    made[5] = made[4]
    made[6] = 3e38 * rng.choice([-1, 1], width)
    return made.astype(np.float32)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("kernel", "without"),
    [(_inner, numpy_reference.inner_products), (_minus_distance, numpy_reference.minus_distances)],
    ids=["ip", "l2"],
)
def test_the_same_scores(kernel: Any, without: Any, width: int) -> None:
    rows = vectors(60, width)
    for place in (0, 3, 4, 6, 17):
        query = rows[place].astype(np.float64)
        expected = np.empty(len(rows))
        kernel(rows, np.arange(len(rows)), query, expected)
        found = without(rows, query)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_same_length(width: int) -> None:
    rows = vectors(60, width)
    expected, found = rows.copy(), rows.copy()
    _shorten(expected)
    numpy_reference.shorten(found)
    assert found.tobytes() == expected.tobytes()
    assert not np.array_equal(found, rows)


def test_many_numbers_are_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: False)
    assert _kernels.prefer_numpy(_kernels.NUMPY_LIMIT)
    assert not _kernels.prefer_numpy(_kernels.NUMPY_LIMIT + 1)
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: True)
    assert not _kernels.prefer_numpy(1)
