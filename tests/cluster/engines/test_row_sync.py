"""Sending rows to an engine: only what differs, resumable, and a list of what is not the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.engines.protocol import Facts, RowKind
from likewise_cluster.engines.row_sync import (
    Differences,
    Part,
    Sent,
    differences,
    send_all,
    send_some,
)
from tests.cluster.engines.conftest import Place
from tests.cluster.engines.test_contract import SPARSE, facts_for, sparse_rows


def parts(ids: Any, rows: Any, facts: list[Facts], size: int = 16) -> list[Part]:
    return [
        (ids[a : a + size], rows[a : a + size], facts[a : a + size])
        for a in range(0, len(ids), size)
    ]


def test_only_what_differs_is_sent(place: Place) -> None:
    rng = np.random.default_rng(1)
    ids, rows, facts = np.arange(50), sparse_rows(rng, 50), facts_for(50)
    store = place.store(SPARSE)
    assert differences(parts(ids, rows, facts), store).missing == tuple(range(50))
    assert send_all(parts(ids, rows, facts), store) == Sent(sent=50)
    assert send_all(parts(ids, rows, facts), store) == Sent(unchanged=50)

    changed, said = rows.tolil(), list(facts)
    changed[3] = sparse_rows(rng, 1)
    said[4] = Facts(("new",), facts[4].folders, facts[4].date)
    said[5] = Facts(facts[5].tags, ("/elsewhere",), facts[5].date)
    now = parts(ids[:48], changed.tocsr()[:48], said[:48])
    apart = differences(now, store)
    assert apart == Differences(extra=(48, 49), rows=(3,), facts=(4, 5))
    assert send_all(now, store) == Sent(sent=2, retagged=1, removed=2, unchanged=45)
    assert not differences(now, store)
    assert store.count() == 48


def test_a_sync_goes_on_where_it_was(place: Place) -> None:
    rng = np.random.default_rng(2)
    ids, rows, facts = np.arange(40), sparse_rows(rng, 40), facts_for(40)

    class Killed(Exception):
        pass

    def cut(every: list[Part]) -> Any:
        yield from every[:2]
        raise Killed

    store = place.store(SPARSE)
    with pytest.raises(Killed):
        send_all(cut(parts(ids, rows, facts, 10)), store)
    assert store.count() == 20
    place.restart()
    again = place.store(SPARSE)
    assert send_all(parts(ids, rows, facts, 10), again) == Sent(sent=20, unchanged=20)


def test_dense_rows_are_told_apart_by_every_bit(place: Place) -> None:
    kind = RowKind(is_sparse=False, width=4)
    rows = np.array([[1, 2, 3, 4], [0, 0, 0, 0]], np.float32)
    store = place.store(kind, "look-1")
    every = [(np.array([1, 2]), rows, [Facts(), Facts()])]
    assert send_all(every, store).sent == 2
    other = rows.copy()
    other[0, 0] = np.nextafter(np.float32(1), np.float32(2))
    assert differences([(np.array([1, 2]), other, [Facts(), Facts()])], store).rows == (1,)


def test_some_pictures_are_brought_up_to_date(place: Place) -> None:
    """New, with other tags, with another row, gone, and as it was; nobody else is looked at."""
    rng = np.random.default_rng(3)
    ids, rows, facts = np.arange(10), sparse_rows(rng, 10), facts_for(10)
    store = place.store(SPARSE)
    store.put(ids, rows, facts)
    changed, said = rows.tolil(), list(facts)
    changed[3] = sparse_rows(rng, 1)
    said[4] = Facts(("new",), facts[4].folders, facts[4].date)
    made, images = changed.tocsr(), [3, 4, 5, 7, 12, 13]
    here = np.array([3, 4, 5, 12])
    part = (here, made[[3, 4, 5, 0]], [said[3], said[4], said[5], said[0]])
    assert send_some(images, part, store) == Sent(sent=2, retagged=1, removed=1, unchanged=1)
    assert send_some(images, part, store) == Sent(unchanged=4)
    left = np.array([0, 1, 2, 3, 4, 5, 6, 8, 9])
    both = [
        *parts(left, made[left], [said[i] for i in left]),
        (np.array([12]), rows[:1], facts[:1]),
    ]
    assert not differences(both, store)
    assert sorted(one.id for page in store.listed([7, 12, 3, 999]) for one in page) == [3, 12]
