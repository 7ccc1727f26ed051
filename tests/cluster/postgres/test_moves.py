"""Moving a catalog there and back: compared, atomic, and never an old file for the truth."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from likewise.catalog import locations, schema
from likewise.catalog.sqlite_catalog import MOVED, SQLiteCatalog
from likewise.collection.collection import Collection
from likewise.errors import CatalogRefused, CollectionError, DamagedCollection, InvalidInput
from likewise_cluster.postgres import copies, moves, plugin
from likewise_cluster.postgres.addresses import read_address
from likewise_cluster.postgres.catalog import PostgresCatalog
from likewise_cluster.postgres.plugin import COMING_BACK
from tests.cluster.postgres.cases import moved, numbers
from tests.cluster.postgres.server import Server
from tests.cluster.postgres.worker import answers
from tests.product.collection.loop_cases import copied, weights
from tests.product.private import store_of


class Killed(BaseException):
    """The process ends here, as far as the collection can tell."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in its folder, with something of everything people say."""
    made = copied(tmp_path_factory.mktemp("prepared"))
    with Collection.open(made) as col:
        col.judge(1, [2, 3], [4])
        col.tag(5, "crème brûlée", "sea")
        col.profiles.copy("default", "taste")
        col.judge(6, [7], [8], profile="taste")
        col.undo()
        col.remove(9)
        col.library.star([1, 2], 5)
        col.library.add_to_album("Best", [3])
    return made


@pytest.fixture
def root(prepared: Path, tmp_path: Path) -> Path:
    """The same again, to be changed."""
    return Path(shutil.copytree(prepared, tmp_path / "c.lw"))


def said(col: Collection) -> Any:
    """What people said, and what was learned from it."""
    tags = {row.id: col.tags.of(row.id) for row in col.images()}
    return numbers(col), tags, weights(col).tolist(), [*map(tuple, col.library.albums())]


def test_there_and_back(server: Server, root: Path) -> None:
    with Collection.open(root) as col:
        due, lines = answers(col), numbers(col)
    with closing(sqlite3.connect(root / locations.FILE)) as c:
        chain = c.execute("SELECT number, digest FROM log ORDER BY 1").fetchall()
    there = Collection.move(root, server.address())
    assert there.rows["log"] == len(lines)
    assert not (root / locations.FILE).exists()
    with Collection.open(root) as col:
        assert answers(col) == due
        assert col.verify() == []
        assert [tuple(r) for r in store_of(col).all("SELECT number, digest FROM log")] == chain
        col.judge(1, [10], [11])
        due, lines = answers(col), numbers(col)
    back = Collection.move(root, "sqlite")
    assert back.rows["log"] == len(lines)
    assert isinstance(store_of_kind(root), SQLiteCatalog)
    with Collection.open(root) as col:
        assert answers(col) == due
        assert col.verify() == []
        # Ids and lines go on where they were.
        assert col.judge(1, [12], [13]).number == lines[-1] + 1
    # And there once more, to where it was.
    Collection.move(root, there.place)
    with Collection.open(root) as col:
        assert numbers(col) == [*lines, lines[-1] + 1]


def store_of_kind(root: Path) -> Any:
    with Collection.open(root) as col:
        return store_of(col).catalog


