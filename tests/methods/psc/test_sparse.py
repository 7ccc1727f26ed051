"""Sparse coding on an explicit codebook: every exact method finds the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from likewise_methods.errors import InvalidInput
from likewise_methods.psc.sparse_coder import SparseCoder
from tests.methods.psc.psc_reference import explicit_objective, optimum, unit_words

WORDS = unit_words(60, 12, 1.0, 0)
X = np.abs(np.random.default_rng(1).standard_normal((30, 12)))
X /= np.linalg.norm(X, axis=1, keepdims=True)
X[4] = 0
X[5] *= -1
X[6] *= 20


@pytest.mark.parametrize("alpha", [0.3, 0.01])
@pytest.mark.parametrize("gram", ["precomputed", "on-the-fly"])
@pytest.mark.parametrize("method", ["homotopy", "feature-sign"])
def test_exact_methods(method: str, gram: str, alpha: float) -> None:
    coder = SparseCoder(60, alpha, method, gram, codebook=WORDS)
    Y = coder.transform(X)
    assert Y[[4]].nnz == 0
    assert Y[[5]].nnz == 0
    assert (Y.data > 0).all()
    found = coder.objective(X)
    np.testing.assert_allclose(explicit_objective(WORDS, Y.toarray(), X, alpha), found, atol=1e-12)
    np.testing.assert_allclose(found, optimum(WORDS, X, alpha), atol=1e-8)
    assert (coder.gap(X) <= 1e-7).all()
    short = X.astype(np.float32)
    np.testing.assert_allclose(coder.objective(short), found, atol=1e-4)
    np.testing.assert_allclose(
        coder.objective(short), coder.objective(short.astype(np.float64)), atol=1e-7
    )
    assert coder.transform(short).dtype == np.float32


def test_many_copies_and_signs() -> None:
    words = np.vstack([WORDS, WORDS[:20], -WORDS[:10]])
    expected = optimum(words, X, 0.05)
    for method in ("homotopy", "feature-sign"):
        coder = SparseCoder(90, 0.05, method, codebook=words)
        np.testing.assert_allclose(coder.objective(X), expected, atol=1e-8)


def test_nearest_is_optimal_on_its_words_and_its_gap_is_honest() -> None:
    alpha = 0.02
    exact = SparseCoder(60, alpha, codebook=WORDS).objective(X)
    coder = SparseCoder(60, alpha, "nearest", n_nearest=8, codebook=WORDS)
    Y, found, gap = coder.transform(X).toarray(), coder.objective(X), coder.gap(X)
    for x, y, value in zip(X, Y, found, strict=True):
        near = np.argsort(-(WORDS @ x))[:8]
        assert set(np.flatnonzero(y)) <= set(near)
        np.testing.assert_allclose(optimum(WORDS[near], x[None], alpha)[0], value, atol=1e-8)
    assert (found > exact + 1e-6).any()
    assert (found - exact <= gap + 1e-9).all()
    every = SparseCoder(60, alpha, "nearest", n_nearest=200, codebook=WORDS).objective(X)
    np.testing.assert_allclose(every, exact, atol=1e-8)


@pytest.mark.parametrize("method", ["homotopy", "nearest"])
def test_training_and_threads(method: str) -> None:
    rng = np.random.default_rng(2)
    truth = unit_words(10, 12, 1.0, 5)
    data = np.where(rng.random((600, 10)) < 0.2, rng.random((600, 10)), 0) @ truth
    seen: list[int] = []
    coder = SparseCoder(
        10, 0.05, method, n_nearest=6, random_state=0, n_iter=8, n_threads=2,
        progress=lambda done, rounds, value: seen.append(done),
    ).fit(data)  # fmt: skip
    assert seen == list(range(1, 9))
    assert coder.history_[-1] < 0.7 * coder.history_[0]
    np.testing.assert_allclose(np.linalg.norm(coder.codebook_, axis=1), 1)
    alone = SparseCoder(10, 0.05, method, n_nearest=6, random_state=0, n_iter=8).fit(data)
    np.testing.assert_array_equal(alone.codebook_, coder.codebook_)
    np.testing.assert_array_equal(alone.transform(data).data, coder.transform(data).data)


def test_refusals() -> None:
    for parameters, message in (
        ({"alpha": 0}, "alpha is 0"),
        ({"method": "lars"}, "method is 'lars'"),
        ({"gram": "sometimes"}, "gram is 'sometimes'"),
        ({"n_nearest": 0}, "n_nearest is 0"),
        ({"n_words": 31}, "30 training vectors .* for 31 words"),
        ({"n_words": 59, "codebook": WORDS}, "codebook has 60 words; n_words=59"),
        ({"n_words": 60, "codebook": 2 * WORDS}, "has norm 2; 1 expected"),
    ):
        with pytest.raises(InvalidInput, match=message):
            SparseCoder(**({"n_words": 5, "n_iter": 1} | parameters)).fit(X)
    coder = SparseCoder(60, codebook=WORDS)
    with pytest.raises(InvalidInput, match="11 columns"):
        coder.transform(X[:, 1:])
    with pytest.raises(InvalidInput, match="NaN or infinity in row 0"):
        coder.transform(np.full((1, 12), np.inf))
    with pytest.raises(NotFittedError):
        SparseCoder(5).transform(X)
    assert coder.transform(X[:0]).shape == (0, 60)
    assert coder.gap(X[:0]).shape == (0,)
