"""Stars, favourites, hidden pictures and albums, and how pictures were taken.

They are stored by content, so a picture that is removed and added again has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from likewise.catalog.store import Store, Transaction
from likewise.images.shots import Shot


class Marks(NamedTuple):
    """Stars, favourite and hidden of a picture."""

    stars: int = 0
    favourite: bool = False
    hidden: bool = False


class AlbumRow(NamedTuple):
    """An album: how many of its pictures are in the collection, and one of them as its cover."""

    name: str
    pictures: int
    cover: int | None


def marks_of(store: Store, ids: Iterable[int]) -> dict[int, Marks]:
    """Return the marks of pictures by id, without unmarked pictures."""
    sql = """SELECT i.id, m.stars, m.favourite, m.hidden FROM images i
             JOIN picture_marks m ON m.hash = i.hash WHERE i.id IN ({})"""
    return {row[0]: Marks(row[1], bool(row[2]), bool(row[3])) for row in store.each(sql, ids)}


def marked_images(store: Store) -> list[int]:
    """Return the pictures that have a mark or are in an album."""
    return store.column(
        """SELECT i.id FROM images i WHERE i.hash IN (SELECT hash FROM picture_marks)
           OR i.hash IN (SELECT hash FROM album_pictures) ORDER BY 1"""
    )


def albums(store: Store) -> list[AlbumRow]:
    """Return all albums by name; hidden pictures are not counted and are no cover."""
    rows = store.all(
        """SELECT a.name, count(i.id), max(i.id) FROM albums a
           LEFT JOIN album_pictures p ON p.album = a.id
           LEFT JOIN images i ON i.hash = p.hash
               AND i.hash NOT IN (SELECT hash FROM picture_marks WHERE hidden = 1)
           GROUP BY a.id ORDER BY a.name COLLATE NOCASE"""
    )
    return [AlbumRow(*tuple(row)) for row in rows]


def albums_of(store: Store, ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the albums of pictures by id, without pictures in no album."""
    found: dict[int, list[str]] = {}
    sql = """SELECT i.id, a.name FROM albums a JOIN album_pictures p ON p.album = a.id
             JOIN images i ON i.hash = p.hash WHERE i.id IN ({}) ORDER BY 2"""
    for image, name in store.each(sql, ids):
        found.setdefault(image, []).append(name)
    return found


def has_album(store: Store, name: str) -> bool:
    return store.one("SELECT 1 FROM albums WHERE name = ?", (name,)) is not None


def album_members(store: Store, name: str, ids: Iterable[int]) -> set[int]:
    """Return those of the pictures that are in an album."""
    sql = """SELECT i.id FROM images i JOIN album_pictures p ON p.hash = i.hash
             WHERE p.album = (SELECT id FROM albums WHERE name = ?) AND i.id IN ({})"""
    return {row[0] for row in store.each(sql, ids, name)}


def shot_of(store: Store, id_: int) -> Shot | None:
    """Return how and where a picture was taken, according to its file."""
    rows = store.all(
        "SELECT lens, exposure, aperture, iso, focal, latitude, longitude FROM shots "
        "WHERE image = ?",
        (id_,),
    )
    return Shot(*tuple(rows[0])) if rows else None


def unread_shots(store: Store) -> list[int]:
    """Return the pictures whose EXIF was last read by a version that stored fewer fields."""
    return store.column("SELECT image FROM unread_shots ORDER BY 1")


# -- writes, inside ``Store.write`` ----------------------------------------------------------


def put_marks(c: Transaction, wanted: Mapping[int, Marks]) -> None:
    for image, mark in wanted.items():
        row = c.execute("SELECT hash FROM images WHERE id = ?", (image,)).fetchone()
        if row is not None:
            _put(c, row[0], mark)


def _put(c: Transaction, digest: bytes, mark: Marks) -> None:
    c.execute("DELETE FROM picture_marks WHERE hash = ?", (digest,))
    if mark != Marks():
        c.execute("INSERT INTO picture_marks VALUES (?, ?, ?, ?)", (digest, *map(int, mark)))


