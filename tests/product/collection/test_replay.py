"""An old line among many is taken back: searches go on with the state of before, and say so.

A gate holds what is folded beside, so that a test sees the moment in between as long as it likes.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from likewise.catalog import log_tables
from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from likewise.learning import profile_states, replay
from likewise.learning.fold import ProfileState
from tests.product.collection.loop_cases import SPACES, N, col, rows, weights
from tests.product.collection.loop_reference import Log
from tests.product.private import states_of, store_of

__all__ = ["col"]
LINES = 24


class Gate:
    """Open, it lets everything through; closed, what is folded beside waits after an item."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.reached = threading.Event()
        self._after = 0
        self._passed: Counter[str] = Counter()

    def __call__(self) -> None:
        name = threading.current_thread().name
        self._passed[name] += 1
        if self._passed[name] > self._after:
            if name.endswith("mine"):
                self.reached.set()
            assert self._open.wait(60)

    def close(self, *, after: int = 0) -> None:
        """From ``after`` items on, in every space."""
        self._after = after
        self._passed.clear()
        self.reached.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(replay, "_let_others_run", made)
    monkeypatch.setattr(replay, "STRETCH", 3)
    monkeypatch.setattr(profile_states, "AT_ONCE", 8)
    monkeypatch.setattr(profile_states, "CHECKPOINT_EVERY", 4)
    yield made
    made.open()


def judge_much(col: Collection, n: int = LINES) -> None:
    """Judgements of which none contradicts another, by which every search of ``mine`` changes."""
    col.use("mine")
    for i in range(n):
        query, *others = (1 + (i + step) % N for step in (0, 1, 3, 4, 7))
        col.judge(query, others[:2], others[2:])


def wanted(col: Collection, profile: str = "default") -> np.ndarray:
    space = col.spaces["mine"]
    return Log(col.root).weights(profile, "mine", space.generation, space.width)


def test_the_old_answer_meanwhile_and_the_right_one_afterwards(
    col: Collection,
    gate: Gate,
) -> None:
    judge_much(col)
    before, ranked = weights(col), [(hit.id, hit.score) for hit in col.search(5, by="default")]
    gate.close()
    col.undo(2)
    assert col.log.entries()[-1].kind == "undo"
    hits = col.search(5, by="default")
    # Everything but the first line is to be folded again, and nothing of it is yet.
    assert LINES - 4 <= hits.behind <= LINES
    assert [(hit.id, hit.score) for hit in hits] == ranked
    assert np.array_equal(weights(col), before)
    assert col.profiles.behind() == hits.behind
    gate.open()
    col.profiles.settle()
    assert col.search(5, by="default").behind == 0
    assert np.array_equal(weights(col), wanted(col))
    assert not np.array_equal(weights(col), before)


def test_what_was_said_about_the_query_itself_counts_at_once(
    col: Collection,
    gate: Gate,
) -> None:
    judge_much(col)
    liked, disliked = col.log.verdicts(1)
    gate.close()
    # The opposite of the first judgement: nearly everything changes behind it.
    made = col.judge(1, disliked[:1], liked[:1])
    assert made.contradicts
    hits = col.search(1, by="default", k=N)
    assert hits.behind
    assert hits[-1].id in {*disliked[1:], liked[0]}
    assert col.log.verdicts(1) == (
        sorted({*liked[1:], disliked[0]}),
        sorted({*disliked[1:], liked[0]}),
    )
    gate.open()
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))


def test_a_process_that_comes_in_the_middle_answers_as_before(
    col: Collection,
    gate: Gate,
) -> None:
    judge_much(col)
    before = weights(col)
    gate.close()
    col.undo(2)
    assert gate.reached.wait(60)
    with Collection.open(col.root) as other:
        hits = other.search(5, by="default")
        assert hits.behind
        assert np.array_equal(weights(other), before)
        gate.open()
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))


def test_something_older_is_taken_back_meanwhile(col: Collection, gate: Gate) -> None:
    judge_much(col)
    gate.close(after=2 * replay.STRETCH)
    col.undo(9)
    assert gate.reached.wait(60)
    col.undo(3)
    col.judge(4, [9], [12])
    gate.open()
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))


def test_a_state_is_kept_under_no_other_history(col: Collection, gate: Gate) -> None:
    """What is folded beside may belong to a past that was changed in this very moment."""
    judge_much(col, 4)
    states, space = states_of(col), col.spaces["mine"]
    history, state = states.history("default"), states.wait_for_state("default", space)
    col.judge(1, [9], [12])
    col.undo(1)
    history.update()
    names = set(log_tables.checkpoints(store_of(col), "mine", space.generation))
    for digest in (b"another", None):
        state.n_items = 3
        states.checkpoint(space, history, state, digest=digest)
        kept = set(log_tables.checkpoints(store_of(col), "mine", space.generation)) - names
        assert bool(kept) == (digest is None)


