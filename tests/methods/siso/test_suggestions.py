"""The index of the fast modes while pictures come and go."""

from __future__ import annotations

import numpy as np
import pytest

from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.pictures import as_seed
from tests.methods.siso.lasso_problems import columns, objective, problem

FAST = ("lsh", "hnsw")
X, Q = problem(600, 24, queries=5, seed=1)
Y = np.eye(4, dtype=int)[np.arange(600) % 4]
# The pictures that suggest themselves first for any of the queries.
NEAR = np.unique(np.argsort(-(columns(Q) @ columns(X).T), axis=1)[:, :25])


@pytest.mark.parametrize("search", FAST)
def test_removed_pictures_take_no_places(search: str) -> None:
    model = SparseAnnotator(search, 0.01, 20, certify=False, random_state=0).fit(X, Y)
    assert model._index is not None
    before = model._index.find(columns(Q), 20)
    assert np.isin(before, NEAR).mean() > 0.8
    model.remove(NEAR)
    index = model._index
    assert index is not None
    assert 0 < index.dead < 0.25 * 600
    found = index.find(columns(Q), 20)
    assert not np.isin(found, NEAR).any()
    assert ((found >= 0).sum(axis=1) >= 20).all()
    left = np.setdiff1d(np.arange(600), NEAR)
    fresh = SparseAnnotator(search, 0.01, 20, certify=False, random_state=0).fit(X[left], Y[left])
    A = columns(X[left])
    mean = []
    for one in (model, fresh):
        code = one.transform(Q).toarray()
        each = zip(columns(Q), code, one.codes_.gamma, strict=True)
        mean.append(np.mean([objective(A, y, x, g) for y, x, g in each]))
    assert mean[0] <= 1.02 * mean[1]


@pytest.mark.parametrize("search", FAST)
def test_the_index_is_built_anew_when_a_quarter_is_dead(search: str) -> None:
    model = SparseAnnotator(search, 0.01, random_state=0).fit(X, Y)
    index = model._index
    assert index is not None
    model.remove(range(140))
    assert index.dead == 140
    model.remove(range(140, 160))
    assert index.dead == 0
    assert index.rows.tolist() == list(range(160, 600))
    model.partial_fit(X[:3], Y[:3])
    assert index.rows[-3:].tolist() == [600, 601, 602]
    model.remove(600)
    assert index.find(columns(X[:3]), 1)[1:, 0].tolist() == [601, 602]
    # Half of the rows gone: the others close ranks.
    model.remove(range(160, 400))
    assert index.rows.tolist() == list(range(202))
    ids = model.ids_
    assert ids[index.find(columns(X[[450]]), 1)[0, 0]] == 450
    model.remove(ids).partial_fit(X[:9], Y[:9])
    assert index.dead == 0
    assert model.ids_.tolist() == list(range(603, 612))


def test_codes_follow_ids_after_remove() -> None:
    model = SparseAnnotator(alpha=0.05).fit(X, Y).remove([0, 5, 77])
    code = model.transform(Q)
    np.testing.assert_array_equal(model.codes_.x.toarray(), code.toarray())
    assert code.shape == (5, 597)


def test_seeds() -> None:
    assert as_seed(np.int64(7)) == 7
    assert as_seed(np.random.RandomState(3)) == as_seed(np.random.RandomState(3))
    assert as_seed(np.random.default_rng(3)) == as_seed(np.random.default_rng(3))
    assert as_seed(None) != as_seed(None)
