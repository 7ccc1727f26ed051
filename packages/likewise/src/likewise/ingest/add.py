"""Adding pictures: walk, describe in workers, commit in batches.

Nothing is remembered but what the catalog holds, so a run that is stopped, by Ctrl-C or by
kill -9, goes on where it was when it is started again: committed pictures are known by path, size
and time, and everything else is simply still to do.
"""

from __future__ import annotations

import os
import sys
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
from likewise.ingest.backfill import fill_gaps, note_unmade
from likewise.ingest.facts import fill_facts
from likewise.ingest.generations import spaces_to_describe
from likewise.ingest.growth import (
    grow_spaces,
    grows_without_workers,
    is_outgrown_by,
    mark_spaces_behind,
    next_growth,
)
from likewise.ingest.pool import AHEAD, Workers, n_threads, run, stop_idle
from likewise.ingest.shots import fill_shots
from likewise.ingest.walk import Candidate, candidates
from likewise.ingest.workers import (
    DescribeTask,
    PictureDescription,
    describe,
    describe_failure,
    n_workers,
)
from likewise.library.folder_tags import follow_folders
from likewise.library.sidecars import follow_sidecars
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.graphs import graphs_to_grow, grow_graphs
from likewise_methods.memory import return_free_memory

_BATCH = 32
_SECONDS = 1.0
_STRETCH = 64
_QUEUED = 80
"""Pictures that workers have at hand while spaces learn here: a second of work for two.  However
many workers there are, so that a space learns from the same pictures."""
_LONG = 500
"""Pictures of an add from which it learns before its last ones are described, not after."""
_TAIL = 0.1
"""Share of the pictures that may come after: more might be of another kind, and teach it again."""
_SHORT, _SHORT_BYTES = 1_200, 96 << 20
"""Pictures, and bytes of their files, up to which an add is over in seconds: what spaces learned on
the way would hardly be asked before they learned again.  Both are known beforehand, so that spaces
learn from the same pictures on any machine."""
_FEW_NAMED = 1_000
"""Paths somebody names, up to which each is asked whether it is wanted again."""

Metadata = Mapping[str, Any] | Callable[[str], Mapping[str, Any] | None]


