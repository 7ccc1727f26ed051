"""The parts of a collection: held, not inherited; and what its verbs give back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from likewise.collection import Collection, CollectionError, Judgement, NoPlaces, UnknownName
from likewise.errors import InvalidInput
from likewise.learning.fold import ProfileState
from likewise.search.similarities import Similarity, explaining_space
from tests.product.collection.loop_cases import SPACES, col, outside, weights  # noqa: F401

PARTS = (
    "comparisons", "log", "models", "pictures", "profiles", "searcher", "shares", "similarities",
    "spaces", "tags",
)  # fmt: skip
MAPPINGS = ("models", "profiles", "similarities", "spaces")


def test_a_collection_holds_its_parts(col: Collection) -> None:  # noqa: F811
    assert Collection.__mro__ == (Collection, object)
    for name in PARTS:
        part = getattr(col, name)
        assert type(part).__doc__, name
        # A part takes what it needs and does not know the whole.
        assert not any(isinstance(held, Collection) for held in vars(part).values()), name


def test_mappings_behave_like_mappings(col: Collection) -> None:  # noqa: F811
    col.profiles.create("taste")
    for name in MAPPINGS:
        part = getattr(col, name)
        assert isinstance(part, Mapping)
        assert dict(part.items()) == {key: part[key] for key in part}
        assert len(part) == len(list(part))
        assert "nothing" not in part
        assert part.get("nothing") is None
        with pytest.raises(UnknownName, match=r"^there is no [a-z ]+ 'nothing'; there are"):
            part["nothing"]
    assert list(col.profiles) == ["default", "taste"]
    assert "words" in col.similarities
    assert col.similarities["taste"].figures is not None
    assert col.similarities.find("taste").figures is None


def test_default_is_a_profile_of_its_own_among_profiles(col: Collection) -> None:  # noqa: F811
    col.profiles.create("taste", "words")
    col.use("taste")
    assert col.profiles.in_use == "taste"
    assert col.similarities["default"].profile == "taste"
    assert col.profiles["default"].profile == "default"


def test_a_judgement_says_what_the_log_says(col: Collection) -> None:  # noqa: F811
    col.use("mine")
    first = col.judge(1, [9, 2], [3])
    assert isinstance(first, Judgement)
    second = col.judge(1, [3], shown=[4, 5, 3, 6])
    for made in (first, second):
        line = next(line for line in col.log.entries() if line.number == made.number)
        assert (line.kind, line.stands) == ("judge", True)
        for name in ("profile", "made", "session", "query", "liked", "disliked", "contradicts"):
            assert getattr(made, name) == getattr(line, name), name
    assert first.contradicts == ()
    assert second.contradicts == (first.number,)
    assert first.negatives == ()
    assert set(second.negatives) == {4, 5}
    assert second.session == first.session


def test_a_judgement_from_outside_has_no_query_picture(col: Collection) -> None:  # noqa: F811
    made = col.judge(outside(0), [2])
    assert made.query is None
    assert len(made.negatives) == 10


def test_undo_takes_a_judgement_or_its_number(col: Collection) -> None:  # noqa: F811
    col.profiles.create("taste")
    mine, other = col.judge(1, [2], [3], profile="taste"), col.judge(1, [2], [3])
    # It knows its profile.
    assert col.undo(mine) == mine.number
    assert col.undo(other.number) == other.number
    assert [line.stands for line in col.log.entries("taste")] == [False, True]
    with pytest.raises(CollectionError, match="not in effect"):
        col.undo(mine)


def test_one_place_decides_which_space_explains(col: Collection) -> None:  # noqa: F811
    spaces = col.spaces
    assert explaining_space(spaces, Similarity("both", {"holistic": 1, "words": 1})) == "words"
    # What did not rank explains nothing, though it has places.
    assert explaining_space(spaces, Similarity("default", {"holistic": 1})) is None
    assert explaining_space(spaces, Similarity("holistic", {"holistic": 1})) is None
    # Vectors of one's own have no places, sparse as they may be.
    assert explaining_space(spaces, Similarity("mine", {"mine": 1})) is None
    for name in ("mine", "holistic"):
        assert col.similarities.explaining_space(name) is None
        with pytest.raises(NoPlaces, match="no places to explain by"):
            col.explain(1, 2, by=name)
    with pytest.raises(UnknownName, match="no similarity 'nowhere'"):
        col.explain(1, 2, by="nowhere")
    assert col.explain(1, 2).score == col.explain(1, 2, by="words").score


def test_a_name_is_refused_as_what_it_was_meant_for(col: Collection) -> None:  # noqa: F811
    for call, kind in (
        (col.profiles.create, "profile"),
        (col.models.learn_metric, "metric"),
        (col.models.learn_map, "map"),
    ):
        with pytest.raises(InvalidInput, match=f"no name for a {kind}"):
            call("a b")


def test_a_judgement_folds_what_is_in_use_only(
    col: Collection,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, and in the spaces that the profile ranks by or whose weights somebody asked for."""
    col.use("mine")
    other = next(name for name in SPACES if name != "mine")
    folded: list[int] = []
    fold = ProfileState.fold

    def watched(self: ProfileState, item: Any, *rest: Any) -> None:
        folded.append(item.number)
        fold(self, item, *rest)

    monkeypatch.setattr(ProfileState, "fold", watched)
    first = col.judge(1, [2], [3])
    assert folded == [first.number]
    weights(col, space=other)
    assert folded == [first.number] * 2
    second = col.judge(4, [5], [6])
    assert folded[2:] == [second.number] * 2
    # In a process that has folded nothing yet: only what this profile ranks by.
    with Collection.open(col.root) as fresh:
        folded.clear()
        third = fresh.judge(7, [8], [9])
        assert sorted(folded) == [first.number, second.number, third.number]
