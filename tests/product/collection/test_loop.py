"""The loop as a person meets it: judge, search again, undo, roll back, copy, export, import."""

from __future__ import annotations

import datetime
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog import log_tables
from likewise.catalog.content import digest_of
from likewise.catalog.segments import SPARSE, open_idf
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, LikewiseError, UnknownPicture
from likewise.ingest import add as adding
from likewise.ingest import carry_over as carrying
from likewise.ingest import generations as gen
from likewise.learning import judge, profile_files, profile_states
from likewise.learning import log as log_lines
from likewise.learning.fold import ImportedWeights
from likewise.search.query import SearchRequest, query_row, resolve_query
from likewise.search.rank import rank
from likewise.search.reranker import ProfileReranker
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.solis.judging import JUDGEMENT_REACH, N_RANDOM, RANDOM_WEIGHT, SESSION_REACH
from tests.product.collection.loop_cases import (
    SPACES,
    WIDTH,
    N,
    col,
    copied,
    forgotten,
    inside,
    outside,
    picture,
    rows,
    weights,
)
from tests.product.collection.loop_reference import Log, dense_row
from tests.product.collection.pictures import write
from tests.product.private import states_of, store_of, views_of

__all__ = ["col"]


def order(col: Collection, query, by: str = "mine", **options) -> list[int]:
    return [hit.id for hit in col.search(query, k=50, by=by, **options)]


def scores(col: Collection, query, by: str) -> list[tuple[int, float]]:
    return [(hit.id, hit.score) for hit in col.search(query, k=50, by=by)]


def all_weights(col: Collection, profile: str = "default") -> dict[str, np.ndarray]:
    return {space: weights(col, profile, space).copy() for space in SPACES}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(a[space], b[space]) for space in SPACES)


def raw(col: Collection, number: int) -> dict:
    """The body of a line of the log."""
    found = [x for lines in Log(col.root).lines.values() for x in lines if x[0] == number]
    return found[0][3]


def images(col: Collection, subjects) -> set[int]:
    return set(log_tables.subjects_in_collection(store_of(col), subjects).values())


@pytest.fixture
def mine(col: Collection) -> Collection:
    """A collection whose profiles rank by the user's own vectors."""
    col.use("mine")
    return col


# -- judging changes the ranking -----------------------------------------------------------------


def test_a_judgement_changes_the_next_answer(mine: Collection) -> None:
    before = order(mine, 1, "default")
    liked, disliked = before[-1], before[0]
    assert mine.judge(1, [liked], [disliked]).number == 1
    after = order(mine, 1, "default")
    assert set(after) == set(before)
    assert after.index(liked) < before.index(liked)
    assert after[-1] == disliked


def test_a_profile_changes_other_queries_and_built_in_similarities_stay(mine: Collection) -> None:
    built_in = {
        (by, i): scores(mine, i, by) for by in ("mine", "words", "holistic", "both") for i in (1, 5)
    }
    mine.profiles.create("other")
    before = {i: scores(mine, i, "default") for i in (5, 6)}
    mine.judge(1, [2, 3], [4, 7])
    assert any(scores(mine, i, "default") != before[i] for i in before)
    assert {key: scores(mine, key[1], key[0]) for key in built_in} == built_in
    # Another profile learned nothing from it.
    assert scores(mine, 1, "other") == built_in["mine", 1]
    assert np.array_equal(weights(mine, "other"), np.ones(WIDTH))


def test_disliked_pictures_come_last_for_that_query_and_profile_only(col: Collection) -> None:
    for by in ("words", "mine", "holistic", "both"):
        col.profiles.create(f"by-{by}", by)
        name = f"by-{by}"
        first = order(col, 1, name)[:2]
        col.judge(1, [], first, profile=name)
        found = col.search(1, k=50, by=name)
        assert {hit.id for hit in found[-2:]} == set(first)
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        # With few places they are not there at all, however alike they are.
        assert not set(first) & {hit.id for hit in col.search(1, k=N - 3, by=name)}
        assert order(col, 2, name)[-2:] != order(col, 1, name)[-2:]
        assert order(col, 1, by)[:2] == first


def test_filters_and_cut_offs_with_disliked_pictures(mine: Collection) -> None:
    for i in (2, 3, 4):
        mine.tag(i, "some")
    mine.judge(1, [], [3])
    assert order(mine, 1, "default", where={"tag": "some"})[-1] == 3
    assert set(order(mine, 1, "default", where={"tag": "some"})) == {2, 3, 4}
    assert len(mine.search(1, k=2, by="default", where={"tag": "some"})) == 2
    best = mine.search(1, k=1, by="default")[0].score
    assert all(hit.score >= best for hit in mine.search(1, by="default", above=best))


def test_the_same_question_finds_its_verdicts_again(col: Collection, tmp_path: Path) -> None:
    """By id, by path, by bytes, by a copy elsewhere; after reopening; for a picture outside too."""
    shutil.copy(inside(1), tmp_path / "copy.png")
    asked = [1, inside(1), str(inside(1)), inside(1).read_bytes(), tmp_path / "copy.png"]
    for by in ("words", "holistic", "both"):
        col.profiles.create(f"by-{by}", by)
        col.judge(1, [5], [2], profile=f"by-{by}")
    answers: dict[str, list[int]] = {}
    with Collection.open(col.root) as again:
        for by in ("words", "holistic", "both"):
            for query in asked:
                # A copy elsewhere finds the picture of the collection too.
                found = [i for i in order(again, query, f"by-{by}") if i != 1]
                assert found[-1] == 2, (by, query)
                assert answers.setdefault(by, found) == found
    before = order(col, outside(0), "both")
    col.judge(outside(0).read_bytes(), [before[5]], [before[0]])
    assert order(col, outside(0), "default")[-1] == before[0]
    assert order(col, outside(1), "default")[-1] != before[0]
    # The other way round: judged by the copy, asked by id.
    col.judge(tmp_path / "copy.png", [6], [3])
    assert order(col, 1, "default")[-1] == 3


