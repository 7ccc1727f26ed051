"""What was learned, ready for a search: weights of a profile, verdicts about a query.

State in memory is a cache of the fold over the log; any process can make it again.  It goes on
from the longest beginning it has: what is in memory, else the nearest checkpoint that fits, else
the first judgement.  Where that is far from the end (an old line was taken back), it is folded
beside (:mod:`~likewise.learning.replay`), and searches get the state of before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.jobs import Progress, Report, silent
from likewise.catalog.store import SpaceRow, Store, Transaction
from likewise.errors import DamagedCollection
from likewise.learning.fold import ProfileState
from likewise.learning.history import COMPARE, JUDGE, History, Item
from likewise.learning.pair_fold import PairFigures, PairFold
from likewise.learning.pair_index import Verdicts
from likewise.learning.replay import Replay
from likewise.search.similarities import DEFAULT, Figures, built_in_similarities
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces
from likewise_methods.spaces import LocalMetric

CHECKPOINT_EVERY = 200
"""Judgements between two checkpoints."""
AT_ONCE = 500
"""Items that a search or a judgement waits for, about half a second; more are folded beside."""
MANY = 64
"""Checkpoints of a space beyond which those that fit no profile any more are dropped."""
_CHUNK = 500
_TICK = 0.5


class CachedState(NamedTuple):
    """A state in memory; ``made_in`` is the generation and how often its codes were filled in."""

    made_in: tuple[int, int]
    digest: bytes
    state: ProfileState


class Answer(NamedTuple):
    """A state to rank by, and how many items are still to be folded before it is the right one.

    ``behind`` is 0 for the fold of everything that stands; else the state is that of before, or of
    a beginning.
    """

    state: ProfileState
    behind: int = 0


class ProfileStates:
    """The learned state of a collection, brought up to date when it is asked for.

    ``upto`` is the last line of the log that counts; None: all there are and will be.  A look back
    waits for what it asks.
    """

    def __init__(self, store: Store, upto: int | None = None) -> None:
        self._store = store
        self._upto = upto
        self.lock = threading.RLock()
        self._histories: dict[str, History] = {}
        # Profile and space: what it was folded in, digest of what is folded, the state.
        self._states: dict[tuple[str, str], CachedState] = {}
        self._metrics: dict[tuple[str, str], PairFold] = {}
        self._replays: dict[tuple[str, str], Replay] = {}
        # Also those that are wanted no more, or only have a checkpoint to write: until they have
        # ended they use the store.
        self._begun: list[Replay] = []

    def history(self, profile: str) -> History:
        """The up-to-date history of a profile."""
        with self.lock:
            found = self._histories.get(profile)
            if found is None:
                found = History(self._store, profile, self._upto)
            found.update()
            self._histories[profile] = found
            return found

    def forget(self) -> None:
        """Drop what is in memory; it is folded again when wanted."""
        with self.lock:
            for running in self._replays.values():
                running.stop()
            self._replays.clear()
            self._histories.clear()
            self._states.clear()
            self._metrics.clear()

    def close(self) -> None:
        """End what is folded beside; how far it came is kept."""
        with self.lock:
            begun, self._begun = self._begun, []
            self._replays.clear()
        for one in begun:
            one.join()

    def weights(self, profile: str, space: SpaceRow) -> NDArray[np.float64] | None:
        """One weight a word; None where nothing was learned, so that all count alike."""
        return self.weights_now(profile, space)[0]

    def weights_now(self, profile: str, space: SpaceRow) -> tuple[NDArray[np.float64] | None, int]:
        """The weights to rank by, and how many items they are behind."""
        if not space.row_format.learns_weights:
            return None, 0
        with self.lock:
            if not self.history(profile).items:
                return None, 0
            found = self.answer(profile, space)
        return found.state.weights, found.behind

    def metric(self, profile: str, space: Space) -> LocalMetric | None:
        """What judged pairs teach a space around each query; None where nothing was learned."""
        if not (space.learns_pairs and space.generation):
            return None
        metric = self._pair_fold(profile, space).metric
        return metric if len(metric) else None

    def pair_figures(self, profile: str, space: Space) -> PairFigures | None:
        """What that amounts to; None where nothing was learned."""
        with self.lock:
            if self.metric(profile, space) is None:
                return None
            return self._pair_fold(profile, space).figures()

    def figures(self, profile: str, space: Space | None) -> Figures:
        """Sum up a profile in the space that it is taught in."""
        with self.lock:
            history = self.history(profile)
            judgements = sum(item.kind in (JUDGE, COMPARE) for item in history.items)
        if space is None:
            return Figures(judgements)
        if space.learns_pairs:
            return self._figures_of_pairs(judgements, profile, space)
        if not history.items:
            return Figures(judgements, space=space.name)
        state = self.answer(profile, space).state
        asked = state.asked
        return Figures(
            judgements,
            state.agreed / asked if asked else None,
            state.agreed_plain / asked if asked else None,
            float(np.mean(state.weights != state.start_weight)),
            float(np.mean(state.weights == 0)),
            space.name,
            asked,
            gains=state.gains,
        )

    def _figures_of_pairs(self, judgements: int, profile: str, space: Space) -> Figures:
        found = self.pair_figures(profile, space)
        made = Figures(judgements, space=space.name, units="directions")
        if found is None:
            return made
        made = replace(made, changed=found.changed)
        if found.agreement is None:
            return made
        learned, plain, asked = found.agreement
        return replace(
            made, agreement=learned, agreement_plain=plain, triplets=asked, gains=found.gains
        )

    def ask(self, profile: str, space: Space, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """A query's row in a dense space as judged pairs ask it.

        Under the lock: a judgement in another thread changes the lessons.
        """
        with self.lock:
            metric = self.metric(profile, space)
            return row if metric is None else metric.ask(row)

    def ask_parts(
        self,
        profile: str,
        space: Space,
        row: NDArray[np.float32],
        parts: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """What parts that add up to a query's row add to what :meth:`ask` makes of it."""
        with self.lock:
            metric = self.metric(profile, space)
            return parts if metric is None else metric.ask_parts(row, parts)

    def _pair_fold(self, profile: str, space: Space) -> PairFold:
        with self.lock:
            history = self.history(profile)
            key, made_in = (profile, space.name), self.conditions(space)
            kept = self._metrics.get(key)
            if kept is None or kept.made_in != made_in:
                kept = PairFold(made_in, LocalMetric(space.width, space.pair_scale()))
            # Taken out while it changes: a fold that fails must not leave half of itself behind.
            self._metrics.pop(key, None)
            kept.update(self._store, space, history)
            self._metrics[key] = kept
            return kept

    def state(self, profile: str, space: SpaceRow, report: Report = silent) -> ProfileState:
        """The fold of everything that stands, in one sparse space, however long it takes.

        Not to be called with the lock held: what is folded beside needs it.
        """
        while True:
            with self.lock:
                found = self.answer(profile, space)
                running = self._replays.get((profile, space.name))
            if running is None:
                return found.state
            while not running.wait(_TICK):
                done = running.folded
                report(Progress("learning judgements", done, done + self._left(running)))

    def answer(self, profile: str, space: SpaceRow) -> Answer:
        """What can be ranked by now: the fold of everything that stands, where little is missing.

        Else the state of before, while the rest is folded beside.
        """
        with self.lock:
            history = self.history(profile)
            key, made_in = (profile, space.name), self.conditions(space)
            running = self._running(key, history, made_in)
            if running is not None:
                return Answer(running.before, self._left(running))
            # Taken out while it changes: a fold that fails must not leave half of itself behind.
            kept = self._states.pop(key, None)
            state = self._begin(space, history, kept, made_in)
            if self._upto is None and len(history.items) - state.n_items > AT_ONCE:
                before, digest = self._before(space, history, state, kept, made_in)
                running = Replay(self, profile, space, made_in, state, before, digest)
                self._replays[key] = running
                self._begun = [one for one in self._begun if not one.is_over] + [running]
                running.start()
                return Answer(before, self._left(running))
            for stop in checkpoint_stops(state.n_items, len(history.items)):
                done = state.n_items
                self.fold(state, space, history, stop)
                if stop // CHECKPOINT_EVERY > done // CHECKPOINT_EVERY:
                    self.checkpoint(space, history, state, made_in)
            self._states[key] = CachedState(made_in, history.digests[-1], state)
            return Answer(state)

    # -- folded beside ------------------------------------------------------------------------

    def _running(
        self, key: tuple[str, str], history: History, made_in: tuple[int, int]
    ) -> Replay | None:
        """What is folded beside for a profile in a space, if it is still wanted."""
        running = self._replays.get(key)
        if running is None:
            return None
        if running.error is not None:
            del self._replays[key]
            raise running.error
        if running.is_over or running.made_in != made_in:
            running.stop()
            del self._replays[key]
            # An old answer is still one.
            kept = CachedState(running.made_in, running.before_digest, running.before)
            self._states.setdefault(key, kept)
            return None
        n = running.before.n_items
        near = len(history.items) - n <= AT_ONCE
        if near and history.digests[n : n + 1] == [running.before_digest]:
            # What was taken back came back: the state of before goes on.
            running.stop()
            del self._replays[key]
            self._states[key] = CachedState(made_in, running.before_digest, running.before)
            return None
        return running

    def _left(self, running: Replay) -> int:
        with self.lock:
            return max(1, len(self.history(running.profile).items) - running.folded)

    def finish(self, replay: Replay, history: History, state: ProfileState) -> None:
        """A replay has come to the end, under the lock: from now on searches use its state."""
        key = replay.profile, replay.space.name
        if self._replays.get(key) is replay:
            del self._replays[key]
            self._states[key] = CachedState(replay.made_in, history.digests[-1], state)

    def _before(
        self,
        space: SpaceRow,
        history: History,
        state: ProfileState,
        kept: CachedState | None,
        made_in: tuple[int, int],
    ) -> tuple[ProfileState, bytes]:
        """What to rank by while much is folded, the nearest to the end that there is.

        And the digest of what it folds; none where it would be folded otherwise now.
        """
        if kept is not None and kept.made_in[0] == made_in[0] and kept.state is not state:
            return kept.state, kept.digest if kept.made_in == made_in else b""
        # This process has none: the one that was kept last, of whatever history.
        digest = self._answer_kept(history.profile, space)
        blob = None
        if digest is not None:
            blob = log_tables.checkpoint(self._store, space.name, space.generation, digest)
        if blob is not None and digest is not None:
            with suppress(DamagedCollection):
                found = ProfileState.unpack(blob)
                if found.n_items >= state.n_items:
                    return found, digest
        # A copy: the replay goes on with the other.
        return ProfileState.unpack(state.pack()), history.digests[state.n_items]

    def behind(self, profile: str) -> int:
        """Items still to be folded beside before searches rank by all that stands; 0: none."""
        ranked = (space for space in self._ranked_by(profile) if space.generation)
        return max((self.weights_now(profile, space)[1] for space in ranked), default=0)

    def settle(self, profile: str, report: Report = silent) -> None:
        """Wait until everything that stands is learned, in every space that is in use."""
        for space in self._in_use(profile):
            self.state(profile, space, report)

    def _ranked_by(self, profile: str) -> list[Space]:
        """The spaces that a profile ranks by."""
        spaces = open_spaces(self._store)
        built_in = built_in_similarities(spaces, self._store.setting("default_similarity"))
        base = log_tables.profiles(self._store)[profile].base
        return [spaces[name] for name in built_in.get(base, built_in[DEFAULT]).spaces]

    def _in_use(self, profile: str) -> list[Space]:
        """Sparse spaces whose weights a profile ranks by, or somebody has asked for here.

        Others are folded when somebody asks: most profiles rank by a space that learns otherwise,
        and the kernels of this one take a second to load.
        """
        ranked = {space.name for space in self._ranked_by(profile)}
        held = {name for of, name in (*self._states, *self._replays) if of == profile}
        return [
            space
            for space in open_spaces(self._store).values()
            if space.row_format.learns_weights and space.generation and space.name in ranked | held
        ]

    def is_past(self, space: SpaceRow) -> bool:
        """Whether a later generation is the live one now, or the space is gone."""
        live = self._store.spaces().get(space.name)
        return live is None or live.generation > space.generation

    def conditions(self, space: SpaceRow) -> tuple[int, int]:
        """What a fold in a space is good for: its generation, and the codes it has now."""
        return space.generation, self._store.setting(refill_setting(space.name), 0)

    def _begin(
        self, space: SpaceRow, history: History, kept: CachedState | None, made_in: tuple[int, int]
    ) -> ProfileState:
        """The longest beginning of a history that is folded already."""
        if kept is not None and kept.made_in == made_in:
            n = kept.state.n_items
            if history.digests[n : n + 1] == [kept.digest]:
                return kept.state
        return self.begin(space, history)

    def begin(self, space: SpaceRow, history: History) -> ProfileState:
        """The longest beginning of a history that the catalog has folded."""
        place = {digest: n for n, digest in enumerate(history.digests)}
        saved = log_tables.checkpoints(self._store, space.name, space.generation)
        fitting = [key for key in saved if key in place]
        for key in sorted(fitting, key=place.__getitem__, reverse=True):
            blob = log_tables.checkpoint(self._store, space.name, space.generation, key)
            # What a checkpoint holds can be folded again: a damaged one is only slower.
            with suppress(DamagedCollection):
                if blob is not None:
                    return ProfileState.unpack(blob)
        return ProfileState(space.width)

    def fold(self, state: ProfileState, space: SpaceRow, history: History, stop: int) -> None:
        """Fold the items it lacks of the first ``stop``."""
        self.fold_items(state, space, history.items[state.n_items : stop])

    def fold_items(
        self,
        state: ProfileState,
        space: SpaceRow,
        items: Sequence[Item],
        breathe: Callable[[], None] = lambda: None,
    ) -> None:
        """Fold some items more, codes read some hundred at a time; between two it breathes."""
        store, name, generation = self._store, space.name, space.generation
        for start in range(0, len(items), _CHUNK):
            chunk = items[start : start + _CHUNK]
            subjects: set[int] = set().union(*(item.subjects() for item in chunk))
            codes = log_tables.codes(store, name, generation, subjects)
            for item in chunk:
                state.fold(
                    item, codes, lambda n: log_tables.imported_weights(store, n, name, generation)
                )
                breathe()

    def relearn(self, profile: str, space: SpaceRow) -> None:
        """Fold everything from the first line; what is in use must come out again."""
        while True:
            self.state(profile, space)
            with self.lock:
                used = self.answer(profile, space)
                if used.behind:  # another thread took something back in this very moment
                    continue
                history, anew = self.history(profile), ProfileState(space.width)
                self.fold(anew, space, history, len(history.items))
                if not np.array_equal(anew.weights, used.state.weights):
                    raise DamagedCollection(
                        f"profile {profile!r}: the log says otherwise than its checkpoints; "
                        "drop them by refreshing the collection"
                    )
                self.checkpoint(space, history, anew)
                return

    def relearn_pairs(self, profile: str, space: Space) -> None:
        """Take in every judged pair again; the same lessons must come out."""
        with self.lock:
            used = self.metric(profile, space)
            self._metrics.pop((profile, space.name), None)
            anew = self.metric(profile, space)
            if _lesson_keys(anew) != _lesson_keys(used):
                raise DamagedCollection(
                    f"profile {profile!r}: the log says otherwise than what was in use"
                )

    # -- checkpoints ------------------------------------------------------------------------

    def checkpoint(
        self,
        space: SpaceRow,
        history: History,
        state: ProfileState,
        made_in: tuple[int, int] | None = None,
        *,
        digest: bytes | None = None,
        is_answer: bool = True,
    ) -> None:
        """Keep the state in the catalog, and thin what is kept.

        Not if codes came in since ``made_in``: others would then go on from a fold without them.
        ``digest`` names what is folded, where the history may have changed since.
        ``is_answer``: searches may rank by it from now on, also while something is folded anew.
        """
        if self._store.read_only:
            return
        name, generation = space.name, space.generation
        # Under the lock, and before the transaction: first the one, then the other, everywhere.
        with self.lock:
            n, digests = state.n_items, history.digests
            if digest is not None and digests[n : n + 1] != [digest]:
                return
            place = {digest: i for i, digest in enumerate(digests)}
            kept = log_tables.checkpoints(self._store, name, generation)
            ours = {key: place[key] for key in kept if key in place}
            ages = {n - at: key for key, at in ours.items() if at < n}
            worth = ages_to_keep(ages)
            dropped = {key for age, key in ages.items() if age not in worth}
            if len(kept) > MANY:
                dropped |= set(kept) - set(place) - self._fitting()
            dropped -= self._answers_kept(space)
            key, blob = digests[n], state.pack()
        with self._store.write() as c:
            if made_in is not None and (self.is_past(space) or made_in != self.conditions(space)):
                return
            log_tables.put_checkpoint(c, name, generation, key, n, blob)
            if is_answer:
                self._keep_answer(c, history.profile, space, key)
            log_tables.drop_checkpoints(c, name, generation, dropped)

    def _fitting(self) -> set[bytes]:
        """Beginnings of every profile as it stands; undone pasts leave checkpoints of others."""
        return set().union(
            *(self.history(name).digests for name in log_tables.profiles(self._store))
        )

    def _answer_kept(self, profile: str, space: SpaceRow) -> bytes | None:
        """The history whose checkpoint was the last that all of a profile had come to."""
        kept = self._store.setting(answer_setting(profile, space.name), {})
        found = kept.get(str(space.generation))
        return None if found is None else bytes.fromhex(found)

    def _answers_kept(self, space: SpaceRow) -> set[bytes]:
        found = (self._answer_kept(name, space) for name in log_tables.profiles(self._store))
        return {digest for digest in found if digest is not None}

    def _keep_answer(self, c: Transaction, profile: str, space: SpaceRow, digest: bytes) -> None:
        key = answer_setting(profile, space.name)
        kept = self._store.setting(key, {})
        # A generation that is being built has its own; those before the live one are gone.
        live = self._store.spaces()[space.name].generation
        kept = {number: one for number, one in kept.items() if int(number) >= live}
        put_setting(c, key, kept | {str(space.generation): digest.hex()})

    def fold_in_use(self, profile: str) -> None:
        """Learn what the log has more, so that the next search finds it done, or under way."""
        for space in self._in_use(profile):
            self.answer(profile, space)
        for space in open_spaces(self._store).values():
            if (metric := self.metric(profile, space)) is not None:
                metric.used_prior()

    def contradictions(self, profile: str, judgement: int) -> list[int]:
        """Earlier judgements of which a judgement says the opposite, in part at least."""
        with self.lock:
            return self.history(profile).contradicted_by(judgement)

    def verdicts(self, profile: str, subject: int) -> Verdicts:
        """What stands about a query."""
        with self.lock:
            return self.history(profile).verdicts(subject)

    # -- what a search asks -------------------------------------------------------------------

    def rows(self, space: SpaceRow, subjects: Iterable[int]) -> Any:
        """Codes of subjects as a matrix, by ascending subject: the order is part of the sum."""
        found = log_tables.codes(self._store, space.name, space.generation, subjects)
        blobs = [found[subject] for subject in sorted(found)]
        return space.row_format.unpack(blobs, space.width)


def _lesson_keys(metric: LocalMetric | None) -> list[bytes]:
    return [] if metric is None else [lesson.key for lesson in metric.lessons]


def checkpoint_stops(done: int, until: int) -> list[int]:
    """Where a fold pauses for a checkpoint: ever closer to its end, so that an undo finds one."""
    found, gap = [until] if until > done else [], CHECKPOINT_EVERY
    while until - gap > done:
        found.append(until - gap)
        gap += (gap + 1) // 2
    return sorted(found)


def ages_to_keep(ages: Iterable[int]) -> set[int]:
    """Ages worth keeping: the oldest of each half doubling, so that any undo replays little.

    The oldest, because it is the one that grows into the next half: were the youngest kept, none
    would ever get old.
    """

    def step(age: int) -> tuple[int, bool]:
        doublings = age.bit_length()
        return doublings, 2 * age >= 3 << doublings - 1

    return set({step(age): age for age in sorted(ages)}.values())


def refill_setting(space: str) -> str:
    """The setting that counts how often codes were filled in after the judgements."""
    return f"filled:{space}"


def answer_setting(profile: str, space: str) -> str:
    """The setting that names the checkpoint to rank by while much is folded, by generation."""
    return f"answer:{space}:{profile}"
