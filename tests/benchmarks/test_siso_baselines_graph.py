"""The graph methods against their formulas, written down densely."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.siso.baselines.egssc import EGSSC
from benchmarks.siso.baselines.graph import lists_within, matrix
from benchmarks.siso.baselines.graph_kernels import l1_weights, local_weights
from benchmarks.siso.baselines.lnp import LNP
from benchmarks.siso.baselines.lsmp import LSMPLike
from benchmarks.siso.baselines.propagation import consistent, entropic, normalise_graph
from benchmarks.siso.baselines.transductive import GraphBaseline
from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.exact import Exact
from tests.benchmarks import siso_baseline_reference as plain
from tests.benchmarks.test_siso_baselines import CLASS, Q, X, Y

# The kernels take float32 rows; the formulas are worked out on the very same numbers.
ROWS = plain.unit(np.concatenate([X, Q])).astype(np.float32)
POINTS = ROWS.astype(np.float64)
TRUTH = np.concatenate([Y / Y.sum(axis=1, keepdims=True), np.zeros((len(Q), 3))])
GRAPHS: list[GraphBaseline] = [
    LNP(n_neighbours=5), EGSSC(n_neighbours=5), LSMPLike(n_neighbours=5, random_state=0),
]  # fmt: skip
# Rows in float32 carry 1e-7; a mix of nearly alike neighbours turns that into more.
CLOSE = 2e-4


def test_a_mix_of_neighbours_is_the_best_one() -> None:
    ids = plain.nearest(POINTS, 5)
    found = local_weights(ROWS, ROWS, ids, 1e-10)
    for row, (near, w) in enumerate(zip(ids, found, strict=True)):
        best = plain.mix(POINTS[row], POINTS[near])
        values = [float(((POINTS[row] - v @ POINTS[near]) ** 2).sum()) for v in (w, best)]
        assert values[0] <= values[1] * (1 + 1e-8)
        np.testing.assert_allclose(w.sum(), 1)
        assert w.min() >= 0


def test_a_mix_of_twins_and_of_nobody() -> None:
    twins = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    ids = np.array([[1, 2], [0, -1], [-1, -1]])
    found = local_weights(twins, twins, ids, 1e-10)
    np.testing.assert_allclose(found, [[1, 0], [1, 0], [0, 0]], atol=1e-6)


@pytest.mark.parametrize("alpha", [0.02, 0.3])
def test_an_l1_mix_is_the_clipped_lasso(alpha: float) -> None:
    ids = plain.nearest(POINTS, 6)
    found = l1_weights(ROWS, ROWS, ids, alpha, 1e-10)
    expected = [plain.l1_mix(POINTS[i], POINTS[near], alpha) for i, near in enumerate(ids)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    nobody = l1_weights(ROWS[:2], ROWS, np.array([[3, -1], [-1, -1]]), alpha, 1e-10)
    np.testing.assert_allclose(nobody, [[1, 0], [0, 0]])
    right = np.eye(2, dtype=np.float32)
    # A neighbour at a right angle and one on the other side have nothing to give.
    away = l1_weights(right[:1], -right, np.array([[0, 1]]), alpha, 1e-10)
    np.testing.assert_array_equal(away, [[0, 0]])


def test_lists_leave_out_the_picture_itself_even_among_twins() -> None:
    rows = np.ones((8, 3), np.float32) / np.sqrt(np.float32(3))
    ids, squares = lists_within(Exact("ip").build(rows), rows, 3)
    assert ids.shape == (8, 3)
    assert not (ids == np.arange(8)[:, None]).any()
    np.testing.assert_allclose(squares, 0, atol=1e-6)
    made = matrix(np.array([[1, -1], [0, -1]]), np.array([[0.5, 1.0], [0.0, 1.0]]), 2)
    np.testing.assert_array_equal(made.toarray(), [[0, 0.5], [0, 0]])


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_consistency_is_the_closed_form(share: float) -> None:
    W = plain.gaussian_graph(POINTS, 4)
    root = np.diag(W.sum(axis=1) ** -0.5)
    S = normalise_graph(sp.csr_array(W))
    np.testing.assert_allclose(S.toarray(), root @ W @ root, atol=1e-12)
    found = consistent(S, TRUTH, share, 1e-10, 1000)
    expected = (1 - share) * np.linalg.inv(np.eye(len(W)) - share * root @ W @ root) @ TRUTH
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    assert found.error <= 1e-10
    one = consistent(S, TRUTH, 0.99, 1e-10, 1)
    assert one.steps == 1
    assert one.error > 1e-10


def test_alone_without_neighbours() -> None:
    W = sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    found = consistent(normalise_graph(W), np.eye(3), 0.5, 1e-12, 100).values
    np.testing.assert_allclose(found[2], [0, 0, 0.5])
    beliefs = entropic(W, np.array([[1.0, 0], [0, 0], [0, 0]]), 1.0, 1.0, 0.0, 1e-12, 500)
    np.testing.assert_allclose(beliefs.p[2], 0.5)
    assert beliefs.p[1, 0] > 0.5


@pytest.mark.parametrize(("mu", "nu", "beta"), [(0.1, 1.0, 2.0), (0.5, 1.0, 1.0), (10.0, 0.1, 0.0)])
def test_entropic_updates_and_their_objective(mu: float, nu: float, beta: float) -> None:
    W = plain.gaussian_graph(POINTS, 4)
    for steps in (1, 7):
        found = entropic(sp.csr_array(W), TRUTH, mu, nu, beta, 1e-15, steps)
        p, q = plain.egssc(W, TRUTH, mu, nu, beta, steps)
        np.testing.assert_allclose(found.p, p, atol=1e-10)
        np.testing.assert_allclose(found.q, q, atol=1e-10)
    values = []
    for steps in (1, 2, 4, 8, 400):
        p, q, *_ = entropic(sp.csr_array(W), TRUTH, mu, nu, beta, 1e-15, steps)
        values.append(plain.egssc_objective(W, TRUTH, p, q, mu, nu, beta))
    assert (np.diff(values) <= 1e-9).all()
    # At the end no other distributions are better: the objective is convex.
    rng = np.random.default_rng(1)
    for _ in range(5):
        p2, q2 = (0.99 * v + 0.01 * rng.dirichlet(np.ones(3), len(W)) for v in (p, q))
        assert plain.egssc_objective(W, TRUTH, p2, q2, mu, nu, beta) > values[-1]


def test_lnp_over_tagged_and_untagged() -> None:
    model = LNP(n_neighbours=5, share=0.9).fit(X, Y, Q)
    expected = plain.lnp(POINTS, np.concatenate([Y, np.zeros((12, 3))]), 5, 0.9)
    np.testing.assert_allclose(model.unlabelled_scores_, expected[60:], atol=CLOSE)
    inside = plain.lnp(POINTS[:60], Y.astype(float), 5, 0.9)
    new = LNP(n_neighbours=5, share=0.9).fit(X, Y).predict_scores(Q)
    for q, scores in zip(POINTS[60:], new, strict=True):
        near = np.argsort(plain.squares(q[None], POINTS[:60])[0])[:5]
        np.testing.assert_allclose(scores, plain.mix(q, POINTS[near]) @ inside[near], atol=CLOSE)


def test_egssc_over_tagged_and_untagged() -> None:
    model = EGSSC(n_neighbours=5, mu=0.5, beta=1.0, tol=1e-12, max_steps=2000).fit(X, Y, Q)
    W = plain.gaussian_graph(POINTS, 5)
    p, _ = plain.egssc(W, TRUTH, 0.5, 1.0, 1.0, 200)
    np.testing.assert_allclose(model.unlabelled_scores_, p[60:], atol=CLOSE)
    np.testing.assert_allclose(model.unlabelled_scores_.sum(axis=1), 1)


@pytest.mark.slow
def test_lsmp_like_over_tagged_and_untagged() -> None:
    """72 pictures share few hashes each, so hashing finds the true neighbours of nearly all."""
    model = LSMPLike(n_neighbours=5, alpha=0.1, random_state=0, tol=1e-12, max_steps=5000)
    model.fit(X, Y, Q)
    p, _ = plain.egssc(plain.l1_graph(POINTS, 5, 0.1), TRUTH, 10.0, 1.0, 5.0, 400)
    np.testing.assert_allclose(model.unlabelled_scores_, p[60:], atol=0.02)
    again = LSMPLike(n_neighbours=5, random_state=0).fit(X, Y, Q).unlabelled_scores_
    np.testing.assert_array_equal(
        again, LSMPLike(n_neighbours=5, random_state=0).fit(X, Y, Q).unlabelled_scores_
    )


@pytest.mark.parametrize("model", GRAPHS, ids=lambda m: type(m).__name__)
def test_with_and_without_the_queries_in_the_graph(model: GraphBaseline) -> None:
    inductive = model.fit(X, Y).predict_scores(Q)
    assert model.unlabelled_scores_.shape == (0, 3)
    transductive = model.fit(X, Y, unlabelled=Q).unlabelled_scores_
    for scores in (inductive, transductive):
        assert (scores.argmax(axis=1) == CLASS[:12]).mean() >= 0.75
    assert (inductive.argmax(axis=1) == transductive.argmax(axis=1)).mean() >= 0.75
    with pytest.raises(InvalidInput, match="row 0 of unlabelled is all zeros"):
        model.fit(X, Y, unlabelled=0 * Q)
    with pytest.raises(InvalidInput, match="7 columns; 8 expected"):
        model.fit(X, Y, unlabelled=Q[:, :7])


@pytest.mark.parametrize("model", GRAPHS, ids=lambda m: type(m).__name__)
def test_few_pictures_and_few_steps(model: GraphBaseline) -> None:
    assert model.fit(X[:1], Y[:1]).predict_scores(Q).shape == (12, 3)
    assert model.fit(X[:3], Y[:3]).predict(Q, k=1).shape == (12, 1)
    steps = model.max_steps
    try:
        with pytest.warns(UserWarning, match="after 1 steps"):
            model.set_params(max_steps=1).fit(X, Y)
    finally:
        model.set_params(max_steps=steps)


def test_a_picture_without_tags_counts_as_unlabelled() -> None:
    known = Y.copy()
    known[0] = 0
    alone = EGSSC(n_neighbours=5).fit(X, known)
    moved = EGSSC(n_neighbours=5).fit(X[1:], Y[1:], X[:1])
    assert alone.unlabelled_scores_.shape == (0, 3)
    np.testing.assert_allclose(moved.predict_scores(Q), alone.predict_scores(Q), atol=1e-3)