def test_a_late_vector_is_learned_beside_too(col: Collection, gate: Gate) -> None:
    """The answer of before serves until then, and is never taken for the one of now."""
    col.spaces.add("late", {"feature": "own", "kind": "sparse"})
    col.spaces.add_vectors("late", range(1, N), rows(N - 1, seed=1))
    judge_much(col)
    col.judge(1, [N], [3])
    space = col.spaces["late"]
    before = weights(col, space="late")
    gate.close()
    col.spaces.add_vectors("late", [N], rows(1, seed=2))
    found, behind = states_of(col).weights_now("default", space)
    assert behind
    assert np.array_equal(found, before)
    gate.open()
    col.profiles.settle()
    due = Log(col.root).weights("default", "late", space.generation, space.width)
    assert np.array_equal(weights(col, space="late"), due)
    assert not np.array_equal(due, before)


def test_what_comes_back_ends_it(
    col: Collection,
    gate: Gate,
) -> None:
    judge_much(col)
    before, version = weights(col), col.profiles.version().position
    gate.close()
    col.undo(2)
    assert col.search(5, by="default").behind
    col.profiles.roll_back(version)
    assert col.search(5, by="default").behind == 0
    assert np.array_equal(weights(col), before)
    assert np.array_equal(before, wanted(col))


def test_how_far_it_came_is_kept(
    col: Collection,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge_much(col)
    monkeypatch.setattr(replay, "KEEP_STOPPED", 1)
    gate.close(after=3 * replay.STRETCH)
    col.undo(2)
    assert gate.reached.wait(60)
    threading.Timer(0.1, gate.open).start()
    states_of(col).close()
    saved = log_tables.checkpoints(store_of(col), "mine", col.spaces["mine"].generation)
    digests = states_of(col).history("default").digests
    came = max(saved[key] for key in digests if key in saved)
    assert came >= 3 * replay.STRETCH
    with Collection.open(col.root) as again:
        folded: list[int] = []
        fold = ProfileState.fold

        def watched(self, item, *rest) -> None:
            folded.append(item.number)
            fold(self, item, *rest)

        monkeypatch.setattr(ProfileState, "fold", watched)
        space = again.spaces["mine"]
        assert np.array_equal(
            states_of(again).wait_for_state("default", space).weights, wanted(col)
        )
        assert 0 < len(folded) <= LINES - 1 - came


def test_closing_ends_it(col: Collection, gate: Gate) -> None:
    judge_much(col)
    with Collection.open(col.root) as other:
        gate.close()
        other.undo(2)
        assert gate.reached.wait(60)
        threading.Timer(0.1, gate.open).start()
    assert not [one for one in threading.enumerate() if one.name.startswith("replay")]
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))


def test_closing_waits_for_one_that_has_only_a_checkpoint_to_write(
    col: Collection,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is in use already, and still needs the store: to close it then would be the end of all."""
    judge_much(col)
    writing, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    checkpoint = profile_states.ProfileStates.checkpoint

    def slowly(self, *given, **more) -> None:
        if threading.current_thread().name.startswith("replay") and more.get("complete", True):
            writing.set()
            assert go_on.wait(60)
            checkpoint(self, *given, **more)
            ended.set()
            return
        checkpoint(self, *given, **more)

    monkeypatch.setattr(profile_states.ProfileStates, "checkpoint", slowly)
    with Collection.open(col.root) as other:
        other.undo(2)
        assert writing.wait(60)
        threading.Timer(0.2, go_on.set).start()
    assert ended.is_set()


def test_a_fold_that_fails_beside_is_told(
    col: Collection,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge_much(col)
    with monkeypatch.context() as patch:

        def fails(*_: object) -> None:
            raise MemoryError("no memory for this")

        patch.setattr(replay, "_let_others_run", fails)
        col.undo(2)
        for name in SPACES:
            with pytest.raises(MemoryError, match="no memory for this"):
                states_of(col).wait_for_state("default", col.spaces[name])
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))


def test_a_collection_that_cannot_be_written_is_folded_too(
    col: Collection,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    judge_much(col)
    with store_of(col).write() as c:
        c.execute("DELETE FROM checkpoints")
    with Collection.open(col.root) as other:
        monkeypatch.setattr(store_of(other).catalog, "read_only", True)
        hits = other.search(5, by="default")
        assert hits.behind == LINES
        other.profiles.settle()
        assert np.array_equal(weights(other), wanted(col))
        assert not log_tables.checkpoints(store_of(other), "mine", other.spaces["mine"].generation)


def test_threads_that_judge_undo_and_search_at_once(
    col: Collection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever meets whatever, an answer that says nothing is right, and so is all that is kept."""
    monkeypatch.setattr(replay, "STRETCH", 2)
    monkeypatch.setattr(replay, "KEEP_EVERY", 3)
    monkeypatch.setattr(profile_states, "AT_ONCE", 2)
    monkeypatch.setattr(profile_states, "CHECKPOINT_EVERY", 3)
    judge_much(col, 12)
    failed: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(12):
                query, liked, disliked = rng.sample(range(1, N + 1), 3)
                what = rng.random()
                if what < 0.4:
                    col.judge(query, [liked], [disliked])
                elif what < 0.7:
                    standing = [one.number for one in col.log.entries() if one.stands]
                    with suppress(CollectionError):  # another thread was faster
                        col.undo(rng.choice(standing))
                else:
                    col.search(query, by="default")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
        assert not one.is_alive(), "two threads wait for each other"
    assert failed == []
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))
    # From what was kept alone, whichever of it fits.
    states_of(col).forget()
    col.profiles.settle()
    assert np.array_equal(weights(col), wanted(col))
    assert col.verify() == []
