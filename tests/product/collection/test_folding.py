"""The fold itself: agrees with a dense one in plain numpy, keeps its caps, survives packing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.catalog.segments import pack_sparse
from likewise.errors import DamagedCollection
from likewise.learning import fold as folding
from likewise.learning.fold import ImportedWeights, ProfileState
from likewise.learning.history import JUDGE, WEIGHTS, Item
from likewise_methods.solis.judging import JUDGEMENT_REACH, MARGIN, SESSION_REACH
from tests.product.collection.loop_reference import Said, dense_row, fold, triplets

WIDTH = 25


def codes(n: int = 12, seed: int = 0, density: float = 0.4) -> dict[int, bytes]:
    """Subject to code, unit rows."""
    rng = np.random.default_rng(seed)
    made = {}
    for subject in range(1, n + 1):
        words = np.flatnonzero(rng.random(WIDTH) < density)
        values = rng.random(len(words)) + 0.05
        made[subject] = pack_sparse(words, values / max(np.linalg.norm(values), 1e-9))
    return made


def dense(found: dict[int, bytes]) -> dict[int, np.ndarray]:
    return {subject: dense_row(blob, WIDTH) for subject, blob in found.items()}


def item(number: int, session: int, query: int, liked=(), disliked=(), negatives=(), weight=1.0):
    return Item(
        number, JUDGE, session, query, tuple(liked), tuple(disliked), tuple(negatives), weight
    )


def said(one: Item) -> Said:
    return Said(
        one.number, one.session, one.query, list(one.liked), list(one.disliked),
        list(one.negatives), one.weight,
    )  # fmt: skip


def folded(items, have, state: ProfileState | None = None) -> ProfileState:
    state = ProfileState(WIDTH) if state is None else state
    for one in items:
        state.fold(one, have, lambda _: None)
    return state


subjects = st.sets(st.integers(1, 14), max_size=5).map(sorted)
items = st.lists(
    st.builds(
        item, st.just(0), st.integers(1, 3), st.integers(1, 14), subjects, subjects, subjects,
        st.sampled_from([1.0, 0.25]),
    ),
    max_size=12,
).map(
    lambda made: [
        Item(n + 1, JUDGE, i.session, i.query, tuple(s for s in i.liked if s != i.query),
             i.disliked, i.negatives, i.weight)
        for n, i in enumerate(made)
    ]
)  # fmt: skip


@given(items, st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_agrees_with_a_dense_fold_to_the_bit(made: list[Item], seed: int) -> None:
    # Subjects 13 and 14 have no code here: pictures whose vector is not known in this space.
    have = codes(seed=seed)
    state = folded(made, have)
    assert np.array_equal(state.weights, fold([said(i) for i in made], dense(have), WIDTH, have))
    assert state.n_items == len(made)
    assert (state.weights >= 0).all()


@given(items, st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_packed_and_unpacked_anywhere_it_goes_on_to_the_same_bits(
    made: list[Item], cut: int
) -> None:
    have = codes()
    whole = folded(made, have)
    again = folded(made[cut:], have, ProfileState.unpack(folded(made[:cut], have).pack()))
    assert np.array_equal(whole.weights, again.weights)
    assert (whole.agreed, whole.agreed_plain, whole.tested, whole.n_items, whole.session) == (
        again.agreed, again.agreed_plain, again.tested, again.n_items, again.session,
    )  # fmt: skip
    assert whole.pack() == again.pack()


def test_no_word_moves_further_than_allowed_in_a_judgement_or_a_session() -> None:
    # Liked pictures share a word with the query that no other has: all triplets push one way, and
    # its value is so small that the margin stays out of reach.
    value = (MARGIN / 20) ** 0.5
    have = {s: pack_sparse([0, 1] if s < 8 else [1], [value, 1.0][s >= 8 :]) for s in range(1, 61)}
    state = ProfileState(WIDTH)
    start = np.ones(WIDTH)
    widest_judgement = widest_session = 0.0
    for number in range(1, 60):
        before = state.weights.copy()
        if number == 31:
            start = before
        # 180 triplets a time: far more than the caps let through.
        one = item(number, 1 + number // 31, 1, range(2, 8), range(8, 38))
        state.fold(one, have, lambda _: None)
        widest_judgement = max(widest_judgement, np.abs(state.weights - before).max())
        widest_session = max(widest_session, np.abs(state.weights - start).max())
        assert widest_judgement <= JUDGEMENT_REACH + 1e-12
        assert widest_session <= SESSION_REACH + 1e-12
    # The caps were met, so they were tested.
    assert widest_judgement == pytest.approx(JUDGEMENT_REACH)
    assert widest_session == pytest.approx(SESSION_REACH)
    # The second session went on from where the first one was held.
    assert np.abs(state.weights - 1).max() > SESSION_REACH + 0.5


def test_what_counts_as_a_negative() -> None:
    have = codes()
    rows = dense(have)
    # The disliked; where there are none those passed over or drawn; neither: nothing.
    assert len(triplets(said(item(1, 1, 1, [2, 3], [4])), rows, have)) == 2
    assert len(triplets(said(item(1, 1, 1, [2, 3], [], [4, 5, 6])), rows, have)) == 6
    assert len(triplets(said(item(1, 1, 1, [2, 3], [4], [5, 6])), rows, have)) == 2
    ((anchor, nearer, farther),) = triplets(said(item(1, 1, 1, [], [4])), rows, have)
    np.testing.assert_allclose(anchor, MARGIN * rows[1], rtol=1e-6)
    assert np.array_equal(nearer, rows[1])
    assert np.array_equal(farther, rows[4])
    for one, taught in (
        (item(1, 1, 1, [2]), 0),  # nothing to be ranked below
        (item(1, 1, 1, [], [4]), 1),  # the query is its own positive
        (item(1, 1, 1, [99], [4]), 0),  # liked, but without a code: no mere dislike
        (item(1, 1, 99, [2], [4]), 0),  # the query itself has no code
        (item(1, 1, 1, [], [], [4]), 0),  # its like was contradicted: the rest says nothing
        (item(1, 1, 1, range(2, 12), [12]), 10),
    ):
        assert folded([one], codes()).tested == taught
    many = codes(60)
    assert folded([item(1, 1, 1, range(2, 30), range(30, 60))], many).tested == 200


def test_random_negatives_count_a_quarter() -> None:
    have = codes()
    full = folded([item(1, 1, 1, [2], [], [3])], have).weights
    quarter = folded([item(1, 1, 1, [2], [], [3], 0.25)], have).weights
    moved = full != 1
    assert moved.any()
    assert (np.abs(quarter - 1)[moved] < np.abs(full - 1)[moved]).all()


def test_weights_that_came_in_whole() -> None:
    given_blob = ImportedWeights("zeros", [3, 5], [0.5, 2.0]).pack()
    state = folded([item(1, 1, 1, [2], [3])], codes())
    state.fold(Item(2, WEIGHTS, 2), {}, lambda n: given_blob if n == 2 else None)
    expected = np.zeros(WIDTH)
    expected[[3, 5]] = 0.5, 2.0
    assert np.array_equal(state.weights, expected)
    assert state.start == "zeros"
    again = ProfileState.unpack(state.pack())
    assert np.array_equal(again.weights, expected)
    later = item(3, 3, 1, [2], [4])
    state.fold(later, codes(), lambda _: None)
    again.fold(later, codes(), lambda _: None)
    assert np.array_equal(again.weights, state.weights)
    assert np.abs(state.weights - expected).max() <= JUDGEMENT_REACH + 1e-12
    assert (state.weights != expected).any()
    bad = ImportedWeights("ones", [WIDTH], [1.0]).pack()
    with pytest.raises(DamagedCollection, match="do not fit"):
        state.fold(Item(4, WEIGHTS, 2), {}, lambda _: bad)


def test_a_checkpoint_of_another_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = folded([item(1, 1, 1, [2], [3])], codes()).pack()
    ProfileState.unpack(blob)
    monkeypatch.setattr(folding, "_RULE", [0.0])
    with pytest.raises(DamagedCollection, match="older rule"):
        ProfileState.unpack(blob)
    with pytest.raises(DamagedCollection):
        ProfileState.unpack(blob[:30])
