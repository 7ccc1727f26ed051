"""VLAD and Fisher vectors against plain numpy and scikit-learn's mixture."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from likewise_methods.coding.aggregate import VLAD
from likewise_methods.coding.fisher import FisherVector
from likewise_methods.coding.mixture import Mixture, fit_mixture
from likewise_methods.errors import InvalidInput

WIDTH = 8


@pytest.fixture
def words() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(6, WIDTH)).astype(np.float32)


@pytest.fixture(name="X")
def descriptors() -> np.ndarray:
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(4, WIDTH)) * 3
    return (centres[rng.integers(4, size=600)] + rng.normal(size=(600, WIDTH))).astype(np.float32)


def plain_vlad(X: np.ndarray, words: np.ndarray, power: float, intra: bool) -> np.ndarray:
    nearest = ((X[:, None].astype(float) - words[None]) ** 2).sum(axis=2).argmin(axis=1)
    v = np.stack([(X[nearest == j] - words[j]).astype(float).sum(axis=0) for j in range(6)])
    v = np.sign(v) * np.abs(v) ** power
    if intra:
        v = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-30)
    return (v / np.linalg.norm(v)).reshape(-1)


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("intra", [False, True])
def test_vlad_is_the_sum_of_residuals(
    X: np.ndarray, words: np.ndarray, power: float, intra: bool
) -> None:
    coder = VLAD(power=power, intra=intra, codebook=words)
    made = coder.transform([X[:50], X[50:]])
    expected = [plain_vlad(part, words, power, intra) for part in (X[:50], X[50:])]
    assert np.abs(made - np.stack(expected)).max() < 1e-5


def test_a_picture_in_batches_is_the_same_picture(X: np.ndarray, words: np.ndarray) -> None:
    vlad = VLAD(codebook=words)
    assert np.allclose(vlad.encode(X), vlad.encode(iter([X[:7], X[7:300], X[300:]])), atol=1e-6)
    # Without the root, which magnifies rounding; of a part, as the whole has hardly a gradient.
    fisher = FisherVector(4, n_dims=5, power=1, random_state=0).fit(X)
    batches = iter([X[:7], X[7:60], X[60:90]])
    # A log density here is the difference of terms of up to 170, which float32 rounds in the order
    # that the processor's matrix product takes: 170 ulp, twice for either way, over a gradient
    # of length 0.6.
    ulp = float(np.finfo(np.float32).eps)
    assert np.allclose(fisher.encode(X[:90]), fisher.encode(batches), rtol=0, atol=4 * 170 * ulp)


def test_pictures_without_descriptors(X: np.ndarray, words: np.ndarray) -> None:
    assert not VLAD(codebook=words).encode(X[:0]).any()
    fisher = FisherVector(4, n_dims=5, random_state=0).fit(X)
    assert not fisher.encode(X[:0]).any()
    assert VLAD(codebook=words).transform([]).shape == (0, 48)
    assert fisher.transform(iter([])).shape == (0, 40)


def test_posteriors_and_likelihood_are_those_of_scikit_learn(X: np.ndarray) -> None:
    theirs = GaussianMixture(5, covariance_type="diag", max_iter=3, random_state=0)
    with pytest.warns(UserWarning, match="converge"):
        theirs.fit(X.astype(float))
    ours = Mixture(theirs.weights_, theirs.means_, theirs.covariances_)
    shares, logs = ours.posteriors(X)
    assert np.abs(shares - theirs.predict_proba(X.astype(float))).max() < 1e-4
    assert np.abs(logs - theirs.score_samples(X.astype(float))).max() < 1e-3


def test_training_climbs_to_what_scikit_learn_reaches(X: np.ndarray) -> None:
    mixture, history = fit_mixture(X, 4, n_iter=40, rng=np.random.default_rng(0))
    assert np.diff(history).min() > -1e-5
    theirs = GaussianMixture(
        4,
        covariance_type="diag",
        weights_init=mixture.weights,
        means_init=mixture.means,
        precisions_init=1 / mixture.variances,
    ).fit(X.astype(float))
    # Where ours stopped, theirs finds nothing more to gain.
    assert history[-1] == pytest.approx(theirs.score(X.astype(float)), abs=0.01)
    assert mixture.weights.sum() == pytest.approx(1)


def test_equal_rows_leave_no_component_without_variance() -> None:
    X = np.repeat(np.eye(3, dtype=np.float32), 30, axis=0)
    mixture, history = fit_mixture(X, 5, n_iter=10, rng=np.random.default_rng(0))
    assert np.isfinite(history).all()
    assert (mixture.variances > 0).all()


def plain_fisher(X: np.ndarray, m: Mixture, power: float) -> np.ndarray:
    """The formulas, one descriptor and one component at a time."""
    mean_part, variance_part = np.zeros(m.means.shape), np.zeros(m.means.shape)
    for x in X.astype(float):
        logs = np.log(m.weights) - 0.5 * (
            np.log(2 * np.pi * m.variances) + (x - m.means) ** 2 / m.variances
        ).sum(axis=1)
        g = np.exp(logs - logs.max())
        g /= g.sum()
        u = (x - m.means) / np.sqrt(m.variances)
        mean_part += g[:, None] * u
        variance_part += g[:, None] * (u**2 - 1)
    mean_part /= len(X) * np.sqrt(m.weights)[:, None]
    variance_part /= len(X) * np.sqrt(2 * m.weights)[:, None]
    v = np.concatenate([mean_part.reshape(-1), variance_part.reshape(-1)])
    v = np.sign(v) * np.abs(v) ** power
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_fisher_is_the_gradient(X: np.ndarray, power: float) -> None:
    coder = FisherVector(5, n_dims=None, power=power, random_state=0).fit(X)
    made = coder.transform([X[:40], X[40:90]])
    expected = [plain_fisher(part, coder.mixture_, power) for part in (X[:40], X[40:90])]
    # The root of a gradient near zero magnifies its rounding.
    assert np.abs(made - np.stack(expected)).max() < (2e-3 if power < 1 else 1e-4)


def test_the_projection_is_that_of_the_strongest_directions(X: np.ndarray) -> None:
    coder = FisherVector(3, n_dims=2, random_state=0, sample=10_000).fit(X)
    assert coder.directions_ is not None
    _, _, theirs = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert np.allclose(np.abs(coder.directions_ @ theirs[:2].T), np.eye(2), atol=1e-3)


def test_bad_input(X: np.ndarray, words: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="power is 0"):
        VLAD(power=0, codebook=words).encode(X)
    with pytest.raises(InvalidInput, match="5 columns; 8 expected"):
        VLAD(codebook=words).encode(X[:, :5])
    with pytest.raises(InvalidInput, match="a picture has 3 dimensions"):
        VLAD(codebook=words).encode(np.zeros((2, 3, 8)))
    with pytest.raises(InvalidInput, match="in a list"):
        VLAD(codebook=words).transform(3)
    with pytest.raises(InvalidInput, match="n_dims is 9; descriptors have 8"):
        FisherVector(3, n_dims=9).fit(X)
    with pytest.raises(InvalidInput, match="600 descriptors for 999 components"):
        FisherVector(999).fit(X)
    coder = FisherVector(3, n_dims=4, random_state=0).fit(X)
    with pytest.raises(InvalidInput, match="NaN"):
        coder.encode(np.full((2, WIDTH), np.nan))
