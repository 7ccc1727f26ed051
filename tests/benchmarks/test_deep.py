"""The rows benchmarks ask for: made as a collection makes them, kept, and scored plainly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks.deep import report as bench
from benchmarks.deep import rows as deep_rows
from benchmarks.deep.rows import labels_of, space_rows, task_of
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from tests.product.private import views_of
from tests.product.vision.deep_cases import needs_deep


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The planted set with two views a scene, in a cache of its own."""
    root = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIKEWISE_CACHE", str(root))
        patch.setattr(deep_rows, "PLANTED_VIEWS", 2)
        deep_rows._local.cache_clear()
        yield root


@needs_deep
def test_rows_are_those_of_a_collection(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = space_rows("planted", "deep")
    dense = space_rows("planted", "deep-dense")
    assert deep is not None
    assert dense is not None
    assert sparse.issparse(deep.X)
    assert (deep.X.shape, dense.X.shape) == ((46, 1280), (46, 1280))
    assert np.allclose(np.linalg.norm(dense.X, axis=1), 1, atol=1e-5)
    assert np.bincount(deep.labels).tolist() == [2] * 23
    few = list(deep.task.paths.items())[:4]
    with Collection.create(small / "c.lw", deep=True) as col:
        col.add(*(path for _, path in few), workers=0)
        for i, (_, path) in enumerate(few):
            here = views_of(col).view("deep").row_of(col.id_of(path))
            assert np.array_equal(here.toarray()[0], deep.X[[i]].toarray()[0])

    def not_again(*_: object) -> None:
        raise AssertionError("made again although it is kept")

    monkeypatch.setattr(deep_rows, "_made", not_again)
    again = space_rows("planted", "deep")
    assert again is not None
    assert (again.X != deep.X).nnz == 0


@pytest.mark.slow
@needs_deep
def test_words_may_be_asked_for_in_number(small: Path) -> None:
    rows = space_rows("planted", "deep-words", n_words=64)
    assert rows is not None
    assert rows.X.shape == (46, 64)
    value = bench.precision(rows, bench.ranking(bench.scores(rows.X)))
    assert 0.7 < value <= 1


def test_names_that_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no set 'nothing'"):
        task_of("nothing")
    with pytest.raises(InvalidInput, match="no space 'nothing'"):
        space_rows("planted", "nothing")
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    assert task_of("corel1k") is None
    assert space_rows("corel1k", "deep") is None


def test_labels_come_from_the_queries(small: Path) -> None:
    task = task_of("planted")
    assert task is not None
    labels = labels_of(task)
    scenes = [name.rsplit("-", 2)[0] for name in task.paths]
    for a in range(0, 46, 5):
        assert [x == labels[a] for x in labels] == [s == scenes[a] for s in scenes]


def test_shares_are_reciprocal_ranks_without_the_asker() -> None:
    matrix = np.array([[1.0, 0.5, 0.8], [0.5, 1.0, 0.0], [0.8, 0.0, 1.0]], np.float32)
    shares = bench.shares_of(matrix)
    assert shares[0, 2] == pytest.approx(1 / 61)
    assert shares[0, 1] == pytest.approx(1 / 62)
    assert shares[1, 2] == 0
