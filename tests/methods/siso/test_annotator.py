"""The annotator: exact in every mode, training-free, clear about bad input."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.annotator import SparseAnnotator
from tests.methods.siso.lasso_problems import by_sklearn, columns, gap, objective, problem

MODES = ("exact", "lsh", "hnsw")
X, Q = problem(300, 24, queries=6, seed=3)
RNG = np.random.default_rng(0)
Y = (RNG.random((300, 7)) < 0.3).astype(int)
NAMES = [[f"tag{j}" for j in np.flatnonzero(row)] for row in Y]


def judge(model: SparseAnnotator, pictures: Any, queries: Any, tol: float = 1e-4) -> None:
    """Gap of every code over all pictures, from the definition; ``gap_`` is honest."""
    A = columns(pictures)
    code = model.transform(queries).toarray()
    assert code.shape == (len(queries), len(A))
    for y, x, said in zip(columns(queries), code, model.gap_, strict=True):
        c = A @ y
        gamma = model.alpha * (c if model.nonnegative else np.abs(c)).max()
        found = gap(A, y, x, gamma, model.nonnegative)
        assert found <= tol
        assert said >= found - 1e-7


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.002])
@pytest.mark.parametrize("search", MODES)
def test_every_certified_mode_is_the_exact_lasso(
    search: str, alpha: float, nonnegative: bool
) -> None:
    model = SparseAnnotator(search, alpha, nonnegative=nonnegative, random_state=0).fit(X, Y)
    judge(model, X, Q)
    if alpha == 0.1:
        A, code = columns(X), model.transform(Q).toarray()
        for y, x, gamma in zip(Q, code, model.codes_.gamma, strict=True):
            other = by_sklearn(A, y, gamma, nonnegative)
            assert objective(A, y, x, gamma) <= objective(A, y, other, gamma) * (1 + 1e-4)


@pytest.mark.parametrize("search", MODES)
def test_float64_pictures_stay_float64(search: str) -> None:
    fine = X + 1e-6 * RNG.standard_normal(X.shape)
    model = SparseAnnotator(search, tol=1e-9, random_state=0).fit(fine, Y)
    judge(model, fine, Q, 1e-9)


@pytest.mark.parametrize("expand", [1, 100])
@pytest.mark.parametrize("search", MODES)
def test_copies_of_pictures(search: str, expand: int) -> None:
    tripled = np.concatenate([X[:80]] * 3)
    model = SparseAnnotator(search, 0.01, expand, random_state=0)
    model.fit(tripled, np.concatenate([Y[:80]] * 3))
    judge(model, tripled, Q)
    # However copies share a coefficient, tags that copies share are scored alike.
    once = SparseAnnotator(alpha=0.01, tol=1e-9).fit(X[:80], Y[:80])
    np.testing.assert_allclose(model.predict_scores(Q), once.predict_scores(Q), atol=0.05)


@pytest.mark.parametrize("search", ["lsh", "hnsw"])
def test_without_certificate_the_gap_is_measured_when_asked_for(search: str) -> None:
    model = SparseAnnotator(search, certify=False, random_state=0).fit(X, Y)
    code = model.transform(Q).toarray()
    assert np.isnan(model.codes_.gap).all()
    A = columns(X)
    own = [gap(A, y, x, g) for y, x, g in zip(Q, code, model.codes_.gamma, strict=True)]
    np.testing.assert_allclose(model.gap_, own, rtol=1e-5, atol=1e-9)
    same = SparseAnnotator(search, certify=False, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(same.transform(Q).toarray(), code)


def test_scores_and_predictions() -> None:
    model = SparseAnnotator(alpha=0.05).fit(X, Y)
    code = model.transform(Q).toarray()
    scores = model.predict_scores(Q)
    np.testing.assert_allclose(scores, code @ Y, atol=1e-12)
    positive = SparseAnnotator(alpha=0.05, scores="positive").fit(X, sp.csc_array(Y))
    np.testing.assert_allclose(positive.predict_scores(Q), np.maximum(code, 0) @ Y, atol=1e-12)
    assert (code < 0).any()
    best = model.predict(Q, k=3)
    assert best.dtype == np.int64
    np.testing.assert_array_equal(best, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    wide = model.predict(Q, k=9)
    assert wide.shape == (6, 9)
    assert (wide[:, 7:] == -1).all()
    assert model.tags_ == list(range(7))
    # Length of a query does not matter, nor that of a picture.
    long = SparseAnnotator(alpha=0.05).fit(X * 50, Y)
    np.testing.assert_allclose(long.predict_scores(0.01 * Q), scores, atol=1e-6)


def test_names_in_names_out() -> None:
    by_number = SparseAnnotator(alpha=0.05).fit(X, Y)
    model = SparseAnnotator(alpha=0.05).fit(X, NAMES)
    order = [int(name[3:]) for name in model.tags_]
    assert sorted(order) == list(range(7))
    np.testing.assert_allclose(model.predict_scores(Q), by_number.predict_scores(Q)[:, order])
    found = model.predict(Q, k=2)
    assert [[int(n[3:]) for n in row] for row in found] == by_number.predict(Q, k=2).tolist()
    assert all(len(row) == 7 for row in model.predict(Q, k=20))
    objects = np.empty(300, object)
    objects[:] = [set(names) for names in NAMES]
    for other in (iter(NAMES), map(tuple, NAMES), objects):
        again = SparseAnnotator(alpha=0.05).fit(X, other)
        assert sorted(again.tags_) == sorted(model.tags_)
        assert [set(row) for row in again.predict(Q, k=2)] == [set(row) for row in found]


def test_explain() -> None:
    ids = [f"picture {i}" for i in range(300)]
    model = SparseAnnotator(alpha=0.05).fit(X, Y, ids=ids)
    pictures = model.explain(Q[2])
    code = model.transform(Q[2:3])
    assert dict(pictures) == {ids[i]: v for i, v in zip(code.indices, code.data, strict=True)}
    sizes = [abs(value) for _, value in pictures]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(InvalidInput, match="one query; 2 rows"):
        model.explain(Q[:2])


@pytest.mark.parametrize("search", MODES)
def test_adding_and_removing_is_as_fitting_what_is_left(search: str) -> None:
    model = SparseAnnotator(search, 0.02, tol=1e-8, random_state=0).fit(X[:100], Y[:100, :5] | 1)
    model.fit(X[:100], Y[:100, :5])
    model.partial_fit(X[100:250], Y[100:250])
    model.partial_fit(X[250:], Y[250:]).partial_fit(X[:0], Y[:0])
    assert model.ids_.tolist() == list(range(300))
    padded = np.concatenate([np.pad(Y[:100, :5], ((0, 0), (0, 2))), Y[100:]])
    judge(model, X, Q, 1e-8)
    whole = SparseAnnotator(alpha=0.02, tol=1e-8).fit(X, padded)
    np.testing.assert_allclose(model.predict_scores(Q), whole.predict_scores(Q), atol=1e-4)
    # A few first (rows stay where they are), then most of them (the rest close ranks).
    for gone in ([7, 3], list(range(20, 220))):
        model.remove(gone)
        left = [i for i in range(300) if i in model.ids_]
        assert model.ids_.tolist() == left
        judge(model, X[left], Q, 1e-8)
        rest = SparseAnnotator(alpha=0.02, tol=1e-8).fit(X[left], padded[left])
        np.testing.assert_allclose(model.predict_scores(Q), rest.predict_scores(Q), atol=1e-4)
        assert not set(gone) & {name for name, _ in model.explain(Q[0])}
    model.partial_fit(X[:2], Y[:2])
    assert model.ids_[-2:].tolist() == [300, 301]
    model.remove(301).remove(np.array([300]))
    with pytest.raises(InvalidInput, match="no pictures are left"):
        model.remove(model.ids_).transform(Q)
    judge(model.partial_fit(X[:9], Y[:9]), X[:9], Q, 1e-8)


def test_new_names_may_appear() -> None:
    model = SparseAnnotator(alpha=0.02).partial_fit(X[:50], NAMES[:50], ids=range(50))
    before = list(model.tags_)
    model.partial_fit(X[50:52], [["new", before[0]], []], ids=["a", "b"])
    assert model.tags_ == [*before, "new"]
    assert model.ids_.tolist() == [*range(50), "a", "b"]
    assert model.predict(X[50:51], k=2) != []
    assert "new" in model.predict(X[50:51], k=2)[0]
    model.remove("b")
    assert model.ids_.tolist() == [*range(50), "a"]


def test_memory_mapped_rows_stay_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = SparseAnnotator().fit(mapped, Y)
    block = model._pictures.dictionary.blocks[0]
    assert np.shares_memory(block, mapped)
    judge(model, X, Q)
    model.partial_fit(X[:5], Y[:5]).remove(range(200))
    judge(model, np.concatenate([X[200:], X[:5]]), Q)


def test_the_callers_arrays_are_copied() -> None:
    own = X.copy()
    model = SparseAnnotator(alpha=0.05).fit(own, Y)
    before = model.predict_scores(Q)
    own[:] = 0
    np.testing.assert_array_equal(model.predict_scores(Q), before)


def test_a_query_of_zeros_says_so() -> None:
    model = SparseAnnotator(alpha=0.05).fit(X, Y)
    queries = np.concatenate([Q[:2], np.zeros((1, 24)), Q[2:3]])
    with pytest.warns(UserWarning, match="query 2 is all zeros"):
        scores = model.predict_scores(queries)
    assert (scores[2] == 0).all()
    assert model.gap_[2] == 0
    np.testing.assert_allclose(scores[[0, 1, 3]], model.predict_scores(Q[:3]), atol=1e-9)
    with pytest.warns(UserWarning, match="all zeros"):
        assert model.predict(queries, k=4)[2].tolist() == [-1] * 4
    named = SparseAnnotator(alpha=0.05).fit(X, NAMES)
    with pytest.warns(UserWarning, match="all zeros"):
        assert named.predict(queries, k=4)[2] == []
    with pytest.warns(UserWarning, match="all zeros"):
        assert named.explain(np.zeros(24)) == []
    assert model.transform(np.zeros((0, 24))).shape == (0, 300)
    assert model.predict(np.zeros((0, 24))).shape == (0, 5)


def test_one_picture_and_sparse_rows() -> None:
    one = SparseAnnotator().fit(X[:1], [["only"]])
    assert one.predict(Q[:2]) == [["only"], ["only"]]
    dense = SparseAnnotator().fit(X, Y).predict_scores(Q)
    sparse = SparseAnnotator().fit(sp.csr_array(X), Y).predict_scores(sp.csr_array(Q))
    np.testing.assert_allclose(sparse, dense, atol=1e-12)


def test_threads_do_not_matter() -> None:
    one = SparseAnnotator(n_jobs=1).fit(X, Y).predict_scores(Q)
    for n_jobs in (2, -1):
        many = SparseAnnotator(n_jobs=n_jobs).fit(X, Y).predict_scores(Q)
        np.testing.assert_allclose(many, one, atol=1e-9)


def test_manners_of_an_estimator() -> None:
    model = SparseAnnotator("lsh", 0.1, random_state=3)
    assert clone(model).get_params() == model.get_params()
    for call in (model.transform, model.predict_scores, model.predict, model.explain):
        with pytest.raises(NotFittedError):
            call(Q)
    for name in ("ids_", "tags_", "gap_", "codes_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.remove(1)
    model.fit(X, Y)
    assert model.n_features_in_ == 24
    assert not hasattr(model, "gap_")
    model.set_params(search="hnsw")
    with pytest.raises(InvalidInput, match="fit again"):
        model.transform(Q)


def test_what_does_not_converge_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from likewise_methods.siso import annotator

    real = annotator.lasso
    few = {"max_rounds": 2, "expand": 1}
    monkeypatch.setattr(annotator, "lasso", lambda *a, **k: real(*a, **(k | few)))
    model = SparseAnnotator().fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="6 queries did not reach tol"):
        model.transform(Q)
    assert (model.gap_ > 1e-4).all()


def spoiled(value: float, row: int = 3) -> Any:
    bad = X.copy()
    bad[row] = value
    return bad


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "magic"}, "search is 'magic'; one of 'exact', 'lsh', 'hnsw'"),
        ({"scores": "none"}, "scores is 'none'"),
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"alpha": -0.1}, "alpha is -0.1"),
        ({"alpha": "x"}, "alpha is 'x'"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"expand": 0}, "expand is 0"),
        ({"expand": 1.5}, "expand is 1.5"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SparseAnnotator(**parameters).fit(X, Y)


BAD: list[tuple[Any, Any, Any, str]] = [
    (spoiled(0.0), Y, None, "row 3 of X is all zeros"),
    (spoiled(np.nan), Y, None, "X has NaN or infinity in row 3"),
    (spoiled(np.inf), Y, None, "X has NaN or infinity in row 3"),
    (spoiled(1e-30), Y, None, "row 3 of X has length"),
    (X[0], Y, None, "1 dimensions"),
    (X.astype(str), Y, None, "real numbers expected"),
    (X, Y[:10], None, "Y has 10 rows, X has 300"),
    (X, Y + 1, None, "Y holds 2; only 0 and 1"),
    (X, Y[:, 0], None, "Y has 1 dimensions"),
    (X, Y.astype(str), None, "a 0/1 matrix"),
    (X, "tags", None, "neither a matrix nor lists"),
    (X, ["a"] * 300, None, "plain name 'a'"),
    (X, [["a", 3]] * 300, None, "picture 0 has the tag 3"),
    (X, [["a", " "]] * 300, None, "picture 0 has the tag ' '"),
    (X, [["a"]] * 9, None, "9 lists of names, X has 300"),
    (X, Y, range(299), "299 ids for 300"),
    (X, Y, [0] * 300, "id 0 is there twice"),
    (X, Y, 5, "one id a picture"),
    (X, Y, [[1]] * 300, "cannot be an id"),
]


@pytest.mark.parametrize(("features", "tags", "ids", "message"), BAD, ids=[b[3] for b in BAD])
def test_bad_input(features: Any, tags: Any, ids: Any, message: str) -> None:
    fresh = SparseAnnotator()
    with pytest.raises(InvalidInput, match=message):
        fresh.fit(features, tags, ids)
    assert not hasattr(fresh, "n_features_in_")
    model = SparseAnnotator(alpha=0.05).fit(X, Y)
    before = model.predict_scores(Q)
    with pytest.raises(InvalidInput):
        model.partial_fit(features, tags, ids)
    np.testing.assert_array_equal(model.predict_scores(Q), before)


def test_more_bad_input() -> None:
    for nothing in (np.zeros((300, 4)), np.zeros((300, 0)), [[]] * 300):
        with pytest.raises(InvalidInput, match="no tags"):
            SparseAnnotator().fit(X, nothing)
    with pytest.raises(InvalidInput, match="no rows"):
        SparseAnnotator().fit(X[:0], Y[:0])
    model = SparseAnnotator(alpha=0.05).fit(X, Y)
    for call in (model.transform, model.predict, model.partial_fit):
        with pytest.raises(InvalidInput, match="23 columns; 24 expected"):
            call(X[:2, 1:], *([Y[:2]] if call == model.partial_fit else []))
    with pytest.raises(InvalidInput, match="no picture with the id 300"):
        model.remove([5, 300])
    assert len(model.ids_) == 300
    with pytest.raises(InvalidInput, match="k is 0"):
        model.predict(Q, k=0)
    with pytest.raises(InvalidInput, match="NaN"):
        model.predict(np.full((1, 24), np.nan))
    with pytest.raises(InvalidInput, match="Y has 6 columns; 7 or more"):
        model.partial_fit(X[:2], Y[:2, 1:])
    with pytest.raises(InvalidInput, match="Y is names, but fit was given a matrix"):
        model.partial_fit(X[:2], [["a"], ["b"]])
    with pytest.raises(InvalidInput, match="id 5 is already there"):
        model.partial_fit(X[:2], Y[:2], ids=[5, 900])
    named = SparseAnnotator().fit(X, NAMES, ids=range(300))
    with pytest.raises(InvalidInput, match="Y is a matrix, but fit was given names"):
        named.partial_fit(X[:2], Y[:2])
    with pytest.raises(InvalidInput, match="fit was given ids"):
        named.partial_fit(X[:2], NAMES[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named.predict(Q)
