"""Searches that another engine answers: ids and scores as the embedded index gives them.

With Qdrant's engine in this process, its client's emulation in memory, and a real server where
``LIKEWISE_QDRANT_URL`` names one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.engines import open_engine
from likewise.engines.breaker import Breaker
from likewise.errors import CollectionError
from tests.cluster.engines.addresses import EngineAddress, engine_addresses
from tests.product.collection.pictures import write_pictures

FOLDERS = ("rome", "rome/day 1", "paris")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 pictures in three folders, in words and holistic; a judgement, tags, a hidden one."""
    folder = tmp_path_factory.mktemp("engine")
    for i, path in enumerate(write_pictures(folder / "all")):
        there = folder / "pictures" / FOLDERS[i % 3] / f"2024-0{1 + i % 9}-11 {path.name}"
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, there)
    with Collection.create(folder / "photos.lw", words={"n_words": 300}, deep=False) as col:
        col.add(folder / "pictures", workers=0)
        ids = [row.id for row in col.images()]
        for image in ids[::3]:
            col.tag(image, "third")
        col.library.hide([ids[5]])
        col.judge(ids[0], liked=[ids[1]], disliked=[ids[8]])
    return folder


@pytest.fixture(params=engine_addresses())
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with EngineAddress(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def col(built: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(built / "photos.lw", tmp_path / "photos.lw")
    with Collection.open(tmp_path / "photos.lw") as opened:
        yield opened


def answers(col: Collection) -> list[Any]:
    """Ids and scores of searches of every kind, whoever answers."""
    ids = [row.id for row in col.images()]
    wheres: list[dict[str, Any] | None] = [
        None,
        {"tag": "third"},
        {"folder": "rome"},
        {"after": "2024-03", "before": "2024-07-12"},
        {"tag": "third", "folder": "rome", "format": "JPEG"},
        {"folder": "nowhere"},
        {"hidden": True},
    ]
    asked = [("words", one) for one in wheres]
    asked += [(by, one) for by in ("default", "holistic", "both") for one in wheres[:2]]
    made: list[Any] = []
    for i, (by, where) in enumerate(asked):
        query, k = ((ids[0], 5), (ids[7], 50))[i % 2]
        hits = col.search(query, k, by=by, where=where)
        assert hits.away is None
        made.append((by, where, query, [(hit.id, hit.score) for hit in hits]))
    hits = col.search([ids[2], ids[3]], 6, by="words")
    made.append(("several", [(hit.id, hit.score) for hit in hits]))
    typed = col.search(text="rome third", k=8)
    made.append(("typed", [(hit.id, hit.score) for hit in typed]))
    return made


def by_embedded(col: Collection, first: tuple[str, int] | None = None) -> list[Any]:
    """The answers of the embedded index; the engine answers again afterwards."""
    chosen = col.engine_sync.engine
    col.engine_sync.answer_from(None)
    found = answers(col)
    if chosen is not None:
        col.engine_sync.answer_from(chosen.address, first=first)
    return found


def test_every_answer_is_the_embedded_one(col: Collection, address: str) -> None:
    before = answers(col)
    col.engine_sync.push(address)
    assert col._views.engine.state() is None
    col.engine_sync.answer_from(address)
    assert answers(col) == before
    assert col._views.engine._stores  # it was asked
    ids = [row.id for row in col.images()]

    # What changes here is in the next answer, shipped or not.
    col.tag(ids[4], "third")
    col.untag(ids[0], "third")
    col.remove(ids[9])
    col.library.hide([ids[11]])
    col.judge(ids[7], liked=[ids[6]], disliked=[ids[15], ids[3]])
    assert col.engine_sync.waiting()[address] == 3
    unsent = answers(col)
    assert unsent == by_embedded(col)
    assert unsent != before
    assert col.engine_sync.send_changes() == {}
    assert col.engine_sync.waiting()[address] == 0
    assert answers(col) == unsent
    assert col.engine_sync.compare(address) == {"words": [], "holistic": []}


def test_two_stages(col: Collection, address: str) -> None:
    """With a first stage as large as the collection they are one; a small one leaves out."""
    col.engine_sync.push(address)
    col.engine_sync.answer_from(address, first=("holistic", 1000))
    ids = [row.id for row in col.images()]
    assert answers(col) == by_embedded(col, ("holistic", 1000))
    col.engine_sync.answer_from(address, first=("holistic", 4))
    near = {hit.id for hit in col.search(ids[0], 4, by="holistic")} | {ids[0]}
    few = col.search(ids[0], 10, by="words")
    assert 0 < len(few) <= 4
    assert {hit.id for hit in few} <= near
    with pytest.raises(CollectionError, match="no dense space"):
        col.engine_sync.answer_from(address, first=("words", 10))


def test_a_vector_of_ones_own(col: Collection, address: str) -> None:
    """Signed and dense as a whole: what an expanded query looks like."""
    rng = np.random.default_rng(1)
    width = col.spaces["words"].width
    queries = [rng.normal(size=width), -rng.random(width)]
    before = [[(h.id, h.score) for h in col.search(q, 24, by="words")] for q in queries]
    col.engine_sync.push(address)
    col.engine_sync.answer_from(address)
    after = [[(h.id, h.score) for h in col.search(q, 24, by="words")] for q in queries]
    assert after == before


def test_rows_that_were_deleted_over_there(col: Collection, address: str) -> None:
    """What is left there, or comes back there, must not pass for all pictures."""
    col.engine_sync.push(address, ["holistic"])
    col.engine_sync.answer_from(address)
    ids = [row.id for row in col.images()]
    whole = [hit.id for hit in col.search(ids[0], 50, by="holistic")]
    name = f"holistic-{col.spaces['holistic'].generation}"
    with open_engine(address) as engine:
        (kept,) = engine.names()
        assert name in kept
        store = col.engine_sync.store_in(engine, "holistic")
        store.remove(ids[3:])
    col._views.engine.close()
    lacking = col.search(ids[0], 50, by="holistic")
    assert not lacking
    assert lacking.away is not None
    assert f"holds 3 of the {len(ids)} pictures" in lacking.away
    with open_engine(address) as engine:
        col.engine_sync.store_in(engine, "holistic").drop()
    col._views.engine.close()
    col._views.engine.breaker = Breaker()
    col.tag(ids[4], "late")
    # Sending one picture does not make a store of one picture.
    assert "push" in col.engine_sync.send_changes(attempts=1)[address]
    found = col.search(ids[0], 50, by="holistic")
    assert [hit.id for hit in found] == [ids[4]]
    assert found.away is not None
    col.engine_sync.push(address, ["holistic"])
    col._views.engine.breaker = Breaker()
    again = col.search(ids[0], 50, by="holistic")
    assert ([hit.id for hit in again], again.away) == (whole, None)
