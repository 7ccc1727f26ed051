"""Weights from document frequencies, and the triplets of the Oxford protocol."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from benchmarks.solis.idf import IdfWeights
from benchmarks.solis.protocol import protocol_triplets
from likewise_methods.errors import InvalidInput
from tests.methods.checks import Check, checks_of
from tests.methods.solis.data import collection

X, LABELS = collection()


@pytest.mark.parametrize("check", checks_of(IdfWeights(2)), ids=lambda check: check.__name__)
def test_check(check: Check) -> None:
    check(clone(IdfWeights(2)))


def test_counted_weights_change_from_one() -> None:
    idf = IdfWeights().fit(X)
    assert idf.changed_ == np.mean(idf.weights_ != 1)
    assert idf.scales_ == {}


def test_fixed_weights() -> None:
    idf = np.zeros(X.shape[1])
    df = (X != 0).sum(axis=0)
    idf[df > 0] = np.log(len(X) / df[df > 0])
    for power in (1, 2):
        np.testing.assert_allclose(IdfWeights(power).fit(X).weights_, idf**power)
    flat = IdfWeights(0).fit(X)
    np.testing.assert_allclose(flat.similarity(X, X), X @ X.T, atol=1e-12)
    grown = IdfWeights().partial_fit(X[:10], None).partial_fit(X[10:], None)
    np.testing.assert_array_equal(grown.weights_, IdfWeights().fit(X).weights_)
    with pytest.raises(InvalidInput, match="power is 3"):
        IdfWeights(3).fit(X)
    with pytest.raises(InvalidInput, match="39 columns"):
        IdfWeights().fit(X).partial_fit(X[:, :39])


def test_protocol() -> None:
    junk = {3, 4, 60}
    made = protocol_triplets(
        range(20), range(20, 600), left_out=junk, n_positives=7, n_negatives=500, random_state=0
    )
    assert len(made) == 7 * 6 * 500 == len(np.unique(made, axis=0))
    assert len(set(made[:, 0])) == len(set(made[:, 1])) == 7
    assert len(set(made[:, 2])) == 500
    assert (made[:, 0] != made[:, 1]).all()
    assert not junk & set(made.ravel().tolist())
    # Shuffled: neighbours rarely share their anchor.
    assert np.mean(made[1:, 0] == made[:-1, 0]) < 0.25
    everything = protocol_triplets([0, 1], [2, 3])
    assert sorted(map(tuple, everything.tolist())) == [(0, 1, 2), (0, 1, 3), (1, 0, 2), (1, 0, 3)]
    for bad in (([0], [1]), ([0, 1], []), ([0, 1], [1, 2])):
        with pytest.raises(InvalidInput):
            protocol_triplets(*bad)
    with pytest.raises(InvalidInput, match="n_positives is 9"):
        protocol_triplets([0, 1], [2], n_positives=9)
