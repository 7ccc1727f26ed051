"""scikit-learn's own list of checks, ids, names, and whom a warning names."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.annotator import SparseAnnotator
from tests.methods.siso.lasso_problems import problem

X, Q = problem(60, 12, queries=3)
Y = np.eye(4, dtype=int)[np.arange(60) % 4]
NAMES = [["one", "two"][: 1 + i % 2] for i in range(60)]


class OneTagEach(SparseAnnotator):
    """The checks know one number a row as target; here it becomes a tag."""

    def fit(self, X: Any, y: Any = None, ids: Any = None) -> Self:
        return super().fit(X, self._tags(y), ids)

    def partial_fit(self, X: Any, y: Any = None, ids: Any = None) -> Self:
        return super().partial_fit(X, self._tags(y), ids)

    @staticmethod
    def _tags(y: Any) -> Any:
        if y is None:
            return None
        flat = np.asarray(y).ravel()
        return (flat[:, None] == np.unique(flat)).astype(int)


OURS = "the annotator's own words for this error"
ZEROS = "the data has rows of zeros, which are refused"
REASONS = {
    "check_estimators_empty_data_messages": OURS,
    "check_requires_y_none": OURS,
    "check_n_features_in_after_fitting": OURS,
    "check_dtype_object": "arrays of objects are refused, whatever they hold",
    "check_estimators_dtypes": ZEROS,
    "check_estimator_sparse_tag": ZEROS,
    "check_estimator_sparse_array": ZEROS,
    "check_estimator_sparse_matrix": ZEROS,
    "check_transformer_general": "there is no fit_transform; the class says why",
    "check_transformer_data_not_an_array": "there is no fit_transform; the class says why",
    "check_dict_unchanged": "gap_ and codes_ describe the last call",
}


def test_the_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(OneTagEach(), on_fail=None, expected_failed_checks=REASONS)
    wrong = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not wrong
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert len(passed) > 25
    # A reason that is none any more must go.
    assert not passed & set(REASONS)


def test_automatic_ids_go_on_after_the_largest_ever_used() -> None:
    model = SparseAnnotator().fit(X[:50], Y[:50])
    model.partial_fit(X[50:51], Y[50:51], ids=[51]).partial_fit(X[51:52], Y[51:52])
    assert model.ids_.tolist() == [*range(50), 51, 52]
    model.remove(52).partial_fit(X[51:53], Y[51:53])
    assert model.ids_.tolist() == [*range(50), 51, 53, 54]
    model.partial_fit(X[:2], Y[:2], ids=["a", 99.0]).partial_fit(X[2:3], Y[2:3])
    assert model.ids_[-3:].tolist() == ["a", 99.0, 100]
    with pytest.raises(InvalidInput, match="id 100 is already there"):
        model.partial_fit(X[:1], Y[:1], ids=[np.int64(100)])
    before = model.ids_.tolist()
    with pytest.raises(InvalidInput, match="columns"):
        model.partial_fit(X[:1, 1:], Y[:1], ids=[500])
    assert model.partial_fit(X[:1], Y[:1]).ids_.tolist() == [*before, 101]
    huge = SparseAnnotator().fit(X, Y).partial_fit(X[:2], Y[:2], ids=[2**70, 2**63 - 1])
    assert huge.ids_[-2:].tolist() == [2**70, 2**63 - 1]
    with pytest.raises(InvalidInput, match="no whole numbers are left"):
        huge.partial_fit(X[:1], Y[:1])
    with pytest.raises(InvalidInput, match="nan cannot be an id"):
        SparseAnnotator().fit(X[:2], Y[:2], ids=[1, float("nan")])


def test_numpy_numbers_are_ids_like_others() -> None:
    model = SparseAnnotator().fit(X[:3], Y[:3], ids=[np.int32(4), np.uint8(5), 6])
    assert model.ids_.dtype == np.int64
    named = SparseAnnotator().fit(X[:2], Y[:2], ids=np.array(["a", "b"]))
    assert [type(i) for i in named.ids_.tolist()] == [str, str]


def test_tags_that_can_be_read_only_once() -> None:
    expected = SparseAnnotator().fit(X, NAMES)
    ways: list[Any] = [
        [iter(one) for one in NAMES],
        (map(str, one) for one in NAMES),
        [(name for name in one) for one in NAMES],
        [iter([]), *map(iter, NAMES[1:])],
    ]
    for way in ways[:3]:
        model = SparseAnnotator().fit(X, way)
        assert model.tags_ == expected.tags_
        assert (model._pictures.labels != expected._pictures.labels).nnz == 0
    model = SparseAnnotator().fit(X, ways[3])
    assert model._pictures.labels.sum() == expected._pictures.labels.sum() - 1
    model.partial_fit(X[:2], [iter(["two", "three"]), iter(["one"])])
    assert model._pictures.labels[[-2, -1]].sum() == 3


def test_numpy_names_come_back_as_plain_text() -> None:
    model = SparseAnnotator().fit(X, [np.array(one) for one in NAMES])
    assert {type(name) for name in model.tags_} == {str}
    assert {type(name) for row in model.predict(Q) for name in row} == {str}


def test_a_warning_names_the_line_of_the_caller() -> None:
    model = SparseAnnotator().fit(X, Y)
    for call in (model.transform, model.predict_scores, model.predict, model.explain):
        with pytest.warns(UserWarning, match="all zeros") as seen:
            call(np.zeros((1, 12)))
        assert [w.filename for w in seen] == [__file__]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"certify": 1}, "certify is 1; True or False"),
        ({"certify": "yes"}, "certify is 'yes'"),
        ({"nonnegative": None}, "nonnegative is None"),
        ({"n_jobs": True}, "n_jobs is True"),
        ({"n_jobs": -2}, "n_jobs is -2"),
        ({"expand": True}, "expand is True"),
        ({"alpha": 1j}, "alpha is 1j"),
        ({"search": ["lsh"]}, "search is"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": 1.5}, "random_state is 1.5"),
        ({"random_state": True}, "random_state is True"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SparseAnnotator(**parameters).fit(X, Y)
