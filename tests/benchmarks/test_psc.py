"""The parts of the PSC benchmark that compute: kernels and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from benchmarks.psc.data import restored
from benchmarks.psc.kernels import Draw, chi_squared, class_accuracy, draws


def test_the_chi_squared_kernel_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((12, 40)) * (rng.random((12, 40)) < 0.3)
    X /= X.sum(axis=1, keepdims=True)
    distances = -additive_chi2_kernel(X)
    expected = np.exp(-distances / distances.mean())
    assert np.abs(chi_squared(sparse.csr_array(X)) - expected).max() < 1e-5


def test_draws_are_apart_and_even() -> None:
    labels = np.repeat(np.arange(5), 12)
    found = draws(labels, 8, 3, 3, 0)
    for draw in found:
        assert not set(draw.train) & set(draw.test)
        assert np.bincount(labels[draw.train]).tolist() == [8] * 5
        assert np.bincount(labels[draw.test]).tolist() == [3] * 5
    assert not np.array_equal(found[0].train, found[1].train)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_accuracy_is_the_mean_of_the_classes() -> None:
    rows = np.vstack([np.eye(3)] * 4)
    labels = np.tile(np.arange(3), 4)
    draw = Draw(np.arange(6), np.arange(6, 12))
    assert class_accuracy(rows, labels, draw, 10.0) == 1.0
    # Of class 2 nothing is recognised where its test pictures look like class 0.
    rows[[8, 11]] = rows[0]
    assert class_accuracy(rows, labels, draw, 10.0) == pytest.approx(2 / 3)


def test_bytes_become_descriptors_again() -> None:
    unit = np.random.default_rng(0).random((5, 128)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    found = np.rint(unit * 512).astype(np.uint8)
    assert np.abs(restored(found, root=False) - unit).max() < 2e-3
    assert np.allclose(np.linalg.norm(restored(found, root=True), axis=1), 1, atol=1e-5)
    assert not restored(np.zeros((1, 128), np.uint8), root=False).any()