@dataclass
class AddResult:
    """What a run did.

    Attributes
    ----------
    added, known, duplicates, removed : int
        Pictures that came, that were there, that are copies of others, and that went.
    skipped : list of (str, str)
        Files that are not in, each with the reason.
    seconds : float
        What it took.
    videos : int
        Films that were passed by: only pictures are searched.
    closed : list of str
        Folders that could not be read.
    unmade : list of str
        Spaces whose vectors cannot be made on this machine: an ``add`` on one where they can makes
        up for it.
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
            parts.append(f"{self.duplicates:,} copies of known pictures")
        if self.removed:
            parts.append(f"{self.removed:,} removed")
        if self.skipped:
            parts.append(f"{len(self.skipped):,} skipped")
        if self.videos:
            parts.append(f"{self.videos:,} video{'s' * (self.videos > 1)} passed by")
        return ", ".join(parts)


def add(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    metadata: Metadata | None,
    workers: Workers | None,
    report: Report,
) -> AddResult:
    """Take in what is new below ``paths``; the caller holds the lease."""
    started = time.monotonic()
    places = [absolute(path) for path in paths]
    space_rows.tidy(store)
    with store.write() as c:
        for place in places:
            change.put_root(c, str(place))
    known = store.known_files()
    result = AddResult()
    todo = []
    explicit = {str(place) for place in places}
    removed, again = store.removed_files(), store.transient_problems()
    bad = {row.path for row in store.problems()} if len(explicit) < _FEW_NAMED else set()
    closed: list[OSError] = []
    videos: list[str] = []
    for candidate in candidates(places, closed.append, videos.append):
        if not is_text(candidate.path):
            shown = candidate.path.encode("utf-8", "backslashreplace").decode()
            result.skipped.append((shown, "its name is not valid UTF-8; rename it"))
            continue
        # What could not even be looked at may be there by now: it is tried every time.
        now = (candidate.size, candidate.mtime_ns)
        # A picture that was taken out stays out, and one that could not be read is not tried
        # again, unless it is named itself.
        wanted_again = candidate.path in again or (
            candidate.path in explicit and (candidate.path in removed or candidate.path in bad)
        )
        if candidate.size >= 0 and known.get(candidate.path) == now and not wanted_again:
            result.known += 1
        else:
            todo.append(candidate)
        if (result.known + len(todo)) % 500 == 0:
            report(Progress("looking for pictures", result.known + len(todo), 0))
    result.skipped += [(str(e.filename), f"cannot be entered: {e.strerror}") for e in closed]
    result.videos = len(videos)
    result.closed = [str(e.filename) for e in closed]
    progress = _ProgressReporter(report, len(todo), len(result.skipped))
    _take_in(store, todo, AddOptions(metadata, explicit), workers, progress, result)
    result.remarks += follow_sidecars(store).problems
    follow_folders(store)
    fill_gaps(store, workers=workers, report=progress.note)
    fill_shots(store, workers=workers, report=progress.note)
    result.remarks += fill_facts(store, workers=workers, report=progress.note)
    count = n_workers(workers, store.n_images())
    grow_spaces(store, workers=count, report=progress.note, at_end=True)
    if graphs_to_grow(store):
        # Minutes without work for workers, and the most memory there is need of.
        stop_idle()
        grow_graphs(store, progress.note)
    space_rows.tidy(store)
    result.seconds = time.monotonic() - started
    return result


class _ProgressReporter:
    """The one line of progress of an add: pictures that can be searched, of those that came.

    What else has to be done on the way is told as a note: no stage takes the count back.
    """

    def __init__(self, report: Report, total: int, problems: int) -> None:
        self._report, self._pace, self._total = report, Pace(), total
        self._now = Progress(ADDING, 0, total, problems)

    def reached(self, done: int, left_out: int, problems: int) -> None:
        """``left_out`` were looked at and are not in: they take time, and nobody can find them."""
        rate = self._pace.rate(done + left_out)
        self._now = Progress(ADDING, done, self._total - left_out, problems, rate)
        self._report(self._now)

    def repeat(self) -> None:
        self._report(self._now)

    def note(self, other: Progress) -> None:
        """Another stage: told beside the count where pictures came, and else as it is."""
        if not self._now.total:
            self._report(other)
            return
        of = f" {other.done:,} of {other.total:,}" if other.total else ""
        self._report(replace(self._now, note=f"{other.stage}{of}"))


class AddOptions(NamedTuple):
    """What whoever adds wants of pictures: metadata, and the paths that were named themselves."""

    metadata: Metadata | None
    explicit: set[str]


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
    growth = _Growth(store, todo, n_threads(count))
    left_out_before = len(result.skipped) + result.known

    def put() -> None:
        nonlocal last, sealed
        _commit(store, batch, growth.generations, options, result)
        batch.clear()
        last = time.monotonic()
        left_out = len(result.skipped) + result.known - left_out_before
        progress.reached(result.added + result.duplicates, left_out, len(result.skipped))
        if result.added >= sealed + seg.SEAL_AT:
            # A stretch may be of any length; what it adds to the catalog is not.
            sealed = result.added
            _seal(store)

    def put_by_the_clock() -> None:
        if len(batch) >= _BATCH or (batch and time.monotonic() - last > _SECONDS):
            put()

    def tick() -> None:
        put_by_the_clock()
        progress.repeat()  # whoever wants to stop this is asked there, also while a picture hangs

    if todo:
        progress.reached(0, 0, len(result.skipped))
    result.unmade = note_unmade(store, adding_some=bool(todo))
    # In stretches: after a space has learned, workers get to know it.
    while done < len(todo):
        spaces = spaces_to_describe(store, count)
        result.unmade = note_unmade(store, adding_some=True)  # workers know more of what can run
        stretch = todo[done : done + growth.plan(done)]
        tasks = _tasks(store, stretch, spaces, result)
        try:
            # One slow picture must not hold back those that are done.
            for one in run(describe, tasks, count, describe_failure, tick=tick, ahead=growth.ahead):
                batch.append(one)
                growth.n_described += 1
                put_by_the_clock()
                if growth.is_due_now():
                    put()
                    growth.grow(count, progress.note)
        finally:
            # Ctrl-C too: what was described is not described again.
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
    # Rows by the thousand came and went, and what was learned of them took a moment's memory.
    return_free_memory()


class _Growth:
    """When spaces learn during an add: at the end of a stretch, or, where that takes rows only,
    while workers describe its last pictures; and then once only where the add is short.
    """

    def __init__(self, store: Store, todo: list[Candidate], n_workers: int) -> None:
        self._store, self._total = store, len(todo)
        self._ahead = max(AHEAD, -(-_QUEUED // n_workers))
        from_rows = grows_without_workers(store)
        self._meanwhile = from_rows and len(todo) >= _LONG
        n_bytes = sum(max(one.size, 0) for one in todo)
        self._once = from_rows and len(todo) <= _SHORT and n_bytes <= _SHORT_BYTES
        self._due = 0
        self.until, self.n_described, self.is_over = 0, 0, False
        self.spaces_behind: list[str] = []
        """Spaces that pictures of this stretch may lack rows in."""
        self.generations: dict[str, int] = {}

    def plan(self, done: int) -> int:
        """Pictures of the stretch that begins when so many are done."""
        store, n, left = self._store, self._store.n_images(), self._total - done
        self.until = sys.maxsize if self._once else next_growth(store)
        self.generations = {name: one.generation for name, one in store.spaces().items()}
        self.spaces_behind, self.n_described, self.is_over = [], 0, False
        # Never a handful: between two stretches the workers wait.
        room = max(self.until - n, _STRETCH)
        self._due = sys.maxsize
        if self._meanwhile:
            early = left - _QUEUED
            if room < early:
                self._due, room = room, room + _QUEUED
            elif early >= (n + left) / (1 + _TAIL) - n and is_outgrown_by(store, n + early):
                # It would have to learn when all are in: a moment before, nobody waits for it.
                self._due, self.until = early, n + early
        return min(room, left)

    def ahead(self) -> int:
        """Tasks a worker has at a time: many shortly before this process is busy."""
        soon = self._due - _BATCH <= self.n_described + _QUEUED
        return self._ahead if soon and not self.is_over else AHEAD

    def is_due_now(self) -> bool:
        return not self.is_over and self.n_described >= self._due

    def grow(self, workers: Workers, report: Report) -> None:
        self.is_over = True
        grow_spaces(self._store, workers=workers, report=report)
        self.generations = {name: one.generation for name, one in self._store.spaces().items()}
        if self.n_described >= self._due:
            self.spaces_behind = mark_spaces_behind(self._store)


def _tasks(
    store: Store, todo: list[Candidate], spaces: tuple[Space, ...], result: AddResult
) -> Iterator[DescribeTask]:
    """What workers must do; a file that moved is recognised here by its content.

    A copy that comes within the same handful is found by its content when it is committed.
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
                    # Moved rather than copied: the old path is no longer where it is.
                    change.forget_files(c, find_moved(store, image))
                result.duplicates += 1
                continue
        yield DescribeTask(candidate, spaces, store.root)


def _with_known_sizes(store: Store, todo: list[Candidate]) -> Iterator[tuple[Candidate, bool]]:
    """Files, and whether a picture has the size of each: nothing else may be a copy of one."""
    for start in range(0, len(todo), _BATCH):
        some = todo[start : start + _BATCH]
        sizes = store.sizes_among(one.size for one in some if one.size > 0)
        yield from ((one, one.size in sizes) for one in some)


def find_moved(store: Store, image: int) -> list[str]:
    """Recorded paths of a picture at which there is nothing any more."""
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
                    # Its file was moved, copied or touched: it is the picture that was taken out.
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
                # A space that has learned since has rows of its own for it.
                if generations.get(key[0]) == key[1]:
                    vectors[key].append((image, vector))
        for (space, generation), some in vectors.items():
            change.put_vectors(c, space, generation, some)


def check_reachable(path: str | os.PathLike[str]) -> Path:
    place = absolute(path)
    if not place.exists():
        raise CollectionError(f"{place} is not there; a picture or a folder of pictures expected")
    return place
