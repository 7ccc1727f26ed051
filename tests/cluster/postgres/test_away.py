"""When the database is away, refuses, or is killed: told in words, and nothing said is lost."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from likewise.catalog import locations
from likewise.collection.collection import Collection
from likewise.errors import (
    CatalogAway,
    CatalogRefused,
    InvalidInput,
    LikewiseError,
    ReadOnlyCollection,
)
from likewise_cluster.postgres import connections
from tests.cluster.postgres.cases import moved, numbers
from tests.cluster.postgres.server import CURIOUS, GUARDED, Server
from tests.product.collection.loop_cases import N, copied
from tests.product.private import store_of

SECRET = "v3ry-s3cret"


def test_nothing_acknowledged_is_lost_when_the_database_is_killed(
    own_server: Server, tmp_path: Path
) -> None:
    """kill -9 of all its processes while two people judge, three times."""
    root = moved(own_server, tmp_path)
    acknowledged: list[int] = []
    told: list[LikewiseError] = []
    ending = threading.Event()

    def judge(first: int) -> None:
        # One process, one collection a person: as two servers have them.
        with Collection.open(root) as own:
            turn = first
            while not ending.is_set():
                turn += 1
                query, liked, disliked = (1 + (turn + k) % N for k in (0, 3, 5))
                try:
                    acknowledged.append(own.judge(query, [liked], [disliked]).number)
                except CatalogAway as error:
                    told.append(error)
                    time.sleep(0.02)

    people = [threading.Thread(target=judge, args=(7 * i,)) for i in range(2)]
    for person in people:
        person.start()

    def wait_for(more: int) -> None:
        due = len(acknowledged) + more
        while len(acknowledged) < due and all(person.is_alive() for person in people):
            time.sleep(0.01)

    for _ in range(3):
        wait_for(8)
        own_server.kill()
        time.sleep(0.1)
        own_server.start()
    wait_for(4)
    ending.set()
    for person in people:
        person.join()
    assert len(acknowledged) >= 28
    assert told
    assert len(set(acknowledged)) == len(acknowledged)
    with Collection.open(root) as col:
        kept = numbers(col)
        assert set(acknowledged) <= set(kept)
        assert kept == list(range(1, len(kept) + 1))
        # One that was being committed when the database died may be there, and was not promised.
        assert len(kept) - len(acknowledged) <= len(told)
        assert col.verify() == []


@pytest.mark.slow
def test_a_collection_goes_on_when_the_database_is_back(own_server: Server, tmp_path: Path) -> None:
    root = moved(own_server, tmp_path)
    with Collection.open(root) as col:
        col.tag(1, "before")
        own_server.kill()
        for ask in (lambda: col.search(1, k=3), lambda: col.tag(1, "a"), lambda: col.refresh()):
            with pytest.raises(CatalogAway) as failure:
                ask()
            assert str(own_server.home) in str(failure.value).replace("%2F", "/")
        with pytest.raises(CatalogAway, match="see that the database runs"):
            Collection.open(root)
        own_server.start()
        assert col.tags.of(1) == ["before"]
        col.tag(1, "after")
        assert len(col.search(1, k=3)) == 3
        assert col.verify() == []


def guarded(server: Server, address: str, password: str | None = SECRET) -> str:
    """An address of the same catalog, for the user who needs a password."""
    user = GUARDED if password is None else f"{GUARDED}:{password}"
    return address.replace("//likewise@", f"//{user}@")


@pytest.fixture
def let_in(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    with (
        psycopg.connect(server.plain_address(), autocommit=True) as c,
        suppress(psycopg.errors.DuplicateObject),
    ):
        c.execute(f"CREATE USER {GUARDED} PASSWORD '{SECRET}' SUPERUSER")  # type: ignore[arg-type]


@pytest.mark.usefixtures("let_in")
def test_a_password_is_never_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, plain = copied(tmp_path), server.address()
    for wrong in (guarded(server, plain, "wr0ng-one"), guarded(server, plain, None)):
        with pytest.raises(CatalogRefused, match="PGPASSWORD") as failure:
            Collection.move(root, wrong)
        assert "wr0ng-one" not in str(failure.value)
        assert failure.value.__cause__ is None
    Collection.move(root, guarded(server, plain))
    for path in (p for p in root.rglob("*") if p.is_file()):
        assert SECRET.encode() not in path.read_bytes(), path
    assert (root / locations.POINTER).stat().st_mode & 0o077 == 0
    with pytest.raises(CatalogRefused, match="PGPASSWORD"):
        Collection.open(root)
    with Collection.open(root, catalog=guarded(server, plain)) as col:
        assert SECRET not in store_of(col).catalog.name
        assert SECRET not in repr(vars(store_of(col).catalog)["address"])
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with Collection.open(root) as col:
        col.tag(1, "a")
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv(locations.VARIABLE, guarded(server, plain))
    with Collection.open(root) as col:
        assert col.tags.of(1) == ["a"]


def test_a_password_is_not_told_in_the_clear(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder from elsewhere may name any server; that one must not learn what is in ~/.pgpass."""
    with psycopg.connect(server.plain_address(), autocommit=True) as c:
        c.execute(f"CREATE USER {CURIOUS} PASSWORD '{SECRET}' SUPERUSER")  # type: ignore[arg-type]
    root = copied(tmp_path)
    address = server.address().replace("//likewise@", f"//{CURIOUS}:{SECRET}@")
    with pytest.raises(CatalogRefused, match="gives it away"):
        Collection.move(root, address)
    monkeypatch.setenv("PGREQUIREAUTH", "password")
    Collection.move(root, address)


def test_what_cannot_be_reached_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(tmp_path)
    for address, kind, words in (
        (f"postgresql:///x?host={tmp_path}", CatalogAway, "see that the database runs"),
        (server.address().replace("/postgres?", "/nothing?"), CatalogRefused, "createdb"),
        ("postgresql://db/x?nonsense=1", InvalidInput, "no address"),
    ):
        with pytest.raises(kind, match=words):
            Collection.move(root, address)
    monkeypatch.setattr(connections, "OLDEST", 99)
    with pytest.raises(CatalogRefused, match="99 or newer is needed"):
        Collection.move(root, server.address())
    monkeypatch.undo()
    with Collection.open(root) as col:
        assert col.verify() == []


def test_a_user_who_may_only_read(server: Server, tmp_path: Path) -> None:
    root, address = copied(tmp_path), server.address("shown")
    Collection.move(root, address)
    with psycopg.connect(server.plain_address(), autocommit=True) as c:
        c.execute("CREATE USER looker")
        c.execute("GRANT USAGE ON SCHEMA shown TO looker")
        c.execute("GRANT SELECT ON ALL TABLES IN SCHEMA shown TO looker")
    with Collection.open(root, catalog=address.replace("//likewise@", "//looker@")) as col:
        assert len(col.search(1, k=3)) == 3
        for change in (lambda: col.tag(1, "a"), lambda: col.judge(1, [2], [3]), col.refresh):
            with pytest.raises(ReadOnlyCollection):
                change()
        assert col.verify() == []


def test_values_that_postgres_does_not_keep_are_refused(server: Server, tmp_path: Path) -> None:
    with Collection.open(moved(server, tmp_path)) as col:
        with pytest.raises(InvalidInput, match="cannot keep"), store_of(col).write() as c:
            c.execute("INSERT INTO settings VALUES (?, ?)", ("nul", "a\x00b"))
        assert col.verify() == []
