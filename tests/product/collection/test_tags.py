"""Tags: who says them, what a person says against files, undo; that learning is not disturbed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.catalog import tag_tables
from likewise.catalog.schema import MIGRATIONS
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, UnknownName, UnknownPicture
from likewise.tags import tag_log
from likewise.tags.evidence import Evidence
from tests.product.collection import loop_cases
from tests.product.collection.tag_cases import copied, inside
from tests.product.private import store_of, views_of


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as made:
        yield made
        assert made.verify() == []


def test_set_remove_and_list(col: Collection) -> None:
    col.tag(1, "sea", "  New   York ")
    assert col.tags.of(1) == ["New York", "sea"]
    assert col.tags.of(inside("blue", 0)) == ["New York", "sea"]
    assert col.tags.sources(1) == {"New York": ["user"], "sea": ["user"]}
    col.untag(1, "sea")
    assert col.tags.of(1) == ["New York"]
    assert col.tags.refused(1) == ["sea"]
    assert col.tags.of_many([1, 2]) == {1: ["New York"], 2: []}
    for bad in ("", "  ", "x" * 300, "a\x07b", 3):
        with pytest.raises(InvalidInput):
            col.tag(1, bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a list of tags"):
        col.tags.change([1], "sea")
    with pytest.raises(InvalidInput, match="choose one"):
        col.tags.change([1], ["a"], ["a"])
    with pytest.raises(InvalidInput, match="source"):
        col.tag(1, "a", source="suggested")
    with pytest.raises(UnknownPicture):
        col.tag(999, "a")


def test_counts_completion_and_unknown_names(col: Collection) -> None:
    col.tags.change([1, 2, 3], ["beach", "Berlin"])
    col.tag(4, "beach", "boat_1", "b%")
    rows = col.tags.all()
    assert [(r.tag, r.pictures) for r in rows[:2]] == [("beach", 4), ("Berlin", 3)]
    assert rows[0].sources == {"user": 4}
    assert col.tags.complete("be") == ["beach", "Berlin"]
    assert col.tags.complete("boat_") == ["boat_1"]
    assert col.tags.complete("b%") == ["b%"]
    assert len(col.tags.all(limit=1)) == 1
    col.tags.check_known(["beach", "Berlin"])
    with pytest.raises(UnknownName, match="is it 'Berlin'"):
        col.tags.check_known(["berlin"])


def test_where_takes_one_tag_or_all_of_several(col: Collection) -> None:
    col.tags.change([1, 2, 3], ["a"])
    col.tags.change([2, 3, 4], ["b c"])
    assert {h.id for h in col.search(1, where={"tag": "a"})} == {2, 3}
    assert {h.id for h in col.search(1, where={"tag": ["a", "b c"]})} == {2, 3}
    total, rows = col.pictures.page(where={"tag": ["a", "b c"]})
    assert (total, {row.id for row in rows}) == (2, {2, 3})
    for bad in ([], [3], 3.5):
        with pytest.raises((InvalidInput, TypeError)):
            col.search(1, where={"tag": bad})


def test_a_persons_word_counts_more_than_files(col: Collection) -> None:
    col.tag(1, "cat", "dog", source="file")
    col.tags.reject(1, "cat")
    assert col.tags.of(1) == ["dog"]
    col.tag(1, "cat", source="file")  # read again: the person said no
    assert col.tags.of(1) == ["dog"]
    col.tag(1, "cat")  # the person changed their mind
    assert col.tags.of(1) == ["cat", "dog"]
    assert col.tags.sources(1)["cat"] == ["user", "file"]


def test_undo_is_as_if_never_said(col: Collection) -> None:
    col.tag(1, "cat", source="file")
    before = col.tags.sources(1)
    first = col.tags.reject(1, "cat")
    second = col.tags.accept(1, "cat")
    assert col.tags.sources(1) == {"cat": ["accepted", "file"]}
    assert col.tags.accept(1, "cat") is None  # nothing new
    assert col.tags.undo() == second
    assert col.tags.of(1) == []
    assert col.tags.undo(first) == first
    assert col.tags.sources(1) == before
    with pytest.raises(CollectionError, match="no change of tags"):
        col.tags.undo()
    with pytest.raises(CollectionError, match="no change of tags in effect"):
        col.tags.undo(first)
    said = [(line.kind, line.stands) for line in col.tags.log()]
    assert said == [("reject", False), ("accept", False), ("withdraw", True), ("withdraw", True)]


def test_one_line_for_many_pictures(col: Collection) -> None:
    col.tag(1, "old")
    numbers = col.tags.change([1, 2, 3], ["new"], ["old"])
    assert len(numbers) == 2
    assert col.tags.of_many([1, 2, 3]) == {i: ["new"] for i in (1, 2, 3)}
    (line,) = [one for one in col.tags.log() if one.number == numbers[0]]
    assert (sorted(line.pictures), line.tags) == ([1, 2, 3], ("new",))
    # Said before for one: undo of the second line must not take the first away.
    col.tag(4, "new")
    (again,) = col.tags.change([4, 5], ["new"])
    col.tags.undo(again)
    assert col.tags.of_many([4, 5]) == {4: ["new"], 5: []}


def test_a_picture_that_comes_back_finds_its_words(col: Collection) -> None:
    path = inside("red", 0)
    image = col.id_of(path)
    col.tag(image, "rose")
    col.tag(image, "thorn", source="file")
    col.tags.reject(image, "thorn")
    col.remove(image)
    assert col.tags.all() == []
    col.add(path, workers=0)
    again = col.id_of(path)
    assert again != image
    assert col.tags.of(again) == ["rose"]
    col.tag(again, "thorn", source="file")
    assert col.tags.of(again) == ["rose"]


def test_learning_is_not_disturbed(tmp_path: Path) -> None:
    """Lines about tags change no digest, no undo, no roll-back, no session, and no copy."""
    plain = loop_cases.copied(tmp_path)
    shutil.copytree(plain, tmp_path / "tagged.lw")
    with Collection.open(plain) as one, Collection.open(tmp_path / "tagged.lw") as two:
        for col in (one, two):
            first = col.judge(1, [2], [3]).number
            if col is two:
                two.tag(1, "a")
                two.tags.reject(2, "b")
            second = col.judge(4, [5], [6]).number
            if col is two:
                two.tags.accept(3, "c")
                assert two.undo() == second
                two.tags.undo()
                two.profiles.copy("default", "other")
            else:
                one.undo(second)
                one.profiles.copy("default", "other")
            col.judge(7, [8], [9])
            assert col.profiles.figures().judgements == 2
            assert [line.kind for line in col.log.entries()] == ["judge", "judge", "undo", "judge"]
            assert col.verify() == []
        for name in loop_cases.SPACES:
            same = [loop_cases.weights(col, space=name) for col in (one, two)]
            assert np.array_equal(*same)
            same = [loop_cases.weights(col, "other", name) for col in (one, two)]
            assert np.array_equal(*same)
        assert two.undo() > 0
        two.profiles.roll_back(0)
        one.profiles.roll_back(0)
        assert two.tags.of(1) == ["a"]
        with pytest.raises(CollectionError, match="no version"):
            two.profiles.roll_back(first + 1)  # that line is about tags
        two.profiles.export(tmp_path / "p.weights", profile="other")


def test_backup_keeps_tags_and_their_log(col: Collection, tmp_path: Path) -> None:
    col.tag(1, "a", "b")
    col.tags.reject(1, "b")
    col.backup(tmp_path / "kept")
    with Collection.restore(tmp_path / "kept", tmp_path / "again.lw") as again:
        assert again.tags.of(1) == ["a"]
        assert again.tags.refused(1) == ["b"]
        assert again.tags.log() == col.tags.log()
        again.tags.undo()
        assert again.tags.of(1) == ["a", "b"]


def test_collections_of_before_keep_their_tags(tmp_path: Path) -> None:
    """A catalog from before the tables of tags: its tags stand, and a person's can be undone."""
    number = next(i for i, text in enumerate(MIGRATIONS) if "CREATE TABLE tag_words" in text)
    path = tmp_path / "catalog.sqlite"
    with closing(sqlite3.connect(path)) as c:
        for text in MIGRATIONS[:number]:
            c.executescript(text)
        for i in (1, 2, 3):
            c.execute(
                "INSERT INTO images (hash, format, width, height, n_bytes) VALUES (?, '', 1, 1, 1)",
                (bytes([i]) * 20,),
            )
        c.executemany(
            "INSERT INTO tags VALUES (?, ?, ?)",
            [(1, "old", "user"), (2, "from", "elsewhere"), (3, "a", "user"), (3, "old", "user")],
        )
        c.execute(f"PRAGMA user_version = {number}")
        c.commit()
    store = Store.open(path)
    try:
        assert tag_log.verify(store) == []
        assert tag_tables.tags_of_many(store, [1, 2, 3]) == {
            1: [("old", "user")],
            2: [("from", "elsewhere")],
            3: [("a", "user"), ("old", "user")],
        }
        assert tag_tables.changed_since(store, 0) == [1, 2, 3]
        with store.write(durable=True) as c:
            line = tag_log.write_line_within(c, store, [3], ["old"], "reject", "user")
        assert store.tags_of(3) == [("a", "user")]
        tag_log.withdraw(store, line)
        assert store.tags_of(3) == [("a", "user"), ("old", "user")]
        assert tag_log.verify(store) == []
    finally:
        store.close()