def test_a_region_is_another_question(col: Collection) -> None:
    region = (0, 0, 60, 60)
    col.judge(1, [5], [2], region=region)
    whole = Log(col.root).subjects
    assert store_of(col).hash_of(1) not in whole
    assert order(col, 1, "default", region=region)[-1] == 2
    assert order(col, inside(1), "default", region=region)[-1] == 2
    assert order(col, 1, "default", region=(0, 0, 60, 61))[-1] != 2
    assert order(col, 1, "default")[-1] != 2


def test_the_query_part_knows_no_order(col: Collection, tmp_path: Path) -> None:
    """One judgement or several, in any order: the expanded query has the same bits."""

    def answer(root: Path, said: list[tuple[list[int], list[int]]]):
        with Collection.open(root) as c:
            for liked, disliked in said:
                c.judge(1, liked, disliked)
            found = []
            for space in ("words", "mine", "holistic"):
                question = resolve_query(store_of(c), 1, None)
                taught = ProfileReranker(
                    store_of(c), states_of(c), "default", question.key, frozenset({"query"})
                )
                similarity = c.similarities[space]
                found.append(
                    rank(views_of(c), SearchRequest(question, similarity, 50), reranker=taught)
                )
            return found

    ways = [
        [([5, 6, 7], [2, 3])],
        [([7, 5, 6], [3, 2])],
        [([6], [3]), ([7], []), ([5], [2])],
        [([], [2]), ([], [3]), ([5, 7], []), ([6], [])],
        [([2], [5]), ([5, 6, 7], [2, 3])],  # contradicted: the later word counts
    ]
    answers = [answer(copied(tmp_path / str(i)), way) for i, way in enumerate(ways)]
    assert all(found == answers[0] for found in answers[1:])


def test_parts_can_be_measured_apart(mine: Collection) -> None:
    mine.judge(1, [2], [3])
    view = views_of(mine).view("mine")
    plain = view.row_of(1)
    key = resolve_query(store_of(mine), 1, None).key

    def row(parts: set[str], key: bytes | None = key):
        made = ProfileReranker(store_of(mine), states_of(mine), "default", key, parts)
        return made.row(view, plain)

    assert (row(set()) != plain).nnz == 0
    w = weights(mine)
    only_profile = row({"profile"}).toarray()[0]
    assert np.array_equal(only_profile, (plain.toarray()[0] * w).astype(np.float32))
    assert (row({"query"}) != plain).nnz > 0
    assert (row({"query"}, b"another") != plain).nnz == 0


# -- negatives -----------------------------------------------------------------------------------


def test_negatives_are_the_disliked(col: Collection) -> None:
    body = raw(col, col.judge(1, [2], [3, 4], shown=[5, 6, 2, 7]).number)
    assert body["negatives"] == []
    assert body["weight"] == 1.0
    assert images(col, body["disliked"]) == {3, 4}


def test_else_what_was_passed_over(col: Collection) -> None:
    body = raw(col, col.judge(1, [2, 6], shown=[5, 1, 2, 7, 8, 6, 9, 10]).number)
    assert images(col, body["negatives"]) == {5, 7, 8}
    assert body["weight"] == 1.0
    assert body["disliked"] == []


def test_else_a_few_at_random_at_a_quarter(col: Collection) -> None:
    for shown in (None, [], [2, 3, 4], [3, 4]):
        number = col.judge(1, [2], shown=shown).number
        body = raw(col, number)
        drawn = images(col, body["negatives"])
        assert body["weight"] == RANDOM_WEIGHT
        assert 0 < len(drawn) <= N_RANDOM
        assert not drawn & {1, 2}
    # Chosen once and written down: replay draws nothing.
    before = all_weights(col)
    forgotten(col)
    assert same(before, all_weights(col))


def test_a_picture_liked_before_is_not_passed_over(col: Collection) -> None:
    """The second round shows what was liked in the first at the top."""
    first = col.judge(1, [2], [3]).number
    second = col.judge(1, [6], shown=[2, 5, 6]).number
    # The line has both; what counts depends on what stands.
    assert images(col, raw(col, second)["negatives"]) == {2, 5}
    assert negatives(col, second) == {5}
    col.undo(first)
    assert negatives(col, second) == {2, 5}
    for _ in range(5):
        assert not negatives(col, col.judge(1, [7]).number) & {6, 7}
    # Liked later, it was not passed over either; disliked after that, it was.
    col.judge(1, [5])
    assert negatives(col, second) == {2}
    col.judge(1, [], [5])
    assert negatives(col, second) == {2, 5}
    # For another query it may be.
    assert negatives(col, col.judge(8, [6], shown=[2, 5, 6]).number) == {2, 5}


def negatives(col: Collection, number: int) -> set[int]:
    """Pictures a judgement teaches against, as it stands."""
    items = {item.number: item for item in states_of(col).history("default").items}
    return images(col, items[number].negatives)


def test_the_picture_a_region_was_taken_from_is_not_passed_over(col: Collection) -> None:
    """It is the first hit of every region, and nobody clicks on it."""
    region = (0, 0, 60, 60)
    for query in (1, inside(1), inside(1).read_bytes()):
        body = raw(col, col.judge(query, [2], shown=[1, 5, 2], region=region).number)
        assert images(col, body["negatives"]) == {5}
        body = raw(col, col.judge(query, [2], region=region).number)
        assert not images(col, body["negatives"]) & {1, 2}
    # It may be judged all the same.
    col.judge(1, [2], [1], region=region)


def test_only_disliked_makes_the_query_its_own_positive(col: Collection) -> None:
    number = col.judge(1, [], [3]).number
    w = weights(col)
    one, three = rows()[[0]].toarray()[0], rows()[[2]].toarray()[0]
    z = one * (one - three)
    assert (w[z > 1e-6] > 1).all()
    assert (w[z < -1e-6] < 1).all()
    assert (w[z == 0] == 1).all()
    assert raw(col, number)["negatives"] == []


