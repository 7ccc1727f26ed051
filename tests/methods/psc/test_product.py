"""Product sparse coding is exact: against the explicit product codebook, for any m and any x."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.psc.product_coder import ProductSparseCoder
from tests.methods.psc.psc_reference import explicit_objective, optimum, product_words, unit_words


def problem(m: int, k: int, d: int, seed: int, signed: bool) -> tuple[list[np.ndarray], np.ndarray]:
    """Sub-codebooks and vectors of all kinds: balanced, imbalanced, with empty or wrong parts."""
    rng = np.random.default_rng(seed)
    books = [unit_words(k, d, 1 / np.sqrt(m), 10 * seed + i, signed) for i in range(m)]
    X = rng.standard_normal((8, m * d))
    X = X if signed else np.abs(X)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[1, :d] *= 1e-3
    X[2, :d] = 0
    X[3, -d:] = 0
    X[4] *= 10
    X[5, :d] = -np.abs(X[5, :d])
    X[6, :-d] *= 0.05
    X[7] = 0
    return books, X


CASES = [
    (m, k, d, signed, alpha)
    for m, k, d in ((1, 7, 4), (2, 6, 5), (2, 8, 2), (3, 5, 3), (3, 4, 1), (4, 3, 2))
    for signed in (False, True)
    for alpha in (0.3, 0.02)
]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "k", "d", "signed", "alpha"), CASES)
def test_exact_is_the_optimum_of_the_explicit_codebook(
    m: int, k: int, d: int, signed: bool, alpha: float
) -> None:
    books, X = problem(m, k, d, 3 * k + d, signed)
    words = product_words(books)
    coder = ProductSparseCoder(k, m, alpha, "exact", codebooks=books)
    found = coder.objective(X)
    np.testing.assert_allclose(found, optimum(words, X, alpha), atol=1e-8)
    assert (coder.gap(X) <= 1e-7).all()
    Y = coder.transform(X)
    assert Y.shape == (len(X), k**m)
    assert Y.dtype == np.float64
    assert (Y.data > 0).all()
    np.testing.assert_allclose(explicit_objective(words, Y.toarray(), X, alpha), found, atol=1e-10)
    assert Y[[7]].nnz == 0


@pytest.mark.parametrize("method", ["approximate", "iterative", "exact"])
@pytest.mark.parametrize("mass", ["geometric", "optimal"])
def test_marginals_objective_and_gap_are_those_of_the_code(method: str, mass: str) -> None:
    books, X = problem(2, 6, 4, 1, False)
    words, alpha = product_words(books), 0.1
    coder = ProductSparseCoder(6, 2, alpha, method, mass, codebooks=books)
    Y = coder.transform(X).toarray()
    tables = Y.reshape(len(X), 6, 6)
    first, second = coder.marginals(X)
    np.testing.assert_allclose(tables.sum(axis=2), first.toarray(), atol=1e-12)
    np.testing.assert_allclose(tables.sum(axis=1), second.toarray(), atol=1e-12)
    F = explicit_objective(words, Y, X, alpha)
    np.testing.assert_allclose(coder.objective(X), F, atol=1e-12)
    R = X - Y @ words
    top = 2 * (R @ words.T).max(axis=1)
    rr, rx = (R**2).sum(axis=1), (R * X).sum(axis=1)
    c = np.clip(rx / np.where(rr > 0, rr, 1), 0, alpha / np.where(top > 0, top, 1e-300))
    np.testing.assert_allclose(coder.gap(X), F - (2 * c * rx - c**2 * rr), atol=1e-10)
    best = ProductSparseCoder(6, 2, alpha, "exact", codebooks=books).objective(X)
    assert (best <= F + 1e-10).all()
    assert (F - best <= coder.gap(X) + 1e-10).all()


def test_approximate_and_iterative_as_the_paper_writes_them() -> None:
    books, X = problem(2, 6, 4, 2, False)
    alpha = 0.1
    parts = [X[:, :4], X[:, 4:]]

    def alone(i: int, threshold: float) -> np.ndarray:
        coder = ProductSparseCoder(
            6, 1, threshold, "exact", codebooks=[np.sqrt(2) * books[i]]
        )  # words of unit norm: u is sqrt(2) times smaller, the threshold larger
        coder.set_params(alpha=np.sqrt(2) * threshold)
        return np.asarray(np.sqrt(2) * coder.transform(parts[i]).toarray())

    u1, u2 = alone(0, alpha / 2), alone(1, alpha / 2)
    masses = u1.sum(axis=1) * u2.sum(axis=1)
    expected = np.where(masses > 0, 1 / np.sqrt(np.where(masses > 0, masses, 1)), 0)
    Y = u1[:, :, None] * u2[:, None, :] * expected[:, None, None]
    found = ProductSparseCoder(6, 2, alpha, "approximate", codebooks=books).transform(X)
    np.testing.assert_allclose(found.toarray(), Y.reshape(len(X), -1), atol=1e-10)
    assert found[[2, 3, 7]].nnz == 0  # no mass in one part: the code is zero

    low, high = np.zeros(len(X)), np.full(len(X), alpha)
    for _ in range(11):
        split = (low + high) / 2
        v1 = np.stack([alone(0, s)[row] for row, s in enumerate(split)])
        v2 = np.stack([alone(1, alpha - s)[row] for row, s in enumerate(split)])
        less = v1.sum(axis=1) < v2.sum(axis=1)
        low, high = np.where(less, low, split), np.where(less, split, high)
    coder = ProductSparseCoder(6, 2, alpha, "iterative", codebooks=books, n_steps=10)
    mass = np.sqrt(v1.sum(axis=1) * v2.sum(axis=1))
    np.testing.assert_allclose(coder.marginals(X)[0].sum(axis=1), mass, atol=1e-5)


def test_optimal_mass_is_never_worse() -> None:
    books, X = problem(3, 5, 4, 5, False)
    geometric, optimal = (
        ProductSparseCoder(5, 3, 0.1, "approximate", mass, codebooks=books).objective(X)
        for mass in ("geometric", "optimal")
    )
    assert (optimal <= geometric + 1e-12).all()
    assert (optimal < geometric - 1e-6).any()


def test_iterative_cannot_where_the_split_does_not_exist() -> None:
    """An imbalanced vector needs a negative threshold in one part (docs/methods/psc.md, P3)."""
    books, X = problem(2, 6, 4, 4, False)
    exact, iterative = (
        ProductSparseCoder(6, 2, 0.3, method, codebooks=books, n_steps=30)
        for method in ("exact", "iterative")
    )
    X = X[[0, 1]]
    found, best = iterative.objective(X), exact.objective(X)
    np.testing.assert_allclose(found[0], best[0], atol=1e-6)
    assert found[1] > best[1] + 1e-3
    rest = X[:, :4] - exact.marginals(X)[0] @ books[0]
    assert (rest[1] @ books[0].T).max() < 0 < (rest[0] @ books[0].T).max()


def test_copies_of_words_change_nothing() -> None:
    books, X = problem(2, 5, 3, 6, True)
    twice = [np.vstack([book, book[::-1]]) for book in books]
    for method in ("approximate", "exact"):
        once = ProductSparseCoder(5, 2, 0.05, method, codebooks=books).objective(X)
        both = ProductSparseCoder(10, 2, 0.05, method, codebooks=twice).objective(X)
        np.testing.assert_allclose(both, once, atol=1e-9)


def test_float32_is_as_good_and_stays_float32() -> None:
    """In float32 a word's correlation with a part is a sum of 16 products, so codes may be wrong by
    16 ulp (times a few for the condition of their words), in whichever order the sum was taken.

    At the optimum the objective is flat and does not notice; elsewhere it moves as the code does.
    """
    books, X = problem(2, 40, 16, 7, False)
    ulps = 16 * float(np.finfo(np.float32).eps)
    for method, rtol in (("approximate", 2 * ulps), ("iterative", 2 * ulps), ("exact", 1e-10)):
        coder = ProductSparseCoder(40, 2, 0.1, method, codebooks=books)
        short = X.astype(np.float32)
        wide = coder.objective(short.astype(np.float64))
        np.testing.assert_allclose(coder.objective(short), wide, rtol=rtol, atol=1e-10)
        assert coder.transform(short).dtype == np.float32
        assert coder.marginals(short)[0].dtype == np.float32


def test_threads_and_batches_give_the_same_bits() -> None:
    books, _ = problem(2, 20, 8, 8, False)
    X = np.abs(np.random.default_rng(0).standard_normal((2500, 16)))
    coder = ProductSparseCoder(20, 2, 0.5, "exact", codebooks=books)
    alone = coder.transform(X)
    shared = coder.set_params(n_threads=2).transform(X)
    np.testing.assert_array_equal(alone.indices, shared.indices)
    np.testing.assert_array_equal(alone.data, shared.data)
    some = coder.transform(X[1000:1010])
    np.testing.assert_allclose(alone[1000:1010].toarray(), some.toarray(), atol=1e-12)


def test_size_of_vectors_does_not_matter() -> None:
    books, X = problem(2, 8, 5, 9, False)
    plain = ProductSparseCoder(8, 2, 0.1, "exact", codebooks=books).transform(X).toarray()
    for size in (1e-6, 512.0, 1e6):
        coder = ProductSparseCoder(8, 2, 0.1 * size, "exact", codebooks=books)
        np.testing.assert_allclose(coder.transform(size * X).toarray() / size, plain, atol=1e-9)