def put_shot(c: Transaction, image: int, shot: Shot | None) -> None:
    """Store how a picture was taken; a rating in the file counts only where there are no marks."""
    c.execute("DELETE FROM unread_shots WHERE image = ?", (image,))
    if shot is None:
        return
    c.execute("DELETE FROM shots WHERE image = ?", (image,))
    values = (shot.lens, shot.exposure, shot.aperture, shot.iso, shot.focal, shot.latitude,
              shot.longitude)  # fmt: skip
    if any(value is not None for value in values):
        c.execute("INSERT INTO shots VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (image, *values))
    put_rating(c, image, shot.rating)


def put_rating(c: Transaction, image: int, rating: int | None) -> None:
    """Store the stars in a file for a picture without marks."""
    if rating:
        c.execute(
            """INSERT OR IGNORE INTO picture_marks (hash, stars)
               SELECT hash, ? FROM images WHERE id = ?""",
            (rating, image),
        )


def put_album(c: Transaction, name: str) -> None:
    c.execute(
        "INSERT OR IGNORE INTO albums (name, made) VALUES (?, ?)",
        (name, datetime.now(UTC).isoformat(timespec="seconds")),
    )


def rename_album(c: Transaction, name: str, new: str) -> None:
    c.execute("UPDATE albums SET name = ? WHERE name = ?", (new, name))


def drop_album(c: Transaction, name: str) -> None:
    c.execute("DELETE FROM albums WHERE name = ?", (name,))


def put_into_album(c: Transaction, name: str, images: Iterable[int]) -> None:
    c.executemany(
        """INSERT OR IGNORE INTO album_pictures SELECT a.id, i.hash FROM albums a, images i
           WHERE a.name = ? AND i.id = ?""",
        [(name, image) for image in images],
    )


def take_from_album(c: Transaction, name: str, images: Iterable[int]) -> None:
    c.executemany(
        """DELETE FROM album_pictures WHERE album = (SELECT id FROM albums WHERE name = ?)
           AND hash = (SELECT hash FROM images WHERE id = ?)""",
        [(name, image) for image in images],
    )


# -- bulk actions and undo -------------------------------------------------------------------


def put_action_marks(c: Transaction, action: int, before: Mapping[int, Marks]) -> None:
    """Store the marks that an action changed, as they were."""
    c.executemany(
        "INSERT INTO action_marks SELECT ?, hash, ?, ?, ? FROM images WHERE id = ?",
        [(action, *map(int, mark), image) for image, mark in before.items()],
    )


def undo_marks(
    c: Transaction, store: Store, action: int, change: Mapping[str, Any]
) -> tuple[int, int]:
    """Restore marks that an action set; return how many were restored and how many not.

    ``change`` is what the action set.  Marks that were changed since stay.
    """
    rows = store.all(
        """SELECT a.hash, a.stars, a.favourite, a.hidden, coalesce(m.stars, 0),
                  coalesce(m.favourite, 0), coalesce(m.hidden, 0)
           FROM action_marks a LEFT JOIN picture_marks m ON m.hash = a.hash WHERE a.action = ?""",
        (action,),
    )
    back = 0
    for row in rows:
        before, now = (Marks(v[0], bool(v[1]), bool(v[2])) for v in (row[1:4], row[4:7]))
        if any(getattr(now, name) != value for name, value in change.items()):
            continue
        _put(c, row[0], now._replace(**{name: getattr(before, name) for name in change}))
        back += 1
    return back, len(rows) - back


def put_action_album(c: Transaction, action: int, images: Iterable[int]) -> None:
    """Store the pictures that an action added to or removed from an album."""
    c.executemany(
        "INSERT INTO action_album_pictures SELECT ?, hash FROM images WHERE id = ?",
        [(action, image) for image in images],
    )


def undo_album(
    c: Transaction, action: int, name: str, *, came: bool, made: bool, gone: bool
) -> tuple[int, int]:
    """Undo an action on an album; return how many pictures it restored and how many needed nothing.

    Pictures that ``came`` are removed, else added again.  An album that the action ``made`` is
    deleted when empty; a deleted one (``gone``) is made again.
    """
    if gone:
        put_album(c, name)
    wanted = "SELECT hash FROM action_album_pictures WHERE action = :action"
    album = "SELECT id FROM albums WHERE name = :name"
    values = {"action": action, "name": name}
    (n,) = c.execute(f"SELECT count(*) FROM ({wanted}) AS wanted", values).fetchone()
    if came:
        back = c.execute(
            f"DELETE FROM album_pictures WHERE album = ({album}) AND hash IN ({wanted})", values
        ).rowcount
        if made:
            c.execute(
                f"""DELETE FROM albums WHERE name = :name
                    AND NOT EXISTS (SELECT 1 FROM album_pictures WHERE album = ({album}))""",
                values,
            )
    else:
        back = c.execute(
            f"""INSERT OR IGNORE INTO album_pictures SELECT a.id, h.hash
                FROM ({wanted}) h JOIN albums a ON a.name = :name""",
            values,
        ).rowcount
    return back, n - back
