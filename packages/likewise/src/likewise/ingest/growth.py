"""Let spaces learn again, or renew their idf, when the collection has grown."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from likewise.catalog.changes import RUNNING, WAITING, backfill_of, put_backfill
from likewise.catalog.jobs import Report
from likewise.catalog.store import Store
from likewise.ingest.backfill import settle_backfill
from likewise.ingest.generations import learn_generation, renew_idf, row_survey
from likewise.ingest.pool import AHEAD, Workers
from likewise.ingest.walk import Candidate
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces

_STRETCH = 64
_QUEUED = 80
"""Pictures that workers have at hand while spaces learn here: a second of work for two.  The same
for any number of workers, so that a space learns from the same pictures on any machine."""
_ABOUT_TO_LEARN = 32
"""Pictures before a space is due at which workers are given more."""
_LONG = 500
"""Pictures of an add from which it learns before its last ones are described, not after."""
_TAIL = 0.1
"""Share of the pictures that may come after; with more, other pictures might teach it again."""
_SHORT, _SHORT_BYTES = 1_200, 96 << 20
"""Pictures, and bytes of their files, up to which an add takes seconds: what spaces learn on the
way would hardly be used before they learn again.  Both are known beforehand, so that spaces learn
from the same pictures on any machine."""


class GrowthPlan:
    """When spaces learn during an add.

    They learn at the end of a stretch of pictures, or, where learning needs only rows, while
    workers describe its last pictures; only once in a short add.
    """

    def __init__(self, store: Store, todo: Sequence[Candidate], n_workers: int) -> None:
        self._store, self._total = store, len(todo)
        self._ahead = max(AHEAD, -(-_QUEUED // n_workers))
        from_rows = grows_without_workers(store)
        self._meanwhile = from_rows and len(todo) >= _LONG
        n_bytes = sum(max(one.size, 0) for one in todo)
        self._once = from_rows and len(todo) <= _SHORT and n_bytes <= _SHORT_BYTES
        self._due = 0
        self.until, self.n_described, self.is_over = 0, 0, False
        self.spaces_behind: list[str] = []
        """Spaces in which pictures of this stretch may lack rows."""
        self.generations: dict[str, int] = {}

    def plan(self, done: int) -> int:
        """Return the number of pictures of the next stretch, when so many are done."""
        store, n, left = self._store, self._store.n_images(), self._total - done
        self.until = sys.maxsize if self._once else next_growth(store)
        self.generations = {name: one.generation for name, one in store.spaces().items()}
        self.spaces_behind, self.n_described, self.is_over = [], 0, False
        # Never short, because workers wait between two stretches.
        length = max(self.until - n, _STRETCH)
        self._due = sys.maxsize
        if self._meanwhile:
            early = left - _QUEUED
            if length < early:
                self._due, length = length, length + _QUEUED
            elif early >= (n + left) / (1 + _TAIL) - n and is_outgrown_by(store, n + early):
                # It has to learn when all are added; while the last are described this costs no
                # time.
                self._due, self.until = early, n + early
        return min(length, left)

    def ahead(self) -> int:
        """Return how many tasks a worker gets at a time: more before this process is busy."""
        soon = self._due - _ABOUT_TO_LEARN <= self.n_described + _QUEUED
        return self._ahead if soon and not self.is_over else AHEAD

    def is_due_now(self) -> bool:
        return not self.is_over and self.n_described >= self._due

    def grow(self, workers: Workers, report: Report) -> None:
        self.is_over = True
        grow_spaces(self._store, workers=workers, report=report)
        self.generations = {name: one.generation for name, one in self._store.spaces().items()}
        if self.n_described >= self._due:
            self.spaces_behind = mark_spaces_behind(self._store)


def next_growth(store: Store) -> int:
    """Return the number of pictures at which a long ``add`` should let some space learn."""
    points = [sys.maxsize]
    for space in open_spaces(store).values():
        at = space.next_growth() if space.can_learn() or space.is_available() else None
        if at is not None:
            points.append(at)
    return min(points)


def grows_without_workers(store: Store) -> bool:
    """Return whether spaces learn from rows alone, so workers can continue to describe."""
    spaces = open_spaces(store).values()
    return all(one.takes_rows_of for one in spaces if one.can_learn() or one.idf is not None)


def is_outgrown_by(store: Store, n_pictures: int) -> bool:
    """Return whether some space has to learn at this number of pictures."""
    spaces = open_spaces(store).values()
    return any(space.can_learn() and space.has_outgrown(n_pictures) for space in spaces)


def mark_spaces_behind(store: Store) -> list[str]:
    """Mark derived spaces whose rows will be missing until they learn.

    Marked before the first such picture is committed, so that a job after a crash makes them.
    """
    spaces = open_spaces(store).values()
    names = [one.name for one in spaces if one.takes_rows_of and one.generation]
    lacking = {name: backfill_of(store, name) for name in names}
    with store.write() as c:
        for name, lacks in lacking.items():
            if lacks is None or lacks.state != RUNNING:
                put_backfill(c, name, WAITING)
    return names


def grow_spaces(store: Store, *, workers: Workers, report: Report, at_end: bool = False) -> None:
    """Build the next generation of the spaces for which the collection is now too large.

    A space learns as soon as there are pictures and when its kind says so; at the end of an add
    also where the pictures have changed.  A new idf follows when the collection has doubled since
    the last.
    """
    n = store.n_images()
    if n == 0:
        return
    for space in open_spaces(store).values():
        if not space.can_learn():
            continue
        drifted = at_end and space.has_drifted(n, row_survey(store, space, report))
        if space.has_outgrown(n) or drifted:
            learn_space(store, space, workers=workers, report=report)
        elif space.idf is not None and space.generation and n >= 2 * max(space.n_pictures, 1):
            renew_idf(store, space, report)


def learn_space(
    store: Store, space: Space, *, workers: Workers, report: Report, seed: int = 0
) -> None:
    """Learn the next generation of a space from the present pictures."""
    left = learn_generation(store, space, workers=workers, report=report, seed=seed)
    if left is not None:
        # A later add tries unreadable pictures again.
        settle_backfill(store, space.name, among=set(), left=left)
