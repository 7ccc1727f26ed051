"""Products by both ways, their factor, and weights brought back to the long rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from likewise_methods.coding import linear
from likewise_methods.coding.linear import brought_back, factor, products


@pytest.mark.parametrize("share", [0.002, 0.5])
def test_products_of_sparse_rows(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 500)) * (rng.random((30, 500)) < share)
    monkeypatch.setattr(linear, "_COLUMNS_AT_ONCE", 64)
    for kind in (sparse.csr_array, sparse.csc_array, np.asarray):
        assert np.abs(products(kind(X)) - X @ X.T).max() < 1e-10
    assert np.abs(products(sparse.csr_array(X), np.float32) - X @ X.T).max() < 1e-3


def test_rows_of_a_factor_have_the_same_products() -> None:
    X = np.random.default_rng(1).normal(size=(20, 300))
    short = factor(products(X))
    assert short.shape == (20, 20)
    assert np.abs(short @ short.T - X @ X.T).max() < 1e-3
    twice = np.vstack([X, X])
    assert np.isfinite(factor(products(twice))).all()


def test_a_machine_on_the_factor_is_the_machine_on_the_rows() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 400)) / 20
    y = rng.integers(3, size=60)
    X[np.arange(60), y] += 0.5
    long = LinearSVC(C=1.0, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)
    short = factor(products(X))
    machine = LinearSVC(C=1.0, tol=1e-8, max_iter=100_000, random_state=0).fit(short, y)
    weights = brought_back(sparse.csr_array(X), short, machine.coef_)
    assert np.abs(weights - long.coef_).max() < 1e-3
    assert np.abs(machine.intercept_ - long.intercept_).max() < 1e-3
