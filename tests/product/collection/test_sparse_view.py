"""A sparse view says the same whether an index answers or all rows are looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.ingest.generations import start_generation
from likewise.search.reranker import apply_weights
from likewise.search.sparse_view import SparseView
from likewise.spaces.registry import open_spaces
from likewise_methods import kernels as _kernels
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.small import SmallIndex
from tests.product.private import store_of

WIDTH = 30


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.spaces.add("mine", {"feature": "own", "kind": "sparse"})
        start_generation(store_of(col), "mine", WIDTH)
        yield store_of(col)


def put(store: Store, n: int, seed: int) -> list[int]:
    """Pictures that are rows and nothing else."""
    rng = np.random.default_rng(seed)
    ids = []
    with store.write() as c:
        for number in range(n):
            info = ImageInfo("", "JPEG", 8, 8, "RGB", 1, None, 1)
            image, _ = change.put_image(c, bytes([seed]) + number.to_bytes(19, "big"), info)
            words = np.sort(rng.choice(WIDTH, 6, replace=False))
            blob = seg.pack_sparse(words, rng.standard_normal(6).astype(np.float32))
            change.put_vector(c, "mine", 1, image, blob)
            ids.append(image)
    return ids


def replace(store: Store, image: int, words: list[int]) -> None:
    with store.write() as c:
        blob = seg.pack_sparse(words, np.ones(len(words), np.float32))
        change.put_vector(c, "mine", 1, image, blob)


def same(one: SparseView, other: SparseView) -> None:
    rng = np.random.default_rng(5)
    weights = rng.standard_normal(WIDTH)
    assert len(one) == len(other)
    for _ in range(4):
        query: Any = sparse.csr_array((rng.random((1, WIDTH)) < 0.3) * rng.random((1, WIDTH)))
        for row in (query, apply_weights(query, weights)):
            found, expected = one.search_row(row, 9), other.search_row(row, 9)
            assert np.array_equal(found[0], expected[0])
            assert found[1].tobytes() == expected[1].tobytes()
    counted, of = one.frequency()
    expected_count, expected_of = other.frequency()
    assert (counted.tolist(), of) == (expected_count.tolist(), expected_of)
    for image in (1, 3, 999):
        assert one.packed_row(image) == other.packed_row(image)
        assert (one.row_of(image) is None) == (other.row_of(image) is None)


def test_both_ways_through_a_life(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def view(compiler: bool) -> SparseView:
        monkeypatch.setattr(_kernels, "numba_loaded", lambda: compiler)
        return SparseView(store, open_spaces(store)["mine"])

    few = view(False)
    assert len(few) == 0
    ids = put(store, 12, 1)
    few.update(store)
    same(few, view(True))
    put(store, 5, 2)
    replace(store, ids[2], [1, 4, 7])
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: False)
    few.update(store)
    same(few, view(True))
    with store.write() as c:
        change.remove_images(c, [ids[0], ids[5]])
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: False)
    few.update(store)
    same(few, view(True))
    assert isinstance(few._rows(), SmallIndex)
    # Once kernels are there anyway, an index answers; so it does for whoever asks for it.
    asked_for = view(False)
    assert len(asked_for.index) == len(few)
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: True)
    few.update(store)
    for one in (few, asked_for):
        assert isinstance(one._rows(), InvertedIndex)
        same(one, view(True))


def test_somebody_asks_for_the_index_while_rows_come_in(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update that has begun with few rows ends before they are moved into the index."""
    monkeypatch.setattr(_kernels, "numba_loaded", lambda: False)
    put(store, 6, 1)
    view = SparseView(store, open_spaces(store)["mine"])
    put(store, 4, 2)
    asked: list[threading.Thread] = []
    with_rows = SmallIndex.with_rows

    def meanwhile(self: SmallIndex, X: Any, ids: Any) -> SmallIndex:
        asked.append(threading.Thread(target=lambda: view.index))
        asked[0].start()
        asked[0].join(0.2)  # it waits for this update; without a lock it would be done
        return with_rows(self, X, ids)

    monkeypatch.setattr(SmallIndex, "with_rows", meanwhile)
    view.update(store)
    asked[0].join()
    monkeypatch.undo()
    assert len(view) == len(view.index) == 10
    put(store, 1, 3)
    view.update(store)
    assert len(view) == 11
