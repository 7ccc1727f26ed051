"""What was learned, ready for a search: weights of a profile, verdicts about a query.

State in memory is a cache of the fold over the log; any process can make it again.  It goes on
from the longest beginning it has: what is in memory, else the nearest checkpoint that fits, else
the first judgement.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.errors import DamagedCollection
from likewise.collection.feedback.fold import ProfileState
from likewise.collection.feedback.history import History, Verdicts
from likewise.collection.feedback.pair_fold import PairFigures, PairFold
from likewise.collection.spaces.base import Space
from likewise.collection.spaces.registry import open_spaces
from likewise.collection.store import log_tables
from likewise.collection.store.store import SpaceRow, Store
from likewise.similarity.local_metric import LocalMetric

CHECKPOINT_EVERY = 200
"""Judgements between two checkpoints."""
MANY = 64
"""Checkpoints of a space beyond which those that fit no profile any more are dropped."""
_CHUNK = 500


class CachedState(NamedTuple):
    """A state in memory; ``made_in`` is the generation and how often its codes were filled in."""

    made_in: tuple[int, int]
    digest: bytes
    state: ProfileState


class ProfileStates:
    """The learned state of a collection, brought up to date when it is asked for.

    ``upto`` is the last line of the log that counts; None: all there are and will be.
    With ``read_only`` no checkpoint is kept of what is folded: for a look back at the past.
    """

    def __init__(self, store: Store, upto: int | None = None, *, read_only: bool = False) -> None:
        self._store = store
        self._upto = upto
        self._read_only = read_only
        self.lock = threading.RLock()
        self._histories: dict[str, History] = {}
        # Profile and space: what it was folded in, digest of what is folded, the state.
        self._states: dict[tuple[str, str], CachedState] = {}
        self._metrics: dict[tuple[str, str], PairFold] = {}

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
            self._histories.clear()
            self._states.clear()
            self._metrics.clear()

    def weights(self, profile: str, space: SpaceRow) -> NDArray[np.float64] | None:
        """One weight a word; None where nothing was learned, so that all count alike."""
        if not space.row_format.learns_weights:
            return None
        with self.lock:
            if not self.history(profile).items:
                return None
            return self.state(profile, space).weights

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

    def weights_in_memory(self, profile: str) -> dict[str, NDArray[np.float64]]:
        """The weights of a profile by space, as far as they are folded and up to date already."""
        with self.lock:
            spaces, newest = self._store.spaces(), self.history(profile).digests[-1]
            return {
                space: cached.state.weights
                for (name, space), cached in self._states.items()
                if name == profile
                and space in spaces
                and cached.made_in == self.conditions(spaces[space])
                and cached.digest == newest
            }

    def state(self, profile: str, space: SpaceRow) -> ProfileState:
        """The fold of everything that stands, in one sparse space."""
        with self.lock:
            history = self.history(profile)
            # Taken out while it changes: a fold that fails must not leave half of itself behind.
            kept = self._states.pop((profile, space.name), None)
            made_in = self.conditions(space)
            state = self._begin(space, history, kept, made_in)
            for stop in checkpoint_stops(state.n_items, len(history.items)):
                done = state.n_items
                self.fold(state, space, history, stop)
                if stop // CHECKPOINT_EVERY > done // CHECKPOINT_EVERY:
                    self.checkpoint(space, history, state, made_in)
            self._states[profile, space.name] = CachedState(made_in, history.digests[-1], state)
            return state

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
        """Fold the items it lacks of the first ``stop``, codes read some hundred at a time."""
        store, name, generation = self._store, space.name, space.generation
        for start in range(state.n_items, stop, _CHUNK):
            chunk = history.items[start : min(start + _CHUNK, stop)]
            subjects: set[int] = set().union(*(item.subjects() for item in chunk))
            codes = log_tables.codes(store, name, generation, subjects)
            for item in chunk:
                state.fold(
                    item, codes, lambda n: log_tables.imported_weights(store, n, name, generation)
                )

    def relearn(self, profile: str, space: SpaceRow) -> None:
        """Fold everything from the first line; what is in use must come out again."""
        with self.lock:
            history, used = self.history(profile), self.state(profile, space)
            anew = ProfileState(space.width)
            self.fold(anew, space, history, len(history.items))
            if not np.array_equal(anew.weights, used.weights):
                raise DamagedCollection(
                    f"profile {profile!r}: the log says otherwise than its checkpoints; "
                    "drop them by refreshing the collection"
                )
            self.checkpoint(space, history, anew)

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
    ) -> None:
        """Keep the state in the catalog, and thin what is kept.

        Not if codes came in since ``made_in``: others would then go on from a fold without them.
        """
        if self._read_only or self._store.read_only:
            return
        n = state.n_items
        place = {digest: i for i, digest in enumerate(history.digests)}
        kept = log_tables.checkpoints(self._store, space.name, space.generation)
        ours = {key: place[key] for key in kept if key in place}
        with self._store.write() as c:
            if made_in is not None and made_in != self.conditions(space):
                return
            log_tables.put_checkpoint(
                c, space.name, space.generation, history.digests[n], n, state.pack()
            )
            ages = {n - at: key for key, at in ours.items() if at < n}
            dropped = [key for age, key in ages.items() if age not in ages_to_keep(ages)]
            if len(kept) > MANY:
                dropped += [key for key in kept if key not in place and not self._fits(key)]
            log_tables.drop_checkpoints(c, space.name, space.generation, dropped)

    def _fits(self, key: bytes) -> bool:
        """Whether a checkpoint belongs to some profile as it stands; undone pasts leave others."""
        return any(key in self.history(name).digests for name in log_tables.profiles(self._store))

    def fold_all(self, profile: str) -> None:
        """Learn what the log has more, so that the next search finds it done."""
        for space in open_spaces(self._store).values():
            if space.row_format.learns_weights and space.generation:
                self.state(profile, space)
            elif (metric := self.metric(profile, space)) is not None:
                metric.used_prior()

    def contradictions(self, profile: str, judgement: int) -> list[int]:
        """Earlier judgements of which a judgement says the opposite, in part at least."""
        with self.lock:
            found = self.history(profile).contradictions
            return list(dict.fromkeys(c.earlier for c in found if c.judgement == judgement))

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
        gap *= 2
    return sorted(found)


def ages_to_keep(ages: Iterable[int]) -> set[int]:
    """Ages worth keeping: the oldest of each doubling, so that any undo replays little.

    The oldest, because it is the one that grows into the next doubling: were the youngest kept,
    none would ever get old.
    """
    return set({age.bit_length(): age for age in sorted(ages)}.values())


def refill_setting(space: str) -> str:
    """The setting that counts how often codes were filled in after the judgements."""
    return f"filled:{space}"
