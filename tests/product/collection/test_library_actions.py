"""Stars, favourites, hidden pictures and albums of many at once: listed, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from tests.product.collection.pictures import small_scenes, write


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    for name in ("astronaut", "chelsea", "china", "coffee"):
        write(tmp_path / "pictures" / f"{name}.png", small_scenes()[name])
    with Collection.create(tmp_path / "photos.lw", deep=False) as made:
        made.add(tmp_path / "pictures", workers=0)
        yield made


def ids(col: Collection) -> list[int]:
    return sorted(row.id for row in col.images())


def marked(col: Collection) -> dict[int, tuple[int, bool, bool]]:
    return {image: tuple(mark) for image, mark in col.library.marks(ids(col)).items()}


def test_marks_of_several_are_an_action_and_undone_where_they_stand(col: Collection) -> None:
    one, two, three, four = ids(col)
    assert col.library.star([one], 2).action is None, "one picture is no bulk action"
    done = col.library.star([one, two, three, four], 5)
    assert done.action is not None
    (listed,) = col.actions.list()
    assert (listed.id, listed.kind, listed.what, listed.pictures) == (
        done.action, "mark", "Gave 5 stars", 4,
    )  # fmt: skip
    # Another mark does not stand in the way and stays; other stars are somebody's later word.
    col.library.favour([two])
    col.library.star([three], 1)
    back = col.actions.undo(done.action)
    assert (back.restored, back.left) == (3, 1)
    assert marked(col) == {one: (2, False, False), two: (0, True, False), three: (1, False, False)}
    with pytest.raises(CollectionError, match="undone already"):
        col.actions.undo(done.action)


def test_hidden_pictures_come_back_though_they_were_removed_meanwhile(col: Collection) -> None:
    one, two, *_ = ids(col)
    hidden = col.library.hide([one, two])
    gone = col.actions.remove([one])
    assert hidden.action is not None
    assert [action.what for action in col.actions.list()] == ["Removed from the collection", "Hid"]
    assert col.actions.undo(hidden.action).restored == 2
    col.actions.undo(gone.action)
    assert col.library.hidden() == set()
    assert len(col.library.months()) > 0
    assert sum(month.pictures for month in col.library.months()) == 4


def test_an_album_is_filled_emptied_and_deleted_by_actions(col: Collection) -> None:
    one, two, three, _ = ids(col)

    def members() -> set[int]:
        return col._store.matching({"album": "Trip"})

    made = col.library.add_to_album("Trip", [one, two])
    assert made.made
    assert made.action is not None
    taken = col.library.take_from_album("Trip", [one, two])
    assert taken.action is not None
    assert col.actions.undo(taken.action).restored == 2
    assert members() == {one, two}
    assert col.library.add_to_album("Trip", [three]).action is None
    deleted = col.library.delete_album("Trip")
    assert deleted.action is not None
    assert [action.what for action in col.actions.list(1)] == ["Deleted the album “Trip”"]
    assert col.actions.undo(deleted.action).restored == 3
    assert members() == {one, two, three}
    # Whoever put in a third since keeps the album.
    assert col.actions.undo(made.action).restored == 2
    assert members() == {three}
    alone = col.library.add_to_album("Alone", [one, two])
    assert alone.action is not None
    col.actions.undo(alone.action)
    assert [album.name for album in col.library.albums()] == ["Trip"], "a new one goes again"
    again = col.library.add_to_album("Alone", [one, two])
    for image in (one, two):
        col.library.take_from_album("Alone", [image])
    with pytest.raises(CollectionError, match="changed since"):
        col.actions.undo(again.action)
