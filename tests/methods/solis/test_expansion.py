"""The query part: closed form, order-independent, never empty, never NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise_methods.errors import InvalidInput
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.solis.expansion import RULE, QueryRule, expand

WIDTH = 12


def rows(n, seed, width=WIDTH, share=0.5):
    rng = np.random.default_rng(seed)
    values = rng.random((n, width)) * (rng.random((n, width)) < share)
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-9)
    return sp.csr_array(values.astype(np.float32))


def readable(query, liked, disliked, frequency, n_pictures, rule):
    """The rule word by word, as its docstring says it."""
    q, good, bad = query.toarray()[0], liked.toarray(), disliked.toarray()
    n, m = len(good), len(bad)
    out = []
    for j in range(len(q)):
        value = float(q[j])
        if n:
            value += rule.beta * sum(good[:, j].tolist()) / n
        if m:
            value -= rule.gamma * m / (m + rule.patience) * sum(bad[:, j].tolist()) / m
        with_word = int(q[j] != 0) + int((good[:, j] != 0).sum())
        without = int((bad[:, j] != 0).sum())
        if frequency is None:
            prior = (with_word + without + 0.5) / (1 + n + m + 1)
        else:
            least = 0.5 / (n_pictures + 1)
            prior = min(max(frequency[j] / n_pictures, least), 1 - least)
        p = (with_word + rule.smoothing * prior) / (1 + n + rule.smoothing)
        r = (without + rule.smoothing * prior) / (m + rule.smoothing)
        odds = math.log(p / (1 - p)) - math.log(r / (1 - r))
        sign = (value > 0) - (value < 0)
        out.append(value * max(0.0, 1 + rule.sharpness * sign * odds))
    return np.array(out) / np.linalg.norm(out)


@pytest.mark.parametrize(("n_liked", "n_disliked"), [(1, 0), (0, 1), (3, 0), (0, 4), (3, 5)])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("rule", [RULE, QueryRule(1.0, 0.5, 0.0, 2.0, 3.0)])
def test_agrees_with_the_formula_word_by_word(n_liked, n_disliked, known, rule):
    query, liked, disliked = rows(1, 1), rows(n_liked, 2), rows(n_disliked, 3)
    frequency = np.arange(WIDTH) if known else None
    got = expand(query, liked, disliked, frequency=frequency, n_pictures=WIDTH - 1, rule=rule)
    want = readable(query, liked, disliked, frequency, WIDTH - 1, rule)
    np.testing.assert_allclose(got.toarray()[0], want, atol=1e-6)


def test_without_sharpness_it_is_rocchio():
    query, liked, disliked = rows(1, 1), rows(3, 2), rows(2, 3)
    got = expand(query, liked, disliked, rule=QueryRule(3.0, 0.5, 0.0, 1.0, 0.0)).toarray()[0]
    want = query.toarray()[0] + 3 * liked.toarray().mean(0) - 0.5 * disliked.toarray().mean(0)
    np.testing.assert_allclose(got, want / np.linalg.norm(want), atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 10_000), st.booleans())
def test_same_bits_in_any_order_and_always_a_usable_query(n_liked, n_disliked, seed, known):
    query, liked, disliked = rows(1, seed), rows(n_liked, seed + 1), rows(n_disliked, seed + 2)
    rng = np.random.default_rng(seed)
    frequency = rng.integers(0, 9, WIDTH) if known else None
    got = expand(query, liked, disliked, frequency=frequency, n_pictures=8)
    again = expand(
        query,
        liked[rng.permutation(n_liked)],
        disliked[rng.permutation(n_disliked)],
        frequency=frequency,
        n_pictures=8,
    )
    assert got.toarray().tobytes() == again.toarray().tobytes()
    assert np.isfinite(got.data).all()
    if got is not query:
        assert got.dtype == np.float32
        assert got.shape == (1, WIDTH)
        assert (got.data != 0).all()
        assert np.linalg.norm(got.data.astype(np.float64)) == pytest.approx(1, abs=1e-6)
        assert (np.diff(got.indices) > 0).all()


def test_dense_has_the_same_bits_in_any_order():
    rng = np.random.default_rng(0)
    query, liked = rng.random(9, np.float32), rng.random((7, 9), np.float32)
    disliked = rng.random((5, 9), np.float32)
    got = expand(query, liked, disliked)
    assert got.tobytes() == expand(query, liked[::-1], disliked[[3, 1, 0, 4, 2]]).tobytes()
    # Not of unit length: a place.  It lies between query and liked ones, away from the others.
    place = (query + RULE.beta * liked.mean(0)) / (1 + RULE.beta)
    want = place + RULE.taken_out(5) / (1 + RULE.beta) * (place - disliked.mean(0))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(expand(query + 100, liked + 100, disliked + 100), got + 100, 1e-5)
    unit = expand(query / np.linalg.norm(query), liked, disliked)
    assert np.linalg.norm(unit) == pytest.approx(1, abs=1e-6)


def test_no_judgement_leaves_the_query_as_it_is():
    query = rows(1, 4)
    assert expand(query, rows(0, 0), rows(0, 0)) is query
    dense = np.array([0.6, 0.8], np.float32)
    assert expand(dense, np.zeros((0, 2)), np.zeros((0, 2))) is dense


def test_what_cancels_falls_back_to_the_query():
    query = sp.csr_array(np.array([[1.0, 0.0]], np.float32))
    rule = QueryRule(1.0, 1.0, 0.0, 1.0, 0.5)
    assert expand(query, query[[]], query, rule=rule) is query
    dense = np.array([1.0, 0.0], np.float32)
    assert expand(dense, np.zeros((0, 2)), dense[None], rule=rule) is dense


def test_an_empty_query_takes_what_is_liked():
    query = sp.csr_array((1, WIDTH), dtype=np.float32)
    got = expand(query, rows(2, 1), rows(0, 0))
    assert got.nnz
    assert np.isfinite(got.data).all()
    assert expand(query, rows(0, 0), query) is query


def test_liked_words_gain_and_disliked_ones_push_down():
    query = sp.csr_array(np.array([[0.6, 0.8, 0, 0]], np.float32))
    liked = sp.csr_array(np.array([[0.6, 0, 0.8, 0]], np.float32))
    disliked = sp.csr_array(np.array([[0, 0.6, 0, 0.8]], np.float32))
    got = expand(query, liked, disliked).toarray()[0]
    assert got[0] > got[1]
    assert got[2] > 0 > got[3]
    index = InvertedIndex.build(sp.csr_array(np.eye(4, dtype=np.float32)))
    ids, _ = index.search(expand(query, liked, disliked), 4)
    assert ids[0].tolist()[0] == 0
    assert ids[0].tolist()[-1] == 3


def test_a_rare_word_says_more_than_a_frequent_one():
    query = sp.csr_array(np.array([[0.6, 0.6, 0.5]], np.float32))
    liked = sp.csr_array(np.array([[0.7, 0.7, 0.0]], np.float32))
    got = expand(query, liked, query[[]], frequency=np.array([2, 80, 50]), n_pictures=100)
    assert got.toarray()[0, 0] > got.toarray()[0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"liked": rows(1, 0, 5)}, "5 columns; 12 expected"),
        ({"liked": np.zeros((1, WIDTH))}, "liked is dense"),
        ({"query": rows(2, 0)}, "2 rows; 1 expected"),
        ({"frequency": np.ones(3), "n_pictures": 4}, "frequency has shape"),
        ({"frequency": np.ones(WIDTH)}, "n_pictures is 0"),
        ({"frequency": np.full(WIDTH, np.nan), "n_pictures": 4}, "not finite"),
        ({"query": np.zeros((2, 2))}, "one vector of finite numbers"),
        ({"query": np.zeros(3), "liked": rows(1, 0)}, "liked is sparse"),
        ({"query": np.zeros(3), "liked": np.zeros((1, 2))}, "liked has 2 columns"),
        (
            {"query": np.zeros(3), "liked": np.full((1, 3), np.inf)},
            "liked has NaN or infinity in row 0",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    given = {"query": rows(1, 0), "liked": rows(1, 1), "disliked": rows(1, 2), **change}
    with pytest.raises(InvalidInput, match=message):
        expand(**given)


@pytest.mark.parametrize("name", ["beta", "gamma", "patience", "smoothing", "sharpness"])
def test_a_rule_has_sane_constants(name):
    for value in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidInput, match=name):
            QueryRule(**{name: value})
    with pytest.raises(InvalidInput, match="smoothing"):
        QueryRule(smoothing=0.0)
