"""Shares and odds made one score, the choice between them, and both annotators in step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from likewise_methods.errors import InvalidInput
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.linear import LinearAnnotator
from likewise_methods.siso.mixed import MIXES, MixChoice, MixedAnnotator, mixed_odds, mixed_shares
from tests.methods.siso.test_linear import pictures

X, Y = pictures(70, 14, 4)
NAMES = [[f"tag {t}" for t in np.flatnonzero(row)] for row in Y]


def test_a_mix_of_nothing_is_the_shares() -> None:
    shares, odds = np.array([0.0, 0.4, 1.3]), np.array([2.0, -np.inf, 1.0])
    assert mixed_shares(shares, odds, 0.0) is shares
    assert mixed_shares(shares, None, 0.7) is shares
    # Odds of shares, read as shares again, are themselves.
    inside = np.linspace(0, 1, 11)
    own = mixed_odds(inside, np.zeros(11), 0.0)
    np.testing.assert_allclose(mixed_shares(inside, own, 0.6), inside, atol=1e-12)
    with pytest.raises(InvalidInput, match="mix"):
        mixed_shares(shares, odds, 1.5)


def test_a_mix_rises_with_both_and_stays_in_its_range() -> None:
    rng = np.random.default_rng(0)
    shares, odds = rng.random(200), rng.normal(0, 8, 200)
    for mix in MIXES[1:]:
        made = mixed_shares(shares, odds, mix)
        assert ((made >= -0.1) & (made <= 1.1)).all()
        assert (mixed_shares(shares, odds + 1, mix) > made - 1e-12).all()
        assert (mixed_shares(np.minimum(shares + 0.1, 1), odds, mix) >= made - 1e-12).all()
        assert mixed_shares(np.array([0.5]), np.array([-np.inf]), mix) == pytest.approx([-0.1])


def test_the_better_opinion_is_chosen() -> None:
    rng = np.random.default_rng(1)
    right = np.eye(6, dtype=bool)[rng.integers(6, size=150)]
    knows, guesses = np.where(right, 0.6, 0.1), rng.dirichlet(np.ones(6), 150)
    sure, lost = (
        np.where(right, 0.8, -0.8) + rng.normal(0, 0.4, (150, 6)),
        rng.normal(0, 2, (150, 6)),
    )
    noisy = np.clip(knows + rng.normal(0, 0.25, (150, 6)), 0, 1)
    doubtful = sure + rng.normal(0, 2.5, (150, 6))
    chosen = []
    for shares, odds in ((knows, lost), (guesses, sure), (noisy, doubtful)):
        choice = MixChoice()
        for at in range(150):
            choice.add(shares[at], odds[at], right[at])
        chosen.append(choice.best)
    # Not the ends: where the better one is never wrong, a little of the other does no harm.
    assert chosen[0] <= 0.25
    assert chosen[1] >= 0.75
    assert 0 < chosen[2] < 1


def test_the_choice_is_that_of_the_likelihood() -> None:
    """Written out, over pictures with several tags, some of them unknown to the odds."""
    rng = np.random.default_rng(2)
    choice, asked = MixChoice((0.0, 0.3, 1.0)), []
    for _ in range(40):
        shares, odds, right = rng.random(5), rng.normal(0, 2, 5), rng.random(5) < 0.3
        odds[rng.integers(5)] = -np.inf
        choice.add(shares, odds, right)
        if right[np.isfinite(odds)].any():
            asked.append((shares, odds, right))
    assert choice.pictures == len(asked) < 40
    losses = []
    for mix in choice.mixes:
        each = []
        for sharpness in [2.0 ** (half / 2) for half in range(-6, 8)]:
            loss = 0.0
            for shares, odds, right in asked:
                known = np.isfinite(odds)
                g = sharpness * mixed_odds(shares[known], odds[known], mix)
                loss -= np.mean((g - logsumexp(g))[right[known]])
            each.append(loss)
        # Up to two more for a mix far from a half of each.
        losses.append(min(each) + 2 * (2 * mix - 1) ** 2)
    assert choice.best == choice.mixes[int(np.argmin(losses))]


def test_few_pictures_do_not_throw_the_mix_to_an_end() -> None:
    choice = MixChoice()
    assert choice.best == 0.5
    chosen = []
    for at in range(300):  # the odds are right four times of five, the shares once of three
        odds = np.array([1.0, -1.0]) * (1 if at % 5 else -1)
        shares = np.array([0.2, 0.6]) if at % 3 else np.array([0.6, 0.2])
        choice.add(shares, odds, np.array([True, False]))
        chosen.append(choice.best)
    assert 0.375 <= min(chosen[:3]) <= max(chosen[:3]) <= 0.625
    assert chosen[-1] == 1.0


def test_both_say_what_they_say_alone() -> None:
    """After pictures came and went: against two annotators fitted to what is left."""
    model = MixedAnnotator(mix=0.4).fit(X[:40], NAMES[:40], range(40))
    model.partial_fit(X[40:60], [[*names, "late"] for names in NAMES[40:60]], range(40, 60))
    model.remove([3, 45, 12]).partial_fit(X[3:4], [["tag 1"]], [3])
    ids = model.ids_.tolist()
    said = {i: [*NAMES[i], "late"] if 40 <= i < 60 else NAMES[i] for i in ids} | {3: ["tag 1"]}
    names = model.tags_
    order = [[name in said[i] for name in names] for i in ids]
    tags = np.array(order, int)
    sparse = SparseAnnotator(alpha=0.05, nonnegative=True).fit(X[ids], tags)
    linear = LinearAnnotator().fit(X[ids], tags)
    codes, shares, odds = model.opinions(X[60:])
    assert codes.shape == (10, len(ids))
    np.testing.assert_allclose(shares, sparse.predict_scores(X[60:]), atol=1e-6)
    np.testing.assert_allclose(odds, linear.predict_scores(X[60:]), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict_scores(X[60:]), mixed_shares(shares, odds, 0.4))
    # Left out of both.
    out = [ids.index(i) for i in (3, 50)]
    stay = np.setdiff1d(np.arange(len(ids)), out)
    _, shares, odds = model.opinions(X[[3, 50]], without=[3, 50])
    fewer = SparseAnnotator(alpha=0.05, nonnegative=True).fit(X[ids][stay], tags[stay])
    np.testing.assert_allclose(shares, fewer.predict_scores(X[[3, 50]]), atol=1e-6)
    left = linear.predict_scores(X[[3, 50]], without=(X[ids][out], tags[out]))
    np.testing.assert_allclose(odds, left, rtol=1e-8, atol=1e-8)


def test_wide_rows_have_no_linear_machine() -> None:
    model = MixedAnnotator(mix=1.0, widest=13).fit(X, Y)
    assert model.linear_ is None
    alone = SparseAnnotator(alpha=0.05, nonnegative=True).fit(X, Y)
    np.testing.assert_allclose(model.predict_scores(X[:5]), alone.predict_scores(X[:5]))
    assert model.remove([1]).partial_fit(X[1:2], Y[1:2]).opinions(X[:1]).odds is None
    assert MixedAnnotator(widest=14).fit(X, Y).linear_ is not None


def test_what_is_refused_changes_neither() -> None:
    model = MixedAnnotator().fit(X, Y, range(70))
    before = model.predict_scores(X[:9])
    with pytest.raises(InvalidInput, match="already there"):
        model.partial_fit(X[:1], Y[:1], [5])
    with pytest.raises(InvalidInput, match="no picture with the id 99"):
        model.remove([99])
    assert np.array_equal(model.predict_scores(X[:9]), before)
    for wrong in ({"mix": 2}, {"widest": 0}, {"penalty": -1}, {"alpha": 0}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            MixedAnnotator(**wrong).fit(X, Y)


def test_the_nearest_that_have_a_tag() -> None:
    model = SparseAnnotator().fit(X, Y, range(100, 170)).remove([104, 111])
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = model.nearest(3 * X[0], [2, 0], k=3, without=[100, 120])
    for tag, some in zip((2, 0), found, strict=True):
        left = [i for i in np.flatnonzero(Y[:, tag]) if i not in (0, 4, 11, 20)]
        wanted = sorted(left, key=lambda i: -float(U[i] @ U[0]))[:3]
        assert [i - 100 for i, _ in some] == wanted
        assert [c for _, c in some] == pytest.approx([float(U[i] @ U[0]) for i in wanted])
