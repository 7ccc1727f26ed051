"""What a job holds while it works does not depend on how many pictures there are.

Bytes that Python and NumPy ask for are counted, not the clock or the system's idea of them.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise import Collection
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import silent
from likewise.images.decode import ImageInfo
from likewise.spaces import rows as space_rows
from likewise.spaces.graphs import _rows_on_disk, grow_graphs, open_graph
from likewise_methods.spaces.fitted import FittedSpace, _kept
from tests.product.private import store_of

WIDTH, ROWS, PARTS = 256, 250, 8
ALL = 4 * WIDTH * ROWS * PARTS
"""Bytes of all rows; a job may hold a fraction."""


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """A collection with a dense space in segments; a job looks at 64 rows at a time."""
    monkeypatch.setattr(seg, "AT_ONCE", 64)
    col = Collection.create(tmp_path / "many.lw")
    col.spaces.add("mine", {"feature": "own"})
    store, rng = store_of(col), np.random.default_rng(0)
    with store.write() as c:
        change.switch_generation(c, "mine", 1, width=WIDTH, n_pictures=0, files={})
    for number in range(PARTS):
        ids = []
        with store.write() as c:
            for at in range(number * ROWS, (number + 1) * ROWS):
                info = ImageInfo(f"/{at}.jpg", "JPEG", 8, 8, "RGB", 1, None, 8)
                image, _ = change.put_image(c, at.to_bytes(20, "big"), info)
                change.put_file(c, f"/{at}.jpg", 8, 0, image=image)
                ids.append(image)
        rows = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
        name = space_rows.segment_name("mine", 1, number, 0)
        size = seg.write_dense(store.root, name, seg.DenseRows(np.array(ids), rows))
        with store.write() as c:
            change.put_segment(c, name, "mine", 1, ROWS, size)
    return col


def peak(work: Callable[[], object]) -> int:
    """Bytes that some work held beyond what was there, at most; done once before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_rows_are_read_some_at_a_time(many: Collection) -> None:
    store = store_of(many)

    def read() -> None:
        sizes = [len(ids) for ids, _ in space_rows.raw_rows(store, store.spaces()["mine"])]
        assert sum(sizes) == ROWS * PARTS
        assert max(sizes) == 64

    read()
    assert peak(read) < ALL / 8


def test_segments_are_joined_without_holding_them(many: Collection) -> None:
    store = store_of(many)
    before = many.search(np.ones(WIDTH, np.float32), k=20, by="mine")
    held = peak(lambda: space_rows.merge_segments(store, "mine"))
    assert held < ALL / 4
    (one,) = store.segments("mine", 1)
    assert one.n_pictures == ROWS * PARTS
    assert many.search(np.ones(WIDTH, np.float32), k=20, by="mine") == before


def test_a_graph_grows_from_rows_on_disk(many: Collection) -> None:
    store = store_of(many)
    many.remove(5)
    # Once for what is imported and compiled.
    grow_graphs(store, silent, above=100)
    with store.write() as c:
        change.put_files(c, "mine", 1, {})
    assert peak(lambda: grow_graphs(store, silent, above=100)) < ALL / 2
    space = store.spaces()["mine"]
    graph = open_graph(store.root, space)
    assert graph is not None
    assert sorted(graph.ids) == sorted(set(range(1, ROWS * PARTS + 1)) - {5})
    # Rows are found as their own nearest: ids and rows go together.
    for ids, rows in space_rows.raw_rows(store, space):
        some = rows[:4] / np.linalg.norm(rows[:4], axis=1, keepdims=True)
        found = graph.walk.search(some, 1)[0][:, 0]
        assert (graph.ids[found] == ids[:4]).all()


def test_segments_of_more_than_half_the_size_are_in_nobodys_way(
    many: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small ones that come later are joined with one another."""
    store = store_of(many)
    monkeypatch.setattr(seg, "FULL", ROWS * (PARTS - 1))
    assert space_rows.merge_segments(store, "mine", at_least=4)
    sizes = sorted(row.n_pictures for row in store.segments("mine", 1))
    assert sizes == [ROWS, ROWS * (PARTS - 1)]
    assert not space_rows.merge_segments(store, "mine", at_least=2)


def test_the_fit_lets_go_of_its_rows() -> None:
    """Of rows that nobody else holds there is one matrix, in float64, and what copies are found by.

    2.5 times it: the rows as they came (half of it), and centred in float32 (half of it).
    """
    rng = np.random.default_rng(0)

    def rows() -> NDArray[np.float32]:
        return rng.random((3_000, 600), np.float32)

    FittedSpace(16).fit(rows())
    assert peak(lambda: FittedSpace(16).fit(rows())) < 2.5 * 8 * 3_000 * 600


def test_rows_kept_are_moved_within_their_matrix() -> None:
    R = np.random.default_rng(0).normal(size=(3_000, 3))
    part = np.flatnonzero(np.arange(3_000) % 7 != 2)
    wanted, matrix = R[part], R.copy()
    kept = _kept(matrix, part)
    assert np.array_equal(kept, wanted)
    assert np.shares_memory(kept, matrix)


def test_rows_are_the_same_however_many_are_read_before_pages_go(
    many: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(many)
    _, rows = _rows_on_disk(store, store.spaces()["mine"])
    places = np.random.default_rng(0).permutation(ROWS * PARTS)
    at_once = rows[places]
    monkeypatch.setattr("likewise.spaces.rows._PICK", 16)
    assert np.array_equal(rows[places], at_once)
