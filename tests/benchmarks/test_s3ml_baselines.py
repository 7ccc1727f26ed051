"""The two metrics that learn nothing from pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.s3ml.baselines import Euclidean, Mahalanobis
from likewise_methods.s3ml.s3ml import S3ML


@pytest.mark.parametrize("model", [Euclidean(), Mahalanobis()], ids=str)
def test_scikit_learns_own_checks(model: Any) -> None:
    results = check_estimator(model, on_fail="raise", on_skip=None)
    assert all(result["status"] in ("passed", "skipped") for result in results)


@pytest.mark.parametrize("model", [Euclidean(), Mahalanobis()], ids=str)
def test_the_interface(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    M = model.fit(X, known).metric_
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    difference = X[:5, None] - X[None, 5:8]
    expected = np.sqrt(np.einsum("abi,ij,abj->ab", difference, M, difference))
    np.testing.assert_allclose(model.distance(X[:5], X[5:8]), expected, rtol=1e-8)
    assert 0 <= model.score(X, known) <= 1


def test_they_are_the_priors_of_s3ml() -> None:
    X, _ = load_iris(return_X_y=True)
    unlabelled = np.full(len(X), -1)
    for model, prior in ((Euclidean(), "identity"), (Mahalanobis(), "covariance")):
        kept = S3ML(prior=prior).fit(X, unlabelled).metric_
        np.testing.assert_allclose(kept, model.fit(X).metric_)
