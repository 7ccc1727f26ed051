"""Folding beside searches: a long way to fold, a stretch at a time, in a thread of its own.

Taking back or contradicting an old line changes everything that was folded behind it: minutes, for
a log of a hundred thousand lines.  Meanwhile searches go on with the state of before, and say so.
The lock of the states is held for moments only, between stretches: to see whether the history still
begins with what is folded here, which a later undo may have changed again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from likewise.catalog.store import SpaceRow
from likewise.learning.fold import ProfileState

if TYPE_CHECKING:
    from likewise.learning.history import History, Item

STRETCH = 100
"""Items folded between two looks at the history; the last stretch is folded under the lock."""
KEEP_EVERY = 5_000
"""Items between two checkpoints on the way, at most: another process goes on from there."""
KEEP_STOPPED = 500
"""Items on the way that are worth a checkpoint when the collection is closed."""


class States(Protocol):
    """What a replay needs of the states it is for."""

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def history(self, profile: str) -> History: ...
    def conditions(self, space: SpaceRow) -> tuple[int, int]: ...
    def begin(self, space: SpaceRow, history: History) -> ProfileState: ...
    def fold_items(
        self, state: ProfileState, space: SpaceRow, items: Sequence[Item],
        breathe: Callable[[], None] = ...,
    ) -> None: ...  # fmt: skip
    def checkpoint(
        self, space: SpaceRow, history: History, state: ProfileState,
        made_in: tuple[int, int] | None = None, *, digest: bytes | None = None,
        is_answer: bool = True,
    ) -> None: ...  # fmt: skip
    def is_past(self, space: SpaceRow) -> bool: ...
    def finish(self, replay: Replay, history: History, state: ProfileState) -> None: ...


class Replay:
    """One profile in one sparse space, on its way from ``state`` to the end of its history.

    ``before`` is what searches use until then, and ``before_digest`` the history that it folds.
    """

    def __init__(
        self,
        states: States,
        profile: str,
        space: SpaceRow,
        made_in: tuple[int, int],
        state: ProfileState,
        before: ProfileState,
        before_digest: bytes,
    ) -> None:
        self.profile, self.space, self.made_in = profile, space, made_in
        self.before, self.before_digest = before, before_digest
        self.folded = state.n_items
        self.error: BaseException | None = None
        self._states, self._state = states, state
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"replay of {profile} in {space.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return self._ended.is_set()

    def stop(self) -> None:
        """Have it end soon; what it folded counts no more."""
        self._stopping.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Until it has ended; gives whether it has.  Never with the lock of the states held."""
        return self._ended.wait(seconds)

    def join(self) -> None:
        """Stop it and wait until it uses the store no more."""
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # -- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._go_to_the_end()
        except BaseException as error:  # told to whoever waits or searches next
            self.error = error
        finally:
            self._ended.set()

    def _go_to_the_end(self) -> None:
        states, space, state = self._states, self.space, self._state
        digest: bytes | None = None
        kept = state.n_items
        while True:
            with states.lock:
                if states.is_past(space) or states.conditions(space) != self.made_in:
                    return
                history = states.history(self.profile)
                n = state.n_items
                if digest is not None and history.digests[n : n + 1] != [digest]:
                    # Something older was taken back meanwhile: from the nearest checkpoint again.
                    state = states.begin(space, history)
                    n = kept = state.n_items
                self.folded = n
                here, left = history.digests[n], len(history.items) - n
                stopping = self._stopping.is_set()
                if left <= STRETCH and not stopping:
                    states.fold_items(state, space, history.items[n:])
                    states.finish(self, history, state)
                    here = history.digests[-1]
                    break
                stop = min(n + STRETCH, len(history.items))
                items, digest = history.items[n:stop], history.digests[stop]
            # Ever closer to the end, so that the next undo finds one near it; and on the way.
            apart = min(KEEP_EVERY, max(STRETCH, left // 2))
            if n - kept >= apart or (stopping and n - kept >= KEEP_STOPPED):
                states.checkpoint(space, history, state, self.made_in, digest=here, is_answer=False)
                kept = n
            if stopping:
                return
            states.fold_items(state, space, items, _breathe)
        states.checkpoint(space, history, state, self.made_in, digest=here)


def _breathe() -> None:
    """Whoever waits for the interpreter gets it now."""
    time.sleep(0)
