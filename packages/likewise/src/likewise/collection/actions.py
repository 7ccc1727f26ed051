"""Bulk actions: the list of changes to many pictures at once, and how to undo them.

An action is stored in the same transaction as its change.  Undoing restores exactly what it
changed; what was changed again since stays and is counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog import action_tables, jobs, picture_marks, tag_tables
from likewise.catalog.action_tables import ActionRow
from likewise.catalog.content import digest_of_file
from likewise.catalog.pictures import PictureName, Pictures
from likewise.catalog.store import Store, Transaction
from likewise.errors import CollectionError, UnknownName
from likewise.library import removed_files

if TYPE_CHECKING:
    from likewise.learning.profile_states import ProfileStates


class Action(NamedTuple):
    """A bulk action; ``pictures`` counts what it changed (for sidecars: files).

    ``what`` describes it, without the count; ``undone`` is when it was undone.  ``key`` is the id
    of the named key in use.
    """

    id: int
    kind: str
    what: str
    pictures: int
    made: str
    who: str
    undone: str | None
    key: int | None = None


class Undone(NamedTuple):
    """The result of undoing an action: how many pictures (or sidecars) were restored.

    ``left`` counts those that were changed since and stay; ``problems`` are files that could not be
    restored, with the reason.
    """

    action: Action
    restored: int
    left: int
    problems: tuple[tuple[str, str], ...] = ()


class Removed(NamedTuple):
    """Removed pictures, as an action.

    ``moved`` counts the files moved into the collection's folder ``removed``; ``problems`` are
    files that could not be moved.
    """

    action: int
    pictures: int
    moved: int
    problems: tuple[tuple[str, str], ...] = ()


# Listing actions must not import what undoes them.
class Actions:
    """The list of bulk actions, and how to undo them."""

    def __init__(
        self,
        store: Store,
        pictures: Pictures,
        follow: Callable[[jobs.Report], None],
        states: Callable[[], ProfileStates],
    ) -> None:
        self._store, self._pictures, self._follow = store, pictures, follow
        self._states = states
        self._ways: Mapping[str, Callable[[ActionRow, jobs.Report], _Result]] = {
            **dict.fromkeys(action_tables.OF_LINES, self._undo_lines),
            **dict.fromkeys((action_tables.SUGGEST, action_tables.CLEAR), self._undo_suggestions),
            action_tables.SIDECARS: self._undo_sidecars,
            action_tables.REMOVE: self._undo_remove,
            action_tables.MARK: self._undo_marks,
            action_tables.ALBUM: self._undo_album,
            action_tables.TAKE_BACK: self._undo_take_back,
        }

    def list(self, newest: int = 50) -> list[Action]:
        """Return actions, the newest first, with the undone ones."""
        withdrawn = tag_tables.withdrawn_lines(self._store)
        return [_action(row, withdrawn) for row in action_tables.actions(self._store, newest)]

    def __getitem__(self, action: int) -> Action:
        """Return an action by its id."""
        row = action_tables.action(self._store, action)
        if row is None:
            raise UnknownName(f"there is no action {action}; 'likewise library actions' lists them")
        return _action(row, tag_tables.withdrawn_lines(self._store))

    def undo(self, action: int | None = None, *, report: jobs.Report = jobs.silent) -> Undone:
        """Undo the newest action that is not undone, or the one named."""
        row = self._standing(action)
        done = self._ways[row.kind](row, report)
        withdrawn = tag_tables.withdrawn_lines(self._store)
        now = action_tables.action(self._store, row.id)
        assert now is not None
        return Undone(_action(now, withdrawn), done.restored, done.left, done.problems)

    def _standing(self, action: int | None) -> ActionRow:
        withdrawn = tag_tables.withdrawn_lines(self._store)
        if action is None:
            every = action_tables.actions(self._store)
            row = next((one for one in every if not _undone(one, withdrawn)), None)
            if row is None:
                raise CollectionError("there is no action that could be undone")
            return row
        row = action_tables.action(self._store, action)
        if row is None:
            raise UnknownName(f"there is no action {action}; 'likewise library actions' lists them")
        if _undone(row, withdrawn):
            raise CollectionError(f"action {action} was undone already")
        return row

    # -- undoing each kind of action ---------------------------------------------------------

    def _finish(self, c: Transaction, row: ActionRow, restored: int, left: int) -> _Result:
        """Mark an action as undone, unless nothing of it could be."""
        result = _Result(restored, left)
        _refuse_nothing(result)
        action_tables.mark_undone(c, row.id)
        return result

    def _undo_lines(self, row: ActionRow, _: jobs.Report) -> _Result:
        from likewise.tags import tag_log

        back: set[bytes] = set()
        left: set[bytes] = set()
        with self._store.write(durable=True) as c:
            for number in sorted(row.body["lines"], reverse=True):
                line = tag_tables.active_line(self._store, number)
                if line is not None:
                    some, others = tag_log.withdraw_within(c, self._store, line)
                    back |= some
                    left |= others
            return self._finish(c, row, len(back), len(left))

    def _undo_suggestions(self, row: ActionRow, _: jobs.Report) -> _Result:
        from likewise.tags import bulk

        with self._store.write(durable=True) as c:
            done = bulk.undo_suggestions(c, self._store, row.id)
            return self._finish(c, row, len(done.back), len(done.left))

    def _undo_sidecars(self, row: ActionRow, _: jobs.Report) -> _Result:
        from likewise.library.sidecars import take_back_xmp

        with self._store.lease("undo"):
            done = take_back_xmp(self._store, row.id)
            result = _Result(done.back, len(done.problems), tuple(done.problems))
            _refuse_nothing(result)
            with self._store.write(durable=True) as c:
                action_tables.mark_undone(c, row.id)
        return result

    def _undo_remove(self, row: ActionRow, report: jobs.Report) -> _Result:
        from likewise.ingest.backfill import fill_gaps
        from likewise.spaces.registry import open_spaces

        store = self._store
        with store.lease("undo"):
            removed = action_tables.removed_images(store, row.id)
            moves = {path: place for one in removed for path, place in one.moved.items()}
            problems = removed_files.move_back(store.root, moves)
            changed = {path for one in removed for path in one.files if _is_other(path, one)}
            # Skip pictures whose files could not be moved back.
            changed |= {path for path in moves if not os.path.lexists(path)}
            changed |= {path for path, _ in problems}
            spaces = open_spaces(store).values()
            describing = {one.name for one in spaces if one.describes_pictures}
            with store.write(durable=True) as c:
                done = action_tables.restore_removed(c, store, row.id, changed, describing)
                n_back = len(done.images)
                result = _Result(n_back, row.pictures - n_back, tuple(problems))
                _refuse_nothing(result)
                action_tables.mark_undone(c, row.id)
            if done.lacking:
                fill_gaps(store, workers=None, report=report)
            self._follow(report)
        return result

    def _undo_marks(self, row: ActionRow, _: jobs.Report) -> _Result:
        with self._store.write(durable=True) as c:
            done = picture_marks.undo_marks(c, self._store, row.id, row.body["change"])
            return self._finish(c, row, *done)

    def _undo_album(self, row: ActionRow, _: jobs.Report) -> _Result:
        way = row.body["way"]
        with self._store.write(durable=True) as c:
            done = picture_marks.undo_album(
                c, row.id, row.body["album"],
                came=way == "add", made=row.body["made"], gone=way == "delete",
            )  # fmt: skip
            return self._finish(c, row, *done)

    def _undo_take_back(self, row: ActionRow, _: jobs.Report) -> _Result:
        from likewise.learning.history import UNDO
        from likewise.learning.log import append_line
        from likewise.tags import tag_log

        states, body = self._states(), row.body
        # Lock order: the states first, then the catalog.
        with states.lock, self._store.write(durable=True) as c:
            for profile, number in body["profiles"].items():
                append_line(c, self._store, profile, UNDO, {"judgement": number})
            again = sum(tag_log.restore_within(c, self._store, one) for one in body["withdrawals"])
            action_tables.mark_undone(c, row.id)
        for profile in body["profiles"]:
            states.fold_new_lines(profile)
        return _Result(body["judgements"] + again, len(body["withdrawals"]) - again)

    # -- removing ---------------------------------------------------------------------------

    def remove(self, pictures: Iterable[PictureName], *, from_disk: bool = False) -> Removed:
        """Remove pictures in a way that can be undone, with everything said about them.

        ``sync`` and ``add`` of a folder do not add them again; ``add`` of a file itself does.  The
        files stay, unless ``from_disk``: then they are moved into the collection's folder
        ``removed``, and undoing moves them back.
        """
        store = self._store
        images = self._pictures.ids_of(pictures, "pictures")
        if not images:
            raise CollectionError("no picture is named; nothing was removed")
        with store.lease("remove"):
            vectors = _vectors_of(store, images)
            digests: dict[str, bytes] = {}
            if from_disk:
                for image, digest in store.hashes(images).items():
                    digests |= dict.fromkeys(store.files_of(image), digest)
            with store.write(durable=True) as c:
                body = {"from_disk": from_disk}
                n_pictures = len(images)
                action = action_tables.put_action(c, store, action_tables.REMOVE, n_pictures, body)
                moves = removed_files.places_for(digests, action)
                action_tables.remove_remembered(c, action, images, vectors, moves)
            # Move files after the commit: after a crash the pictures are removed, and undo finds
            # each file in either place.
            problems = removed_files.move_away(store.root, moves, digests)
        return Removed(action, n_pictures, len(moves) - len(problems), tuple(problems))


class _Result(NamedTuple):
    restored: int
    left: int
    problems: tuple[tuple[str, str], ...] = ()


def _refuse_nothing(result: _Result) -> None:
    """Refuse to undo an action of which nothing can be restored."""
    if result.left and not result.restored:
        reason = f": {result.problems[0][0]} {result.problems[0][1]}" if result.problems else ""
        raise CollectionError(
            f"all of it was changed since ({result.left:,}), so nothing was undone{reason}"
        )


def _is_other(path: str, one: action_tables.RemovedImage) -> bool:
    """Return whether a file now holds something else than the removed picture."""
    try:
        now = os.stat(path)
        if (now.st_size, now.st_mtime_ns) == one.files[path]:
            return False
        return digest_of_file(path) != one.hash
    except OSError:
        return False  # an unplugged disk, which sync handles


def _vectors_of(store: Store, images: Iterable[int]) -> action_tables.Vectors:
    """Return all rows of some pictures, packed."""
    import numpy as np

    from likewise.spaces import rows as space_rows

    wanted = np.array(sorted(images), np.int64)
    found: dict[tuple[str, int], dict[int, bytes]] = {}
    for space in store.spaces().values():
        if not space.generation:
            continue
        rows = found.setdefault((space.name, space.generation), {})
        for ids, raw in space_rows.raw_rows(store, space):
            for at in np.flatnonzero(np.isin(ids, wanted)).tolist():
                rows[int(ids[at])] = space.row_format.pack(space.row_format.row_at(raw, at))
    return found


def _undone(row: ActionRow, withdrawn: set[int]) -> str | None:
    """Return when an action was undone; its lines may have been withdrawn one by one."""
    if row.undone is not None:
        return row.undone
    lines = row.body.get("lines", ())
    return row.made if lines and withdrawn.issuperset(lines) else None


def _action(row: ActionRow, withdrawn: set[int]) -> Action:
    return Action(
        row.id, row.kind, _describe(row.kind, row.body), row.pictures, row.made, row.who,
        _undone(row, withdrawn), row.body.get("key"),
    )  # fmt: skip


def _describe(kind: str, body: Mapping[str, Any]) -> str:
    """Describe what an action did."""
    tags = ", ".join(f"“{tag}”" for tag in body.get("tags", ()))
    off = ", ".join(f"“{tag}”" for tag in body.get("removed", ()))
    if kind == action_tables.TAG:
        return f"Tagged {tags}" + (f", removed the tag {off}" if off else "")
    if kind == action_tables.UNTAG:
        return f"Removed the tag {off}"
    if kind == action_tables.ACCEPT_MANY:
        no = f", rejected {body['rejected']:,}" if body.get("rejected") else ""
        return f"Accepted {body['accepted']:,} suggestions of {tags}{no}"
    if kind == action_tables.SAVE:
        return f"Saved a search as the tag {tags}"
    if kind == action_tables.SUGGEST:
        return "Suggested tags"
    if kind == action_tables.CLEAR:
        return "Removed suggestions"
    if kind == action_tables.SIDECARS:
        place = body["place"]
        where = "beside the pictures" if place == "beside" else f"below {place}"
        return f"Wrote sidecars {where}"
    if kind == action_tables.MARK:
        return _describe_marks(**body["change"])
    if kind == action_tables.ALBUM:
        ways = {"add": "Put into the album", "take": "Took out of the album"}
        return f"{ways.get(body['way'], 'Deleted the album')} “{body['album']}”"
    if kind == action_tables.TAKE_BACK:
        return f"Took back what was said with the key “{body['name']}”"
    if body.get("from_disk"):
        return "Removed from the collection, files moved into its folder “removed”"
    return "Removed from the collection"


def _describe_marks(
    stars: int | None = None, favourite: bool | None = None, hidden: bool | None = None
) -> str:
    said = []
    if stars is not None:
        said.append(f"Gave {stars} star{'s' * (stars != 1)}" if stars else "Removed the stars")
    if favourite is not None:
        said.append("Made favourites" if favourite else "No favourites any more")
    if hidden is not None:
        said.append("Hid" if hidden else "Showed again")
    return ", ".join(said)
