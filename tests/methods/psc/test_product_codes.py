"""The public functions over paths: the optimum by an independent solver, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from likewise_methods.errors import InvalidInput
from likewise_methods.psc import certify, nonnegative_codes, product_codes
from likewise_methods.psc.solver.product_paths import METHODS
from likewise_methods.psc.solver.word_paths import CODINGS

ALPHA = 0.2


def unit(rng: np.random.Generator, k: int, d: int, norm: float = 1.0) -> np.ndarray:
    words = rng.standard_normal((k, d))
    return np.asarray(norm * words / np.linalg.norm(words, axis=1, keepdims=True))


def by_nnls(x: np.ndarray, words: np.ndarray, alpha: float) -> np.ndarray:
    """|x - y A|^2 + alpha sum y as least squares: A A' = L L' and L b = A x - alpha / 2."""
    gram = words @ words.T + 1e-13 * np.eye(len(words))
    L = np.linalg.cholesky(gram)
    return np.asarray(nnls(L.T, np.linalg.solve(L, words @ x - alpha / 2))[0])


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("method", list(CODINGS))
def test_codes_over_one_codebook_are_optimal(method: str, gram: bool) -> None:
    rng = np.random.default_rng(0)
    words, X = unit(rng, 8, 8), unit(rng, 20, 8)
    # Of 8 words all are near.
    found = nonnegative_codes(X, words, ALPHA, method=method, gram=gram, n_nearest=8)  # type: ignore[arg-type]
    wanted = np.array([by_nnls(x, words, ALPHA) for x in X])
    np.testing.assert_allclose(found.toarray(), wanted, atol=1e-5)


def test_marginals_are_those_of_the_optimum_over_all_products() -> None:
    rng = np.random.default_rng(1)
    books = [unit(rng, 3, 4, 0.5**0.5) for _ in range(2)]
    X = unit(rng, 20, 8)
    parts = [np.ascontiguousarray(X[:, :4]), np.ascontiguousarray(X[:, 4:])]
    found = product_codes(parts, books, ALPHA)
    products = np.array([np.concatenate([a, b]) for a in books[0] for b in books[1]])
    objective, gap = certify(parts, found, books, ALPHA)
    assert gap.max() < 1e-9
    for x, value in zip(X, objective, strict=True):
        # Products are dependent, so that codes differ; the least objective is unique.
        y = by_nnls(x, products, ALPHA)
        wanted = np.sum((x - y @ products) ** 2) + ALPHA * y.sum()
        assert value == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_gives_marginals_of_every_part(method: str) -> None:
    rng = np.random.default_rng(2)
    books = [unit(rng, 5, 4, 0.5**0.5) for _ in range(2)]
    parts = [rng.standard_normal((7, 4)).astype(np.float32) for _ in range(2)]
    found = product_codes(parts, books, ALPHA, method=method)  # type: ignore[arg-type]
    assert [part.shape for part in found] == [(7, 5), (7, 5)]
    masses = [part.sum(axis=1) for part in found]
    assert np.allclose(*masses, rtol=1e-5) == METHODS[method].common  # type: ignore[index]


def test_what_is_refused() -> None:
    half = np.eye(2) * 0.5**0.5
    X = np.ones((3, 2))
    for wrong, message in (
        (lambda: product_codes([X, X], [half, half], 0.1, method="best"), "approximate, iterative"),  # type: ignore[arg-type]
        (lambda: product_codes([X], [half, half], 0.1), "1 parts for 2 codebooks"),
        (lambda: product_codes([X] * 2, [np.eye(2)] * 2, 0.1), "scale every row"),
        (
            lambda: product_codes([X] * 3, [np.eye(2) / 3**0.5] * 3, 0.1, method="iterative"),
            "for 2 parts, not 3",
        ),
        (lambda: product_codes([X, X[:2]], [half, half], 0.1), "as part 0 has"),
        (
            lambda: product_codes([X, X * np.nan], [half, half], 0.1),
            "part 1 has NaN",
        ),
        (lambda: nonnegative_codes(X, np.eye(2), 0.1, method="lars"), "homotopy, feature-sign"),  # type: ignore[arg-type]
        (lambda: nonnegative_codes(X, np.eye(3), 0.1), "2 columns; 3 expected"),
        (lambda: nonnegative_codes(X, np.eye(2), 0.0), "alpha is 0.0"),
        (lambda: nonnegative_codes(X, np.eye(2), 0.1, n_threads=0), "n_threads is 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            wrong()
