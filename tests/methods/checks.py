"""Checks that every learner from triplets passes, as river does it: one list, no exceptions unsaid.

``checks_of(learner)`` gives the functions that apply; a test file parametrises over learners and
checks.  A learner is an unfitted estimator with explicit scales.  Batch learners (no
``partial_fit``) skip what only online ones can do.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile
from tests.methods.solis.data import collection, triplets_of

Check = Callable[[Any], None]

X, LABELS = collection(30, 40)
TRIPLETS = triplets_of(LABELS, 60)


def learnt(learner: Any) -> Any:
    """Weights, or the matrix of a full form."""
    return learner.weights_ if hasattr(learner, "weights_") else learner.matrix_


def check_constructor_only_stores(learner: Any) -> None:
    copied = clone(learner)
    assert {k: repr(v) for k, v in copied.get_params().items()} == {
        k: repr(v) for k, v in learner.get_params().items()
    }
    with pytest.raises(NotFittedError):
        learner.score(X, TRIPLETS)
    with pytest.raises(NotFittedError):
        learner.similarity(X, X)


def check_fit_is_repeatable(learner: Any) -> None:
    """Same input, same bits; fitting again forgets; the data are not written to."""
    before = X.copy(), TRIPLETS.copy()
    first = np.array(learnt(learner.fit(X, TRIPLETS)))
    learner.fit(X, TRIPLETS[:7])
    np.testing.assert_array_equal(learnt(learner.fit(X, TRIPLETS)), first)
    np.testing.assert_array_equal(learnt(clone(learner).fit(X, TRIPLETS)), first)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(TRIPLETS, before[1])
    assert first.dtype == np.float64
    assert np.isfinite(first).all()
    assert learner.n_features_in_ == X.shape[1]


def check_sparse_is_dense(learner: Any) -> None:
    """Any format, duplicated entries and stored zeros: the same bits."""
    expected = np.array(learnt(learner.fit(X, TRIPLETS)))
    csr = sp.csr_array(X)
    # Halves of each entry, in reversed order, and a stored zero.
    rows, columns = csr.nonzero()
    halves = np.concatenate([csr.data / 2, csr.data / 2, [0.0]])[::-1]
    rows = np.concatenate([rows, rows, [0]])[::-1]
    columns = np.concatenate([columns, columns, [3]])[::-1]
    messy = sp.csr_array(sp.coo_array((halves, (rows, columns)), shape=X.shape), copy=True)
    wide = sp.csr_array(
        (csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), X.shape
    )
    for form in (csr, sp.csc_array(X), sp.coo_array(X), sp.csr_matrix(X), messy, wide):
        np.testing.assert_array_equal(learnt(clone(learner).fit(form, TRIPLETS)), expected)
        assert learner.score(form, TRIPLETS) == learner.score(X, TRIPLETS)


def check_order_of_columns(learner: Any) -> None:
    """Renumbered words give renumbered weights."""
    order = np.random.default_rng(0).permutation(X.shape[1])
    expected = np.array(learnt(learner.fit(X, TRIPLETS)))
    expected = expected[np.ix_(order, order)] if expected.ndim == 2 else expected[order]
    moved = clone(learner)
    if getattr(learner, "word_cost", None) is not None:
        moved.set_params(word_cost=np.asarray(learner.word_cost)[order])
    found = learnt(moved.fit(X[:, order], TRIPLETS))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def check_score_is_the_share_of_similarities(learner: Any) -> None:
    learner.fit(X, TRIPLETS)
    S = learner.similarity(X, X)
    assert S.shape == (len(X), len(X))
    a, p, n = TRIPLETS.T
    np.testing.assert_allclose(learner.margins(X, TRIPLETS), S[a, p] - S[a, n], atol=1e-9)
    assert learner.score(X, [[0, 1, 1]]) == 0  # a tie is wrong
    clear = np.abs(S[a, p] - S[a, n]) > 1e-9
    assert learner.score(X, TRIPLETS[clear]) == np.mean((S[a, p] > S[a, n])[clear])
    np.testing.assert_allclose(learner.similarity(X[:3], X[5:9]), S[:3, 5:9], atol=1e-12)
    assert 0 <= learner.sparsity_ <= 1


def check_bad_input_is_refused(learner: Any) -> None:
    """A clear error, and the state is as it was: of a fresh learner, and of one that has learnt."""
    nan, infinite = X.copy(), X.copy()
    nan[3, 4], infinite[5, 6] = np.nan, -np.inf
    unsound = sp.csr_array(X)
    unsound.indices = unsound.indices.copy()
    unsound.indices[7] = X.shape[1] + 5
    bad: list[tuple[Any, Any, str]] = [
        (X, np.array([[0, 1, len(X)]]), "names row"),
        (X, np.array([[0, -1, 2]]), "names row"),
        (X, TRIPLETS[:, :2], "3 columns expected"),
        (X, np.column_stack([TRIPLETS, TRIPLETS[:, 0]]), "4 columns; 3 columns expected"),
        (X, TRIPLETS[0], "3 columns expected"),
        (X, TRIPLETS.astype(float), "integers expected"),
        (X, np.zeros((0, 3), int), "empty"),
        (X, [], "3 columns expected"),
        (X, [[0, 1, 2], [3, 4]], "differ in length"),
        (nan, TRIPLETS, "not finite"),
        (infinite, TRIPLETS, "not finite"),
        (sp.csr_array(nan), TRIPLETS, "not finite"),
        (1e80 * X, TRIPLETS, "beyond"),
        (X[0], TRIPLETS, "dimensions"),
        (X.astype(complex), TRIPLETS, "real numbers"),
        (X.astype(str), TRIPLETS, "real numbers"),
        (unsound, TRIPLETS, "out of range"),
        ([[1.0], [1.0, 2.0]], TRIPLETS, "differ in length"),
    ]  # fmt: skip
    verbs = [name for name in ("fit", "partial_fit") if hasattr(learner, name)]
    for verb in verbs:
        for features, triplets, message in bad:
            fresh = clone(learner)
            with pytest.raises(InvalidInput, match=message):
                getattr(fresh, verb)(features, triplets)
            assert not hasattr(fresh, "n_features_in_")
    learner.fit(X, TRIPLETS)
    before = copy.deepcopy(dict(vars(learner)))
    for verb in [*verbs, "score"]:
        for features, triplets, message in bad:
            with pytest.raises(InvalidInput, match=message):
                getattr(learner, verb)(features, triplets)
    for verb in [name for name in ("partial_fit", "score") if hasattr(learner, name)]:
        with pytest.raises(InvalidInput, match="39 columns; 40 expected"):
            getattr(learner, verb)(X[:, 1:], TRIPLETS)
    with pytest.raises(InvalidInput, match="B has 39 columns"):
        learner.similarity(X, X[:, 1:])
    for name, value in before.items():
        np.testing.assert_equal(getattr(learner, name), value)


def check_what_every_learner_tells(learner: Any) -> None:
    """Sparsity, change and scales: of all learners, and of none that has not learnt."""
    for name in ("sparsity_", "changed_"):
        with pytest.raises(NotFittedError):
            getattr(learner, name)
    learner.fit(X, TRIPLETS)
    found = np.array(learnt(learner))
    assert learner.sparsity_ == np.mean(found == 0)
    assert 0 < learner.changed_ <= 1
    assert all(np.isfinite(value) for value in learner.scales_.values())
    given = learnt(learner)
    if given.flags.writeable:
        given[:] = 7
    np.testing.assert_array_equal(learnt(learner), found)


def check_batch_is_repeated_partial_fit(learner: Any) -> None:
    """However the triplets are cut, the same bits."""
    whole = learner.fit(X, TRIPLETS)
    expected, rounds = np.array(learnt(whole)), (whole.n_rounds_, whole.n_losses_)
    for cuts in ([1, 2, 30], range(1, len(TRIPLETS))):
        piecewise = clone(learner)
        for part in np.split(TRIPLETS, list(cuts)):
            piecewise.partial_fit(X, part)
            _ = learnt(piecewise)  # looking does not disturb
        np.testing.assert_array_equal(learnt(piecewise), expected)
        assert (piecewise.n_rounds_, piecewise.n_losses_) == rounds
    only = clone(learner)
    for triplet in TRIPLETS:
        # Callers need bring no more than the rows of the triplet.
        used, places = np.unique(triplet, return_inverse=True)
        only.partial_fit(X[used], places.reshape(1, 3))
    np.testing.assert_array_equal(learnt(only), expected)


def check_sample_weight(learner: Any) -> None:
    ones = clone(learner).fit(X, TRIPLETS, np.ones(len(TRIPLETS)))
    np.testing.assert_array_equal(learnt(ones), learnt(learner.fit(X, TRIPLETS)))
    nothing = clone(learner).fit(X, TRIPLETS, np.zeros(len(TRIPLETS)))
    assert nothing.n_losses_ == 0
    assert nothing.changed_ == 0
    for bad in ([1.0], -np.ones(len(TRIPLETS)), np.full(len(TRIPLETS), np.nan), ["a"] * 60):
        with pytest.raises(InvalidInput, match="sample_weight"):
            learner.partial_fit(X, TRIPLETS, bad)
    np.testing.assert_array_equal(learnt(learner), learnt(ones))


def check_saved_state_goes_on(learner: Any) -> None:
    """Saved and opened between triplets, as if nothing had happened."""
    expected = np.array(learnt(clone(learner).fit(X, TRIPLETS)))
    learner.partial_fit(X, TRIPLETS[:25])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        learner.save(path)
        opened = type(learner).open(path)
        np.testing.assert_equal(opened.get_params(), learner.get_params())
        np.testing.assert_array_equal(learnt(opened), learnt(learner))
        assert opened.scales_ == learner.scales_
        opened.partial_fit(X, TRIPLETS[25:])
        np.testing.assert_array_equal(learnt(opened), expected)
        assert opened.n_rounds_ + getattr(opened, "n_skipped_", 0) == len(TRIPLETS)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(DamagedFile):
            type(learner).open(path)
        with pytest.raises(NotFittedError):
            clone(learner).save(path)


def check_changed_parameters_are_refused(learner: Any) -> None:
    learner.partial_fit(X, TRIPLETS)
    before = np.array(learnt(learner))
    name = next(n for n in ("l1", "C", "eta") if n in learner.get_params())
    learner.set_params(**{name: 77.0})
    with pytest.raises(InvalidInput, match=f"{name} is 77"):
        learner.partial_fit(X, TRIPLETS)
    np.testing.assert_array_equal(learnt(learner), before)
    learner.fit(X, TRIPLETS)


CHECKS: list[Check] = [
    check_constructor_only_stores,
    check_fit_is_repeatable,
    check_sparse_is_dense,
    check_order_of_columns,
    check_score_is_the_share_of_similarities,
    check_bad_input_is_refused,
    check_what_every_learner_tells,
]
ONLINE_CHECKS: list[Check] = [
    check_batch_is_repeated_partial_fit,
    check_sample_weight,
    check_saved_state_goes_on,
    check_changed_parameters_are_refused,
]


# What a class is excused from, and why.
EXCUSED: dict[str, tuple[list[Check], str]] = {
    "IdfWeights": (ONLINE_CHECKS, "it counts pictures and only checks triplets"),
}


def checks_of(learner: Any) -> list[Check]:
    excused, _ = EXCUSED.get(type(learner).__name__, ([], ""))
    every = CHECKS + (ONLINE_CHECKS if hasattr(learner, "partial_fit") else [])
    return [check for check in every if check not in excused]
