"""VQ and LLC against plain numpy: nearest words, and the small systems written out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from likewise_methods.coding.hard import VQ
from likewise_methods.coding.locality import LLC
from likewise_methods.errors import InvalidInput

WIDTH = 12


@pytest.fixture
def words() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(40, WIDTH)).astype(np.float32)


@pytest.fixture(name="X")
def descriptors() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(200, WIDTH)).astype(np.float32)


def distances(X: np.ndarray, words: np.ndarray) -> np.ndarray:
    return ((X[:, None].astype(float) - words[None]) ** 2).sum(axis=2)


def plain_llc(X: np.ndarray, words: np.ndarray, n: int, ridge: float) -> np.ndarray:
    """The method of the paper, one descriptor at a time."""
    out = np.zeros((len(X), len(words)))
    for i, x in enumerate(X.astype(float)):
        near = np.argsort(((words - x) ** 2).sum(axis=1))[:n]
        centred = words[near] - x
        C = centred @ centred.T
        w = np.linalg.solve(C + ridge * np.trace(C) * np.eye(n), np.ones(n))
        out[i, near] = w / w.sum()
    return out


def test_vq_gives_the_nearest_word(X: np.ndarray, words: np.ndarray) -> None:
    codes = VQ(codebook=words).transform(X)
    assert codes.shape == (200, 40)
    assert codes.data.tolist() == [1.0] * 200
    assert np.array_equal(codes.indices, distances(X, words).argmin(axis=1))


@pytest.mark.parametrize(("n", "ridge"), [(1, 1e-4), (5, 1e-4), (5, 1e-2), (9, 1e-4)])
def test_llc_solves_the_systems(X: np.ndarray, words: np.ndarray, n: int, ridge: float) -> None:
    codes = LLC(n_nearest=n, ridge=ridge, codebook=words).transform(X)
    assert np.abs(codes.toarray() - plain_llc(X, words, n, ridge)).max() < 1e-5
    assert np.allclose(codes.sum(axis=1), 1, atol=1e-5)


def test_llc_of_a_descriptor_that_is_its_words(words: np.ndarray) -> None:
    same = np.tile(words[:1], (3, 1))
    shares = LLC(n_nearest=3, codebook=same).transform(words[:1])
    assert np.allclose(shares.toarray(), 1 / 3)
    alone = LLC(n_nearest=1, codebook=words).transform(words[5:6])
    assert alone.indices.tolist() == [5]
    assert alone.data.tolist() == [1.0]


@pytest.mark.parametrize("kind", [VQ, LLC])
def test_fit_learns_words_and_a_given_codebook_stays(kind: type, X: np.ndarray) -> None:
    learned = kind(n_words=7, random_state=3).fit(X)
    again = kind(n_words=7, random_state=3).fit(iter([X[:90], X[90:]]))
    assert learned.codebook_.shape == (7, WIDTH)
    assert np.array_equal(learned.codebook_, again.codebook_)
    given = kind(codebook=X[:9]).fit(X)
    assert np.array_equal(given.codebook_, X[:9])
    assert clone(given).transform(X[:2]).shape == (2, 9)


@pytest.mark.parametrize("kind", [VQ, LLC])
def test_another_codebook_is_noticed(kind: type, X: np.ndarray, words: np.ndarray) -> None:
    coder = kind(codebook=words)
    coder.transform(X)
    coder.set_params(codebook=words[:20])
    assert coder.transform(X).shape == (200, 20)


@pytest.mark.parametrize("kind", [VQ, LLC])
def test_bad_input(kind: type, X: np.ndarray, words: np.ndarray) -> None:
    with pytest.raises(NotFittedError, match="call fit, or give it a codebook"):
        kind().transform(X)
    with pytest.raises(InvalidInput, match="5 columns; 12 expected"):
        kind(codebook=words).transform(X[:, :5])
    with pytest.raises(InvalidInput, match="NaN"):
        kind(codebook=words).transform(np.full((1, WIDTH), np.nan))
    with pytest.raises(InvalidInput, match="200 descriptors for 999 words"):
        kind(n_words=999).fit(X)
    with pytest.raises(InvalidInput, match="0 words"):
        kind(codebook=words[:0]).transform(X)
    assert kind(codebook=words).transform(X[:0]).shape == (0, 40)


def test_bad_parameters_of_llc(X: np.ndarray, words: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="ridge is 0"):
        LLC(ridge=0, codebook=words).transform(X)
    with pytest.raises(InvalidInput, match="n_nearest is 41; there are 40 words"):
        LLC(n_nearest=41, codebook=words).transform(X)
