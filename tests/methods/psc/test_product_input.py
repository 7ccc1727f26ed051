"""Splits of SIFT, training of sub-codebooks, and what product sparse coding refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from likewise_methods.errors import InvalidInput
from likewise_methods.psc.codebooks import new_words, train
from likewise_methods.psc.product_coder import ProductSparseCoder, columns
from tests.methods.psc.psc_reference import lee_dual, unit_words

RNG = np.random.default_rng(0)
X128 = np.abs(RNG.standard_normal((60, 128)))
X128 /= np.linalg.norm(X128, axis=1, keepdims=True)


def test_splits_of_the_grid() -> None:
    cell = {(y, x, o): 32 * y + 8 * x + o for y in range(4) for x in range(4) for o in range(8)}
    upper = {i for (y, _, _), i in cell.items() if y < 2}
    left = {i for (_, x, _), i in cell.items() if x < 2}
    some = {i for (_, _, o), i in cell.items() if o < 4}
    for split, first in (("horizontal", upper), ("vertical", left), ("structural", some)):
        parts = columns(128, 2, split)
        assert set(parts[0].tolist()) == first
        assert sorted(np.concatenate(parts).tolist()) == list(range(128))
    assert [part.tolist() for part in columns(6, 3, "contiguous")] == [[0, 1], [2, 3], [4, 5]]
    assert len(columns(128, 8, "structural")) == 8


@pytest.mark.parametrize("split", ["horizontal", "vertical", "structural"])
def test_a_split_is_a_permutation_of_columns(split: str) -> None:
    books = [unit_words(9, 64, np.sqrt(0.5), i) for i in range(2)]
    order = np.concatenate(columns(128, 2, split))
    plain = ProductSparseCoder(9, codebooks=books).transform(X128[:, order])
    cut = ProductSparseCoder(9, split=split, codebooks=books).transform(X128)
    np.testing.assert_allclose(plain.toarray(), cut.toarray(), atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; a finite number above 0"),
        ({"alpha": -1}, "alpha is -1"),
        ({"alpha": np.nan}, "alpha is nan"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"n_words": 0}, "n_words is 0"),
        ({"n_words": 61}, "60 training vectors .* for 61 words"),
        ({"n_subspaces": 3}, "128 columns cannot be cut into 3"),
        ({"n_subspaces": 8, "split": "vertical"}, "4 columns of cells, which 8 parts"),
        ({"split": "diagonal"}, "split is 'diagonal'"),
        ({"method": "guess"}, "method is 'guess'"),
        ({"method": "iterative", "n_subspaces": 4}, "2 subspaces, not 4"),
        ({"mass": "none"}, "mass is 'none'"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"n_threads": 0}, "n_threads is 0"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    coder = ProductSparseCoder(**({"n_words": 4, "n_iter": 1} | parameters))
    with pytest.raises(InvalidInput, match=message):
        coder.fit(X128)
    assert not hasattr(coder, "codebooks_")


def test_bad_vectors_and_codebooks() -> None:
    books = [unit_words(4, 64, np.sqrt(0.5), i) for i in range(2)]
    coder = ProductSparseCoder(4, codebooks=books)
    nan = X128.copy()
    nan[7, 3] = np.nan
    for bad, message in (
        (X128[:, 1:], "127 columns; 128 expected"),
        (nan, "NaN or infinity in row 7"),
        (X128[0], "1 dimensions"),
        ([["a"] * 128], "real numbers"),
        (1j * X128, "Complex data not supported"),
        (sp.csr_array(X128), "sparse matrix; an array"),
    ):
        for call in (coder.transform, coder.marginals, coder.objective, coder.gap, coder.fit):
            with pytest.raises(InvalidInput, match=message):
                call(bad)
    with pytest.raises(InvalidInput, match="128 columns, X has 64"):
        ProductSparseCoder(4, split="vertical", n_iter=1).fit(X128[:, :64])
    for wrong, message in (
        ([books[0]], "1 codebooks for 2 subspaces"),
        ([books[0], 2 * books[1]], "word 0 of codebook 1 has norm 1.41421; 0.707107 expected"),
        ([books[0], books[1][:3]], "have 4, 3 words"),
        ([books[0], np.full((4, 64), np.nan)], "codebook 1 has NaN"),
    ):
        with pytest.raises(InvalidInput, match=message):
            ProductSparseCoder(4, codebooks=wrong).transform(X128)
    with pytest.raises(NotFittedError):
        ProductSparseCoder(4).transform(X128)


def test_no_rows_and_zero_rows() -> None:
    books = [unit_words(4, 64, np.sqrt(0.5), i) for i in range(2)]
    for method in ("approximate", "iterative", "exact"):
        coder = ProductSparseCoder(4, method=method, codebooks=books)
        assert coder.transform(X128[:0]).shape == (0, 16)
        assert coder.objective(X128[:0]).shape == coder.gap(X128[:0]).shape == (0,)
        nothing = np.zeros((3, 128), np.float32)
        assert coder.transform(nothing).nnz == 0
        assert not coder.objective(nothing).any()
        assert not coder.gap(nothing).any()


def test_parts_of_different_widths() -> None:
    books = [unit_words(5, d, np.sqrt(0.5), d) for d in (3, 6)]
    coder = ProductSparseCoder(5, method="exact", alpha=0.05, codebooks=books)
    X = np.abs(RNG.standard_normal((10, 9)))
    assert (coder.gap(X) < 1e-10).all()
    assert (coder.fit(X).gap(X) < 1e-10).all()


@pytest.mark.parametrize("method", ["approximate", "iterative", "exact"])
def test_training_lowers_the_objective(method: str) -> None:
    rng = np.random.default_rng(1)
    truth = [unit_words(6, 8, np.sqrt(0.5), i) for i in range(2)]
    codes = np.where(rng.random((2, 400, 6)) < 0.3, rng.random((2, 400, 6)), 0)
    X = np.hstack([codes[i] @ truth[i] for i in range(2)]) + 0.01 * rng.standard_normal((400, 16))
    X[:5] = 0
    reported: list[float] = []
    coder = ProductSparseCoder(
        6, alpha=0.05, method=method, random_state=3, n_iter=12,
        progress=lambda done, rounds, value: reported.append(value),
    ).fit(X)  # fmt: skip
    assert reported == coder.history_
    assert len(reported) == 12
    assert reported[-1] < 0.6 * reported[0]
    for book in coder.codebooks_:
        np.testing.assert_allclose(np.linalg.norm(book, axis=1), np.sqrt(0.5))
    again = ProductSparseCoder(6, alpha=0.05, method=method, random_state=3, n_iter=12).fit(X)
    np.testing.assert_array_equal(again.codebooks_[1], coder.codebooks_[1])
    given = ProductSparseCoder(6, alpha=0.05, method=method, codebooks=coder.codebooks_)
    np.testing.assert_allclose(given.transform(X).toarray(), coder.transform(X).toarray())


def test_words_are_the_constrained_least_squares_of_lee() -> None:
    """Within the ball, before the scaling to its surface: no better words exist."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 7))
    U = np.where(rng.random((200, 5)) < 0.5, rng.random((200, 5)), 0)
    U[:, 1] *= 0.01  # a word that would like to be long
    U[:, 2] *= 100  # one that would like to be short: inside the ball
    expected = lee_dual(X, U, 0.7)
    start = unit_words(5, 7, 0.7, 0)
    found = new_words(X, sp.csr_array(U), start, 0.7, np.zeros(200), rng)
    inside = np.linalg.norm(expected, axis=1)
    assert inside.min() < 0.5
    np.testing.assert_allclose(found, 0.7 * expected / inside[:, None], atol=1e-4)


