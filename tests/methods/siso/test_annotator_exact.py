"""Codes of the annotator against the optimality conditions and against scikit-learn's LARS."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from likewise_methods.siso.annotator import SparseAnnotator
from tests.methods.siso.lasso_problems import by_sklearn, columns, objective, problem, violation

MODES = ("exact", "lsh", "hnsw")
X, Q = problem(120, 20, queries=4, seed=5)
Y = np.eye(4, dtype=int)[np.arange(120) % 4]


def by_lars(A: Any, y: Any, gamma: float) -> Any:
    """The end of the path by scikit-learn, in float64."""
    with warnings.catch_warnings():
        # It says where it drops a column that depends on others.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lars_path(A.T, y, alpha_min=gamma / len(y), method="lasso")[2][:, -1]


@pytest.mark.parametrize("expand", [1, 100])
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.002])
@pytest.mark.parametrize("search", MODES)
def test_optimality_conditions_and_lars(
    search: str, alpha: float, nonnegative: bool, copies: int, expand: int
) -> None:
    pictures, tags = np.concatenate([X] * copies), np.concatenate([Y] * copies)
    model = SparseAnnotator(
        search, alpha, expand, tol=1e-10, nonnegative=nonnegative, random_state=0
    ).fit(pictures, tags)
    code = model.transform(Q).toarray()
    assert (model.gap_ <= 1e-10).all()
    A, once = columns(pictures), columns(X)
    for y, x, gamma in zip(columns(Q), code, model.codes_.gamma, strict=True):
        c = once @ y
        np.testing.assert_allclose(gamma, alpha * (c if nonnegative else np.abs(c)).max())
        assert violation(A, y, x, gamma, nonnegative) < 1e-4
        # Copies of columns do not change the optimum, so the path is followed without them.
        # scikit-learn's non-negative LARS ends early here (gap .1), its coordinate descent not.
        other = by_sklearn(once, y, gamma, True) if nonnegative else by_lars(once, y, gamma)
        best = objective(once, y, other, gamma)
        np.testing.assert_allclose(objective(A, y, x, gamma), best, rtol=1e-7)
        if copies == 1:
            np.testing.assert_allclose(x, other, atol=1e-4)


@pytest.mark.parametrize("search", MODES)
def test_the_default_tolerance_bounds_the_breach(search: str) -> None:
    """|r - r*|^2 / 2 <= P - P*, so no correlation is further than that from the exact one's."""
    model = SparseAnnotator(search, random_state=0).fit(X, Y)
    code = model.transform(Q).toarray()
    A = columns(X)
    for y, x, gamma in zip(columns(Q), code, model.codes_.gamma, strict=True):
        excess = 1e-4 * objective(A, y, x, gamma)
        assert violation(A, y, x, gamma) <= np.sqrt(2 * excess) / gamma


@pytest.mark.parametrize("search", MODES)
@pytest.mark.parametrize("size", [1e200, 1e-200, 5e-324])
def test_queries_of_any_length(search: str, size: float) -> None:
    model = SparseAnnotator(search, 0.02, tol=1e-8, random_state=0).fit(X, Y)
    whole = np.round(4 * Q / np.abs(Q).max())
    plain = model.predict_scores(whole)
    np.testing.assert_allclose(model.predict_scores(whole * size), plain, atol=1e-9)
    assert (model.gap_ <= 1e-8).all()
