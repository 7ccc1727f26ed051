"""A dense view says what comparing all rows says, wherever its rows lie and however they came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import silent
from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.errors import DamagedCollection
from likewise.ingest.generations import start_generation
from likewise.search import dense_view
from likewise.search.dense_view import DenseView
from likewise.spaces import graphs
from likewise.spaces import rows as space_rows
from likewise.spaces.registry import open_spaces
from likewise.spaces.rows import IdPlaces
from likewise_methods import kernels as _kernels
from likewise_methods.neighbours.scores import row_scores
from tests.product.private import store_of

WIDTH = 9
METRICS = ("cosine", "ip", "l2")


@pytest.fixture(autouse=True, params=[True, False], ids=["kernels", "without"])
def compiler(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Few rows are searched without a kernel where none was called yet: all holds for both."""
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: request.param)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        for metric in METRICS:
            col.spaces.add(metric, {"feature": "own", "metric": metric})
            start_generation(store_of(col), metric, WIDTH)
        yield store_of(col)


class Truth:
    """Raw rows by picture, put into a space as they come."""

    def __init__(self, store: Store, space: str, seed: int) -> None:
        self.store, self.space = store, space
        self.rng = np.random.default_rng(seed)
        self.raw: dict[int, Any] = {}

    def put(self, ids: Any) -> None:
        """Some rows of whole numbers (ties), copies of others, and rows of zeros."""
        with self.store.write() as c:
            for image in map(int, ids):
                row = self.rng.normal(size=WIDTH)
                chance = self.rng.random()
                if chance < 0.4:
                    row = self.rng.integers(-1, 2, WIDTH)
                elif chance < 0.5:
                    row = np.zeros(WIDTH)
                elif chance < 0.7 and self.raw:
                    row = self.raw[int(self.rng.choice(list(self.raw)))]
                self.raw[image] = np.asarray(row, np.float32)
                change.put_vector(c, self.space, 1, image, seg.pack_dense(self.raw[image]))

    def seal(self) -> None:
        assert space_rows.seal_segment(self.store, self.space, at_least=1)

    def remove(self, ids: Any) -> None:
        with self.store.write() as c:
            change.remove_images(c, map(int, ids))
        for image in map(int, ids):
            del self.raw[image]

    def view(self) -> DenseView:
        return DenseView(self.store, open_spaces(self.store)[self.space])

    def rows(self) -> tuple[Any, Any]:
        space = open_spaces(self.store)[self.space]
        ids = np.array(sorted(self.raw), np.int64)
        return ids, comparable_rows(space, np.array([self.raw[i] for i in ids.tolist()]))

    def check(self, view: DenseView) -> None:
        ids, rows = self.rows()
        assert len(view) == len(ids)
        for query in (self.raw[int(ids[3])], np.ones(WIDTH, np.float32), np.zeros(WIDTH)):
            asked = comparable_rows(view.space, np.asarray(query, np.float32)[None])[0]
            metric = "l2" if self.space == "l2" else "ip"
            every = row_scores(rows, np.arange(len(rows)), asked, metric)
            best = np.lexsort((ids, -every))
            for k in (1, 7, 40, 1000):
                found, values = view.search_row(query, k)
                assert found.tolist() == ids[best[:k]].tolist()
                assert values.tobytes() == every[best[:k]].tobytes()
        asked_for = [int(i) for i in self.rng.permutation(400)]
        found_ids, found_rows = view.rows_of(asked_for)
        assert found_ids == [i for i in asked_for if i in self.raw]
        expected = {int(i): row for i, row in zip(ids, rows, strict=True)}
        for image, row in zip(found_ids, found_rows, strict=True):
            assert row.tobytes() == expected[image].tobytes()
            assert view.row_of(image).tobytes() == row.tobytes()
        assert view.row_of(10**9) is None


def grow(truth: Truth, *, graph: bool) -> None:
    """Three segments whose ids are in no order, some rows removed, some fresh ones."""
    for part in np.array_split(truth.rng.permutation(300) + 1, 3):
        truth.put(part)
        truth.seal()
    truth.remove(list(truth.raw)[::7])
    if graph:
        truth.put(np.arange(301, 311))
        graphs.grow_graphs(truth.store, silent, above=10)
    truth.put(np.arange(311, 330))


@pytest.mark.parametrize("graph", [False, True], ids=["all compared", "a graph"])
@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize("space", METRICS)
def test_a_view_ranks_as_all_rows_compared(
    store: Store, space: str, on_disk: bool, graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_view, "MAPPED_FROM", 0 if on_disk else 10**9)
    monkeypatch.setattr(dense_view, "_CHUNK", 50)
    # Of a graph only the long answers are exact.
    monkeypatch.setattr(dense_view, "EXACT_BEYOND", 0)
    truth = Truth(store, space, METRICS.index(space))
    grow(truth, graph=graph)
    view = truth.view()
    truth.check(view)
    # What comes and goes while the view is open.
    truth.put(np.arange(330, 345))
    truth.put([330, 331, 315])
    truth.remove([list(truth.raw)[5], 332, 316, *([302] if graph else [])])
    view.update(store)
    truth.check(view)
    truth.check(truth.view())


def test_rows_on_disk_give_the_same_bits_as_in_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = Truth(store, "cosine", 7)
    grow(truth, graph=False)
    answers = []
    for least in (0, 10**9):
        monkeypatch.setattr(dense_view, "MAPPED_FROM", least)
        view = truth.view()
        answers.append([view.search_row(row, 20) for row in truth.raw.values()])
    for (a, x), (b, y) in zip(*answers, strict=True):
        assert a.tolist() == b.tolist()
        assert x.tobytes() == y.tobytes()


def test_a_walk_over_bytes_is_ranked_by_the_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph holds codes; every score a walk gives is that of the row itself."""
    monkeypatch.setattr(dense_view, "MAPPED_FROM", 0)
    truth = Truth(store, "cosine", 8)
    grow(truth, graph=True)
    view = truth.view()
    ids, rows = truth.rows()
    found, values = view.search_row(truth.raw[int(ids[10])], 20)
    every = row_scores(rows, np.arange(len(rows)), rows[10], "ip")
    at = {int(image): score for image, score in zip(ids, every, strict=True)}
    assert [at[int(image)] for image in found] == values.tolist()
    assert len(set(found.tolist()) & set(ids[np.lexsort((ids, -every))[:20]].tolist())) >= 15


@pytest.mark.parametrize("damage", [b"", None, b"short"])
def test_a_damaged_segment_is_told_before_it_is_searched(
    store: Store, damage: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_view, "MAPPED_FROM", 0)
    truth = Truth(store, "ip", 9)
    truth.put(range(1, 20))
    truth.seal()
    (segment,) = store.segments("ip", 1)
    path = store.root / segment.name
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    path.write_bytes(bytes(held) if damage is None else damage)
    with pytest.raises(DamagedCollection, match="segment"):
        truth.view()


def test_ids_are_found_where_they_came_last() -> None:
    places = IdPlaces(np.array([7, 3, 9, 3], np.int64))
    assert places.find(np.array([3, 7, 8, 9, 1, 99])).tolist() == [3, 0, -1, 2, -1, -1]
    places.add(np.array([8, 7]))
    assert places.find(np.array([7, 8, 3])).tolist() == [5, 4, 3]
    assert IdPlaces(np.zeros(0, np.int64)).find(np.array([1])).tolist() == [-1]
