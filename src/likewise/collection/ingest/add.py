"""Adding and following folders: walk, describe in workers, commit in batches.

Nothing is remembered but what the catalog holds, so a run that is stopped, by Ctrl-C or by
kill -9, goes on where it was when it is started again: committed pictures are known by path, size
and time, and everything else is simply still to do.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.collection.content import digest_of_file, is_text
from likewise.collection.errors import CollectionError
from likewise.collection.ingest import generations as gen
from likewise.collection.ingest.pooled import build_pooled
from likewise.collection.ingest.walk import Candidate, candidates
from likewise.collection.ingest.workers import (
    Described,
    DescribeTask,
    describe,
    run,
)
from likewise.collection.jobs import Progress, Report
from likewise.collection.keywords.folder_tags import follow_folders
from likewise.collection.keywords.sidecars import follow_sidecars
from likewise.collection.plain import absolute
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.graphs import grow_graphs
from likewise.collection.spaces.recipes import (
    cells_of,
    learns,
    load_networks,
    made_here,
    n_words,
    pools,
    step_of,
)
from likewise.collection.store import changes as change
from likewise.collection.store import tags as catalog_tags
from likewise.collection.store.store import SpaceRow, Store

FIRST_WORDS_AT = 300
"""Pictures after which the first words are learned, so that search works while add goes on."""
_BATCH = 32
_SECONDS = 1.0
_FEW = 16
_STRETCH = 64

Metadata = Mapping[str, Any] | Callable[[str], Mapping[str, Any] | None]


@dataclass
class AddResult:
    """What a run did.  ``skipped`` lists files with the reason why they are not in.

    ``unmade`` names spaces whose vectors cannot be made on this machine: an ``add`` on one where
    they can makes up for it.  ``remarks`` are pictures and sidecars whose keywords could not be
    read; the pictures are in all the same.
    """

    added: int = 0
    known: int = 0
    duplicates: int = 0
    removed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
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
        return ", ".join(parts)


def n_workers(wanted: int | None, n_tasks: int) -> int:
    """Processes for a job: none for a handful of pictures, else one a core."""
    if wanted is not None:
        return wanted
    return 0 if n_tasks < _FEW else min(os.cpu_count() or 1, 16)


def add(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    metadata: Metadata | None,
    workers: int | None,
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
    closed: list[OSError] = []
    for candidate in candidates(places, closed.append):
        if not is_text(candidate.path):
            shown = candidate.path.encode("utf-8", "backslashreplace").decode()
            result.skipped.append((shown, "its name is not valid UTF-8; rename it"))
            continue
        # What could not even be looked at may be there by now: it is tried every time.
        now = (candidate.size, candidate.mtime_ns)
        # A picture that was taken out stays out, unless it is named itself.
        wanted_again = candidate.path in again or (
            candidate.path in removed and candidate.path in explicit
        )
        if candidate.size >= 0 and known.get(candidate.path) == now and not wanted_again:
            result.known += 1
        else:
            todo.append(candidate)
        if (result.known + len(todo)) % 500 == 0:
            report(Progress("looking for pictures", result.known + len(todo), 0))
    result.skipped += [(str(e.filename), f"cannot be entered: {e.strerror}") for e in closed]
    result.closed = [str(e.filename) for e in closed]
    _take_in(store, todo, metadata, workers, report, result)
    result.remarks += follow_sidecars(store).problems
    follow_folders(store)
    fill_gaps(store, workers=workers, report=report)
    grow(store, workers=n_workers(workers, store.n_images()), report=report)
    grow_graphs(store, report)
    space_rows.tidy(store)
    result.seconds = time.monotonic() - started
    return result


def sync(store: Store, *, workers: int | None, report: Report) -> AddResult:
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
        below = [path for path in known if _below(path, place)]
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
        and any(_below(path, place) for place in followed)
        and not any(_below(path, place) for place in hidden)
    ]
    if gone:
        with store.write(durable=True) as c:
            result.removed = len(change.forget_files(c, gone))
    result.seconds = time.monotonic() - started
    return result


def _take_in(
    store: Store,
    todo: list[Candidate],
    metadata: Metadata | None,
    workers: int | None,
    report: Report,
    result: AddResult,
) -> None:
    batch: list[Described] = []
    last = time.monotonic()
    done = 0

    def put() -> None:
        nonlocal last
        _commit(store, batch, metadata, result)
        batch.clear()
        last = time.monotonic()

    count = n_workers(workers, len(todo))
    result.unmade = _not_made_here(store, bool(todo))
    # In stretches: after the first words exist, workers get to know them.
    while done < len(todo):
        steps = gen.steps(store)
        until = next_growth(store)
        # Never a handful: each stretch starts its own workers.
        room = max(until - store.n_images(), _STRETCH)
        stretch = todo[done : done + room]
        tasks = _tasks(store, stretch, steps, result)
        try:
            for one in run(describe, tasks, count, gen.crashed):
                batch.append(one)
                total = result.added + result.duplicates + len(result.skipped) + len(batch)
                report(Progress("adding pictures", total, len(todo), problems=len(result.skipped)))
                if len(batch) >= _BATCH or time.monotonic() - last > _SECONDS:
                    put()
        finally:
            # Ctrl-C too: what was described is not described again.
            put()
        done += len(stretch)
        if store.n_images() >= until:
            grow(store, workers=count, report=report)
        for name, space in store.spaces().items():
            if space.generation:
                space_rows.seal(store, name)


def _not_made_here(store: Store, adding_some: bool) -> list[str]:
    """Spaces that new pictures get no vector in; remembered, so that a later add fills them."""
    found = [
        space.name
        for space in store.spaces().values()
        if space.generation
        and space.recipe["feature"] != "own"
        and not made_here(space.recipe)
        and store.setting(filling(space.name)) is not True
    ]
    if adding_some and found:
        with store.write() as c:
            for name in found:
                change.put_setting(c, filling(name), WAITING)
    return found


def _tasks(
    store: Store, todo: list[Candidate], steps: Any, result: AddResult
) -> Iterator[DescribeTask]:
    """What workers must do; a file that moved is recognised here by its content."""
    for candidate in todo:
        if candidate.size > 0 and store.has_size(candidate.size):
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
                    change.forget_files(c, moved_from(store, image))
                result.duplicates += 1
                continue
        yield DescribeTask(candidate, steps)


def moved_from(store: Store, image: int) -> list[str]:
    """Recorded paths of a picture at which there is nothing any more."""
    return [path for path in store.files_of(image) if not os.path.exists(path)]


def _commit(
    store: Store, batch: list[Described], metadata: Metadata | None, result: AddResult
) -> None:
    if not batch:
        return
    with store.write() as c:
        for one in batch:
            path, size, mtime = one.candidate.path, one.candidate.size, one.candidate.mtime_ns
            if one.problem is not None or one.info is None:
                problem = one.problem or "could not be described"
                change.put_file(c, path, size, mtime, problem=problem)
                result.skipped.append((path, problem))
                continue
            extra = metadata(path) if callable(metadata) else metadata
            image, new = change.put_image(c, one.digest, one.info, extra)
            change.put_file(c, path, size, mtime, image=image)
            if not new:
                result.duplicates += 1
                continue
            result.added += 1
            catalog_tags.come_back(c, image, one.digest)
            for source, tags in (one.keywords or {}).items():
                catalog_tags.put_sources(c, source, [(image, tag) for tag in tags])
            if one.remark is not None:
                result.remarks.append((path, one.remark))
            for (space, generation), vector in one.vectors.items():
                change.put_vector(c, space, generation, image, vector)


def next_growth(store: Store) -> int:
    """Pictures at which some words space should be built or weighed again.

    So that search keeps up during a long ``add``: first words early, a new idf whenever the
    collection has doubled, more words when it has become large.
    """
    points = [sys.maxsize]
    for space in store.spaces().values():
        if pools(space.recipe):
            # Nothing is counted by words here: it learns when an add ends.
            continue
        if not (learns(space.recipe) and made_here(space.recipe)):
            continue
        if not space.generation:
            points.append(FIRST_WORDS_AT)
            continue
        points.append(2 * max(space.n_pictures, 1))
        if space.n_pictures < space.recipe.get("large_from", 0):
            points.append(space.recipe["large_from"])
    return min(points)


def grow(store: Store, *, workers: int, report: Report) -> None:
    """Build the next generation of the spaces that the collection has outgrown.

    First words as soon as there are pictures; more words when the collection is large; a new idf
    when it is twice what it was when the idf was frozen.
    """
    n = store.n_images()
    if n == 0:
        return
    for name, space in store.spaces().items():
        if not (trains(space.recipe) and made_here(space.recipe)):
            continue
        if outgrown(space, n):
            build(store, name, workers=workers, report=report)
        elif learns(space.recipe) and space.generation and n >= 2 * max(space.n_pictures, 1):
            gen.reweigh(store, name, report)


def outgrown(space: SpaceRow, n_pictures: int) -> bool:
    """Whether a space that learns should learn again: from more pictures, or more words."""
    if not space.generation:
        return True
    recipe = space.recipe
    if pools(recipe):
        # Directions found in a few hundred pictures are poor; beyond the sample nothing is gained.
        few = space.n_pictures < gen.SAMPLE_PICTURES
        return few and n_pictures >= 2 * max(space.n_pictures, 1)
    if recipe["feature"] == "deep-words":
        # Their number follows the root of the collection: twice the words at four times.  Never
        # of the pictures it was learned from, be it that some of them could not be read.
        cells = cells_of(recipe) * min(n_pictures, gen.SAMPLE_PICTURES)
        more = n_words(recipe, n_pictures, cells) >= 2 * space.width
        return more and n_pictures >= 2 * max(space.n_pictures, 1)
    # Fewer words than the recipe's first number: learned from too few descriptors.
    few = space.width < recipe["n_words"] and n_pictures >= 2 * max(space.n_pictures, 1)
    large = n_pictures >= recipe["large_from"] and space.width < recipe["n_words_large"]
    return bool(few or (large and space.n_pictures < recipe["large_from"]))


def trains(recipe: Mapping[str, Any]) -> bool:
    """Whether something of a space is learned from the collection."""
    return learns(recipe) or pools(recipe)


def build(store: Store, name: str, *, workers: int, report: Report, seed: int = 0) -> None:
    """The next generation of a space that learns, from the pictures there are."""
    if not pools(store.spaces()[name].recipe):
        gen.build_words(store, name, workers=workers, report=report, seed=seed)
        return
    left = build_pooled(store, name, workers=workers, report=report, seed=seed)
    # Pictures that could not be read just now: a later add tries them again.
    settle(store, name, among=set(), left=left)


def fill_gaps(store: Store, *, workers: int | None, report: Report) -> None:
    """Vectors that a space lacks: its back-fill was interrupted, or they could not be made.

    The catalog remembers which spaces those are, so that an add does not look for gaps; and which
    pictures, where their files could not be reached: only those are tried again.
    """
    for space in store.spaces().values():
        waiting = store.setting(filling(space.name))
        if not waiting or not (space.generation and made_here(space.recipe)):
            continue
        if isinstance(waiting, list):
            missing = set(waiting)
        else:
            missing = store.images_without(space.name, space.generation)
            for row in store.segments(space.name, space.generation):
                missing.difference_update(
                    space_rows.reader(space)(store.root, row.name).ids.tolist()
                )
        paths = [(row.id, row.path) for row in store.images(missing).values() if row.path]
        reached = [(image, path) for image, path in paths if os.access(path, os.R_OK)]
        if reached:
            with store.write() as c:
                # Whoever comes after an interruption must look for itself what there is.
                change.put_setting(c, filling(space.name), True)
            count = n_workers(workers, len(reached))
            gen.count_all(store, step_of(store.root, space), reached, count, report)
        left = set(dict(paths)) - set(dict(reached))
        settle(store, space.name, among=set(dict(paths)), left=left)


def settle(
    store: Store, name: str, *, among: set[int] | None = None, left: Iterable[int] = ()
) -> None:
    """After a back-fill: forget it, but for pictures whose files cannot be reached.

    ``among`` are the pictures that were tried (None: all), ``left`` those that were not.  A file
    that can be read and gives no vector is not tried again: it would cost every later add.
    """
    space = store.spaces()[name]
    unreached = set(left)
    if space.generation and space.recipe["feature"] != "own":
        lacking = store.images_without(name, space.generation)
        rows = store.images(lacking if among is None else lacking & among).values()
        unreached |= {row.id for row in rows if row.path and not os.access(row.path, os.R_OK)}
    with store.write() as c:
        if unreached:
            change.put_setting(c, filling(name), sorted(unreached))
        else:
            change.drop_setting(c, filling(name))


WAITING = "for a machine where its vectors can be made"
"""The value of that setting when nothing went wrong; a list: pictures that could not be reached."""


def filling(space: str) -> str:
    """The setting that is there while a space is being back-filled."""
    return f"filling {space}"


def backfill(store: Store, name: str, *, workers: int | None, report: Report) -> None:
    """Vectors of a new space for the pictures that are there already."""
    space = store.spaces()[name]
    count = n_workers(workers, store.n_images())
    if space.recipe["feature"] == "own":
        return
    load_networks(space.recipe)
    if trains(space.recipe):
        build(store, name, workers=count, report=report)
        return
    pictures = [(row.id, row.path) for row in store.every_image() if row.path]
    gen.count_all(store, step_of(store.root, space), pictures, count, report)


def check_reachable(path: str | os.PathLike[str]) -> Path:
    place = absolute(path)
    if not place.exists():
        raise CollectionError(f"{place} is not there; a picture or a folder of pictures expected")
    return place


def _below(path: str, place: Path) -> bool:
    return path == str(place) or path.startswith(str(place).rstrip(os.sep) + os.sep)