# -- undo, roll-back, contradictions, caps -------------------------------------------------------


def test_undo_is_as_if_it_had_never_been_said(col: Collection) -> None:
    states = [all_weights(col)]
    answers = [order(col, 1, "default")]
    for liked, disliked in (([2], [3]), ([4, 5], [6]), ([], [7])):
        col.judge(1, liked, disliked)
        states.append(all_weights(col))
        answers.append(order(col, 1, "default"))
    for number in (3, 2, 1):
        assert col.undo() == number
        assert same(all_weights(col), states[number - 1])
        assert order(col, 1, "default") == answers[number - 1]
    assert [line.kind for line in col.log.entries()] == ["judge"] * 3 + ["undo"] * 3
    assert [line.stands for line in col.log.entries()] == [False] * 3 + [True] * 3
    assert [line.about for line in col.log.entries()][3:] == [3, 2, 1]


def test_undo_in_the_middle(tmp_path: Path) -> None:
    """Compared with a collection in which it was never said."""
    first = copied(tmp_path / "a")
    with Collection.open(first) as col:
        col.judge(1, [2, 3], [4])
        col.judge(2, [5, 6], [4])
        col.close()
        shutil.copytree(first, tmp_path / "b.lw")
    with Collection.open(first) as col:
        col.judge(1, [6], [5, 2])  # contradicts the first
        col.judge(3, [1], [6])
        col.undo(3)
        found, answer = all_weights(col), order(col, 1, "default")
        forgotten(col)
        assert same(all_weights(col), found)
    with Collection.open(tmp_path / "b.lw") as never:
        assert never.judge(3, [1], [6]).number == 3  # it was line 4 there: numbers do not matter
        assert same(all_weights(never), found)
        assert order(never, 1, "default") == answer


def test_roll_back_and_forward_again(col: Collection) -> None:
    states = {0: all_weights(col)}
    for i in range(2, 7):
        number = col.judge(1, [i], [i + 1]).number
        states[number] = all_weights(col)
    for position in (3, 1, 5, 0, 4):
        col.profiles.roll_back(position)
        assert same(all_weights(col), states[position])
        states[col.profiles.version().position] = states[position]
    # A roll-back is a position as well, and so is what comes after it.
    col.judge(2, [3], [4])
    after = all_weights(col)
    col.profiles.roll_back(8)
    assert same(all_weights(col), states[8])
    col.profiles.roll_back(11)
    assert same(all_weights(col), after)
    # Undo, and redo by rolling back to before it.
    before = col.profiles.version().position
    col.undo()
    col.profiles.roll_back(before)
    assert same(all_weights(col), after)


def test_undo_and_redo_fifty_times_in_a_row(col: Collection) -> None:
    col.judge(1, [2], [3])
    before = all_weights(col)
    for _ in range(50):
        position = col.profiles.version().position
        col.undo()
        col.profiles.roll_back(position)
    assert same(all_weights(col), before)


def test_the_later_of_two_contradicting_judgements_counts(tmp_path: Path) -> None:
    with Collection.open(copied(tmp_path / "a")) as col:
        col.judge(1, [2, 3], [4])
        col.judge(1, [5], [2])
        first, second = col.log.entries()
        assert first.contradicts == ()
        assert second.contradicts == (1,)
        assert first.stands
        assert second.stands
        found = all_weights(col)
        assert order(col, 1, "default")[-2:] in ([2, 4], [4, 2])
    with Collection.open(copied(tmp_path / "b")) as plain:
        plain.judge(1, [3], [4])
        plain.judge(1, [5], [2])
        assert same(all_weights(plain), found)
        assert plain.log.entries()[1].contradicts == ()


