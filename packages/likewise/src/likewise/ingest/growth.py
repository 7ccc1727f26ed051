"""Growth: spaces learn again, or are weighed again, when the collection has outgrown them."""

from __future__ import annotations

import sys

from likewise.catalog.changes import RUNNING, WAITING, backfill_of, put_backfill
from likewise.catalog.jobs import Report
from likewise.catalog.store import Store
from likewise.ingest.backfill import settle_backfill
from likewise.ingest.generations import learn_generation, renew_idf, row_survey
from likewise.ingest.pool import Workers
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces


def next_growth(store: Store) -> int:
    """Pictures at which a long ``add`` should stop to let some space learn or be weighed again."""
    points = [sys.maxsize]
    for space in open_spaces(store).values():
        at = space.next_growth() if space.can_learn() or space.is_available() else None
        if at is not None:
            points.append(at)
    return min(points)


def grows_without_workers(store: Store) -> bool:
    """Whether all that spaces learn comes from rows: workers may go on describing meanwhile."""
    spaces = open_spaces(store).values()
    return all(one.takes_rows_of for one in spaces if one.can_learn() or one.idf is not None)


def is_outgrown_by(store: Store, n_pictures: int) -> bool:
    """Whether some space will have to learn once there are so many pictures."""
    spaces = open_spaces(store).values()
    return any(space.can_learn() and space.has_outgrown(n_pictures) for space in spaces)


def mark_spaces_behind(store: Store) -> list[str]:
    """Spaces made of others' rows: pictures described before they learned come without theirs.

    Written down before the first of them is, so that whoever comes after a crash fills them.
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
    """Build the next generation of the spaces that the collection has outgrown.

    What is learned, as soon as there are pictures, and again when the kind says so (at the end of
    an add also where other pictures came than it was learned from); a new idf when the collection
    is twice what it was when the idf was frozen.
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
    """The next generation of a space that learns, from the pictures there are."""
    left = learn_generation(store, space, workers=workers, report=report, seed=seed)
    if left is not None:
        # Pictures that could not be read just now: a later add tries them again.
        settle_backfill(store, space.name, among=set(), left=left)
