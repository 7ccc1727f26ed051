"""Spaces that learn during an add: while workers describe pictures, if rows are all they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog.changes import backfill_of
from likewise.catalog.jobs import Progress
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.ingest import add as adding
from likewise.ingest import growth
from likewise.ingest.pool import stop_idle
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.registry import open_space
from tests.product.collection.pictures import write_pictures
from tests.product.private import store_of

FIRST, QUEUED = 8, 2


@pytest.fixture
def pictures(tmp_path: Path) -> list[Path]:
    return write_pictures(tmp_path / "p")


@pytest.fixture
def col(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection]:
    """A space that describes pictures and one that is fitted to its rows; adds count as long."""
    monkeypatch.setattr(growth, "_LONG", 4)
    monkeypatch.setattr(growth, "_QUEUED", QUEUED)
    monkeypatch.setattr(adding, "_BATCH", 2)
    monkeypatch.setattr(growth, "_ABOUT_TO_LEARN", 2)
    monkeypatch.setattr(growth, "_STRETCH", 1)
    monkeypatch.setattr(growth, "_SHORT", 0)
    with Collection.create(tmp_path / "c.lw", deep=False) as made:
        for name in [name for name in made.spaces if name != "holistic"]:
            made.spaces.drop(name)
        made.spaces.add("fit", {"feature": "fitted", "source": "holistic", "first": FIRST})
        yield made
    stop_idle()


def check_whole(col: Collection, n: int) -> None:
    """All pictures have the row that the live generation makes of their source, and no other."""
    store = store_of(col)
    assert len(col) == n
    assert backfill_of(store, "fit") is None
    assert col.verify() == []
    spaces = store.spaces()
    space = open_space(store.root, spaces["fit"])

    def rows(name: str) -> dict[int, np.ndarray]:
        return {
            int(image): row
            for ids, some in space_rows.raw_rows(store, spaces[name])
            for image, row in zip(ids, some, strict=True)
        }

    made, given = rows("fit"), rows("holistic")
    assert sorted(made) == sorted(given)
    assert len(made) == n
    for image, row in made.items():
        assert np.allclose(row, space.place(given[image][None])[0], atol=1e-6)
    old = store.one("SELECT count(*) FROM vectors WHERE space = 'fit' AND generation <> ?",
                    (space.generation,))  # fmt: skip
    assert old == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_it_learns_before_the_last_pictures_are_in(
    col: Collection, pictures: list[Path], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown: list[int] = []
    learn = growth.learn_space

    def noted(store: Store, space: Space, **options: Any) -> None:
        grown.append(store.n_images())
        learn(store, space, **options)

    monkeypatch.setattr(growth, "learn_space", noted)
    col.add(pictures[0].parent, workers=workers)
    assert len(grown) == 2
    assert grown[0] == FIRST
    # From the same pictures, whoever describes them.
    assert grown[1] == len(pictures) - QUEUED
    assert col.spaces["fit"].generation == 2
    check_whole(col, len(pictures))


@pytest.mark.parametrize(
    ("limit", "short_of", "generation"),
    [("_SHORT", 0, 1), ("_SHORT", 1, 2), ("_SHORT_BYTES", 0, 1), ("_SHORT_BYTES", 1, 2)],
)
def test_an_add_of_seconds_teaches_once(
    col: Collection, pictures: list[Path], monkeypatch: pytest.MonkeyPatch,
    limit: str, short_of: int, generation: int,
) -> None:  # fmt: skip
    sizes = {"_SHORT": len(pictures), "_SHORT_BYTES": sum(one.stat().st_size for one in pictures)}
    for name, size in sizes.items():
        monkeypatch.setattr(growth, name, size - short_of * (name == limit))
    col.add(pictures[0].parent, workers=0)
    assert col.spaces["fit"].generation == generation
    check_whole(col, len(pictures))


def test_a_short_add_learns_when_all_are_in(
    col: Collection, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_LONG", len(pictures) + 1)
    col.add(pictures[0].parent, workers=0)
    assert col.spaces["fit"].n_pictures == len(pictures)
    check_whole(col, len(pictures))


def test_who_learns_from_pictures_waits_for_the_workers(
    col: Collection, pictures: list[Path]
) -> None:
    assert growth.grows_without_workers(store_of(col))
    col.spaces.add("words", {"feature": "words", "n_words": 40})
    assert not growth.grows_without_workers(store_of(col))
    col.add(pictures[0].parent, workers=0)
    check_whole(col, len(pictures))


def test_what_came_without_a_row_is_made_up_for_after_a_crash(
    col: Collection, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_QUEUED", 6)
    store = store_of(col)

    def lacking() -> set[int]:
        generation = col.spaces["fit"].generation
        return store.images_without("fit", generation) if generation else set()

    def stop(_: Progress) -> None:
        if lacking():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        col.add(pictures[0].parent, workers=0, report=stop)
    assert lacking()
    assert backfill_of(store, "fit") is not None
    col.add(pictures[0].parent, workers=0)
    check_whole(col, len(pictures))
