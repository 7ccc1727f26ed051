"""The path kernel below the coders, and the slow solver it falls back on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise_methods.psc.solver import root_finding
from likewise_methods.psc.solver.homotopy import ACT, END, NOW, SIZE, H, U, begin, room, walk
from likewise_methods.psc.solver.product_paths import ProductPaths, Task
from likewise_methods.psc.solver.simd import pad_width
from tests.methods.psc.psc_reference import by_sklearn, unit_words

WORDS = unit_words(25, 9, 1.0, 0, signed=True)
X = np.random.default_rng(1).standard_normal((6, 9))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_up_and_down_the_path(dtype: type) -> None:
    """From any threshold to any other, the optimum there."""
    wide = pad_width(25)
    E = np.zeros((wide, wide))
    E[:25, :25] = WORDS @ WORDS.T
    G: NDArray[Any] = E.astype(dtype)
    given: NDArray[Any] = np.zeros((1, len(X), wide), dtype)
    given[0, :, :25] = X @ WORDS.T
    atol = 1e-4 if dtype is np.float32 else 1e-9
    for row, x in enumerate(X):
        state = room(25, np.array([9]), dtype)
        F, I, c, w, _ = state  # noqa: E741
        begin(E, F, I, c, w, given, 0, row)
        top = F[0, NOW, H]
        for share in (0.7, 0.1, 0.4, 0.05, 0.9, 0.02):
            assert walk(G, E, F, I, c, w, 0, share * top, 1e-12, 500)
            u = np.zeros(25)
            n = I[0, END, SIZE]
            u[I[0, ACT, :n]] = F[0, U, :n]
            np.testing.assert_allclose(u, by_sklearn(WORDS, x, 2 * share * top), atol=atol)


def test_below_zero_and_at_rest() -> None:
    """A part that must carry more mass than it wants: thresholds below zero, or resting at it."""
    for signed in (False, True):
        books = [unit_words(12, 3, np.sqrt(0.5), i, signed) for i in range(2)]
        data = np.random.default_rng(3).standard_normal((40, 6))
        data[:, :3] *= 0.01
        paths = ProductPaths(books)
        found = paths.code([data[:, :3], data[:, 3:]], Task(0.05, "exact"))
        for row, x in enumerate(data):
            slow = root_finding.together(books, [x[:3], x[3:]], 0.025)
            for i, book in enumerate(books):
                fast = found[i][[row]].toarray()[0]
                np.testing.assert_allclose(fast @ book, slow[i] @ book, atol=1e-8)
                np.testing.assert_allclose(fast.sum(), slow[i].sum(), atol=1e-8)


def test_the_slow_way_for_the_other_methods() -> None:
    books = [unit_words(8, 4, np.sqrt(0.5), i) for i in range(2)]
    data = np.abs(np.random.default_rng(4).standard_normal((5, 8)))
    parts = [data[:, :4], data[:, 4:]]
    paths = ProductPaths(books)
    for method in ("approximate", "iterative"):
        task = Task(0.2, method)
        expected = paths.code(parts, task)
        ids, values = np.zeros((2, 5, 9), np.int32), np.zeros((2, 5, 9))
        counts = np.zeros((2, 5), np.int64)
        paths._slowly(np.arange(5), parts, (ids, values, counts), task)
        for i in range(2):
            made = np.zeros((5, 8))
            for row in range(5):
                n = counts[i, row]
                made[row, ids[i, row, :n]] = values[i, row, :n]
            np.testing.assert_allclose(made, expected[i].toarray(), atol=1e-6)
