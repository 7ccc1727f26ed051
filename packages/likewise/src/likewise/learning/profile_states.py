"""Keep what the profiles learned in memory: weights, metrics, and judgements of queries.

It is a cache of the fold over the log, so any process can recompute it.  A fold starts from the
longest available beginning: the state in memory, the nearest checkpoint that fits, or the first
judgement.  A long fold (after an old line was withdrawn) runs in the background
(:mod:`~likewise.learning.replay`), and searches use the previous state until it is done.
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
from likewise.learning.fold import CHUNK, PairFold, ProfileState, item_codes
from likewise.learning.history import COMPARE, JUDGE, History, Item, Verdicts
from likewise.learning.replay import Replay
from likewise.search.similarities import DEFAULT, Figures, built_in_similarities
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces
from likewise_methods.spaces import LocalMetric

CHECKPOINT_EVERY = 200
"""Judgements between two checkpoints."""
AT_ONCE = 500
"""Items that a search or a judgement waits for (about half a second); more go to the background."""
MAX_CHECKPOINTS = 64
"""Checkpoints of a space beyond which those that fit no profile are deleted."""
_TICK = 0.5


class CachedState(NamedTuple):
    """A state in memory, the digest of its items, and the version of the codes it was made from."""

    codes_version: tuple[int, int]
    digest: bytes
    state: ProfileState


class StateNow(NamedTuple):
    """A state to rank by; ``behind`` counts the items that are not in it yet.

    If ``behind`` is not 0, the state is the previous one, or that of a beginning.
    """

    state: ProfileState
    behind: int = 0


class ProfileStates:
    """The learned states of a collection, updated when they are read.

    ``upto`` is the last line of the log that counts; None: all lines, including future ones.  With
    it no fold runs in the background.
    """

    def __init__(self, store: Store, upto: int | None = None) -> None:
        self._store = store
        self._upto = upto
        self.lock = threading.RLock()
        self._histories: dict[str, History] = {}
        # By profile and space.
        self._states: dict[tuple[str, str], CachedState] = {}
        self._metrics: dict[tuple[str, str], PairFold] = {}
        self._replays: dict[tuple[str, str], Replay] = {}
        # Every replay that may still use the store, including stopped ones.
        self._started: list[Replay] = []

    def history(self, profile: str) -> History:
        """Return the up-to-date history of a profile."""
        with self.lock:
            found = self._histories.get(profile)
            if found is None:
                found = History(self._store, profile, self._upto)
            found.update()
            self._histories[profile] = found
            return found

    def forget(self) -> None:
        """Drop everything in memory."""
        with self.lock:
            for running in self._replays.values():
                running.stop()
            self._replays.clear()
            self._histories.clear()
            self._states.clear()
            self._metrics.clear()

    def close(self) -> None:
        """Stop folding in the background; checkpoints keep what was done."""
        with self.lock:
            started, self._started = self._started, []
            self._replays.clear()
        for one in started:
            one.join()

    # -- read by searches ---------------------------------------------------------------------

    def weights(self, profile: str, space: SpaceRow) -> NDArray[np.float64] | None:
        """Return one weight per word; None where nothing was learned and all count alike."""
        return self.weights_now(profile, space)[0]

    def weights_now(self, profile: str, space: SpaceRow) -> tuple[NDArray[np.float64] | None, int]:
        """Return the weights to rank by, and how many items they are behind."""
        if not space.row_format.learns_weights:
            return None, 0
        with self.lock:
            if not self.history(profile).items:
                return None, 0
            found = self.state_now(profile, space)
        return found.state.weights, found.behind

    def metric(self, profile: str, space: Space) -> LocalMetric | None:
        """Return the metric learned in a dense space; None where nothing was learned."""
        if not (space.learns_pairs and space.generation):
            return None
        metric = self._pair_fold(profile, space).metric
        return metric if len(metric) else None

    def figures(self, profile: str, space: Space | None) -> Figures:
        """Return the figures of a profile in the space it learns in."""
        with self.lock:
            history = self.history(profile)
            judgements = sum(item.kind in (JUDGE, COMPARE) for item in history.items)
            if space is None:
                return Figures(judgements)
            found = Figures(judgements, space=space.name)
            if space.learns_pairs:
                found = replace(found, units="directions")
                if self.metric(profile, space) is None:
                    return found
                pairs = self._pair_fold(profile, space).figures()
                found = replace(found, changed=pairs.changed)
                if pairs.agreement is None:
                    return found
                learned, plain, tested = pairs.agreement
                return replace(
                    found, agreement=learned, agreement_plain=plain, triplets=tested,
                    gains=pairs.gains,
                )  # fmt: skip
            if not history.items:
                return found
            state = self.state_now(profile, space).state
        tested = state.tested
        return Figures(
            judgements,
            state.agreed / tested if tested else None,
            state.agreed_plain / tested if tested else None,
            float(np.mean(state.weights != state.start_weight)),
            float(np.mean(state.weights == 0)),
            space.name,
            tested,
            gains=state.gains,
        )

    def change_row(
        self, profile: str, space: Space, row: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return a query's row in a dense space, changed by the metric."""
        with self.lock:
            metric = self.metric(profile, space)
            return row if metric is None else metric.ask(row)

    def change_parts(
        self,
        profile: str,
        space: Space,
        row: NDArray[np.float32],
        parts: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what parts that sum to a query's row contribute to :meth:`change_row` of it."""
        with self.lock:
            metric = self.metric(profile, space)
            return parts if metric is None else metric.ask_parts(row, parts)

    def verdicts(self, profile: str, subject: int) -> Verdicts:
        """Return the pictures liked and disliked for a query."""
        with self.lock:
            return self.history(profile).verdicts(subject)

    def contradictions(self, profile: str, judgement: int) -> list[int]:
        """Return the earlier judgements that a judgement contradicts, at least in part."""
        with self.lock:
            return self.history(profile).contradicted_by(judgement)

    def rows(self, space: SpaceRow, subjects: Iterable[int]) -> Any:
        """Return the codes of subjects as a matrix, by ascending subject (sums need an order)."""
        found = log_tables.codes(self._store, space.name, space.generation, subjects)
        blobs = [found[subject] for subject in sorted(found)]
        return space.row_format.unpack(blobs, space.width)

    # -- folding ------------------------------------------------------------------------------

    def fold_new_lines(self, profile: str) -> None:
        """Learn the new lines of the log; a long fold only starts here, in the background."""
        for space in self._spaces_to_fold(profile):
            self.state_now(profile, space)
        for space in open_spaces(self._store).values():
            if (metric := self.metric(profile, space)) is not None:
                metric.used_prior()  # cached: the next search would compute it

    def behind(self, profile: str) -> int:
        """Return how many items are still being folded in the background."""
        ranked = (space for space in self._ranked_by(profile) if space.generation)
        return max((self.weights_now(profile, space)[1] for space in ranked), default=0)

    def settle(self, profile: str, report: Report = silent) -> None:
        """Wait until everything in effect is learned, in every space in use."""
        for space in self._spaces_to_fold(profile):
            self.wait_for_state(profile, space, report)

    def _ranked_by(self, profile: str) -> list[Space]:
        """Return the spaces that a profile ranks by."""
        spaces = open_spaces(self._store)
        built_in = built_in_similarities(spaces, self._store.setting("default_similarity"))
        base = log_tables.profiles(self._store)[profile].base
        return [spaces[name] for name in built_in.get(base, built_in[DEFAULT]).spaces]

    def _spaces_to_fold(self, profile: str) -> list[Space]:
        """Return sparse spaces that a profile ranks by, or whose weights were read before.

        Others are folded when they are read: most profiles rank by a dense space, and the kernels
        of this fold take a second to load.
        """
        used = {space.name for space in self._ranked_by(profile)}
        used |= {name for of, name in (*self._states, *self._replays) if of == profile}
        return [
            space
            for space in open_spaces(self._store).values()
            if space.row_format.learns_weights and space.generation and space.name in used
        ]

    def _pair_fold(self, profile: str, space: Space) -> PairFold:
        """Return the up-to-date metric of a profile in a dense space, with its items."""
        with self.lock:
            history = self.history(profile)
            key, codes_version = (profile, space.name), self.codes_version(space)
            # Removed while it changes: a fold that fails must not leave a half-made state.
            kept = self._metrics.pop(key, None)
            if kept is None or kept.codes_version != codes_version:
                kept = PairFold(codes_version, LocalMetric(space.width, space.pair_scale()))
            kept.update(self._store, space, history)
            self._metrics[key] = kept
            return kept

    def wait_for_state(
        self, profile: str, space: SpaceRow, report: Report = silent
    ) -> ProfileState:
        """Wait until everything in effect is folded in a sparse space, and return the state.

        The caller must not hold the lock: folding in the background needs it.
        """
        while True:
            with self.lock:
                found = self.state_now(profile, space)
                running = self._replays.get((profile, space.name))
            if running is None:
                return found.state
            while not running.wait(_TICK):
                done = running.folded
                report(Progress("learning judgements", done, done + self._items_left(running)))

    def state_now(self, profile: str, space: SpaceRow) -> StateNow:
        """Fold the items that are missing in a sparse space, if they are few, and return the state.

        Else return the previous state, while the rest is folded in the background.
        """
        with self.lock:
            history = self.history(profile)
            key, codes_version = (profile, space.name), self.codes_version(space)
            running = self._active_replay(key, history, codes_version)
            if running is not None:
                return StateNow(running.previous, self._items_left(running))
            # Removed while it changes: a fold that fails must not leave a half-made state.
            kept = self._states.pop(key, None)
            n = 0 if kept is None else kept.state.n_items
            if (
                kept
                and kept.codes_version == codes_version
                and history.digests[n : n + 1] == [kept.digest]
            ):
                state = kept.state
            else:
                state = self.start_from_checkpoint(space, history)
            if self._upto is None and len(history.items) - state.n_items > AT_ONCE:
                previous, digest = self._state_meanwhile(space, history, state, kept, codes_version)
                running = Replay(self, profile, space, codes_version, state, previous, digest)
                self._replays[key] = running
                self._started = [one for one in self._started if not one.is_over] + [running]
                running.start()
                return StateNow(previous, self._items_left(running))
            for stop in checkpoint_stops(state.n_items, len(history.items)):
                done = state.n_items
                self.fold_items(state, space, history.items[done:stop])
                if stop // CHECKPOINT_EVERY > done // CHECKPOINT_EVERY:
                    self.checkpoint(space, history, state, codes_version)
            self._states[key] = CachedState(codes_version, history.digests[-1], state)
            return StateNow(state)

    def _active_replay(
        self, key: tuple[str, str], history: History, codes_version: tuple[int, int]
    ) -> Replay | None:
        """Return the replay of a profile in a space, unless it was stopped."""
        running = self._replays.get(key)
        if running is None:
            return None
        n = running.previous.n_items
        previous = CachedState(running.codes_version, running.previous_digest, running.previous)
        if running.error is not None:
            del self._replays[key]
            raise running.error
        if running.is_over or running.codes_version != codes_version:
            self._states.setdefault(key, previous)
        elif len(history.items) - n <= AT_ONCE and history.digests[n : n + 1] == [
            running.previous_digest
        ]:
            # The withdrawn line is in effect again, so the previous state fits.
            self._states[key] = previous
        else:
            return running
        running.stop()
        del self._replays[key]
        return None

    def _items_left(self, running: Replay) -> int:
        """Count the items that a replay has not folded yet."""
        with self.lock:
            return max(1, len(self.history(running.profile).items) - running.folded)

    def finish(self, replay: Replay, history: History, state: ProfileState) -> None:
        """Use the state of a finished replay from now on; the replay holds the lock."""
        key = replay.profile, replay.space.name
        if self._replays.get(key) is replay:
            del self._replays[key]
            self._states[key] = CachedState(replay.codes_version, history.digests[-1], state)

    def _state_meanwhile(
        self,
        space: SpaceRow,
        history: History,
        state: ProfileState,
        kept: CachedState | None,
        codes_version: tuple[int, int],
    ) -> tuple[ProfileState, bytes]:
        """Return the best state to rank by meanwhile, and the digest of its items.

        The digest is empty where its items would be folded differently now.
        """
        if (
            kept is not None
            and kept.codes_version[0] == codes_version[0]
            and kept.state is not state
        ):
            return kept.state, kept.digest if kept.codes_version == codes_version else b""
        # This process has none: the last complete state that was stored, of whatever history.
        digest = self._last_complete(history.profile, space)
        blob = None
        if digest is not None:
            blob = log_tables.checkpoint(self._store, space.name, space.generation, digest)
        if blob is not None and digest is not None:
            with suppress(DamagedCollection):
                found = ProfileState.unpack(blob)
                if found.n_items >= state.n_items:
                    return found, digest
        # A copy, since the replay changes the other.
        return ProfileState.unpack(state.pack()), history.digests[state.n_items]

    def is_past(self, space: SpaceRow) -> bool:
        """Return whether a later generation is live, or the space is gone."""
        live = self._store.spaces().get(space.name)
        return live is None or live.generation > space.generation

    def codes_version(self, space: SpaceRow) -> tuple[int, int]:
        """Return what changes when codes change: the generation, and how often codes were added."""
        return space.generation, self._store.setting(refill_setting(space.name), 0)

    def start_from_checkpoint(self, space: SpaceRow, history: History) -> ProfileState:
        """Return the newest checkpoint that fits a history, or a state without items."""
        place = {digest: n for n, digest in enumerate(history.digests)}
        saved = log_tables.checkpoints(self._store, space.name, space.generation)
        fitting = [key for key in saved if key in place]
        for key in sorted(fitting, key=place.__getitem__, reverse=True):
            blob = log_tables.checkpoint(self._store, space.name, space.generation, key)
            # A damaged checkpoint costs only time.
            with suppress(DamagedCollection):
                if blob is not None:
                    return ProfileState.unpack(blob)
        return ProfileState(space.width)

    def fold_items(
        self,
        state: ProfileState,
        space: SpaceRow,
        items: Sequence[Item],
        after_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Fold more items, reading the codes of some hundred at once."""
        store, name, generation = self._store, space.name, space.generation
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            codes = item_codes(store, space, chunk)
            for item in chunk:
                state.fold(
                    item, codes, lambda n: log_tables.imported_weights(store, n, name, generation)
                )
                after_each()

    def relearn(self, profile: str, space: SpaceRow) -> None:
        """Fold everything from the first line, and check that it equals the current state."""
        while True:
            self.wait_for_state(profile, space)
            with self.lock:
                used = self.state_now(profile, space)
                if used.behind:  # another thread has just withdrawn a line
                    continue
                history, anew = self.history(profile), ProfileState(space.width)
                self.fold_items(anew, space, history.items)
                if not np.array_equal(anew.weights, used.state.weights):
                    raise DamagedCollection(
                        f"profile {profile!r}: its checkpoints differ from its log; "
                        "refresh the collection to delete them"
                    )
                self.checkpoint(space, history, anew)
                return

    def relearn_pairs(self, profile: str, space: Space) -> None:
        """Learn every training pair again, and check that it equals the current state."""

        def keys(metric: LocalMetric | None) -> list[bytes]:
            return [] if metric is None else [lesson.key for lesson in metric.lessons]

        with self.lock:
            used = self.metric(profile, space)
            self._metrics.pop((profile, space.name), None)
            if keys(self.metric(profile, space)) != keys(used):
                raise DamagedCollection(
                    f"profile {profile!r}: its learned state differs from its log"
                )

    # -- checkpoints ------------------------------------------------------------------------

    def checkpoint(
        self,
        space: SpaceRow,
        history: History,
        state: ProfileState,
        codes_version: tuple[int, int] | None = None,
        *,
        digest: bytes | None = None,
        complete: bool = True,
    ) -> None:
        """Store a state in the catalog, and delete checkpoints that are no longer useful.

        Nothing is stored if ``codes_version`` is no longer the current one, or if the items are no
        longer those of ``digest``.  ``complete``: searches may rank by it, also while a fold is
        running.
        """
        if self._store.read_only:
            return
        name, generation = space.name, space.generation
        # Lock order: the states first, then the catalog.
        with self.lock:
            n, digests = state.n_items, history.digests
            if digest is not None and digests[n : n + 1] != [digest]:
                return
            place = {digest: i for i, digest in enumerate(digests)}
            kept = log_tables.checkpoints(self._store, name, generation)
            ages = {n - place[key]: key for key in kept if key in place and place[key] < n}
            useful = ages_to_keep(ages)
            dropped = {key for age, key in ages.items() if age not in useful}
            profiles = list(log_tables.profiles(self._store))
            if len(kept) > MAX_CHECKPOINTS:
                # After an undo some checkpoints fit no profile.
                fitting = set().union(*(self.history(one).digests for one in profiles))
                dropped |= set(kept) - set(place) - fitting
            dropped -= {one for p in profiles if (one := self._last_complete(p, space)) is not None}
            key, blob = digests[n], state.pack()
        with self._store.write() as c:
            if codes_version is not None and (
                self.is_past(space) or codes_version != self.codes_version(space)
            ):
                return
            log_tables.put_checkpoint(c, name, generation, key, n, blob)
            if complete:
                self._set_last_complete(c, history.profile, space, key)
            log_tables.drop_checkpoints(c, name, generation, dropped)

    def _last_complete(self, profile: str, space: SpaceRow) -> bytes | None:
        """Return the digest of the last complete state of a profile that was stored."""
        found = self._store.setting(complete_setting(profile, space.name), {})
        digest = found.get(str(space.generation))
        return None if digest is None else bytes.fromhex(digest)

    def _set_last_complete(
        self, c: Transaction, profile: str, space: SpaceRow, digest: bytes
    ) -> None:
        key = complete_setting(profile, space.name)
        # A generation in progress has its own; those before the live one are deleted.
        live = self._store.spaces()[space.name].generation
        kept = {n: one for n, one in self._store.setting(key, {}).items() if int(n) >= live}
        put_setting(c, key, kept | {str(space.generation): digest.hex()})


def checkpoint_stops(done: int, until: int) -> list[int]:
    """Return where a fold stores checkpoints: closer towards its end, so that an undo finds one."""
    found, gap = [until] if until > done else [], CHECKPOINT_EVERY
    while until - gap > done:
        found.append(until - gap)
        gap += (gap + 1) // 2
    return sorted(found)


def ages_to_keep(ages: Iterable[int]) -> set[int]:
    """Return the ages of checkpoints to keep: the oldest of each half doubling.

    So any undo replays little.  The oldest is kept because it grows into the next half; if the
    youngest were kept, none would ever get old.
    """

    def step(age: int) -> tuple[int, bool]:
        doublings = age.bit_length()
        return doublings, 2 * age >= 3 << doublings - 1

    return set({step(age): age for age in sorted(ages)}.values())


def refill_setting(space: str) -> str:
    """Return the setting that counts how often codes were added after the judgements."""
    return f"filled:{space}"


def complete_setting(profile: str, space: str) -> str:
    """Return the setting with the digest of the last complete state, by generation."""
    return f"answer:{space}:{profile}"
