"""The protocol of an estimator; commands that learn nothing do not import scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from likewise_methods.coding.bow import BagOfWords
from likewise_methods.errors import InvalidInput
from likewise_methods.estimators import Estimator, Transformer, check_is_fitted


class Scale(Transformer):
    """Rows times a number."""

    def __init__(self, by: float = 2.0, inner: Any = None) -> None:
        self.by, self.inner = by, inner

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        return np.asarray(X) * self.by

    def get_feature_names_out(self, names: Any = None) -> Any:
        return np.array([f"scaled{i}" for i in range(self.n_features_in_)], object)


def test_parameters_are_the_arguments() -> None:
    made = Scale(3.0, inner=Scale(5.0))
    assert made.get_params(deep=False) == {"by": 3.0, "inner": made.inner}
    assert made.get_params()["inner__by"] == 5.0
    assert made.set_params(by=1.0, inner__by=7.0) is made
    assert (made.by, made.inner.by) == (1.0, 7.0)
    with pytest.raises(InvalidInput, match=r"'width' is no parameter of Scale; it has by, inner"):
        made.set_params(width=1)


def test_scikit_learn_takes_it_for_its_own() -> None:
    made = Scale(3.0)
    again = clone(made)
    assert again is not made
    assert again.by == 3.0
    X = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(make_pipeline(Scale(2.0), Scale(3.0)).fit_transform(X), 6 * X)
    tags = get_tags(made)
    assert tags.transformer_tags is not None
    assert not tags.target_tags.required
    assert get_tags(Estimator()).transformer_tags is None
    assert "Scale" in made._repr_html_()


def test_only_what_was_changed_is_shown() -> None:
    assert repr(Scale()) == "Scale()"
    assert repr(Scale(3.0)) == "Scale(by=3.0)"


def test_not_fitted_is_scikit_learns_error() -> None:
    with pytest.raises(NotFittedError, match="this Scale is not fitted yet"):
        Scale().transform(np.eye(2))
    with pytest.raises(NotFittedError):
        check_is_fitted(Scale().fit(np.eye(2)), "mean_")


def test_output_in_the_container_that_was_asked_for() -> None:
    """Without pandas here: scikit-learn must be asked, and say that it cannot be had."""
    X = np.eye(2)
    assert isinstance(Scale().fit(X).transform(X), np.ndarray)
    try:
        import pandas
    except ImportError:
        with pytest.raises(ImportError, match="pandas"):
            Scale().set_output(transform="pandas").fit(X).transform(X)
        with config_context(transform_output="pandas"), pytest.raises(ImportError, match="pandas"):
            Scale().fit(X).transform(X)
    else:
        for made in (Scale().set_output(transform="pandas"), Scale()):
            with config_context(transform_output="pandas"):
                frame = made.fit(X).transform(X)
            assert isinstance(frame, pandas.DataFrame)
            assert list(frame.columns) == ["scaled0", "scaled1"]


def test_columns_without_names_are_refused_by_a_pipeline() -> None:
    """Not passed over: a data frame that was asked for and does not come is a wrong answer."""
    assert not hasattr(BagOfWords(), "set_output")
    with pytest.raises(ValueError, match="Unable to configure output"):
        make_pipeline(BagOfWords()).set_output(transform="pandas")
    with pytest.raises(InvalidInput, match="transform is 'lists'"):
        Scale().set_output(transform="lists")


def test_a_class_without_an_init_has_no_parameters() -> None:
    class Plain(Estimator):
        pass

    assert Plain().get_params() == {}
    assert repr(Plain()) == "Plain()"


def test_scikit_learn_is_not_imported_before_it_is_needed(tmp_path: Path) -> None:
    """Its import takes more processor time than most commands."""
    code = (
        "from likewise_methods.solis import SOLIS; from likewise_methods.coding import Vocabulary; "
        "from likewise_methods.siso import SparseAnnotator; "
        "from likewise_methods.psc import ProductSparseCoder"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(int('sklearn' in sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert done.stdout.strip() == "0"
