"""The door: what is refused and how, and what is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.comparisons import ComparisonCounts, as_comparisons, count_repeats

BAD: list[tuple[Any, int | None, str]] = [
    ([[0, 1, 5]], 5, "names object 5 in row 0; 0 to 4 expected"),
    ([[0, 1, 2], [0, -1, 2]], None, "names object -1 in row 1"),
    ([[0, 0, 1]], None, "name an object twice"),
    ([[0, 1, 0]], None, "name an object twice"),
    ([[0, 1, 2], [0, 1, 1]], None, "first row 1"),
    ([[0, 1, 2, 2]], None, "compare a pair with itself"),
    ([[0, 1, 1, 0]], None, "compare a pair with itself"),
    ([[0.0, 1.0, np.nan]], None, "NaN in row 0"),
    ([[0, 1, 2], [0, 1.5, 2]], None, "has 1.5 in row 1; whole numbers"),
    ([[0, 1, 2], [0, 1, 2], [0, 1, np.inf]], None, "has inf in row 2"),
    ([[0.0, 1.0, 3.0]], 3, "names object 3 in row 0; 0 to 2 expected"),
    ([[0.0, 1.0, 1e12]], None, "names object 1000000000000"),
    ([[0.0, 1.0, -1.0]], None, "names object -1 in row 0"),
    (np.array([[True, False, True]]), None, "type bool; integers expected"),
    ([[0.0, 1.0, 1.0]], None, "name an object twice"),
    ([[0, 1]], None, "shape"),
    ([0, 1, 2], None, "shape"),
    ([[0, 1, 2], [0, 1]], None, "differ in length"),
    (np.zeros((0, 3), int), None, "empty"),
    ([[0, 1, 1 << 40]], None, "names object"),
    ([["a", "b", "c"]], None, "integers expected"),
]


@pytest.mark.parametrize(("rows", "n", "message"), BAD)
def test_bad_comparisons_are_refused(rows: Any, n: int | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        as_comparisons(rows, n)


def test_good_ones_become_int32() -> None:
    for kind in (np.int64, np.uint8, np.int32):
        found = as_comparisons(np.array([[0, 1, 2], [2, 1, 0]], kind), 3)
        assert found.dtype == np.int32
        assert found.flags.c_contiguous
    assert as_comparisons([[0, 1, 1, 2]]).shape == (1, 4)


def test_whole_numbers_may_be_floats() -> None:
    whole = np.array([[0, 1, 2], [2, 1, 0]])
    for kind in (np.float16, np.float32, np.float64):
        found = as_comparisons(whole.astype(kind), 3)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, whole)


def test_opposites_and_repeats_are_counted() -> None:
    rows = [[0, 1, 2], [0, 2, 1], [0, 2, 1], [1, 0, 2], [3, 4, 5]]
    assert count_repeats(as_comparisons(rows)) == ComparisonCounts(5, 1, 1)
    # A quadruplet is the same whichever way round its pairs stand.
    four = [[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1], [0, 1, 3, 4]]
    assert count_repeats(as_comparisons(four)) == ComparisonCounts(4, 1, 1)


def test_counting_agrees_with_a_dictionary() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 6, (400, 3))
    rows = rows[[len(set(r)) == 3 for r in rows.tolist()]]
    ways: dict[Any, set[Any]] = {}
    for a, b, c in rows.tolist():
        ways.setdefault((a, min(b, c), max(b, c)), set()).add(b < c)
    both = sum(len(w) == 2 for w in ways.values())
    distinct = sum(len(w) for w in ways.values())
    assert count_repeats(as_comparisons(rows)) == ComparisonCounts(
        len(rows), len(rows) - distinct, both
    )