def test_dead_words_become_badly_coded_rows() -> None:
    rng = np.random.default_rng(4)
    X = np.abs(rng.standard_normal((50, 4)))
    U = np.abs(rng.standard_normal((50, 3)))
    U[:, 1] = 0
    errors = np.zeros(50)
    errors[[10, 20]] = 1
    words = new_words(X, sp.csr_array(U), unit_words(3, 4, 1.0, 0), 1.0, errors, rng)
    rows = X[[10, 20]] / np.linalg.norm(X[[10, 20]], axis=1, keepdims=True)
    assert np.abs(rows - words[1]).max(axis=1).min() < 1e-12


def test_training_on_empty_parts() -> None:
    """No row has anything in the second part: words exist all the same."""

    def coding(books: list[Any], parts: list[Any]) -> list[Any]:
        return [sp.csr_array((len(parts[0]), len(book))) for book in books]

    parts = [X128[:, :64], np.zeros((60, 64))]
    books, history = train(parts, 5, coding, alpha=0.1, n_iter=2, random_state=0)
    assert np.isfinite(books[1]).all()
    np.testing.assert_allclose(np.linalg.norm(books[1], axis=1), np.sqrt(0.5))
    np.testing.assert_allclose(history[0], (parts[0] ** 2).sum() / 60)