WORD = st.tuples(
    st.sampled_from(["accept", "reject", "file", "unfile", "suggest", "unsuggest", "undo"]),
    st.integers(1, 3),
    st.sampled_from(["a", "b"]),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(WORD, max_size=12))
def test_state_is_the_fold_of_the_log(
    tmp_path_factory: pytest.TempPathFactory, words: list[tuple[str, int, str]]
) -> None:
    """Whatever is said in whatever order: tags are what a plain reading of it gives."""
    root = tmp_path_factory.mktemp("fold")
    said: list[tuple[int, str, int, str]] = []
    files: dict[str, set[tuple[int, str]]] = {"file": set(), "suggested": set()}
    follower = Evidence(("holistic",))
    with Collection.open(copied(root)) as col:
        for what, image, tag in words:
            follower.update(views_of(col))
            if what in ("file", "suggest"):
                source = "file" if what == "file" else "suggested"
                with store_of(col).write() as c:
                    tag_tables.put_sources(c, source, [(image, tag)])
                files[source].add((image, tag))
            elif what in ("unfile", "unsuggest"):
                source = "file" if what == "unfile" else "suggested"
                with store_of(col).write() as c:
                    tag_tables.drop_sources(c, source, [(image, tag)])
                files[source].discard((image, tag))
            elif what == "undo" and said:
                assert col.tags.undo() == said.pop()[0]
            elif what in ("accept", "reject"):
                tell = col.tags.accept if what == "accept" else col.tags.reject
                number = tell(image, tag)
                if number is not None:
                    said.append((number, what, image, tag))
        last = {(image, tag): what for _, what, image, tag in said}
        for image in (1, 2, 3):
            for kinds, found in (
                (("file", "suggested"), col.tags.of(image)),
                (("file",), tag_tables.evidence(store_of(col), [image]).get(image, [])),
            ):
                wanted = {
                    tag
                    for tag in "ab"
                    if last.get((image, tag)) == "accept"
                    or (
                        any((image, tag) in files[kind] for kind in kinds)
                        and last.get((image, tag)) != "reject"
                    )
                }
                assert set(found) == wanted
        # And whoever follows the changes by their numbers ends up with the same.
        follower.update(views_of(col))
        assert follower.tags == tag_tables.evidence(store_of(col))
        assert col.verify() == []
    shutil.rmtree(root)
