"""Pictures passed over for one call: the answer is that of an annotator which never had them."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.annotator import SparseAnnotator
from tests.methods.siso.lasso_problems import columns, gap, objective, problem

MODES = ("exact", "lsh", "hnsw")
X, Q = problem(300, 24, queries=5, seed=4)
Y = np.eye(6, dtype=int)[np.arange(300) % 6]
# Those that would be chosen first, so that passing over them matters.
PASSED = np.unique(np.argsort(-(columns(Q) @ columns(X).T), axis=1)[:, :20])
LEFT = np.setdiff1d(np.arange(300), PASSED)


@pytest.mark.parametrize("search", MODES)
def test_without_is_the_exact_lasso_over_the_others(search: str) -> None:
    model = SparseAnnotator(search, 0.02, tol=1e-8, random_state=0).fit(X, Y)
    before = model.transform(Q).toarray()
    assert before[:, PASSED].any()
    code = model.transform(Q, without=PASSED).toarray()
    assert code.shape == (5, 300)
    assert not code[:, PASSED].any()
    A = columns(X[LEFT])
    for y, x, said in zip(columns(Q), code[:, LEFT], model.gap_, strict=True):
        found = gap(A, y, x, 0.02 * np.abs(A @ y).max())
        assert found <= 1e-8
        assert said >= found - 1e-10
    fresh = SparseAnnotator(alpha=0.02, tol=1e-8).fit(X[LEFT], Y[LEFT])
    scores = fresh.predict_scores(Q)
    np.testing.assert_allclose(model.predict_scores(Q, without=PASSED), scores, atol=1e-4)
    assert model.predict(Q, 2, without=PASSED)[:, 0].tolist() == scores.argmax(axis=1).tolist()
    assert not {name for name, _ in model.explain(Q[0], without=PASSED)} & set(PASSED.tolist())
    # For one call only.
    np.testing.assert_array_equal(model.transform(Q).toarray(), before)


@pytest.mark.parametrize("search", ["lsh", "hnsw"])
def test_passed_pictures_take_no_places_in_an_index(search: str) -> None:
    model = SparseAnnotator(search, 0.02, 20, certify=False, random_state=0).fit(X, Y)
    index = model._index
    assert index is not None
    found = index.find(columns(Q), 20, PASSED)
    assert not np.isin(found, PASSED).any()
    assert ((found >= 0).sum(axis=1) >= 20).all()
    fresh = SparseAnnotator(search, 0.02, 20, certify=False, random_state=0).fit(X[LEFT], Y[LEFT])
    A = columns(X[LEFT])
    mean = []
    for code, one in (
        (model.transform(Q, without=PASSED).toarray()[:, LEFT], model),
        (fresh.transform(Q).toarray(), fresh),
    ):
        each = list(zip(columns(Q), code, one.codes_.gamma, strict=True))
        mean.append(np.mean([objective(A, y, x, g) for y, x, g in each]))
        np.testing.assert_allclose(one.gap_, [gap(A, *e) for e in each], rtol=1e-5, atol=1e-9)
    assert mean[0] <= 1.02 * mean[1]


def test_ids_that_went_and_came_back() -> None:
    """The newest row of an id is passed over; ids are looked up rightly after every change."""
    names = [f"picture {i}" for i in range(300)]
    model = SparseAnnotator(alpha=0.02, tol=1e-8).fit(X, Y, ids=names)
    model.transform(Q, without=names[0])
    near = int(PASSED[0])
    model.remove(names[near]).partial_fit(X[near : near + 1], Y[near : near + 1], [names[near]])
    assert model.ids_[-1] == names[near]
    code = model.transform(X[near : near + 1])
    assert code.indices.tolist() == [299]
    assert 299 not in model.transform(X[near : near + 1], without=[names[near]]).indices
    # Ranks are closed: the others have other rows now.
    model.remove([n for i, n in enumerate(names) if i != near and i >= 40])
    assert len(model.ids_) == len(set(model.ids_.tolist())) <= 41
    for name in (names[3], names[near]):
        row = X[names.index(name)][None]
        assert model.explain(row)[0][0] == name
        assert name not in dict(model.explain(row, without=name))


def test_what_cannot_be_passed_over() -> None:
    model = SparseAnnotator(alpha=0.05).fit(X, Y)
    before = model.predict_scores(Q)
    np.testing.assert_array_equal(model.predict_scores(Q, without=[]), before)
    with pytest.raises(InvalidInput, match="no picture with the id 300"):
        model.transform(Q, without=[1, 300])
    with pytest.raises(InvalidInput, match="without names every picture"):
        model.predict(Q, without=range(300))
    one = model.transform(Q, without=range(1, 300))
    assert set(one.indices.tolist()) <= {0}
