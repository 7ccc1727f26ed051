"""scikit-learn's own checks of its conventions; what we do otherwise is listed with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.coding.bow import BagOfWords
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.errors import InvalidInput

_WORDING = "refused with InvalidInput, a ValueError, in other words than scikit-learn's"
EXPECTED = {
    "BagOfWords": {
        "check_n_features_in_after_fitting": _WORDING,
        "check_positive_only_tag_during_fit": _WORDING,
        "check_dtype_object": _WORDING,
        "check_estimators_empty_data_messages": "a collection may begin with no picture at all",
        "check_transformer_preserve_dtypes": "rows are float32, what the index stores",
        "check_fit2d_predict1d": _WORDING,
    },
    "Vocabulary": {
        "check_dtype_object": "descriptors are numbers; arrays of objects are refused",
        "check_estimators_empty_data_messages": _WORDING,
        "check_fit2d_1sample": _WORDING,
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [BagOfWords(), Vocabulary(n_words=3, n_iter=2)])
def test_conventions(estimator: Any) -> None:
    expected = EXPECTED[type(estimator).__name__]
    results = check_estimator(
        estimator, on_fail="raise", on_skip=None, expected_failed_checks=expected
    )
    # A deviation that is gone leaves the list.
    deviating = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert deviating == set(expected)


def test_complex_counts_are_refused() -> None:
    """Not silently reduced to their real part."""
    with pytest.raises(InvalidInput, match="Complex data not supported"):
        BagOfWords().fit(np.array([[1 + 2j, 0], [1, 1]]))
