"""scikit-learn's own checks of the sparse coders; what they do otherwise is listed with reasons."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.psc.product_coder import ProductSparseCoder
from likewise_methods.psc.sparse_coder import SparseCoder

_WORDING = "refused with InvalidInput, a ValueError, in other words than scikit-learn's"
EXPECTED = {
    "check_n_features_in_after_fitting": _WORDING,
    "check_dtype_object": _WORDING,
    "check_estimators_empty_data_messages": _WORDING,
    "check_fit2d_1sample": _WORDING,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator", [SparseCoder(3, n_iter=1), ProductSparseCoder(3, 1, n_iter=1)]
)
def test_conventions(estimator: Any) -> None:
    results = check_estimator(
        estimator, on_fail=None, on_skip=None, expected_failed_checks=EXPECTED
    )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed, failed
    # A deviation that is gone leaves the list.
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXPECTED)
