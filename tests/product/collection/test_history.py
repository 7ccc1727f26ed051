"""What stands: undo, roll-back, copies and contradictions, against a plain recursion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.catalog.log_tables import Entry, entries
from likewise.catalog.store import Store
from likewise.catalog.sums import START, line_digest
from likewise.errors import CollectionError
from likewise.learning.history import Contradiction, History, active_items, item_of
from likewise.learning.profile_states import ages_to_keep, checkpoint_stops
from tests import trials
from tests.product.collection.loop_reference import Log

# `make trust` tries more.
EXAMPLES = max(trials.ROUNDS, 20)


def moment(number: int) -> str:
    """A line every twelve minutes, and a longer pause before every tenth: several sessions."""
    late = timedelta(minutes=12 * number + 60 * (number // 10))
    return (datetime(2026, 1, 1, tzinfo=UTC) + late).isoformat()


def line(number: int, kind: str, **body) -> Entry:
    return Entry(number, "default", kind, moment(number), 1, body)


def judged(number: int, query: int = 1, liked=(), disliked=(), negatives=()) -> Entry:
    said = {"liked": list(liked), "disliked": list(disliked), "negatives": list(negatives)}
    return line(number, "judge", query=query, **said)


def numbers(log: list[Entry]) -> list[int]:
    return [item.number for item in active_items([], log)]


def test_undo_and_roll_back_are_lines_like_others() -> None:
    log = [judged(1), judged(2), judged(3)]
    assert numbers(log) == [1, 2, 3]
    log.append(line(4, "undo", judgement=2))
    assert numbers(log) == [1, 3]
    log.append(line(5, "rollback", position=2))
    assert numbers(log) == [1, 2]
    log.append(judged(6))
    assert numbers(log) == [1, 2, 6]
    # Redo: back to before the roll-back.
    log.append(line(7, "rollback", position=4))
    assert numbers(log) == [1, 3]
    log.append(line(8, "rollback", position=6))
    assert numbers(log) == [1, 2, 6]
    log.append(line(9, "rollback", position=0))
    assert numbers(log) == []
    log.append(line(10, "rollback", position=9))
    assert numbers(log) == []


def test_nested_roll_backs_cost_no_more_than_their_number() -> None:
    """Each to the line before it: by recursion this would take two to the power of 3,000 steps."""
    log = [judged(1), *(line(n, "rollback", position=n - 1) for n in range(2, 3000))]
    assert numbers(log) == [1]


@st.composite
def logs(
    draw: st.DrawFn, kinds: Sequence[str] = ("judge", "judge", "judge", "undo", "rollback")
) -> list[Entry]:
    """Few queries and pictures, so that lines contradict, repeat and lean on each other."""
    log: list[Entry] = []
    for number in range(1, draw(st.integers(0, 25)) + 1):
        kind = draw(st.sampled_from(kinds))
        if kind == "judge":
            said = draw(st.dictionaries(st.integers(10, 13), st.booleans(), min_size=1))
            log.append(
                judged(
                    number,
                    draw(st.integers(1, 2)),
                    [p for p, good in said.items() if good],
                    [p for p, good in said.items() if not good],
                    draw(st.sets(st.integers(10, 13))) - said.keys(),
                )
            )
        elif kind == "takeback":
            some = draw(st.sets(st.integers(1, max(number - 1, 1)), max_size=4))
            log.append(line(number, "takeback", judgements=sorted(some), of="a key"))
        elif kind == "undo":
            log.append(line(number, "undo", judgement=draw(st.integers(1, max(number - 1, 1)))))
        else:
            log.append(line(number, "rollback", position=draw(st.integers(0, number - 1))))
    return log


def reference(log: list[Entry]) -> Log:
    made = Log.__new__(Log)
    made.profiles = {"default": (None, 0)}
    made.lines = {
        "default": [
            (x.number, x.kind, datetime.fromisoformat(x.made).timestamp(), dict(x.body))
            for x in log
        ]
    }
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    made = Store.create(tmp_path_factory.mktemp("history") / "catalog.sqlite", {})
    yield made
    made.close()


def write(store: Store, log: list[Entry], *, afresh: bool = True) -> None:
    with store.write() as c:
        if afresh:
            c.execute("DELETE FROM log")
        last = c.execute("SELECT digest FROM log ORDER BY number DESC LIMIT 1").fetchone()
        digest = START if last is None else last[0]
        for x in log:
            line = (x.number, x.profile, x.kind, x.made, x.session, json.dumps(x.body))
            digest = line_digest(digest, *line)
            c.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", (*line, digest))


def full_reading(store: Store) -> History:
    """The items that stand, added one after the other: nothing is ever taken out of this one."""
    made = History(store, "default", upto=0)
    made._own = entries(store, "default")
    made._read_again()
    return made


def assert_equal_histories(one: History, other: History, last: int) -> None:
    assert one.items == other.items
    assert one.digests == other.digests
    assert one.contradictions == other.contradictions
    for number in range(1, last + 1):
        assert one.contradicted_by(number) == other.contradicted_by(number)
        assert one.stands(number) == other.stands(number)
    for query in (1, 2):
        assert one.verdicts(query) == other.verdicts(query)


@given(log=logs(("judge", "judge", "judge", "undo", "undo", "takeback")))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_taken_back_leaves_what_a_full_reading_finds(
    store: Store, log: list[Entry]
) -> None:
    """Line by line, whatever the taken-back line contradicted and whatever contradicts it."""
    trials.count(trials.HISTORIES)
    grown = History(store, "default")
    write(store, [])
    for at, one in enumerate(log, 1):
        write(store, [one], afresh=False)
        grown.update()
        assert grown.position == one.number
        if one.kind != "judge" or at == len(log):
            assert_equal_histories(grown, full_reading(store), len(log))
    by_number = {one.number: one.body for one in log}
    for item in grown.items:
        # What is liked was not passed over, whoever said it first.
        liked = grown.verdicts(item.query).liked
        said = by_number[item.number]["negatives"]
        assert list(item.negatives) == sorted(p for p in said if p not in liked)


class Counted(list):
    """A list that counts how many of its entries were read."""

    read = 0

    def __getitem__(self, at):
        found = super().__getitem__(at)
        self.read += len(found) if isinstance(at, slice) else 1
        return found

    def __iter__(self):
        self.read += len(self)
        return super().__iter__()


def test_taking_back_reads_the_lines_that_speak_of_it(store: Store) -> None:
    """Three lines about one picture among a thousand about others: the middle one goes."""
    n = 1_000
    log = [judged(number, number, [5_000], [5_001]) for number in range(1, n + 1)]
    log[104] = judged(105, 1, [10], [11], [12])
    log[504] = judged(505, 1, [11, 12], [10])
    log[904] = judged(905, 1, [10])
    write(store, log)
    history = History(store, "default")
    history.update()
    assert history.contradicted_by(505) == [105]
    assert history.contradicted_by(905) == [505]
    for after, gone in enumerate((505, 905, 105), n + 1):
        write(store, [line(after, "undo", judgement=gone)], afresh=False)
        history.items, history._own = Counted(history.items), Counted(history._own)
        history.update()
        assert history._own.read <= 2
        # The line itself, those it answers and is answered by, and neighbours for the session.
        assert history.items.read <= 12
        history.items, history._own = list(history.items), list(history._own)
        assert_equal_histories(history, full_reading(store), 0)
    assert len(history.items) == n - 3


@pytest.mark.slow
@given(log=logs(), cut=st.integers(0, 25))
@settings(max_examples=150, deadline=None)
def test_a_history_is_what_survives(store: Store, log: list[Entry], cut: int) -> None:
    """Read in one go, or in two parts as another process writes them: the same."""
    plain = reference(log)
    write(store, log[:cut])
    grown = History(store, "default")
    grown.update()
    write(store, log[cut:], afresh=False)
    grown.update()
    whole = History(store, "default")
    whole.update()
    again = History(store, "default")
    again.update()
    again._read_again()  # what an undo that looks at nothing else must come to
    expected = [(x.number, list(x.liked), list(x.disliked)) for x in plain.judgements("default")]
    for history in (grown, whole, again):
        found = [(i.number, list(i.liked), list(i.disliked)) for i in history.items]
        assert found == expected
        assert history.digests == again.digests
        assert history.items == again.items
        assert len(history.digests) == len(history.items) + 1
        assert sorted(history.contradictions, key=repr) == sorted(whole.contradictions, key=repr)
        for query in (1, 2):
            verdicts = history.verdicts(query)
            wanted = plain.verdicts("default").get(query, (set(), set()))
            assert (verdicts.liked, verdicts.disliked) == wanted
            assert not verdicts.liked & verdicts.disliked
        last = [x.number for x in plain.judgements("default")][-1:]
        assert history.last_judgement() == (last[0] if last else None)
        assert all(history.stands(n) for n in plain.surviving("default"))
        assert not history.stands(99)
        assert history.positions() == [0, *(x.number for x in log)]


def test_contradictions_are_reported_and_the_later_word_counts(store: Store) -> None:
    write(
        store,
        [
            judged(1, 1, [10, 11]),
            judged(2, 1, [10], [12]),
            judged(3, 2, [], [10]),  # about another query: no contradiction
            judged(4, 1, [12], [10]),
        ],
    )
    history = History(store, "default")
    history.update()
    assert [(i.liked, i.disliked) for i in history.items] == [
        ((11,), ()), ((), ()), ((), (10,)), ((12,), (10,)),
    ]  # fmt: skip
    assert sorted(history.contradictions, key=repr) == [
        Contradiction(4, 1, 10), Contradiction(4, 2, 10), Contradiction(4, 2, 12),
    ]  # fmt: skip
    assert history.verdicts(1).liked == {11, 12}
    assert history.verdicts(1).disliked == {10}
    assert history.verdicts(2).disliked == {10}
    # Taken back, what it contradicted stands again.
    write(store, [line(5, "undo", judgement=4)], afresh=False)
    history.update()
    assert history.contradictions == []
    assert history.verdicts(1).liked == {10, 11}
    assert history.verdicts(1).disliked == {12}


def test_the_same_said_again_is_no_contradiction(store: Store) -> None:
    write(store, [judged(1, 1, [10], [11]), judged(2, 1, [10], [11])])
    history = History(store, "default")
    history.update()
    assert history.contradictions == []
    assert [(i.liked, i.disliked) for i in history.items] == [((10,), (11,))] * 2


def test_digests_name_what_was_folded(store: Store) -> None:
    """Equal beginnings have equal digests, and nothing else has."""
    write(store, [judged(1, 1, [10]), judged(2, 1, [11]), judged(3, 1, [12])])
    history = History(store, "default")
    history.update()
    before = list(history.digests)
    write(store, [line(4, "undo", judgement=3)], afresh=False)
    history.update()
    assert history.digests == before[:3]
    write(store, [line(5, "rollback", position=3)], afresh=False)
    history.update()
    assert history.digests == before
    # A contradiction of the first item changes every digest behind it.
    write(store, [judged(6, 1, [], [10])], afresh=False)
    history.update()
    assert history.digests[0] == before[0]
    assert not set(history.digests[1:]) & set(before)


def test_a_later_verdict_cannot_change_what_was_handed_out(store: Store) -> None:
    write(store, [judged(1, 1, [10])])
    history = History(store, "default")
    history.update()
    found = history.verdicts(1)
    write(store, [judged(2, 1, [11], [10])], afresh=False)
    history.update()
    assert (found.liked, found.disliked) == ({10}, set())


def test_a_history_can_end_early(store: Store) -> None:
    write(store, [judged(1, 1, [10]), judged(2, 1, [11]), line(3, "undo", judgement=1)])
    history = History(store, "default", 2)
    history.update()
    assert [i.number for i in history.items] == [1, 2]
    assert history.position == 2


def test_an_unknown_profile(store: Store) -> None:
    with pytest.raises(CollectionError, match="no profile 'nobody'; there are default"):
        History(store, "nobody")


def test_an_item_is_sorted_whatever_the_line_says() -> None:
    made = item_of(line(1, "judge", query=3, liked=[9, 4], disliked=[8, 1], negatives=[7, 2]))
    assert (made.liked, made.disliked, made.negatives) == ((4, 9), (1, 8), (2, 7))
    assert made.subjects() == {1, 2, 3, 4, 7, 8, 9}


# -- checkpoints ------------------------------------------------------------------------------


def test_thinned_checkpoints_leave_no_undo_far_from_one() -> None:
    """Few are kept, and whatever is undone replays at most some times its age."""
    kept: list[int] = []
    for n in range(200, 40_001, 200):
        worth = ages_to_keep(n - at for at in kept)
        kept = [at for at in kept if n - at in worth] + [n]
        assert len(kept) <= 2 + 2 * n.bit_length()
        for age in (1, 100, 1_000, 5_000, 15_000, 30_000):
            if age < n:
                start = max((at for at in kept if at <= n - age), default=0)
                assert n - start <= 2.5 * age + 400


def test_a_long_fold_stops_for_checkpoints_near_its_end(tmp_path: Path) -> None:
    assert checkpoint_stops(0, 0) == []
    assert checkpoint_stops(5, 6) == [6]
    found = checkpoint_stops(0, 10_000)
    assert found[-1] == 10_000
    assert found == sorted(set(found))
    for age in (1, 150, 900, 4_000):
        start = max((at for at in found if at <= 10_000 - age), default=0)
        assert 10_000 - start <= 2.5 * age + 400
