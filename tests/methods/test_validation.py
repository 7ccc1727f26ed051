"""The shared checks: what passes comes back in its type, what does not is named with its value."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods import validation as check
from likewise_methods.errors import InvalidInput
from likewise_methods.sparse_rows import canonical_rows

TRUE = np.bool_(True)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_a_whole_number_comes_back_as_an_int(value: Any) -> None:
    assert check.whole(value, "k") == 3
    assert type(check.whole(value, "k", 0, 3)) is int


@pytest.mark.parametrize("value", [0, -1, True, TRUE, 3.0, np.float64(3), "3", None, [3]])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        check.whole(value, "k")
    assert str(caught.value) == f"k is {value!r}; a whole number of at least 1 expected"


def test_a_whole_number_beyond_its_end_is_refused() -> None:
    assert check.whole(16, "size", 16, 20) == 16
    for value in (15, 21, 10**400):
        with pytest.raises(InvalidInput, match=r"; a whole number from 16 to 20 expected$"):
            check.whole(value, "size", 16, 20)


@given(st.integers(), st.integers(), st.integers())
def test_is_whole_is_the_range(value: int, least: int, most: int) -> None:
    assert check.is_whole(value, least, most) == (least <= value <= most)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int16(2), Fraction(2)])
def test_a_number_comes_back_as_a_float(value: Any) -> None:
    made = check.number(value, "alpha", above=1, most=2)
    assert made == 2.0
    assert type(made) is float


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, True, TRUE, "1", None, 1j, 10**400, [1.0], np.ones(1)]
)
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        check.number(value, "alpha")
    assert str(caught.value) == f"alpha is {value!r}; a finite number expected"


@pytest.mark.parametrize(
    ("ends", "good", "bad", "wanted"),
    [
        ({"above": 0}, 1e-300, 0, "a finite number above 0"),
        ({"least": 0}, 0, -1e-300, "a finite number of at least 0"),
        ({"below": 1}, 0.5, 1, "a finite number below 1"),
        ({"most": 1}, 1, 1.5, "a finite number at most 1"),
        ({"above": 0, "below": 1}, 0.5, 1.0, "a finite number above 0 and below 1"),
        ({"least": 0, "most": 1}, 1, 2, "a finite number of at least 0 and at most 1"),
    ],
)
def test_ends_of_a_range(ends: dict[str, float], good: float, bad: float, wanted: str) -> None:
    assert check.number(good, "x", **ends) == good
    with pytest.raises(InvalidInput) as caught:
        check.number(bad, "x", **ends)
    assert str(caught.value) == f"x is {bad!r}; {wanted} expected"


def test_truth() -> None:
    assert check.truth(True, "on") is True
    assert check.truth(np.bool_(False), "on") is False
    for value in (1, "no", None, np.int64(1)):
        with pytest.raises(InvalidInput, match="; True or False expected"):
            check.truth(value, "on")


def test_one_of() -> None:
    assert check.one_of("l2", "metric", ("ip", "l2")) == "l2"
    assert check.one_of(None, "normalise", ("l2", None)) is None
    # An array, or what cannot be hashed, is refused like any other stranger.
    for value in ("L2", None, 1, ["l2"], np.array(["l2", "ip"])):
        with pytest.raises(InvalidInput, match=r"^metric is .*; one of 'ip', 'l2' expected$"):
            check.one_of(value, "metric", {"ip": 1, "l2": 2})


def test_randomness() -> None:
    rng = np.random.default_rng(3)
    assert check.generator(rng) is rng
    assert check.generator(3).random() == np.random.default_rng(3).random()
    assert check.generator(np.int64(3)).random() == np.random.default_rng(3).random()
    assert check.generator(None).random() != check.generator(None).random()
    old = np.random.RandomState(3)
    first, second = check.generator(old).random(), check.generator(old).random()
    assert first != second
    assert first == check.generator(np.random.RandomState(3)).random()
    # Looking at a seed draws nothing from it.
    assert check.check_seed(old) is old
    for value in (-1, 1.5, True, "0", [1, 2]):
        with pytest.raises(
            InvalidInput, match=r"^random_state is .*or a numpy generator expected$"
        ):
            check.generator(value)


def test_rows_keep_their_memory_and_their_type() -> None:
    X = np.ones((3, 2), np.float32)
    assert np.shares_memory(check.finite_rows(X, "X"), X)
    assert check.finite_rows(X, "X").dtype == np.float32
    assert np.shares_memory(check.matrix(X[::2], "X"), X)
    assert check.finite_rows([[1, 2]], "X", 2).dtype == np.float64
    assert check.finite_rows(X.astype(np.float64), "X", dtype=np.float32).dtype == np.float32
    assert check.finite_rows(X.T, "X").flags.c_contiguous
    assert check.finite_rows(np.zeros((0, 4)), "X").shape == (0, 4)
    # A sum beyond the type of the numbers does not make them infinite.
    for huge in (np.full((2, 2), 1.5e308), np.full((2, 2), 3e38, np.float32)):
        assert check.finite_rows(huge, "X") is huge


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_array(np.eye(2)), "X is a sparse matrix; an array (rows, columns) expected"),
        ([[1, 2], [3]], "X is not an array, its rows differ in length"),
        ([[1j, 2]], "X has type complex128; real numbers expected.  Complex data not supported"),
        ([["a", "b"]], "X has type <U1; real numbers expected"),
        (np.array([[1, 2]], object), "X has type object; real numbers expected"),
        ([1.0, 2.0], "X has 1 dimensions; 2 expected (rows, columns).  Reshape your data"),
        ([[1.0]], "X has 1 columns; 2 expected"),
        ([[1.0, 2.0], [1.0, np.nan]], "X has NaN or infinity in row 1; finite numbers expected"),
        ([[np.inf, -np.inf]], "X has NaN or infinity in row 0; finite numbers expected"),
    ],
)
def test_what_is_no_matrix_is_refused(X: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check.finite_rows(X, "X", 2)
    assert str(caught.value).startswith(message)


def test_objects_are_numbers_only_where_asked_for() -> None:
    X = np.array([[1, 2.5]], object)
    assert check.matrix(X, "X", objects=True).tolist() == [[1.0, 2.5]]
    with pytest.raises(InvalidInput, match="X is not made of numbers: "):
        check.matrix(np.array([["a", 1]], object), "X", objects=True)


def test_a_vector_has_its_length_and_numbers() -> None:
    X = np.ones(3, np.float32)
    assert check.vector(X, "cost", 3, "one per word") is X
    assert check.vector([True, False], "cost", 2, "one per word").dtype == bool
    with pytest.raises(
        InvalidInput, match=r"^cost has shape \(3,\); \(2,\) expected, one per word$"
    ):
        check.vector(X, "cost", 2, "one per word")
    with pytest.raises(InvalidInput, match=r"^cost has type <U1; real numbers expected$"):
        check.vector(["a"], "cost", 1, "one per word")


def test_no_columns_and_too_large_for_float32() -> None:
    with pytest.raises(InvalidInput, match="X has 0 columns; at least 1 expected"):
        check.matrix(np.zeros((2, 0)), "X")
    with pytest.raises(InvalidInput, match="a value beyond float32 in row 1"):
        check.finite_rows([[1.0], [1e39]], "X", dtype=np.float32)


# -- sparse rows --------------------------------------------------------------------------------


def rows_of(X: Any, **options: Any) -> Any:
    return canonical_rows(X, "X", **{"of": "rows, words", "most_columns": 9, **options})


# The first call compiles a kernel.
@settings(deadline=None)
@given(st.data())
def test_rows_are_canonical_and_the_same_matrix(data: st.DataObject) -> None:
    """Unsorted, doubled and stored zero entries; whichever way they come in."""
    n = data.draw(st.integers(0, 12))
    value = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
    at = [data.draw(st.lists(st.integers(0, top), min_size=n, max_size=n)) for top in (3, 5)]
    values = np.array(data.draw(st.lists(value, min_size=n, max_size=n)))
    kind = data.draw(st.sampled_from([np.float32, np.float64, np.int8]))
    order = np.argsort(at[0], kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(np.array(at[0], int), minlength=4))])
    indices = np.array(at[1], np.int32)[order]
    X = sp.csr_array((values[order].astype(kind), indices, ends), shape=(4, 6))
    dense = np.zeros((4, 6))
    np.add.at(dense, tuple(np.array(at, int)), values.astype(kind))
    for given_as in (X, X.tocoo(), dense.astype(kind)):
        for dtype in (None, np.float32, np.float64):
            made = rows_of(given_as, dtype=dtype)
            assert made.ends.dtype == np.int64
            assert made.words.dtype == np.uint32
            assert made.values.dtype == (dtype or (np.float32 if kind == np.float32 else float))
            assert (made.values != 0).all()
            for a, z in zip(made.ends[:-1], made.ends[1:], strict=True):
                assert (np.diff(made.words[a:z].astype(int)) > 0).all()
            back = sp.csr_array((made.values, made.words.astype(int), made.ends), shape=(4, 6))
            assert np.array_equal(back.toarray(), dense)
    assert np.array_equal(X.data, values[order].astype(kind))


def test_canonical_rows_are_not_copied() -> None:
    X = sp.csr_array(np.eye(4, dtype=np.float32))
    made = rows_of(X)
    assert np.shares_memory(made.values, X.data)
    assert np.shares_memory(made.words, X.indices)


def test_rounding_leaves_no_zeros() -> None:
    made = rows_of([[1e-60, 1.0]], dtype=np.float32)
    assert (made.words.tolist(), made.values.tolist()) == ([1], [1.0])


def test_foreign_byte_order() -> None:
    X = sp.csr_array(np.eye(3))
    X.indices, X.data = X.indices.astype(">i4"), X.data.astype(">f8")
    assert rows_of(X).words.tolist() == [0, 1, 2]


def unsound(**parts: Any) -> Any:
    X = sp.csr_array(np.eye(3))
    for name, value in parts.items():
        setattr(X, name, np.asarray(value))
    return X


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([1.0], {}, "X has 1 dimensions; 2 expected (rows, words)"),
        ([["a"]], {}, "X has type <U1; real numbers expected"),
        ([[1], [1, 2]], {}, "X is not an array, its rows differ in length"),
        (np.zeros((1, 10)), {}, "X has 10 columns; 0 to 9 expected"),
        (np.zeros((1, 0)), {"least_columns": 1}, "X has 0 columns; 1 to 9 expected"),
        ([[np.nan]], {}, "X holds a value that is not finite; replace or drop it"),
        ([[-2e50]], {"peak": 1e50}, "X holds a value beyond 1e+50; scale it"),
        (unsound(indices=[0, 1, 3]), {}, "X is not a sound CSR matrix"),
        (unsound(indices=[0, -1, 2]), {}, "X is not a sound CSR matrix"),
        (unsound(indptr=[0, 2, 1, 3]), {}, "X is not a sound CSR matrix"),
        (unsound(indptr=[0, 1, 2, 4]), {}, "X is not a sound CSR matrix"),
        (unsound(indptr=[0, 1, 2]), {}, "X is not a sound CSR matrix"),
    ],
)
def test_what_are_no_rows_is_refused(X: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rows_of(X, **options)
    assert str(caught.value).startswith(message)


def test_doubled_words_may_exceed_the_peak_together() -> None:
    X = sp.csr_array((np.array([0.8e50, 0.8e50]), [0, 0], [0, 2]), shape=(1, 1))
    with pytest.raises(InvalidInput, match="beyond 1e"):
        rows_of(X, peak=1e50)


def test_scalars_need_no_numpy() -> None:
    code = (
        "import sys\nfrom likewise_methods.validation import *\n"
        "whole(3, 'k'); number(0.5, 'a', above=0); truth(True, 't'); one_of('a', 'n', ('a',))\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
