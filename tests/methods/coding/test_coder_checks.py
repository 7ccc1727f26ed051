"""scikit-learn's own checks of VQ, LLC and Whitening; deviations are listed with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.coding.hard import VQ
from likewise_methods.coding.locality import LLC
from likewise_methods.coding.whitening import Whitening

_WORDING = "refused with InvalidInput, a ValueError, in other words than scikit-learn's"
_SHARED = {
    "check_n_features_in_after_fitting": _WORDING,
    "check_dtype_object": "descriptors are numbers; arrays of objects are refused",
    "check_estimators_empty_data_messages": _WORDING,
    "check_transformer_preserve_dtypes": "codes are float32, what pooling and indexes store",
}
_DENSE = {"check_fit2d_1sample": _WORDING}
EXPECTED = {"VQ": _SHARED | _DENSE, "LLC": _SHARED | _DENSE, "Whitening": _SHARED}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [VQ(n_words=3, n_iter=2), LLC(n_words=3, n_nearest=2, n_iter=2), Whitening(n_components=1)],
)
def test_conventions(estimator: Any) -> None:
    expected = EXPECTED[type(estimator).__name__]
    results = check_estimator(
        estimator, on_fail="raise", on_skip=None, expected_failed_checks=expected
    )
    deviating = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert deviating == set(expected)
