"""Following folders: files below everything that was added, as they come, change and go."""

from __future__ import annotations

import os
import time
from pathlib import Path

from likewise.catalog import changes as change
from likewise.catalog.jobs import Report
from likewise.catalog.store import Store
from likewise.ingest.add import AddResult, add
from likewise.ingest.pool import Workers


def sync(store: Store, *, workers: Workers | None, report: Report) -> AddResult:
    """Follow what happened below the folders that were added: new, changed and deleted files."""
    started = time.monotonic()
    places = [Path(path) for path in store.roots()]
    unreachable = [place for place in places if not place.exists()]
    reachable = [place for place in places if place.exists()]
    # A root that is a file, and gone from a folder that is there, was deleted.
    deleted = [p for p in unreachable if p.parent.is_dir() and store.file(str(p)) is not None]
    unreachable = [place for place in unreachable if place not in deleted]
    result = add(store, reachable, metadata=None, workers=workers, report=report)
    # A folder that is gone as a whole is more often a disk that is not plugged in than a wish
    # to forget ten thousand pictures: it is reported, and `remove` is there for the wish.
    for place in unreachable:
        result.skipped.append((str(place), "is not there; its pictures are kept"))
    known = store.known_files()
    followed = [*reachable, *deleted]
    for place in reachable:
        below = [path for path in known if _is_below(path, place)]
        if place.is_dir() and len(below) > 1 and not any(map(os.path.lexists, below)):
            # Nothing left of a whole folder: an empty mount point looks exactly like this.
            result.skipped.append((str(place), "has lost every picture; they are kept"))
            followed.remove(place)
    # A file behind a folder that cannot be entered is not gone, it is out of sight.
    hidden = [Path(path) for path in result.closed]
    gone = [
        path
        for path in known
        if not os.path.lexists(path)
        and any(_is_below(path, place) for place in followed)
        and not any(_is_below(path, place) for place in hidden)
    ]
    if gone:
        with store.write(durable=True) as c:
            result.removed = len(change.forget_files(c, gone))
    result.seconds = time.monotonic() - started
    return result


def _is_below(path: str, place: Path) -> bool:
    return path == str(place) or path.startswith(str(place).rstrip(os.sep) + os.sep)
