"""What a collection does, over both databases: the same questions, the same answers."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog import fact_table
from likewise.catalog.database import try_execute
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput
from tests.cluster.postgres.cases import ENGINES, moved, numbers, read_log
from tests.cluster.postgres.server import Server
from tests.cluster.postgres.worker import answers
from tests.product.collection.loop_cases import (
    SPACES,
    N,
    copied,
    forgotten,
    inside,
    outside,
    picture,
    weights,
)
from tests.product.collection.pictures import write
from tests.product.private import store_of


@pytest.fixture(params=ENGINES)
def col(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collection]:
    if request.param == "postgres":
        root = moved(request.getfixturevalue("server"), tmp_path)
    else:
        root = copied(tmp_path)
    with Collection.open(root) as made:
        yield made
        assert made.verify() == []


def test_adding_changing_and_removing(col: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    for i in range(3):
        write(folder / f"new-{i}.png", picture(20 + i))
    (folder / "broken.jpg").write_bytes(b"no picture")
    added = col.add(folder, workers=0)
    assert (added.added, len(added.skipped)) == (3, 1)
    new = col.id_of(folder / "new-1.png")
    assert new in {hit.id for hit in col.search(1, k=N + 3, by="words")}
    assert len(col) == N + 3
    assert [one.path for one in col.problems()] == [str(folder / "broken.jpg")]
    (folder / "new-0.png").unlink()
    col.sync(workers=0)
    assert len(col) == N + 2
    col.tag(new, "kept")
    assert col.remove(new, 2) == 2
    assert len(col) == N
    col.actions.undo()
    assert len(col) == N + 2
    assert col.tags.of(folder / "new-1.png") == ["kept"]
    total, page = col.pictures.page(sort="name", descending=False, limit=5)
    assert (total, len(page)) == (N + 2, 5)
    assert [row.path for row in page] == sorted(row.path for row in page)


def test_facts_of_describers(col: Collection) -> None:
    """Stored, found by a word and its beginning, kept with a removed picture, dropped."""
    store = store_of(col)
    with store.write() as c:
        fact_table.put_describer(c, "signs")
        for image, word in ((1, "zanzibar"), (2, "lisbon")):
            facts = [(f"{word} ferry", 0.5, (0.0, 0.1, 0.5, 1.0))]
            fact_table.put_facts(c, "signs", "1", image, facts, {word, "ferry"})
        fact_table.put_facts(c, "signs", "1", 3, [], set(), "it crashed")
    assert col.describers.active() == {"signs": (2, 1, 2)}
    assert col.describers.facts(1)[0] == ("signs", "zanzibar ferry", 0.5, (0.0, 0.1, 0.5, 1.0))
    for typed, due in (("zanzibar", [1]), ("lisb", [2]), ("ferry", [1, 2])):
        hits = col.search(text=typed)
        found = [hit.id for hit in hits if any(one.kind == "fact" for one in hit.reasons)]
        assert sorted(found) == due, typed
    col.remove(1)
    assert fact_table.find_facts(store, ["ferry"], beginnings=False, most=9) == [2]
    col.actions.undo()
    assert len(fact_table.find_facts(store, ["ferry"], beginnings=False, most=9)) == 2
    with store.write() as c:
        fact_table.forget_failures(c, "signs", "1")
    assert fact_table.images_without_facts(store, "signs")[0] == 3
    col.describers.drop("signs")
    assert fact_table.find_facts(store, ["ferry"], beginnings=False, most=9) == []


def test_judging_undoing_and_profiles(col: Collection, tmp_path: Path) -> None:
    first = col.judge(1, [2, 3], [4])
    col.judge(inside(5), [6], shown=[7, 6, 8])
    col.judge(outside(0), [1], [2])
    assert numbers(col) == [1, 2, 3]
    col.profiles.copy("default", "taste")
    col.judge(1, [5], [6], profile="taste")
    col.undo(first)
    col.profiles.roll_back(2, profile="default")
    log = read_log(store_of(col), tmp_path)
    for profile in ("default", "taste"):
        for name in SPACES:
            space = col.spaces[name]
            due = log.weights(profile, name, space.generation, space.width)
            np.testing.assert_allclose(weights(col, profile, name), due, rtol=0, atol=1e-12)
    before = [weights(col, "taste", name) for name in SPACES]
    forgotten(col)
    for now, then in zip([weights(col, "taste", n) for n in SPACES], before, strict=True):
        assert np.array_equal(now, then)


def test_tags(col: Collection) -> None:
    col.tag(1, "Sea", "crème brûlée")
    col.tags.change([2, 3, 4], ["sea", "b%", "a_b"])
    col.untag(3, "sea")
    assert col.tags.of(3) == ["a_b", "b%"]
    assert col.tags.refused(3) == ["sea"]
    assert [(row.tag, row.pictures) for row in col.tags.all("s")] == [("sea", 2), ("Sea", 1)]
    assert col.tags.complete("CR") == ["crème brûlée"]
    line = col.tags.log(1)[0]
    col.tags.undo(line.number)
    assert col.tags.of(3) == ["a_b", "b%", "sea"]
    assert {row.id for row in _where(col, tag="sea")} == {2, 3, 4}
    assert {row.id for row in _where(col, tag=["sea", "b%"])} == {2, 3, 4}
    assert col.tags.from_folders() == N
    assert {row.id for row in _where(col, tagged=False)} == set()


def _where(col: Collection, **conditions: Any) -> list[Any]:
    return col.pictures.page(where=conditions, limit=100)[1]


def test_filters(col: Collection, tmp_path: Path) -> None:
    said = {
        "mood": "Calm",
        "n": 3,
        "x": 2.5,
        "ok": True,
        "stars": 4,
        "camera": "NIKON Z 6",
        "two words": "ß",
    }
    write(tmp_path / "rome" / "IMG_20190704_153012.png", picture(30))
    write(tmp_path / "Rome 2" / "b.png", picture(31))
    col.add(tmp_path / "rome", metadata=said, workers=0)
    col.add(tmp_path / "Rome 2", metadata={"mood": "WILD", "n": "3", "ok": False}, workers=0)
    a, b = (col.id_of(tmp_path / p) for p in ("rome/IMG_20190704_153012.png", "Rome 2/b.png"))
    for conditions, due in (
        ({"mood": "calm"}, {a}), ({"mood": "wild"}, {b}), ({"n": 3}, {a}), ({"n": "3"}, {b}),
        ({"n": 3.0}, {a}), ({"x": 2.5}, {a}), ({"ok": True}, {a}), ({"ok": False}, {b}),
        ({"ok": 1}, {a}), ({"two words": "ß"}, {a}), ({"stars": 4}, {a}), ({"stars": 5}, set()),
        ({"camera": "z nikon"}, {a}), ({"folder": "rome"}, {a}), ({"folder": "rome 2"}, {b}),
        ({"folder": str(tmp_path)}, {a, b}), ({"month": "2019-07"}, {a}),
        ({"format": "png", "n": 3}, {a}),
        ({"folder": "nowhere"}, set()), ({"box": "1,2,3,4"}, set()), ({"hidden": True}, set()),
    ):  # fmt: skip
        assert {row.id for row in _where(col, **conditions)} == due, conditions
    with pytest.raises(InvalidInput, match="no filter"):
        _where(col, nothing="x")
    col.library.star([1, 2], 3)
    col.library.hide([3])
    col.library.add_to_album("Best", [1, b])
    assert {row.id for row in _where(col, stars=3)} == {1, 2, a}
    assert 3 not in {row.id for row in _where(col)}
    assert {row.id for row in _where(col, album="Best")} == {1, b}
    assert [album.name for album in col.library.albums()] == ["Best"]
    assert sum(month.pictures for month in col.library.months()) == N + 1
    assert {row.month for row in col.library.months()} >= {"2019-07"}
    assert {f.name for f in col.library.folders() if f.pictures == 1} == {"Rome 2", "rome"}
    col.actions.undo()
    assert {row.id for row in _where(col, album="Best")} == set()


def test_typed_words(col: Collection, tmp_path: Path) -> None:
    write(tmp_path / "holiday" / "beachHouse2_0412.png", picture(40))
    col.add(tmp_path / "holiday", workers=0)
    new = col.id_of(tmp_path / "holiday" / "beachHouse2_0412.png")
    col.tag(2, "Crème brûlée")
    col.tag(3, "new york")
    for typed, due in (
        ("house", new), ("412", new), ("beachhouse2", new), ("holid", new), ("creme", 2),
        ("BRULEE", 2), ("york", 3),
    ):  # fmt: skip
        assert col.search(text=typed, k=3)[0].id == due, typed
    for typed in ("nothing", "'); --", "a & b | !", '"', "*"):
        assert not [hit for hit in col.search(text=typed, k=3) if hit.score > 1], typed
    col.remove(new)
    assert new not in {hit.id for hit in col.search(text="house", k=3)}


def test_a_backup_is_a_plain_collection(col: Collection, tmp_path: Path) -> None:
    col.judge(1, [2], [3])
    col.tag(4, "tree")
    col.backup(tmp_path / "backup")
    due = answers(col)
    with Collection.restore(tmp_path / "backup", tmp_path / "again.lw") as again:
        assert again.verify() == []
        assert answers(again) == due
        assert again.judge(5, [6], [7]).number == max(numbers(col)) + 1


def test_a_transaction_is_whole_or_nothing(col: Collection) -> None:
    store, before = store_of(col), col.revision
    with suppress(ZeroDivisionError), store.write() as c:
        c.execute("INSERT INTO settings VALUES (?, ?)", ("a", "1"))
        raise ZeroDivisionError
    assert (store.setting("a"), col.revision) == (None, before)
    with store.write() as c:
        assert try_execute(c, "INSERT INTO settings VALUES (?, ?)", ("a", "1"))
        # One row that contradicts others costs itself only.
        assert not try_execute(c, "INSERT INTO settings VALUES (?, ?)", ("a", "2"))
        assert not try_execute(c, "INSERT INTO cameras VALUES (?, ?)", (999, "x"))
        assert store.setting("a") == 1
    assert (store.setting("a"), col.revision) == (1, before + 1)


def test_reads_of_a_snapshot_see_one_state(col: Collection) -> None:
    store = store_of(col)
    with store.snapshot():
        before = store.revision
        thread = threading.Thread(target=col.tag, args=(1, "late"))
        thread.start()
        thread.join()
        assert store.revision == before
        assert store.tags_of(1) == []
    assert store.revision == before + 1
    assert col.tags.of(1) == ["late"]


def test_rows_answer_by_name_and_by_place(col: Collection) -> None:
    row = store_of(col).all("SELECT id, hash, width AS w FROM images ORDER BY id LIMIT 1")[0]
    assert (row["id"], row[0], row["w"]) == (1, 1, row[2])
    assert list(row.keys()) == ["id", "hash", "w"]
    assert dict(row) == {"id": 1, "hash": row[1], "w": row[2]}
    assert type(row[1]) is bytes
    assert tuple(row)[1:] == (row[1], row[2]) == row[1:3]


def perform(col: Collection, seed: int, steps: int = 25) -> dict[str, Any]:
    """Something of everything, by chance; the same for the same seed."""
    chance = random.Random(seed)
    for step in range(steps):
        query, *others = chance.sample(range(1, N + 1), 5)
        what = chance.random()
        if what < 0.5:
            profile = chance.choice(list(col.profiles))
            col.judge(query, others[:2], others[2:3] if step % 2 else (), profile=profile)
        elif what < 0.6:
            with suppress(CollectionError):  # nothing is left to take back
                col.undo()
        elif what < 0.8:
            col.tags.change(others, [chance.choice("abc")], [chance.choice("de")])
        elif what < 0.9:
            col.library.star(others, chance.randint(0, 5))
        else:
            col.profiles.copy("default", f"copy {step}")
    stars = {i: marks.stars for i, marks in col.library.marks(range(1, N + 1)).items()}
    return {**answers(col), "stars": stars}


def test_both_databases_come_to_the_same(server: Server, tmp_path: Path) -> None:
    """One script, two databases: rankings and weights to the last bit, tags and stars."""
    roots = [copied(tmp_path), moved(server, tmp_path / "there")]
    found = []
    for root in roots:
        with Collection.open(root) as col:
            found.append(perform(col, seed=5))
            assert col.verify() == []
    assert found[0] == found[1]


def test_changes_for_another_engine_are_noted(col: Collection, tmp_path: Path) -> None:
    """A new number for each change of a picture, one lease of who sends, answers as without."""
    pytest.importorskip("qdrant_edge", reason="qdrant-edge-py is not installed")
    address = f"qdrant-edge://{tmp_path}/engine"
    space = next(name for name, one in col.spaces.items() if one.generation)
    ids = sorted(row.id for row in col.images())
    col.engine_sync.push(address, [space])
    col.tag(ids[0], "new")
    col.tag(ids[1], "new")
    col.tag(ids[0], "newer")
    col.remove(ids[2])
    assert col.engine_sync.waiting() == {address: 3}
    before = [(hit.id, hit.score) for hit in col.search(ids[0], 50, by=space)]
    col.engine_sync.answer_from(address)
    assert [(hit.id, hit.score) for hit in col.search(ids[0], 50, by=space)] == before
    with col._store.engine_lease():
        assert "is busy" in col.engine_sync.send_changes()[address]
    assert col.engine_sync.send_changes() == {}
    assert col.engine_sync.waiting() == {address: 0}
    assert [(hit.id, hit.score) for hit in col.search(ids[0], 50, by=space)] == before
    assert col.engine_sync.compare(address, [space]) == {space: []}