def test_one_session_moves_a_word_only_so_far(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return now

    monkeypatch.setattr(log_lines.datetime, "datetime", Clock)
    start = weights(col).copy()
    everything = sorted(set(range(1, N + 1)) - {1})
    for _ in range(15):
        before = weights(col).copy()
        for _ in range(3):
            now += datetime.timedelta(minutes=29)
            before = weights(col).copy()
            col.judge(1, everything[:6], everything[6:])
            assert np.abs(weights(col) - before).max() <= JUDGEMENT_REACH + 1e-12
        assert np.abs(weights(col) - start).max() <= SESSION_REACH + 1e-12
    assert {line.session for line in col.log.entries()} == {1}
    now += datetime.timedelta(minutes=30)
    number = col.judge(1, [2], [3]).number
    assert col.log.entries()[-1].session == number
    # An undo goes on with the session; another profile has sessions of its own.
    now += datetime.timedelta(minutes=20)
    col.undo()
    now += datetime.timedelta(minutes=20)
    col.judge(1, [2], [3])
    assert col.log.entries()[-1].session == number
    col.profiles.create("other")
    assert col.judge(1, [2], [3], profile="other").number == col.log.entries("other")[0].session


# -- state ---------------------------------------------------------------------------------------


def test_checkpoints_change_no_bit(col: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_states, "CHECKPOINT_EVERY", 2)
    for i in range(25):
        # Of those that a profile does not rank by, only weights that were asked for are folded.
        assert all_weights(col)
        # Always the same about a query: a contradiction would begin another history.
        query, *others = (1 + (i + step) % N for step in (0, 1, 3, 4, 7))
        col.judge(query, others[:2], others[2:])
    (kept,) = {
        len(log_tables.checkpoints(store_of(col), name, col.spaces[name].generation))
        for name in SPACES
    }
    assert 3 <= kept <= 8
    for number in (25, 20, 3):
        col.undo(number)
    found = all_weights(col)
    with Collection.open(col.root) as again:
        assert same(all_weights(again), found)
        forgotten(again)
        monkeypatch.setattr(profile_states, "CHECKPOINT_EVERY", 1000)
        assert same(all_weights(again), found)
        for name in SPACES:
            space = again.spaces[name]
            wanted = Log(col.root).weights("default", name, space.generation, space.width)
            assert np.array_equal(found[name], wanted)


def test_a_damaged_checkpoint_only_costs_time(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_states, "CHECKPOINT_EVERY", 1)
    for i in range(2, 6):
        col.judge(1, [i], [i + 1])
    found = all_weights(col)
    for damage in ("substr(state, 1, 40)", "zeroblob(100)", "x''"):
        with store_of(col).write() as c:
            c.execute(f"UPDATE checkpoints SET state = {damage}")
        states_of(col).forget()
        assert same(all_weights(col), found)


def test_a_crash_between_log_and_learning_is_repaired(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.judge(1, [2], [3])

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(profile_states.ProfileStates, "state_now", crash)
        with pytest.raises(KeyboardInterrupt):
            col.judge(2, [4], [5])
    assert [line.number for line in col.log.entries()] == [1, 2]
    with Collection.open(col.root) as again:
        space = again.spaces["mine"]
        wanted = Log(col.root).weights("default", "mine", space.generation, space.width)
        assert np.array_equal(weights(again), wanted)
        assert np.array_equal(weights(col), wanted)


def test_a_fold_that_fails_half_way_leaves_nothing_behind(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.judge(1, [2], [3])
    fold = profile_states.ProfileState.fold

    def fails(self, item, *rest) -> None:
        fold(self, item, *rest)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(profile_states.ProfileState, "fold", fails)
        with pytest.raises(MemoryError):
            col.judge(2, [4], [5])
    space = col.spaces["mine"]
    wanted = Log(col.root).weights("default", "mine", space.generation, space.width)
    assert np.array_equal(weights(col), wanted)


def test_two_processes_judge_at_the_same_time(col: Collection) -> None:
    numbers: list[int] = []
    failures: list[BaseException] = []

    def work(seed: int, own: Collection) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(8):
                query, *others = rng.permutation(np.arange(1, N + 1))[:5].tolist()
                numbers.append(own.judge(query, others[:2], others[2:]).number)
                own.search(query, by="default")
        except BaseException as error:
            failures.append(error)

    with Collection.open(col.root) as other, Collection.open(col.root) as third:
        # Two objects as two processes would have them, one of them used by two threads.
        threads = [
            threading.Thread(target=work, args=(i, own))
            for i, own in enumerate((col, other, other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert sorted(numbers) == list(range(1, 25))
        found = all_weights(col)
        assert same(all_weights(other), found)
        assert same(all_weights(third), found)
        for name in SPACES:
            space = col.spaces[name]
            wanted = Log(col.root).weights("default", name, space.generation, space.width)
            assert np.array_equal(found[name], wanted)
        # One sees at once what the other takes back.
        other.undo()
        assert col.log.entries()[-1].kind == "undo"
        assert same(all_weights(col), all_weights(third))
        with pytest.raises(CollectionError, match="not in effect"):
            col.undo(24)


# -- generations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["refresh", "retrain"])
def test_profiles_are_replayed_before_the_switch(
    col: Collection, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    col.judge(1, [2, 3], [4])
    col.judge(outside(0), [5], [6])
    col.profiles.copy("default", "copy")
    col.judge(2, [7], [8], profile="copy")
    asked = {name: col.similarities[name].figures for name in ("default", "copy")}
    old = col.spaces["words"].generation
    seen: list[tuple[int, int]] = []
    switch = gen.change.switch_generation

    def watch(c, space, number, **rest) -> None:
        rows = c.execute(
            "SELECT count(*) FROM checkpoints WHERE space = ? AND generation = ?", (space, number)
        )
        seen.append((number, rows.fetchone()[0]))
        switch(c, space, number, **rest)

    monkeypatch.setattr(gen.change, "switch_generation", watch)
    if job == "refresh":
        col.refresh()
    else:
        col.retrain(workers=0, seed=5)
    # One for each profile, made while the old generation was still the live one.
    assert seen == [(old + 1, 2)]
    space = col.spaces["words"]
    log = Log(col.root)
    assert set(log.codes) == {("words", old + 1), ("mine", 1), ("holistic", 1)}
    for profile in ("default", "copy"):
        history = states_of(col).history(profile)
        saved = log_tables.checkpoints(store_of(col), "words", space.generation)
        assert saved[history.digests[-1]] == len(history.items)
        wanted = log.weights(profile, "words", space.generation, space.width)
        assert np.array_equal(weights(col, profile, "words"), wanted)
        assert (wanted != 1).any()
        figures = col.similarities[profile].figures
        assert figures is not None
        assert asked[profile] is not None
        assert figures.judgements == asked[profile].judgements
        assert figures.agreement is not None
        assert 0 <= figures.agreement_plain <= 1
    assert order(col, 1, "default")[-1] == 4
    assert order(col, outside(0), "default")[-1] == 6


def test_judgements_before_the_first_words_count_once_there_are_words(tmp_path: Path) -> None:
    for i in range(6):
        write(tmp_path / "p" / f"{i}.png", picture(i))
    with Collection.create(tmp_path / "c.lw", words={"n_words": 40}, deep=False) as col:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adding, "grow_spaces", lambda *_, **__: None)
            col.add(tmp_path / "p", workers=0)
        assert not col.spaces["words"].generation
        col.judge(1, [2], [3])
        col.judge(outside(0), [4], [5])
        assert order(col, 1, "default")[-1] == 3
        col.retrain(workers=0)
        space = col.spaces["words"]
        log = Log(col.root)
        assert space.generation == 1
        assert len(log.codes["words", 1]) == len(log.subjects)
        found = weights(col, space="words")
        assert (found != 1).any()
        assert np.array_equal(found, log.weights("default", "words", 1, space.width))


@pytest.mark.parametrize("job", ["refresh", "retrain"])
def test_pictures_that_left_keep_their_codes(col: Collection, job: str) -> None:
    col.judge(1, [2, 3], [4, 5])
    col.judge(6, [2], [4])
    log = Log(col.root)
    old = col.spaces["words"]
    subject = log.subjects[store_of(col).hash_of(2)]
    before = log.codes["words", old.generation][subject]
    kept = all_weights(col)
    col.remove(2, 4)
    assert same(all_weights(col), kept)
    assert {line.liked for line in col.log.entries()} == {(3,), ()}
    if job == "refresh":
        col.refresh()
    else:
        col.retrain(workers=0, seed=5)
    space = col.spaces["words"]
    log = Log(col.root)
    assert len(log.codes["words", space.generation]) == len(log.subjects)
    after = log.codes["words", space.generation][subject]
    was, now = dense_row(before, old.width), dense_row(after, space.width)
    assert np.linalg.norm(now) == pytest.approx(1, abs=1e-5)
    if job == "refresh":
        # The same words, less those that are in every picture now.
        kept = (was > 0) & (open_idf(col.root, space).idf_ > 0)
        assert np.array_equal(np.flatnonzero(now), np.flatnonzero(kept))
    else:
        # A picture of its own words: it resembles itself, described afresh, more than most others.
        view = views_of(col).view("words")
        fresh = query_row(view, resolve_query(store_of(col), inside(2), None))
        others = [view.row_of(i).toarray()[0] for i in (1, 3, 5, 6, 7, 8, 9, 10)]
        mine_score = float(fresh.toarray()[0] @ now)
        assert mine_score > np.mean([float(fresh.toarray()[0] @ row) for row in others])
    found = weights(col, space="words")
    assert np.array_equal(found, log.weights("default", "words", space.generation, space.width))
    assert (found != 1).any()


def test_refresh_translates_exactly(col: Collection) -> None:
    """Codes of a picture that left and of its twin that stayed are the same after a refresh."""
    col.judge(1, [2], [3])
    space = col.spaces["words"]
    old_bag = open_idf(col.root, space)
    code = Log(col.root).codes["words", 1][Log(col.root).subjects[store_of(col).hash_of(2)]]
    col.remove(13, 14)
    col.refresh()
    now = col.spaces["words"]
    coming = carrying.NextGeneration(space, now, (old_bag, open_idf(col.root, now)))
    code = coming.translate_code(code)
    assert code is not None
    translated = dense_row(code, now.width)
    exact = views_of(col).view("words").row_of(2).toarray()[0]
    keeps = old_bag.idf_ > 0
    if keeps.all():
        np.testing.assert_allclose(translated, exact, atol=1e-6)
    else:
        rest = exact * keeps
        np.testing.assert_allclose(translated, rest / np.linalg.norm(rest), atol=1e-6)


def test_outside_queries_are_described_again_from_their_jpeg(col: Collection) -> None:
    col.judge(outside(0), [2], [3])
    subject = Log(col.root).subjects[digest_of(outside(0).read_bytes())]
    jpeg = log_tables.jpeg_of(store_of(col), subject)
    assert jpeg is not None
    assert jpeg[:2] == b"\xff\xd8"
    assert len(jpeg) < 100_000
    assert (
        log_tables.jpeg_of(store_of(col), Log(col.root).subjects[store_of(col).hash_of(2)]) is None
    )
    col.retrain(workers=0, seed=4)
    space = col.spaces["words"]
    view = views_of(col).view("words")
    expected = SPARSE.pack(query_row(view, resolve_query(store_of(col), jpeg, None)))
    assert Log(col.root).codes["words", space.generation][subject] == expected


def test_a_picture_that_left_and_is_asked_about_from_outside_gets_a_jpeg(col: Collection) -> None:
    col.judge(1, [2], [3])
    subject = Log(col.root).subjects[store_of(col).hash_of(2)]
    col.remove(2)
    col.judge(inside(2), [4], [5])
    assert Log(col.root).subjects[digest_of(inside(2).read_bytes())] == subject
    assert log_tables.jpeg_of(store_of(col), subject) is not None


def test_a_file_that_cannot_be_read_keeps_its_old_code_in_new_words(
    col: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unplugged disk during a retrain must not make a judgement say nothing."""
    write(tmp_path / "more" / "a.png", picture(11)[:90])
    col.add(tmp_path / "more", workers=0)
    image = col.id_of(tmp_path / "more" / "a.png")
    col.judge(1, [image], [3])
    (tmp_path / "more" / "a.png").unlink()
    col.retrain(workers=0, seed=3)
    space = col.spaces["words"]
    log = Log(col.root)
    assert log.codes["words", space.generation][log.subjects[store_of(col).hash_of(image)]]
    assert (weights(col, space="words") != 1).any()


def test_vectors_that_come_after_the_judgement_count(col: Collection) -> None:
    col.judge(1, [2], [3])
    col.judge(1, [4], [5])
    col.spaces.add("late", {"feature": "own", "kind": "sparse"})
    col.spaces.add_vectors("late", [1, 2, 3], rows()[:3])
    log = Log(col.root)
    assert (weights(col, space="late") != 1).any()
    assert np.array_equal(weights(col, space="late"), log.weights("default", "late", 1, WIDTH))
    # One more picture becomes known by being judged again, with a vector this time.
    before = weights(col, space="late").copy()
    col.spaces.add_vectors("late", [4, 5], rows()[3:5])
    with Collection.open(col.root) as other:
        for one in (col, other):
            found = weights(one, space="late")
            assert np.array_equal(found, Log(col.root).weights("default", "late", 1, WIDTH))
            assert not np.array_equal(found, before)


def test_a_space_of_the_same_name_starts_afresh(col: Collection) -> None:
    col.judge(1, [2], [3])
    with Collection.open(col.root) as other:
        for one in (col, other):
            assert len(order(one, 1, "mine")) == N - 1
            assert len(weights(one)) == WIDTH
        col.spaces.drop("mine")
        col.spaces.add("mine", {"feature": "own", "kind": "sparse"})
        col.spaces.add_vectors("mine", [5, 6], np.eye(2, 7))
        for one in (col, other):
            assert order(one, 5, "mine") == [6]
            assert np.array_equal(weights(one), np.ones(7))


# -- races with a job that makes a generation ----------------------------------------------------


def test_a_judgement_made_while_profiles_are_replayed_is_not_lost(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after its codes would have been carried, and before the replay reads the log."""
    col.judge(1, [2], [3])
    replay = carrying.replay
    with Collection.open(col.root) as other:

        def late(*arguments, **named) -> None:
            other.judge(outside(1), [9], [10])
            other.profiles.copy("default", "copy")
            other.judge(4, [8], [11], profile="copy")
            replay(*arguments, **named)

        monkeypatch.setattr(gen, "replay", late)
        col.refresh()
    space = col.spaces["words"]
    log = Log(col.root)
    assert len(log.codes["words", space.generation]) == len(log.subjects)
    for profile in ("default", "copy"):
        wanted = log.weights(profile, "words", space.generation, space.width)
        assert np.array_equal(weights(col, profile, "words"), wanted)
        with Collection.open(col.root) as again:
            assert np.array_equal(weights(again, profile, "words"), wanted)


def test_a_judgement_whose_codes_are_of_the_generation_before_is_written_with_new_ones(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_codes = judge.read_codes
    calls = []
    with Collection.open(col.root) as other:

        def slow(*arguments):
            found = read_codes(*arguments)
            calls.append(found[0]["words"])
            if len(calls) == 1:
                other.refresh()
            return found

        monkeypatch.setattr(judge, "read_codes", slow)
        number = col.judge(outside(0), [2, 4, 5], [3, 6, 7]).number
    assert calls == [1, 2]
    assert [line.number for line in col.log.entries()] == [number]
    log = Log(col.root)
    assert len(log.codes["words", 2]) == 7
    assert np.array_equal(
        weights(col, space="words"), log.weights("default", "words", 2, col.spaces["words"].width)
    )
    assert (weights(col, space="words") != 1).any()


def test_a_judgement_made_while_the_first_words_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(6):
        write(tmp_path / "p" / f"{i}.png", picture(i))
    with Collection.create(tmp_path / "c.lw", words={"n_words": 40}, deep=False) as col:
        with monkeypatch.context() as patch:
            patch.setattr(adding, "grow_spaces", lambda *_, **__: None)
            col.add(tmp_path / "p", workers=0)
        read_codes = judge.read_codes
        with Collection.open(col.root) as other:

            def slow(*arguments):
                found = read_codes(*arguments)
                if not other.spaces["words"].generation:
                    other.retrain(workers=0)
                return found

            monkeypatch.setattr(judge, "read_codes", slow)
            # Each picture once the nearer and once the farther one: one of the two teaches.
            col.judge(1, [2], [3])
            col.judge(2, [3], [1])
            col.judge(3, [1], [2])
        log = Log(col.root)
        assert len(log.codes["words", 1]) == 3
        assert (weights(col, space="words") != 1).any()


def test_endless_new_words_end_in_a_clear_refusal(
    col: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_codes = judge.read_codes
    with Collection.open(col.root) as other:

        def slow(*arguments):
            found = read_codes(*arguments)
            other.refresh()
            return found

        monkeypatch.setattr(judge, "read_codes", slow)
        with pytest.raises(CollectionError, match="try again"):
            col.judge(1, [2], [3])
    assert col.log.entries() == []
    assert Log(col.root).subjects == {}


# -- profiles ------------------------------------------------------------------------------------


def test_a_copy_goes_its_own_way(col: Collection) -> None:
    col.judge(1, [2], [3])
    col.judge(2, [4], [5])
    col.profiles.copy("default", "copy")
    base = all_weights(col)
    assert same(all_weights(col, "copy"), base)
    col.judge(1, [6], [7], profile="copy")
    assert same(all_weights(col), base)
    assert not same(all_weights(col, "copy"), base)
    ahead = all_weights(col, "copy")
    col.judge(1, [8], [9])
    col.undo(1)
    assert same(all_weights(col, "copy"), ahead)
    # What it inherited can be taken back in the copy alone.
    other = all_weights(col)
    col.undo(2, profile="copy")
    assert same(all_weights(col), other)
    col.profiles.roll_back(0, profile="copy")
    assert same(all_weights(col, "copy"), base)
    assert col.undo(profile="copy") == 2
    assert col.undo(profile="copy") == 1
    with pytest.raises(CollectionError, match="no judgement to take back"):
        col.undo(profile="copy")
    # A copy of a copy, and of a profile that was rolled back.
    col.profiles.copy("copy", "third")
    assert same(all_weights(col, "third"), all_weights(col, "copy"))
    assert np.array_equal(weights(col, "third"), np.ones(WIDTH))


def test_similarities_have_figures(mine: Collection) -> None:
    mine.profiles.create("empty", "words")
    for i in range(2, 8):
        mine.judge(1, [i], [i + 1])
    known = mine.similarities
    assert {"words", "holistic", "both", "mine", "default", "empty"} <= set(known)
    assert known["words"].figures is None
    figures = known["default"].figures
    assert figures.judgements == 6
    assert figures.space == "mine"
    assert figures.changed == float(np.mean(weights(mine) != 1))
    assert 0 < figures.changed <= 1
    assert figures.sparsity == 0
    assert 0 <= figures.agreement <= 1
    assert known["empty"].figures.judgements == 0
    assert known["empty"].figures.agreement is None


def test_use_a_profile_and_go_back(mine: Collection) -> None:
    mine.judge(1, [2], [3])
    before = scores(mine, 1, "default")
    mine.profiles.create("alice", "mine")
    mine.use("alice")
    assert mine.profiles.version().profile == "alice"
    assert scores(mine, 1, "default") == scores(mine, 1, "mine")
    number = mine.judge(1, [4], [5]).number
    assert [line.number for line in mine.log.entries("alice")] == [number]
    assert mine.similarities["default"].profile == "alice"
    with Collection.open(mine.root) as again:
        assert again.profiles.version().profile == "alice"
    mine.use("default")
    assert mine.profiles.version().profile == "default"
    assert scores(mine, 1, "default") == before
    with pytest.raises(CollectionError, match="no similarity 'bob'"):
        mine.use("bob")


def test_export_and_import_give_the_same_weights(col: Collection, tmp_path: Path) -> None:
    col.judge(1, [2, 3], [4])
    col.judge(5, [6], [7])
    file = col.profiles.export(tmp_path / "taste.lwp")
    assert col.profiles.load(file, "again") == "again"
    assert same(all_weights(col), all_weights(col, "again"))
    # Verdicts about a query are no part of it: another collection has other pictures.
    assert order(col, 1, "again")[-1] != order(col, 1, "default")[-1]
    assert [line.kind for line in col.log.entries("again")] == ["weights"]
    # It goes on learning, and what it began with stays when that is taken back.
    col.judge(1, [8], [9], profile="again")
    assert not same(all_weights(col), all_weights(col, "again"))
    col.undo(profile="again")
    assert same(all_weights(col), all_weights(col, "again"))
    with pytest.raises(CollectionError, match="no judgement to take back"):
        col.undo(profile="again")
    forgotten(col)
    assert same(all_weights(col), all_weights(col, "again"))
    # Into another collection with the same words, by a copy of the folder.
    with Collection.open(copied(tmp_path / "other")) as other:
        assert other.profiles.load(file, "taste") == "taste"
        assert same(all_weights(other, "taste"), all_weights(col))
    col.refresh()
    assert np.array_equal(weights(col, "again"), weights(col))
    col.retrain(workers=0, seed=2)
    found = weights(col, "again", "words")
    assert len(found) == col.spaces["words"].width
    assert (found != 1).any()


def _edited(file: Path, change) -> Path:
    meta, arrays = open_arrays(file, profile_files._KIND)
    made = {name: np.array(array) for name, array in arrays.items()}
    change(meta, made)
    edited = file.with_name("edited.lwp")
    save_arrays(edited, profile_files._KIND, meta, made)
    return edited


@pytest.mark.parametrize(
    "change",
    [
        lambda m, a: a["mine/weights"].__setitem__(0, -0.1),
        lambda m, a: a["mine/weights"].__setitem__(0, np.nan),
        lambda m, a: a["mine/weights"].__setitem__(0, np.inf),
        lambda m, a: a["mine/weights"].__setitem__(0, 1e60),
        lambda m, a: a["mine/words"].__setitem__(-1, WIDTH),
        lambda m, a: a["mine/words"].__setitem__(0, -1),
        lambda m, a: a["mine/words"].__setitem__(1, a["mine/words"][0]),
        lambda m, a: a.update({"mine/words": a["mine/words"][:-1]}),
        lambda m, a: a.update({"mine/words": a["mine/words"] + 0.5}),
        lambda m, a: a.update({name: array[None] for name, array in a.items()}),
        lambda m, a: a.pop("mine/words"),
        lambda m, a: m["spaces"]["mine"].update(start="twos"),
        lambda m, a: m["spaces"].update(mine={}),
        lambda m, a: m["spaces"].update(mine=3),
        lambda m, a: m.update(spaces=[1]),
        lambda m, a: m.pop("spaces"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_whole(
    col: Collection, tmp_path: Path, change
) -> None:
    col.judge(1, [2, 3], [4])
    file = _edited(col.profiles.export(tmp_path / "taste.lwp"), change)
    revision = store_of(col).revision
    with pytest.raises(DamagedFile):
        col.profiles.load(file, "again")
    assert store_of(col).revision == revision
    assert set(log_tables.profiles(store_of(col))) == {"default"}


def test_imports_that_must_fail(col: Collection, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="learned nothing yet"):
        col.profiles.export(tmp_path / "nothing.lwp")
    col.judge(1, [2, 3], [4])
    file = col.profiles.export(tmp_path / "taste.lwp")
    with pytest.raises(CollectionError, match="already"):
        col.profiles.load(file)  # its name is default, and that is taken
    for name in ("words", "both", "default"):
        with pytest.raises(CollectionError, match="already"):
            col.profiles.load(file, name)
    with pytest.raises(InvalidInput, match="no name for a profile"):
        col.profiles.load(file, "a b")
    with pytest.raises(CollectionError, match="cannot be read"):
        col.profiles.load(tmp_path / "none.lwp", "x")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "flipped.lwp").write_bytes(content)
    (tmp_path / "short.lwp").write_bytes(file.read_bytes()[:-7])
    (tmp_path / "no.lwp").write_bytes(b"not a profile at all")
    for broken in ("flipped", "short", "no"):
        with pytest.raises(LikewiseError):
            col.profiles.load(tmp_path / f"{broken}.lwp", "x")
    other = _edited(file, lambda m, a: (m.update(spaces={"nowhere": {}}), a.clear()))
    with pytest.raises(CollectionError, match="for no space of this collection"):
        col.profiles.load(other, "x")
    col.retrain(workers=0, seed=6)
    with pytest.raises(CollectionError, match="other words"):
        col.profiles.load(file, "x")
    assert set(log_tables.profiles(store_of(col))) == {"default"}


@pytest.mark.parametrize("base", ["words", "mine"])
def test_a_compacted_index_answers_alike_and_learns_on(base: str, tmp_path: Path) -> None:
    """Words that were dropped may come back by a judgement, and frequencies stay the full ones."""
    answers = []
    for compacted in (False, True):
        home = tmp_path / str(compacted)
        with Collection.open(copied(home)) as c:
            space = c.spaces[base]
            kept = np.arange(0, space.width, 2)
            given = ImportedWeights("zeros", kept, np.ones(len(kept)))
            whole = {base: (space.generation, given)}
            profile_files.put_weights(store_of(c), "thin", base, whole, {})
            found = []

            def look(c=c, found=found) -> None:
                found.extend(
                    [(hit.id, round(hit.score, 6)) for hit in c.search(i, k=50, by="thin")]
                    for i in (1, 2, 5)
                )

            if compacted:
                done = c.profiles.compact("thin")
                assert done.postings_after < done.postings_before
            look()
            c.judge(1, [2, 3], [4], profile="thin")
            look()
            assert (weights(c, "thin", base) != 0).sum() > len(kept)
            c.remove(3)
            look()
            c.undo(profile="thin")
            look()
            assert c.verify() == []
            answers.append(found)
    assert answers[0] == answers[1]


# -- what is refused -----------------------------------------------------------------------------


def test_judgements_that_are_refused(col: Collection, tmp_path: Path) -> None:
    shutil.copy(inside(1), tmp_path / "copy.png")
    (tmp_path / "text.png").write_text("no picture")
    revision = store_of(col).revision
    refused = [
        ((1,), {}, InvalidInput, "nothing was judged"),
        ((1, [], []), {"shown": [2, 3]}, InvalidInput, "nothing was judged"),
        ((1, [2, 3], [3]), {}, InvalidInput, "both liked and disliked"),
        ((1, [1], [3]), {}, InvalidInput, "the query itself"),
        ((1, [2], [inside(1)]), {}, InvalidInput, "the query itself"),
        ((tmp_path / "copy.png", [1]), {}, InvalidInput, "the query itself"),
        ((1, [99]), {}, UnknownPicture, "no picture with id 99"),
        ((99, [1]), {}, UnknownPicture, "no picture with id 99"),
        ((1, [outside(0)]), {}, UnknownPicture, "not in the collection"),
        ((1, [2]), {"shown": [99]}, UnknownPicture, "no picture with id 99"),
        ((1, "2"), {}, InvalidInput, "a list of pictures expected"),
        ((1, [2], 3), {}, InvalidInput, "a list of pictures expected"),
        ((1, [2]), {"shown": inside(3)}, InvalidInput, "a list of pictures expected"),
        ((1, [True]), {}, LikewiseError, "."),
        ((rows()[[0]], [2]), {}, InvalidInput, "a vector cannot be judged"),
        ((np.ones(WIDTH), [2]), {}, InvalidInput, "a vector cannot be judged"),
        ((tmp_path / "text.png", [2]), {}, LikewiseError, "."),
        ((tmp_path / "none.png", [2]), {}, LikewiseError, "."),
        ((1, [2]), {"profile": "nobody"}, CollectionError, "no profile 'nobody'"),
        ((1, [2]), {"region": (500, 500, 5, 5)}, InvalidInput, "region"),
    ]
    for arguments, named, kind, text in refused:
        with pytest.raises(kind, match=text):
            col.judge(*arguments, **named)
    assert store_of(col).revision == revision
    assert col.log.entries() == []


def test_undo_and_roll_back_that_are_refused(col: Collection) -> None:
    with pytest.raises(CollectionError, match="no judgement to take back"):
        col.undo()
    with pytest.raises(CollectionError, match="not in effect"):
        col.undo(1)
    with pytest.raises(CollectionError, match="no version 1"):
        col.profiles.roll_back(1)
    col.judge(1, [2], [3])
    col.profiles.create("other")
    col.judge(1, [2], [3], profile="other")
    assert col.undo(np.int64(1)) == 1
    revision = store_of(col).revision
    for judgement, text in ((1, "not in effect"), (2, "not in effect"), (3, "not in effect")):
        with pytest.raises(CollectionError, match=text):
            col.undo(judgement)
    for bad in (True, "1", 1.5, -1):
        with pytest.raises(InvalidInput, match="whole number"):
            col.undo(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="whole number"):
            col.profiles.roll_back(bad)  # type: ignore[arg-type]
    # 2 is a line of another profile's log, 4 is not there yet.
    for position in (2, 4):
        with pytest.raises(CollectionError, match=f"no version {position}"):
            col.profiles.roll_back(position)
    for call in (
        col.undo, lambda **k: col.profiles.roll_back(0, **k), col.profiles.version, col.log.entries
    ):  # fmt: skip
        with pytest.raises(CollectionError, match="no profile 'nobody'"):
            call(profile="nobody")
    assert store_of(col).revision == revision
    col.profiles.roll_back(np.int64(1))
    assert col.log.entries()[-1].about == 1


def test_names_that_are_refused(col: Collection) -> None:
    col.profiles.create("alice")
    revision = store_of(col).revision
    for name in ("alice", "default", "words", "mine", "both"):
        with pytest.raises(CollectionError, match="already"):
            col.profiles.create(name)
        with pytest.raises(CollectionError, match="already"):
            col.profiles.copy("default", name)
    for bad in ("", "a b", "../x", "x" * 41, 5, None):
        with pytest.raises(InvalidInput, match="no name for a profile"):
            col.profiles.create(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="no name for a profile"):
            col.profiles.copy("default", bad)  # type: ignore[arg-type]
    for base in ("nothing", "alice", "default"):
        with pytest.raises(CollectionError, match="no built-in similarity"):
            col.profiles.create("bob", base)
    with pytest.raises(CollectionError, match="no profile 'nobody'"):
        col.profiles.copy("nobody", "bob")
    assert store_of(col).revision == revision
    with pytest.raises(CollectionError, match="already"):
        col.spaces.add("alice", {"feature": "own"})


def test_an_explanation_counts_as_the_profile_counts(col: Collection) -> None:
    """The words that are said to matter add up to the score that ranked."""
    col.profiles.create("taste", "words")
    other = next(h.id for h in col.search(1, k=N, by="words"))
    plain = col.explain(1, other, top=10_000, by="words")
    assert col.explain(1, other, top=10_000, by="taste").score == plain.score
    worst = [h.id for h in col.search(1, k=N, by="words")][-1]
    col.judge(1, [other], [worst], profile="taste")
    learned = col.explain(1, other, top=10_000, by="taste")
    scores = {h.id: h.score for h in col.search(1, k=N, by="taste")}
    assert learned.score == pytest.approx(scores[other], abs=1e-5)
    assert sum(w.contribution for w in learned.words) == pytest.approx(learned.score, abs=1e-5)
    assert learned.score != pytest.approx(plain.score, abs=1e-3)
