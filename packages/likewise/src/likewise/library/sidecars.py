"""Sidecars: read the keywords of XMP files next to pictures, and write tags into them.

Sidecars change without the picture, so every ``add`` and ``sync`` lists them and reads those that
are new or changed.  An export keeps everything else in a sidecar and never writes a picture.  It
stores in the catalog what it will write before it writes, so after a crash the next ``sync`` does
not treat our keywords as those of another program.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from likewise.catalog import action_tables, tag_tables
from likewise.catalog.action_tables import SidecarRow, WrittenFile
from likewise.catalog.content import digest_of
from likewise.catalog.database import parts
from likewise.catalog.filters import absolute
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import SIDECAR, SUGGESTED, usable
from likewise.errors import CollectionError
from likewise.library import xmp
from likewise.library.embedded import KeywordsFound
from likewise_methods.durable_files import write_whole

SIDECARS = (".xmp", ".XMP")


@dataclass
class SidecarListing:
    """The sidecars in some folders: size and time, and which folders could not be read."""

    folders: set[str] = field(default_factory=set)
    found: dict[str, tuple[int, int]] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)

    def note(self, path: str) -> None:
        """Add a sidecar, unless it is a broken link or no file."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return
        except OSError:
            self.unseen.add(path)
            return
        if stat.S_ISREG(status.st_mode):
            self.found[path] = (status.st_size, status.st_mtime_ns)

    def list_folder(self, folder: str) -> None:
        """List a folder that is not listed yet."""
        if folder in self.folders:
            return
        self.folders.add(folder)
        try:
            with os.scandir(folder) as entries:
                names = [entry.path for entry in entries if entry.name.endswith(SIDECARS)]
        except OSError:
            self.unseen.add(folder)
            return
        for path in names:
            self.note(path)


def sidecars_of(path: str) -> list[str]:
    """Return the possible names of a sidecar: NAME.EXT.xmp and NAME.xmp, also in capitals."""
    stems = (path, os.path.splitext(path)[0])
    return [f"{stem}{suffix}" for suffix in SIDECARS for stem in stems]


def follow_sidecars(
    store: Store, listing: SidecarListing | None = None, *, every: bool = False
) -> KeywordsFound:
    """Read new and changed sidecars (``every``: all) and update their tags."""
    result = KeywordsFound()
    files = tag_tables.picture_files(store)
    known = action_tables.sidecars(store)
    listing = SidecarListing() if listing is None else listing
    for folder in {os.path.dirname(path) for path, _ in files}:
        listing.list_folder(folder)
    listed, unseen = listing.found, listing.unseen
    pictures: dict[str, set[int]] = {}
    for path, image in files:
        for name in sidecars_of(path):
            if name in listed or name in known:
                pictures.setdefault(name, set()).add(image)
    new: list[SidecarRow] = []
    for name in sorted(pictures.keys() & listed.keys()):
        before = known.get(name)
        size, mtime = listed[name]
        if before is None or every or (before.size, before.mtime_ns) != (size, mtime):
            new.append(_read_sidecar(name, size, mtime, before.written if before else ()))
    # Tags of unreadable folders (on an unplugged disk) stay.
    gone = [
        path
        for path in known
        if path not in listed and path in pictures and not {path, os.path.dirname(path)} & unseen
    ]
    gone += [path for path in known if path not in pictures and not os.path.lexists(path)]
    result.problems += [(row.path, row.problem) for row in new if row.problem]
    # If one cannot be read (half written, perhaps), its known tags stay.
    kept = [
        r._replace(tags=known[r.path].tags, written=known[r.path].written)
        if r.problem and r.path in known
        else r
        for r in new
    ]
    now = {**known, **{row.path: row for row in kept}}
    for path in gone:
        del now[path]
    # Of all pictures, since a moved picture leaves its old sidecar.
    said, last = _tags_by_picture(now.values(), pictures), tag_tables.tags_by_source(store, SIDECAR)
    changed = {
        image: said.get(image, set())
        for image in said.keys() | last.keys()
        if said.get(image, set()) != last.get(image, set())
    }
    result.said = said
    if new or gone or changed:
        with store.write() as c:
            action_tables.drop_sidecars(c, gone)
            for row in kept:
                action_tables.put_sidecar(c, row)
            tag_tables.replace_source(c, SIDECAR, changed)
    return result


