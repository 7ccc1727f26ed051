"""Reading never writes: searches, lists and suggestions leave the catalog as it is."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from likewise.catalog.sqlite_catalog import FILE, SQLiteCatalog
from likewise.cli import main
from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes, write
from tests.product.server.conftest import client_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with pictures, tags, judgements and an album."""
    folder = tmp_path_factory.mktemp("reading")
    for name, pixels in list(small_scenes().items())[:8]:
        write(folder / "pictures" / f"{name}.png", pixels)
    with Collection.create(folder / "photos.lw", deep=False) as col:
        col.add(folder / "pictures", workers=0)
        col.tags.change([1, 2, 3], ["sea"])
        col.judge(1, liked=[2], disliked=[3])
        col.library.star([1, 2], 4)
        col.library.add_to_album("best", [1, 2])
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "photos.lw", tmp_path / "photos.lw"))


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the catalog."""
    asked: list[str] = []
    for name in ("all", "one"):
        really = getattr(SQLiteCatalog, name)

        def counted(self: SQLiteCatalog, sql: str, *more: Any, really: Any = really) -> Any:
            asked.append(sql)
            return really(self, sql, *more)

        monkeypatch.setattr(SQLiteCatalog, name, counted)
    return asked


class Commits:
    """Whether anybody has changed a catalog since the last look."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version = self._look()

    def _look(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def seen(self) -> bool:
        before, self._version = self._version, self._look()
        return before != self._version


@pytest.fixture
def commits(root: Path) -> Iterator[Commits]:
    with closing(sqlite3.connect(root / FILE)) as connection:
        yield Commits(connection)


def test_looking_at_a_collection_commits_nothing(root: Path, commits: Commits) -> None:
    with Collection.open(root) as col:
        looks = {
            "search": lambda: col.search(1, k=3),
            "search a file": lambda: col.search(col.image(2).path, k=3),
            "profile": lambda: col.search(1, k=3, by="default"),
            "words": lambda: col.search(text="sea", k=3),
            "explain": lambda: col.explain(1, 2, by="words"),
            "suggest": lambda: col.suggest_tags(4),
            "tags": lambda: (col.tags.all(), col.tags.of(1), col.tags.log()),
            "lists": lambda: (list(col.pictures.all()), col.pictures.page(), col.problems()),
            "library": lambda: (
                col.library.months(), col.library.folders(), col.library.places(),
                col.library.albums(), col.library.export(), col.library.marks([1]),
            ),
            "duplicates": lambda: (col.duplicates(), col.library.duplicates()),
            "actions": lambda: col.actions.list(),
            "log": lambda: (col.log.entries(), list(col.keys), list(col.shares)),
            "info": lambda: col.info(),
            "verify": lambda: col.verify(),
        }  # fmt: skip
        for name, look in looks.items():
            look()
            assert not commits.seen(), name
        col.library.star([3], 5)
        assert commits.seen(), "a change is seen"


def test_a_server_that_only_shows_commits_nothing(root: Path, commits: Commits) -> None:
    with client_of(root) as client:
        ids = client.ids()
        for place in ("", "/thumbnail", "/thumbnail?side=160", "/image", "/tags"):
            assert client.get(f"/api/pictures/{ids[0]}{place}").status_code == 200, place
        assert client.search(ids[0])["items"]
        assert not commits.seen()


@pytest.mark.parametrize("k", [2, 6])
def test_a_search_costs_no_statement_a_hit(
    root: Path, statements: list[str], monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    """The records of all hits come in one statement, however many there are."""
    monkeypatch.setattr(sys, "argv", ["likewise", "search", "1", "-k", str(k), "-C", str(root)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert sum("SELECT i.*" in sql for sql in statements) <= 3
