"""Fold a long history in a background thread, while searches use the previous state.

Withdrawing or contradicting an old line changes everything folded after it, which takes minutes for
a log of a hundred thousand lines.  The lock of the states is held only between stretches, to check
that the history still begins with the folded items, which a later undo may have changed.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from likewise.catalog.store import SpaceRow
from likewise.learning.fold import ProfileState

if TYPE_CHECKING:
    from likewise.learning.profile_states import ProfileStates

STRETCH = 100
"""Items folded between two looks at the history; the last stretch is folded under the lock."""
KEEP_EVERY = 5_000
"""Items between two checkpoints, at most: another process can continue from there."""
KEEP_STOPPED = 500
"""Items that are worth a checkpoint when the collection is closed."""


class Replay:
    """The fold of one profile in one sparse space, from ``state`` to the end of its history.

    ``previous`` is the state that searches use until then, and ``previous_digest`` that of its
    items.
    """

    def __init__(
        self,
        states: ProfileStates,
        profile: str,
        space: SpaceRow,
        codes_version: tuple[int, int],
        state: ProfileState,
        previous: ProfileState,
        previous_digest: bytes,
    ) -> None:
        self.profile, self.space, self.codes_version = profile, space, codes_version
        self.previous, self.previous_digest = previous, previous_digest
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
        """Stop it soon, without using its state."""
        self._stopping.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end and return whether it ended; never call it with the lock held."""
        return self._ended.wait(seconds)

    def join(self) -> None:
        """Stop it and wait until it no longer uses the store."""
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._fold_to_end()
        except BaseException as error:  # raised again in the next search
            self.error = error
        finally:
            self._ended.set()

    def _fold_to_end(self) -> None:
        states, space, state = self._states, self.space, self._state
        digest: bytes | None = None
        kept = state.n_items
        while True:
            with states.lock:
                if states.is_past(space) or states.codes_version(space) != self.codes_version:
                    return
                history = states.history(self.profile)
                n = state.n_items
                if digest is not None and history.digests[n : n + 1] != [digest]:
                    # Something older was taken back meanwhile: continue from a checkpoint.
                    state = states.start_from_checkpoint(space, history)
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
            # Closer towards the end, so that the next undo has a checkpoint near it.
            apart = min(KEEP_EVERY, max(STRETCH, left // 2))
            if n - kept >= apart or (stopping and n - kept >= KEEP_STOPPED):
                states.checkpoint(
                    space, history, state, self.codes_version, digest=here, complete=False
                )
                kept = n
            if stopping:
                return
            states.fold_items(state, space, items, _let_others_run)
        states.checkpoint(space, history, state, self.codes_version, digest=here)


def _let_others_run() -> None:
    """Release the interpreter lock to threads that wait for it."""
    time.sleep(0)
