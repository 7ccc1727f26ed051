"""The judge of the speed benchmark, on codes whose objective is known otherwise."""

from __future__ import annotations

import numpy as np

from benchmarks.psc.speed.convergence import slope
from benchmarks.psc.speed.peers import judge, judge_parts, product_words
from benchmarks.psc.speed.rounds import ratios
from likewise_methods.psc.product_coder import ProductSparseCoder
from tests.methods.psc.psc_reference import product_words as by_hand
from tests.methods.psc.psc_reference import unit_words


def test_the_judge_agrees_with_the_coders() -> None:
    books = [unit_words(7, 64, np.sqrt(0.5), i) for i in range(2)]
    words = product_words(books)
    np.testing.assert_array_equal(words, by_hand(books))
    X = np.abs(np.random.default_rng(0).standard_normal((20, 128)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    parts = [X[:, :64], X[:, 64:]]
    for method in ("approximate", "exact"):
        coder = ProductSparseCoder(7, 2, 0.3, method, codebooks=books)
        for F, gap in (
            judge(X, coder.transform(X), words, 0.3),
            judge_parts(parts, coder.marginals(X), books, 0.3),
        ):
            np.testing.assert_allclose(F, coder.objective(X), atol=1e-12)
            np.testing.assert_allclose(gap, coder.gap(X), atol=1e-12)


def test_slope_of_a_square_root() -> None:
    rows = [{"K": K, "us": 3 * K**0.5} for K in (10, 100, 1000)]
    np.testing.assert_allclose(slope(rows, "us"), 0.5)


def test_ratios_are_those_within_rounds() -> None:
    """A slow round for everybody changes nothing; SPAMS is judged by its faster setting."""
    taken = {
        "APSC": [1.0, 10.0, 1.0],
        "exact PSC": [1.5, 15.0, 3.0],
        "SPAMS": [3.0, 30.0, 9.0],
        "SPAMS, cholesky": [4.0, 24.0, 2.0],
    }
    speed, exact = ratios(taken)
    assert (speed["median"], speed["least"], speed["largest"]) == (2.4, 2.0, 3.0)
    assert (exact["median"], exact["least"], exact["largest"]) == (1.5, 1.5, 3.0)
    ours = {name: times for name, times in taken.items() if "PSC" in name}
    assert ratios(ours) == [exact]
