"""Add pictures: walk folders, describe pictures in workers, commit in batches.

The catalog holds all state, so a stopped run (by Ctrl-C or kill -9) continues when it is started
again: committed pictures are recognised by path, size and time.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog import tag_tables
from likewise.catalog.action_tables import forget_removed, removed_hashes
from likewise.catalog.content import digest_of_file, is_text
from likewise.catalog.filters import absolute
from likewise.catalog.jobs import ADDING, Pace, Progress, Report
from likewise.catalog.picture_marks import put_rating
from likewise.catalog.store import REMOVED, Store
from likewise.errors import CollectionError
from likewise.ingest.backfill import fill_gaps, fill_shots, note_unmade
from likewise.ingest.describe import (
    DescribeTask,
    PictureDescription,
    describe,
    describe_failure,
    spaces_to_describe,
)
from likewise.ingest.facts import fill_facts
from likewise.ingest.growth import GrowthPlan, grow_spaces
from likewise.ingest.pool import Workers, n_threads, n_workers, run, stop_idle
from likewise.ingest.walk import Candidate, Walked, candidates
from likewise.library.folder_tags import follow_folders
from likewise.library.sidecars import follow_sidecars
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.graphs import graphs_to_grow, grow_graphs
from likewise_methods.memory import return_free_memory

_BATCH = 32
"""Pictures of a transaction, at most."""
_SECONDS = 1.0
"""Seconds after which a transaction is made of what there is."""
_FEW_NAMED = 1_000
"""Named paths up to which each is checked for having been removed or unreadable before."""

Metadata = Mapping[str, Any] | Callable[[str], Mapping[str, Any] | None]


@dataclass
class AddResult:
    """What a run did.

    Attributes
    ----------
    added, known, duplicates, removed : int
        Pictures that are new, were known, are copies of others, and were removed.
    skipped : list of (str, str)
        Files that were not added, each with the reason.
    seconds : float
        How long it took.
    videos : int
        Videos that were skipped.
    closed : list of str
        Folders that could not be read.
    unmade : list of str
        Spaces whose vectors cannot be made on this machine; an ``add`` on one where they can fills
        them.
    remarks : list of (str, str)
        Pictures and sidecars whose keywords could not be read (the pictures are added all the
        same), and describers that could not run.

    See Also
    --------
    Collection : ``add`` and ``sync`` give it.
    Progress : how far a run is.
    """

    added: int = 0
    known: int = 0
    duplicates: int = 0
    removed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    videos: int = 0
    closed: list[str] = field(default_factory=list)
    unmade: list[str] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.added:,} added", f"{self.known:,} known"]
        if self.duplicates:
            copies = "copy" if self.duplicates == 1 else "copies"
            parts.append(f"{self.duplicates:,} {copies} of known pictures")
        if self.removed:
            parts.append(f"{self.removed:,} removed")
        if self.skipped:
            parts.append(f"{len(self.skipped):,} skipped")
        if self.videos:
            parts.append(f"{self.videos:,} video{'s' * (self.videos > 1)} skipped (not supported)")
        return ", ".join(parts)


def add(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    metadata: Metadata | None,
    workers: Workers | None,
    report: Report,
) -> AddResult:
    """Add what is new below ``paths``; the caller holds the lease."""
    started = time.monotonic()
    places = [absolute(path) for path in paths]
    space_rows.tidy(store)
    with store.write() as c:
        for place in places:
            change.put_root(c, str(place))
    result, walked = AddResult(), Walked()
    options = AddOptions(metadata, {str(place) for place in places})
    todo = _find_new(store, places, options, walked, result, report)
    progress = _ProgressReporter(report, len(todo), len(result.skipped))
    _take_in(store, todo, options, workers, progress, result)
    result.remarks += follow_sidecars(store, walked.sidecars).problems
    follow_folders(store)
    fill_gaps(store, workers=workers, report=progress.note)
    fill_shots(store, workers=workers, report=progress.note)
    result.remarks += fill_facts(store, workers=workers, report=progress.note)
    count = n_workers(workers, store.n_images())
    grow_spaces(store, workers=count, report=progress.note, at_end=True)
    if graphs_to_grow(store):
        # This takes minutes without work for workers, and the most memory.
        stop_idle()
        grow_graphs(store, progress.note)
    space_rows.tidy(store)
    result.seconds = time.monotonic() - started
    return result


class AddOptions(NamedTuple):
    """Options of an add: metadata of the pictures, and the paths that the user named."""

    metadata: Metadata | None
    explicit: set[str]


def _find_new(
    store: Store,
    places: list[Path],
    options: AddOptions,
    walked: Walked,
    result: AddResult,
    report: Report,
) -> list[Candidate]:
    """Walk the folders; return the files that are new or changed."""
    known, explicit = store.known_files(), options.explicit
    removed, again = store.removed_files(), store.transient_problems()
    bad = {row.path for row in store.problems()} if len(explicit) < _FEW_NAMED else set()
    todo = []
    for candidate in candidates(places, walked):
        path = candidate.path
        if not is_text(path):
            shown = path.encode("utf-8", "backslashreplace").decode()
            result.skipped.append((shown, "its name is not valid UTF-8; rename it"))
            continue
        # Skip removed and unreadable pictures unless the user named them.  A file that could not be
        # opened may be available now: try it every time.
        wanted_again = path in again or (path in explicit and (path in removed or path in bad))
        now = (candidate.size, candidate.mtime_ns)
        if candidate.size >= 0 and known.get(path) == now and not wanted_again:
            result.known += 1
        else:
            todo.append(candidate)
        if (result.known + len(todo)) % 500 == 0:
            report(Progress("looking for pictures", result.known + len(todo), 0))
    result.skipped += [(str(e.filename), f"cannot be entered: {e.strerror}") for e in walked.closed]
    result.closed = [str(e.filename) for e in walked.closed]
    result.videos = walked.n_videos
    return todo


class _ProgressReporter:
    """The progress of an add: searchable pictures, of those found.

    Other stages are reported as a note, so the count never goes back.
    """

    def __init__(self, report: Report, total: int, problems: int) -> None:
        self._report, self._pace, self._total = report, Pace(), total
        self._now = Progress(ADDING, 0, total, problems)

    def reached(self, done: int, left_out: int, problems: int) -> None:
        """Report pictures done; ``left_out`` of them cannot be searched."""
        rate = self._pace.rate(done + left_out)
        self._now = Progress(ADDING, done, self._total - left_out, problems, rate)
        self._report(self._now)

    def repeat(self) -> None:
        self._report(self._now)

    def note(self, other: Progress) -> None:
        """Report another stage: as a note while pictures are counted, else by itself."""
        if not self._now.total:
            self._report(other)
            return
        of = f" {other.done:,} of {other.total:,}" if other.total else ""
        self._report(replace(self._now, note=f"{other.stage}{of}"))


def _take_in(
    store: Store,
    todo: list[Candidate],
    options: AddOptions,
    workers: Workers | None,
    progress: _ProgressReporter,
    result: AddResult,
) -> None:
    batch: list[PictureDescription] = []
    last = time.monotonic()
    done, sealed = 0, result.added
    count = n_workers(workers, len(todo))
    growth = GrowthPlan(store, todo, n_threads(count))
    left_out_before = len(result.skipped) + result.known

    def put() -> None:
        nonlocal last, sealed
        _commit(store, batch, growth.generations, options, result)
        batch.clear()
        last = time.monotonic()
        left_out = len(result.skipped) + result.known - left_out_before
        progress.reached(result.added + result.duplicates, left_out, len(result.skipped))
        if result.added >= sealed + seg.SEAL_AT:
            # A stretch may have any length, but the number of unsealed rows is limited.
            sealed = result.added
            _seal(store)

    def put_by_the_clock() -> None:
        if len(batch) >= _BATCH or (batch and time.monotonic() - last > _SECONDS):
            put()

    def tick() -> None:
        put_by_the_clock()
        progress.repeat()  # so that the caller can stop the job while a picture hangs

    if todo:
        progress.reached(0, 0, len(result.skipped))
    result.unmade = note_unmade(store, adding_some=bool(todo))
    # In stretches: after a space has learned, workers need its new generation.
    while done < len(todo):
        spaces = spaces_to_describe(store, count)
        result.unmade = note_unmade(store, adding_some=True)  # loading may have found more
        stretch = todo[done : done + growth.plan(done)]
        tasks = _tasks(store, stretch, spaces, result)
        try:
            # One slow picture must not delay the others.
            for one in run(describe, tasks, count, describe_failure, tick=tick, ahead=growth.ahead):
                batch.append(one)
                growth.n_described += 1
                put_by_the_clock()
                if growth.is_due_now():
                    put()
                    growth.grow(count, progress.note)
        finally:
            # On Ctrl-C too, so that described pictures are not described again.
            put()
        done += len(stretch)
        if growth.spaces_behind:
            fill_gaps(store, workers=count, report=progress.note, among=growth.spaces_behind)
        if not growth.is_over and store.n_images() >= growth.until:
            growth.grow(count, progress.note)
        _seal(store)


def _seal(store: Store) -> None:
    for name, space in store.spaces().items():
        if space.generation:
            while space_rows.seal_segment(store, name):
                pass
            while space_rows.merge_segments(store, name):
                pass
    return_free_memory()


def _tasks(
    store: Store, todo: list[Candidate], spaces: tuple[Space, ...], result: AddResult
) -> Iterator[DescribeTask]:
    """Yield the tasks for workers; a moved file is recognised here by its content.

    A copy in the same batch is recognised when it is committed.
    """
    for candidate, may_be_known in _with_known_sizes(store, todo):
        if may_be_known:
            try:
                image = store.image_of_hash(digest_of_file(candidate.path))
            except OSError:
                image = None
            if image is not None:
                with store.write() as c:
                    change.put_file(
                        c, candidate.path, candidate.size, candidate.mtime_ns, image=image
                    )
                    # It was moved if its old path does not exist.
                    change.forget_files(c, find_moved(store, image))
                result.duplicates += 1
                continue
        yield DescribeTask(candidate, spaces, store.root)


def _with_known_sizes(store: Store, todo: list[Candidate]) -> Iterator[tuple[Candidate, bool]]:
    """Yield files, and whether a picture has the same size: only then can it be a copy."""
    for start in range(0, len(todo), _BATCH):
        some = todo[start : start + _BATCH]
        sizes = store.sizes_among(one.size for one in some if one.size > 0)
        yield from ((one, one.size in sizes) for one in some)


def find_moved(store: Store, image: int) -> list[str]:
    """Return the recorded paths of a picture that no longer exist."""
    return [path for path in store.files_of(image) if not os.path.exists(path)]


def _commit(
    store: Store,
    batch: list[PictureDescription],
    generations: Mapping[str, int],
    options: AddOptions,
    result: AddResult,
) -> None:
    if not batch:
        return
    metadata, removed = options.metadata, removed_hashes(store)
    vectors = defaultdict[tuple[str, int], list[tuple[int, bytes]]](list)
    with store.write() as c:
        for one in batch:
            path, size, mtime = one.candidate.path, one.candidate.size, one.candidate.mtime_ns
            if one.problem is not None or one.info is None:
                problem = one.problem or "could not be described"
                change.put_file(c, path, size, mtime, problem=problem)
                result.skipped.append((path, problem))
                continue
            if one.digest in removed:
                if path not in options.explicit:
                    # The picture was removed, and its file was moved, copied or touched.
                    change.put_file(c, path, size, mtime, problem=REMOVED)
                    result.known += 1
                    continue
                forget_removed(c, one.digest)
            extra = metadata(path) if callable(metadata) else metadata
            image, new = change.put_image(c, one.digest, one.info, extra)
            change.put_file(c, path, size, mtime, image=image)
            if not new:
                result.duplicates += 1
                continue
            result.added += 1
            tag_tables.restore_tags(c, image, one.digest)
            put_rating(c, image, one.rating)
            for source, tags in (one.keywords or {}).items():
                tag_tables.put_sources(c, source, [(image, tag) for tag in tags])
            if one.remark is not None:
                result.remarks.append((path, one.remark))
            for key, vector in one.vectors.items():
                # If the space has learned since, the row is of its new generation.
                if generations.get(key[0]) == key[1]:
                    vectors[key].append((image, vector))
        for (space, generation), some in vectors.items():
            change.put_vectors(c, space, generation, some)


def check_reachable(path: str | os.PathLike[str]) -> Path:
    place = absolute(path)
    if not place.exists():
        raise CollectionError(f"{place} is not there; a picture or a folder of pictures expected")
    return place


def sync(store: Store, *, workers: Workers | None, report: Report) -> AddResult:
    """Update the collection after files in the added folders were added, changed or deleted."""
    started = time.monotonic()
    places = [Path(path) for path in store.roots()]
    unreachable = [place for place in places if not place.exists()]
    reachable = [place for place in places if place.exists()]
    # A root that is a file was deleted if its folder still exists.
    deleted = [p for p in unreachable if p.parent.is_dir() and store.file(str(p)) is not None]
    unreachable = [place for place in unreachable if place not in deleted]
    result = add(store, reachable, metadata=None, workers=workers, report=report)
    # A missing folder usually means an unplugged disk, so it is only reported; `remove` removes its
    # pictures.
    for place in unreachable:
        result.skipped.append((str(place), "is not there; its pictures are kept"))
    known = store.known_files()
    followed = [*reachable, *deleted]
    for place in reachable:
        below = [path for path in known if _is_below(path, place)]
        if place.is_dir() and len(below) > 1 and not any(map(os.path.lexists, below)):
            # All files are missing: an empty mount point looks the same.
            result.skipped.append((str(place), "has lost every picture; they are kept"))
            followed.remove(place)
    # Files in a folder that cannot be entered are unavailable, not deleted.
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
