"""Answers wait: a comparison changes no ranking before its owner takes it in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from tests.product.collection.loop_cases import copied


@pytest.fixture
def col(tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(copied(tmp_path)) as collection:
        collection.similarities.use("words")
        yield collection


def scores(col: Collection, by: str = "default") -> list[tuple[int, float]]:
    return [(hit.id, hit.score) for hit in col.search(1, by=by)]


def against(col: Collection) -> tuple[int, int]:
    """The last and the first answer: a comparison that contradicts how pictures rank."""
    found = [hit.id for hit in col.search(1)]
    return found[-1], found[0]


def test_a_comparison_waits_until_it_is_taken_in(col: Collection) -> None:
    before, (nearer, farther) = scores(col), against(col)
    number = col.compare(1, nearer, farther)
    theirs = col.compare(1, nearer, farther, person="Ann Lee")
    assert scores(col) == before
    assert col.profiles.figures().judgements == 0
    # They rank in profiles of their own, and maps and reports know them all.
    assert {"answers", "ann-lee-answers"} < set(col.profiles)
    assert scores(col, "ann-lee-answers") != before
    assert [one.number for one in col.comparisons.all()] == [number, theirs]
    assert col.comparisons.count_by_person() == {None: 1, "Ann Lee": 1}
    waits = [(one.profile, one.person, one.answers) for one in col.comparisons.waiting()]
    assert waits == [("answers", None, 1), ("ann-lee-answers", "Ann Lee", 1)]

    start = col.profiles.version().position
    (taken,) = col.comparisons.take_in("ann-lee-answers")
    assert (taken.person, taken.answers) == ("Ann Lee", 1)
    learned = scores(col)
    assert learned != before
    assert learned == scores(col, "ann-lee-answers")
    # The version says who taught it.
    line = col.log.entries()[-1]
    assert (line.kind, line.person, line.answers) == ("merge", "Ann Lee", 1)
    assert [one.person for one in col.comparisons.waiting()] == [None]
    with pytest.raises(CollectionError, match="no pending answers"):
        col.comparisons.take_in("ann-lee-answers")
    # What comes later waits again, and going back takes out what was taken in.
    col.compare(2, nearer, farther, person="Ann Lee")
    assert scores(col) == learned
    assert [one.answers for one in col.comparisons.waiting()] == [1, 1]
    col.profiles.roll_back(start)
    assert scores(col) == before
    assert [one.answers for one in col.comparisons.waiting()] == [1, 2]
    assert len(col.comparisons.take_in()) == 2
    assert col.profiles.figures().judgements == 3
    assert col.verify() == []


def test_an_answer_is_taken_back_wherever_it_stands(col: Collection) -> None:
    before, (nearer, farther) = scores(col), against(col)
    number = col.compare(1, nearer, farther, person="ann")
    assert col.undo(number) == number
    assert col.comparisons.all() == []
    again = col.compare(1, nearer, farther, person="ann")
    col.comparisons.take_in()
    assert scores(col) != before
    assert col.comparisons.undo(again) == again
    assert scores(col) == before
    assert col.comparisons.waiting() == []
    # Other people's later answers do not bring it back.
    col.compare(2, nearer, farther, person="ann")
    col.comparisons.take_in()
    assert [one.anchor for one in col.comparisons.all()] == [2]
    with pytest.raises(CollectionError, match="not in effect"):
        col.undo(again)


def test_who_wants_it_at_once_says_so(col: Collection) -> None:
    before, (nearer, farther) = scores(col), against(col)
    col.compare(1, nearer, farther, at_once=True)
    assert scores(col) != before
    assert col.comparisons.waiting() == []
    assert list(col.profiles) == ["default"]
    # Named profiles have answers of their own; two people of one spelling have two.
    col.profiles.create("taste", "words")
    col.compare(1, nearer, farther, profile="taste", person="Ann")
    col.compare(1, nearer, farther, profile="taste", person="ann")
    made = {one.profile for one in col.comparisons.waiting("taste")}
    assert made == {"taste-ann-answers", "taste-ann-answers-2"}
    # What is said for a profile of answers goes straight there.
    col.compare(2, nearer, farther, profile="taste-ann-answers")
    assert col.profiles.figures("taste-ann-answers").judgements == 2