THERE: dict[str, tuple[Any, str]] = {
    "while rows are copied": (copies.words, "put_documents"),
    "before both sides are compared": (copies, "compare"),
    "before the file says that it moved": (moves, "asdict"),
    "before the database knows that it is the truth": (moves, "make_live"),
    "before the folder remembers the address": (locations, "write_whole"),
    "before the old file has another name": (locations, "rename_whole"),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", THERE)
def test_a_move_that_is_killed(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    with Collection.open(root) as col:
        due, before = said(col), numbers(col)
    address = server.address()
    place, name = THERE[moment]
    with monkeypatch.context() as during:
        during.setattr(place, name, killed)
        with pytest.raises(Killed):
            Collection.move(root, address)
    with Collection.open(root) as col:
        assert said(col) == due
        # Whatever it is by now, it is one truth: what is said is there when it is opened again.
        assert col.judge(1, [12], [13]).number == before[-1] + 1
    if isinstance(store_of_kind(root), SQLiteCatalog):
        Collection.move(root, address)
    assert isinstance(store_of_kind(root), PostgresCatalog)
    with Collection.open(root) as col:
        assert numbers(col) == [*before, before[-1] + 1]
        assert col.verify() == []
    assert not (root / locations.FILE).exists()


BACK: dict[str, tuple[Any, str]] = {
    "while rows are copied": (copies, "put_documents"),
    "before both sides are compared": (copies, "compare"),
    "before the database says that it left": (moves, "sync_file"),
    "before the file has its name": (moves, "finish_coming_back"),
    "before the folder forgets the address": (plugin, "sync_folder"),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", BACK)
def test_a_move_back_that_is_killed(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    Collection.move(root, server.address())
    with Collection.open(root) as col:
        due, before = said(col), numbers(col)
    place, name = BACK[moment]
    with monkeypatch.context() as during:
        during.setattr(place, name, killed)
        with pytest.raises(Killed):
            Collection.move(root, "sqlite")
    with Collection.open(root) as col:
        assert said(col) == due
        assert col.judge(1, [12], [13]).number == before[-1] + 1
    if isinstance(store_of_kind(root), PostgresCatalog):
        Collection.move(root, "sqlite")
    with Collection.open(root) as col:
        assert numbers(col) == [*before, before[-1] + 1]
        assert col.verify() == []
    assert not (root / locations.POINTER).exists()
    assert not list(root.glob(f"{COMING_BACK}*"))


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_copy_that_differs_is_refused(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill: Callable[..., None] = copies.fill

    def spoiled(target: Any, *rest: Any) -> None:
        fill(target, *rest)
        target.run("UPDATE tags SET tag = 'see' WHERE tag = 'sea'")

    monkeypatch.setattr(copies, "fill", spoiled)
    with pytest.raises(DamagedCollection, match="table tags"):
        Collection.move(root, server.address())
    monkeypatch.undo()
    with Collection.open(root) as col:
        assert col.tags.of(5) == ["crème brûlée", "sea"]
        assert isinstance(store_of(col).catalog, SQLiteCatalog)


def test_who_had_the_file_open_writes_no_more(server: Server, root: Path) -> None:
    with Collection.open(root) as old:
        Collection.move(root, server.address())
        with pytest.raises(CollectionError, match="moved to PostgreSQL meanwhile"):
            old.tag(1, "lost")
    with Collection.open(root) as old:
        Collection.move(root, "sqlite")
        with pytest.raises(CollectionError, match="was moved meanwhile"):
            old.tag(1, "lost")
    with Collection.open(root) as col:
        assert "lost" not in col.tags.of(1)


def test_what_is_left_behind_is_never_the_truth(server: Server, root: Path) -> None:
    Collection.move(root, server.address())
    left = root / locations.LEFT_BEHIND
    with closing(sqlite3.connect(left)) as c:
        assert c.execute("PRAGMA user_version").fetchone() == (MOVED,)
    # Somebody gives it its name back, and takes the address away: it still says where to go.
    shutil.copy(left, root / locations.FILE)
    (root / locations.POINTER).unlink()
    with Collection.open(root) as col:
        col.tag(1, "there")
        assert isinstance(store_of(col).catalog, PostgresCatalog)
    with pytest.raises(CollectionError, match="an old copy"):
        SQLiteCatalog.open(left)


def test_a_folder_belongs_to_one_catalog(server: Server, root: Path, tmp_path: Path) -> None:
    mine, others = server.address(), server.address()
    Collection.move(moved(server, tmp_path / "other"), "sqlite")
    Collection.move(tmp_path / "other" / "c.lw", others)
    with pytest.raises(CatalogRefused, match="another collection"):
        Collection.move(root, others)
    with pytest.raises(CatalogRefused, match="likewise admin move"):
        Collection.open(root, catalog=mine)
    copy = tmp_path / "copy.lw"
    shutil.copytree(root, copy)
    Collection.move(root, mine)
    for wrong, words in ((others, "another collection"), (server.address(), "holds no catalog")):
        with pytest.raises(CatalogRefused, match=words):
            Collection.open(root, catalog=wrong)
    with Collection.open(root, catalog=mine) as col, col.open_again() as again:
        assert answers(col) == answers(again)
    with pytest.raises(CollectionError, match="already"):
        Collection.move(root, mine)
    for wrong in ("here", "mysql://db/x"):
        with pytest.raises(InvalidInput, match="an address like"):
            Collection.move(root, wrong)
    # A copy from before is another collection's from now on, and does not take its place.
    with pytest.raises(CatalogRefused):
        Collection.move(copy, mine)


def test_tables_of_others_stay(server: Server, root: Path) -> None:
    with psycopg.connect(server.plain_address(), autocommit=True) as c:
        c.execute("CREATE SCHEMA taken")
        c.execute("CREATE TABLE taken.mine (x int)")
    with pytest.raises(CatalogRefused, match="holds other tables"):
        Collection.move(root, server.address("taken"))
    with Collection.open(root) as col:
        assert isinstance(store_of(col).catalog, SQLiteCatalog)


def test_a_destroyed_collection_leaves_nothing(server: Server, root: Path) -> None:
    address = server.address()
    Collection.move(root, address)
    with Collection.open(root) as col:
        col.destroy()
    schema = read_address(address).schema
    with psycopg.connect(server.plain_address()) as c:
        found = c.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    assert found is None
    assert not root.exists()


def test_a_catalog_of_an_earlier_likewise(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrations that come later reach catalogs that are there already."""
    from likewise_cluster.postgres import catalog, dialect

    Collection.move(root, server.address())
    later = (
        *catalog.MIGRATIONS,
        """CREATE TABLE moods (
               image INTEGER PRIMARY KEY REFERENCES images ON DELETE CASCADE, mood TEXT NOT NULL
           );
           ALTER TABLE spaces ADD COLUMN note TEXT NOT NULL DEFAULT '';
           CREATE TRIGGER IF NOT EXISTS mood_comes AFTER INSERT ON moods WHEN new.mood <> ''
           BEGIN INSERT OR REPLACE INTO settings VALUES ('mood', new.mood); END;
           INSERT INTO moods SELECT id, 'calm' FROM images WHERE id < 3;
        """,
    )
    with Collection.open(root) as old, monkeypatch.context() as newer:
        for module in (catalog, schema):
            newer.setattr(module, "MIGRATIONS", later)
        dialect._table.cache_clear()
        with Collection.open(root) as col:
            store = store_of(col)
            assert store.one("SELECT count(*) FROM moods") == 2
            with store.write() as c:
                c.execute("INSERT OR REPLACE INTO moods VALUES (?, ?)", (1, "wild"))
                c.execute("INSERT OR REPLACE INTO moods VALUES (?, ?)", (4, "wild"))
            assert store.setting("nothing") is None
            assert store.one("SELECT value FROM settings WHERE key = 'mood'") == "wild"
            col.remove(1)
            assert store.one("SELECT count(*) FROM moods") == 2
            assert col.verify() == []
        newer.undo()
        dialect._table.cache_clear()
        with pytest.raises(CollectionError, match="start Likewise again"):
            old.tag(2, "a")
    with pytest.raises(CollectionError, match="Use a newer Likewise"):
        Collection.open(root)


def test_verify_finds_what_nobody_wrote(server: Server, tmp_path: Path) -> None:
    root = moved(server, tmp_path)
    with Collection.open(root) as col:
        col.judge(1, [2], [3])
        col.tag(4, "tree")
        schema = read_address(json.loads((root / locations.POINTER).read_text())["address"]).schema
        for statement, told in (
            ("UPDATE images SET width = width + 1 WHERE id = 3", "table images"),
            ("DELETE FROM codes", "table codes"),
            ("UPDATE log SET body = replace(body, '[', '[ ')", "line 1 of the log"),
            ("UPDATE written SET tags = 'else' WHERE rowid = 4", "picture 4"),
            ("UPDATE written SET words = '' WHERE rowid = 5", "the words of picture 5"),
            ("INSERT INTO roots VALUES ('/elsewhere')", "table roots"),
        ):
            assert not [text for text in col.verify() if told in text], told
            with psycopg.connect(server.plain_address()) as c:
                c.execute(f"SET search_path = {schema}")  # type: ignore[arg-type]
                c.execute(statement)
            assert [text for text in col.verify() if told in text], told