def _tags_by_picture(
    sidecars: Iterable[SidecarRow], pictures: Mapping[str, set[int]]
) -> dict[int, set[str]]:
    """Return the keywords that other programs wrote into sidecars, by picture."""
    said: dict[int, set[str]] = {}
    for row in sidecars:
        theirs = set(row.tags) - set(row.written)
        for image in pictures.get(row.path, ()) if theirs else ():
            said.setdefault(image, set()).update(theirs)
    return said


def _read_sidecar(path: str, size: int, mtime_ns: int, written: Iterable[str]) -> SidecarRow:
    tags: list[str] = []
    problem = None
    try:
        if size > xmp.MAX_BYTES:
            raise xmp.UnusableXmp(f"it has {size:,} bytes; {xmp.MAX_BYTES:,} at most are read")
        tags = usable(xmp.keywords(Path(path).read_bytes()))
    except xmp.UnusableXmp as error:
        problem = f"its XMP cannot be read: {error}"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    still = tuple(tag for tag in written if tag in set(tags))
    return SidecarRow(path, size, mtime_ns, tuple(tags), still, problem)


BESIDE = "beside"
_BATCH = 200
_BYTES = 32 << 20
"""Sidecars, and bytes of sidecars, that are written with one note in the catalog."""


@dataclass
class XmpExport:
    """The result of an export.

    Attributes
    ----------
    written, unchanged : int
        Sidecars.
    action : int or None
        The action that undoes it (None: no file was written).
    problems : list of (str, str)
        Sidecars that were left as they are.

    See Also
    --------
    TagImport : the other direction.
    """

    written: int = 0
    unchanged: int = 0
    action: int | None = None
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class XmpPlan:
    """What an export would do: new and changed sidecars, and how many in each folder."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    folders: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)


class _Plan(NamedTuple):
    """A sidecar to write: its content (None: unchanged), and its record in the catalog."""

    target: str
    content: bytes | None
    old: bytes | None
    before: os.stat_result | None
    known: SidecarRow | None
    tags: tuple[str, ...]
    written: tuple[str, ...]

    def intent(self) -> SidecarRow:
        """Return the record during the write: our keywords are the old and the new ones.

        No file has this size, so it is read again after a crash.
        """
        last = () if self.known is None else self.known.tags
        ours = set(self.written) | set(() if self.known is None else self.known.written)
        return SidecarRow(self.target, -1, -1, last, tuple(sorted(ours)), None)


def export_xmp(store: Store, place: Path | None, *, suggested: bool, report: Report) -> XmpExport:
    """Write sidecars for every picture that has tags: next to it, or below a folder (``place``).

    The caller holds the lease.
    """
    result = XmpExport()
    body = {"place": BESIDE if place is None else str(place), "suggested": suggested}
    for done, total, plans in _plans(store, place, suggested, result):
        _carry_out(store, plans, result, body)
        report(Progress("writing sidecars", done, total, problems=len(result.problems)))
    return result


def plan_xmp(store: Store, place: Path | None, *, suggested: bool) -> XmpPlan:
    """Return what :func:`export_xmp` would write."""
    result = XmpPlan()
    for _, _, plans in _plans(store, place, suggested, result):
        for plan in plans:
            if plan.content is None:
                continue
            result.new += plan.old is None
            result.changed += plan.old is not None
            folder = os.path.dirname(plan.target)
            result.folders[folder] = result.folders.get(folder, 0) + 1
    return result


def _plans(
    store: Store, place: Path | None, suggested: bool, result: XmpExport | XmpPlan
) -> Iterator[tuple[int, int, list[_Plan]]]:
    """Yield (files done, of how many, sidecars to write next)."""
    files = tag_tables.picture_files(store)
    taken = _stems(path for path, _ in files)
    top = os.path.commonpath([os.path.dirname(path) for path, _ in files]) if files else ""
    done = 0
    for part in parts(files, _BATCH):
        images = {image for _, image in part}
        said = tag_tables.tags_of_many(store, images)
        refused = tag_tables.refused_of_many(store, images)
        plans: list[_Plan] = []
        for path, image in part:
            tags = [t for t, source in said.get(image, ()) if suggested or source != SUGGESTED]
            target = _target(path, place, top, taken)
            with _collecting_problems(result, target):
                plan = _plan(store, target, tags, refused.get(image, set()))
                result.unchanged += plan is None and bool(tags)
                plans += [plan] if plan is not None else []
            if sum(len(plan.content or b"") for plan in plans) > _BYTES:
                yield done, len(files), plans
                plans = []
        done += len(part)
        yield done, len(files), plans


@contextmanager
def _collecting_problems(result: XmpExport | XmpPlan | XmpTakenBack, target: str) -> Iterator[None]:
    """Record the error of one sidecar and continue."""
    try:
        yield
    except xmp.UnusableXmp as error:
        result.problems.append((target, f"left as it is: {error}"))
    except OSError as error:
        what = "left as it is" if isinstance(result, XmpTakenBack) else "cannot be written"
        result.problems.append((target, f"{what}: {error.strerror or error}"))


def _carry_out(
    store: Store, plans: list[_Plan], result: XmpExport, body: Mapping[str, Any]
) -> None:
    """Store the plan and its undo data, write the sidecars, and store the result."""
    if not plans:
        return
    files = {
        plan.target: WrittenFile(plan.target, digest_of(plan.content), plan.old, plan.known)
        for plan in plans
        if plan.content is not None
    }
    with store.write(durable=True) as c:
        for plan in plans:
            action_tables.put_sidecar(c, plan.intent())
        if files:
            result.action = result.action or action_tables.put_action(
                c, store, action_tables.SIDECARS, 0, body
            )
            for file in files.values():
                action_tables.put_written_file(c, result.action, file)
    made: dict[str, SidecarRow] = {}
    for plan in plans:
        with _collecting_problems(result, plan.target):
            if plan.content is not None:
                _replace(plan.target, plan.content, plan.before)
            now = os.stat(plan.target)
            made[plan.target] = SidecarRow(
                plan.target, now.st_size, now.st_mtime_ns, plan.tags, plan.written, None
            )
            result.written += 1
    with store.write() as c:
        for plan in plans:
            row = made.get(plan.target, plan.known)
            if row is not None:
                action_tables.put_sidecar(c, row)
            else:
                action_tables.drop_sidecars(c, [plan.target])
        if result.action is not None:
            lost = [path for path in files if path not in made]
            result.action = action_tables.settle_written_files(c, result.action, lost)


@dataclass
class XmpTakenBack:
    """Sidecars that were restored; ``problems`` are those left as they are."""

    back: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


def take_back_xmp(store: Store, action: int) -> XmpTakenBack:
    """Delete the sidecars that an export made, and restore those it changed.

    A sidecar that was changed since stays.  The caller holds the lease.
    """
    result = XmpTakenBack()
    for part in parts(action_tables.written_paths(store, action), _BATCH):
        rows: dict[str, SidecarRow | None] = {}
        for path in part:
            file = action_tables.written_file(store, action, path)
            with _collecting_problems(result, path):
                rows[path] = _take_back(file)
                result.back += 1
        with store.write() as c:
            action_tables.drop_sidecars(c, [path for path, row in rows.items() if row is None])
            for row in rows.values():
                if row is not None:
                    action_tables.put_sidecar(c, row)
    return result


def _take_back(file: WrittenFile) -> SidecarRow | None:
    """Restore one sidecar; return its record."""
    # A catalog may be untrusted: delete only sidecars.
    if not file.path.endswith((".xmp", ".XMP")):
        raise OSError(None, "it is no sidecar")
    if file.before is None and not os.path.lexists(file.path):
        return None
    if os.path.islink(file.path) or not os.path.isfile(file.path):
        raise OSError(None, "it was deleted, or is no plain file any more")
    now = Path(file.path).read_bytes()
    if now == file.before:
        status = os.stat(file.path)
    elif digest_of(now) != file.digest:
        raise OSError(None, "it was changed since")
    elif file.before is None:
        os.unlink(file.path)
        return None
    else:
        _replace(file.path, file.before, os.stat(file.path))
        status = os.stat(file.path)
    if file.known is None:
        return None
    return file.known._replace(size=status.st_size, mtime_ns=status.st_mtime_ns)


def _stems(paths: Iterable[str]) -> set[str]:
    """Return names without extension that several pictures share; their NAME.xmp is ambiguous."""
    seen: set[str] = set()
    twice: set[str] = set()
    for path in paths:
        stem = os.path.splitext(path)[0]
        (twice if stem in seen else seen).add(stem)
    return twice


def _target(path: str, place: Path | None, top: str, shared: set[str]) -> str:
    """Return the sidecar of a picture: the existing one, else NAME.EXT.xmp."""
    if place is not None:
        return str(place / os.path.relpath(path, top)) + ".xmp"
    stem = os.path.splitext(path)[0]
    for name in sidecars_of(path):
        own = name.startswith(path)
        if os.path.lexists(name) and (own or stem not in shared):
            return name
    return f"{path}.xmp"


def _plan(store: Store, target: str, tags: list[str], refused: set[str]) -> _Plan | None:
    """Return the new content of a sidecar, None if nothing changes."""
    known = action_tables.sidecar(store, target)
    ours = set(known.written) if known is not None else set()
    before: bytes | None = None
    status = None
    if os.path.lexists(target):
        if os.path.islink(target) or not os.path.isfile(target):
            raise OSError(None, "it is no plain file")
        status = os.stat(target)
        if status.st_size > xmp.MAX_BYTES:
            raise xmp.UnusableXmp(f"it has {status.st_size:,} bytes")
        before = Path(target).read_bytes()
    elif not tags:
        return None
    there = [] if before is None else xmp.keywords(before)
    # Existing keywords first, unchanged and in their order, then ours.
    kept = [word for word in there if not _is_dropped(word, ours, tags, refused)]
    present = set(usable(kept))
    wanted = kept + [tag for tag in tags if tag not in present]
    new = xmp.new_packet(wanted) if before is None else xmp.merge_keywords(before, wanted)
    written = sorted(
        {t for t in tags if t in ours} | {t for t in tags if t not in set(usable(there))}
    )
    if new == before and (sorted(ours) == written if known is not None else not written):
        return None
    return _Plan(
        target, None if new == before else new, before, status, known, tuple(usable(wanted)),
        tuple(written),
    )  # fmt: skip


def _is_dropped(word: str, ours: set[str], tags: list[str], refused: set[str]) -> bool:
    """Return whether a keyword is removed: refused by a person, or ours and no longer a tag."""
    (plain,) = usable([word]) or [""]
    return plain in refused or (plain in ours and plain not in tags)


def _replace(target: str, content: bytes, before: os.stat_result | None) -> None:
    """Replace the file in one step, unless another program changed it meanwhile."""

    def refuse_overwriting(part: Path) -> None:
        if before is not None:
            os.chmod(part, before.st_mode & 0o777)
            now = os.stat(target)
            if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise OSError(None, "another program is writing it; try again")
        elif os.path.lexists(target):
            raise OSError(None, "another program has just created it; try again")

    os.makedirs(os.path.dirname(target), exist_ok=True)
    # A fixed name, so that the next export replaces a file left by a crash.
    part = f"{os.path.basename(target)}.part"
    write_whole(target, content, unfinished=part, ready=refuse_overwriting)


def check_place(place: str | os.PathLike[str]) -> Path | None:
    """Return None for ``"beside"`` (next to the picture), else the folder for sidecars."""
    if os.fspath(place) == BESIDE:
        return None
    folder = absolute(place)
    if folder.exists() and not folder.is_dir():
        raise CollectionError(f"{folder} is a file; a folder for sidecars expected, or 'beside'")
    return folder
