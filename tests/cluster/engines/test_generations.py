"""Generations in Qdrant are named vectors of the same points: made, filled, deleted."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.engines import FirstStage
from likewise.engines.errors import EngineRefused
from likewise.engines.protocol import RowKind, Where
from likewise.errors import InvalidInput
from likewise_cluster.engines.qdrant import QdrantRows
from tests.cluster.engines.conftest import Place
from tests.cluster.engines.test_contract import SPARSE, assert_found, facts_for, sparse_rows, truth


def qdrant(place: Place, name: str, kind: RowKind = SPARSE) -> QdrantRows:
    return place.store(kind, name)


def test_a_generation_goes_and_the_next_one_stays(place: Place) -> None:
    rng = np.random.default_rng(1)
    old, new = sparse_rows(rng, 30), sparse_rows(rng, 25)
    first, second = qdrant(place, "words-1"), qdrant(place, "words-2")
    first.put(np.arange(30), old, facts_for(30))
    second.put(np.arange(25), new, facts_for(25))
    first.drop()
    assert set(place.store(SPARSE, "words-2")._points.names()) == {"words-2"}  # type: ignore[attr-defined]
    assert second.count() == 25
    assert_found(second.search(new[[3]], 40), truth(new, np.arange(25), new[[3]], 40))
    listed = [one for page in second.listed() for one in page]
    assert [one.facts for one in listed] == facts_for(25)
    # Those that were in the first one only are no pictures any more.
    again = qdrant(place, "words-1")
    assert again.count() == 0
    again.put(np.arange(30), old, facts_for(30))
    assert (again.count(), second.count()) == (30, 25)
    assert again.count(Where(tags=("cat",))) == 15


def test_the_last_generation_can_go_too(place: Place) -> None:
    store = qdrant(place, "words-1")
    store.put(np.arange(5), sparse_rows(np.random.default_rng(2), 5))
    store.drop()
    again = qdrant(place, "words-1")
    assert again.count() == 0
    assert list(again.listed()) == []


def test_a_name_that_holds_another_kind_is_refused(place: Place) -> None:
    qdrant(place, "look-1", RowKind(is_sparse=False, width=8))
    for other in (SPARSE, RowKind(False, 9), RowKind(False, 8, "l2")):
        with pytest.raises(EngineRefused, match="push to another name"):
            place.store(other, "look-1")


def test_pictures_of_somebody_else_are_counted(place: Place) -> None:
    mine = qdrant(place, "words-1")
    rows = sparse_rows(np.random.default_rng(3), 4)
    mine.owner = "me"
    mine.put([1, 2, 3], rows[:3])
    assert mine.count_foreign() == 0
    mine.owner = "you"
    mine.put([3, 4], rows[2:])
    assert mine.count_foreign() == 2


def test_two_stages(place: Place) -> None:
    """Sparse rows among the first by a dense one; all of them first is the same as one stage."""
    rng = np.random.default_rng(4)
    rows, dense = sparse_rows(rng, 60, words=6, signed=True), rng.normal(size=(60, 8))
    words = qdrant(place, "words-1")
    look = qdrant(place, "look-1", RowKind(is_sparse=False, width=8))
    words.put(np.arange(60), rows, facts_for(60))
    look.put(np.arange(60), dense, facts_for(60))
    query = sparse_rows(rng, 1, words=40, signed=True)
    asked = dense[0].astype(np.float32)
    for where in (None, Where(tags=("cat",)), Where(but=frozenset(range(30)))):
        for k in (5, 60):
            one = words.search(query, k, where)
            both = words.search(query, k, where, first=FirstStage("look-1", asked, 1000))
            assert both[0].tolist() == one[0].tolist()
            assert both[1].tobytes() == one[1].tobytes()
    near = look.search(asked, 12)[0]
    for k in (4, 12):
        found = words.search(query, k, first=FirstStage("look-1", asked, 12))
        assert_found(found, truth(rows[near], near, query, k))
    with pytest.raises(InvalidInput, match="one stage"):
        look.search(asked, 3, first=FirstStage("look-1", asked, 12))


def test_a_store_that_is_not_there_is_not_made_by_who_asks(place: Place) -> None:
    store = qdrant(place, "words-1")
    with pytest.raises(EngineRefused, match="push to it again"):
        QdrantRows(store._points, "words-2", SPARSE, create=False)
    assert set(store._points.names()) == {"words-1"}
