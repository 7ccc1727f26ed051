"""Back-fills that are not over: kept as rows with a state, and taken over from older catalogs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from likewise.catalog import changes as change
from likewise.catalog.changes import (
    RUNNING,
    UNREACHED,
    WAITING,
    Backfill,
    backfill_of,
    drop_backfill,
    put_backfill,
)
from likewise.catalog.schema import MIGRATIONS
from likewise.catalog.store import Store

IMAGE = "INSERT INTO images (hash, format, width, height, n_bytes) VALUES (?, '', 1, 1, 1)"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.create(tmp_path / "catalog.sqlite", {})
    with made.write() as c:
        c.executemany(IMAGE, [(bytes([i]) * 20,) for i in (1, 2, 3)])
        for name in ("deep", "mine"):
            change.put_space(c, name, "sparse", {"feature": name})
    yield made
    assert made.integrity() == []
    made.close()


def test_one_state_a_space_the_last_that_was_put(store: Store) -> None:
    assert backfill_of(store, "deep") is None
    with store.write() as c:
        put_backfill(c, "deep", RUNNING)
        put_backfill(c, "mine", WAITING)
    assert backfill_of(store, "deep") == Backfill(RUNNING)
    with store.write() as c:
        put_backfill(c, "deep", UNREACHED, [3, 1, 3, 99])
    assert backfill_of(store, "deep") == Backfill(UNREACHED, frozenset({1, 3}))
    with store.write() as c:
        put_backfill(c, "deep", WAITING)
    assert backfill_of(store, "deep") == Backfill(WAITING)
    with store.write() as c:
        drop_backfill(c, "deep")
    assert backfill_of(store, "deep") is None
    assert backfill_of(store, "mine") == Backfill(WAITING)


def test_it_goes_with_its_space_and_its_pictures(store: Store) -> None:
    with store.write() as c:
        put_backfill(c, "deep", UNREACHED, [1, 2])
        change.remove_images(c, [1])
    assert backfill_of(store, "deep") == Backfill(UNREACHED, frozenset({2}))
    with store.write() as c:
        change.drop_space(c, "deep")
        change.put_space(c, "deep", "sparse", {"feature": "deep"})
    assert backfill_of(store, "deep") is None
    assert store.all("SELECT * FROM backfill_images") == []


def test_there_are_three_states_and_no_other(store: Store) -> None:
    with pytest.raises(sqlite3.IntegrityError), store.write() as c:
        put_backfill(c, "deep", "for a machine where its vectors can be made")


def test_settings_of_before_become_rows(tmp_path: Path) -> None:
    """A catalog from before the table: a setting was true, a sentence or a list of pictures."""
    number = next(i for i, text in enumerate(MIGRATIONS) if "CREATE TABLE backfills" in text)
    path = tmp_path / "catalog.sqlite"
    settings = {
        "filling deep": True,
        "filling deep-dense": "for a machine where its vectors can be made",
        "filling a b": [3, 1, 77],
        "filling gone": True,
        "filled:deep": 4,
        "default_similarity": "deep",
    }
    with closing(sqlite3.connect(path)) as c:
        for text in MIGRATIONS[:number]:
            c.executescript(text)
        c.executemany(IMAGE, [(bytes([i]) * 20,) for i in (1, 2, 3)])
        c.executemany(
            "INSERT INTO spaces (name, kind, recipe) VALUES (?, 'dense', '{}')",
            [("deep",), ("deep-dense",), ("a b",), ("words",)],
        )
        c.executemany(
            "INSERT INTO settings VALUES (?, ?)",
            [(key, json.dumps(value)) for key, value in settings.items()],
        )
        c.execute(f"PRAGMA user_version = {number}")
        c.commit()
    store = Store.open(path)
    try:
        assert backfill_of(store, "deep") == Backfill(RUNNING)
        assert backfill_of(store, "deep-dense") == Backfill(WAITING)
        # Pictures that left meanwhile lack nothing.
        assert backfill_of(store, "a b") == Backfill(UNREACHED, frozenset({1, 3}))
        assert backfill_of(store, "words") is None
        left = {row[0]: json.loads(row[1]) for row in store.all("SELECT key, value FROM settings")}
        assert left == {"filled:deep": 4, "default_similarity": "deep"}
        assert store.integrity() == []
    finally:
        store.close()
