"""Rows that are not laid out give what blocks give, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from likewise import _csr
from likewise.index import blocks, inverted
from likewise.index.inverted import InvertedIndex

WIDTH = 60


def without_compiler(patch: pytest.MonkeyPatch) -> None:
    for module in (_csr, blocks, inverted):
        patch.setattr(module, "have_compiler", lambda: False)


def with_compiler(patch: pytest.MonkeyPatch) -> None:
    for module in (_csr, blocks, inverted):
        patch.setattr(module, "have_compiler", lambda: True)


def vectors(n: int, seed: int, kind: Any = np.float32) -> sp.csr_array:
    """Rows of both signs and of very different sizes, some of them empty, some twice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, WIDTH)) * 10.0 ** rng.integers(-6, 7, (n, WIDTH))
    X[rng.random((n, WIDTH)) < 0.7] = 0
    X[::7] = 0
    X[1::5] = X[1]
    return sp.csr_array(X.astype(kind))


def changed(impacts: str, drop: bool) -> InvertedIndex:
    """An index made in several steps, with dead pictures."""
    index = InvertedIndex(impacts)
    index.add(vectors(40, 0), np.random.default_rng(9).permutation(40))
    if drop:
        index.compact(np.arange(WIDTH) % 3)
    index.add(vectors(3, 1), [1000, 50, 999])
    index.remove([3, 50, 17])
    index.add(vectors(30, 2))
    return index


def answers(index: InvertedIndex, k: int) -> list[np.ndarray[Any, Any]]:
    Q = vectors(12, 5, np.float64)
    weights = np.random.default_rng(6).normal(size=WIDTH)
    weights[::4] = 0
    rows = index.rows(index.ids[::2])
    return [
        *index.search(Q, k), *index.search(Q, k, weights), index.ids, index.contains([3, 4, 1000]),
        rows.indptr, rows.indices, rows.data,
    ]  # fmt: skip


@pytest.mark.parametrize("impacts", ["float32", "uint8"])
@pytest.mark.parametrize("drop", [False, True], ids=["all words", "words dropped"])
@pytest.mark.parametrize("k", [1, 5, 500])
def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, impacts: str, drop: bool, k: int) -> None:
    with_compiler(monkeypatch)
    laid_out = changed(impacts, drop)
    expected = answers(laid_out, k)
    assert all(block.loose is None for block in laid_out._state.blocks)

    without_compiler(monkeypatch)
    loose = changed(impacts, drop)
    found = answers(loose, k)
    assert all(block.loose is not None for block in loose._state.blocks)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
    # frequencies count what has postings; a dropped word has none.
    assert np.array_equal(loose.frequencies(), laid_out.frequencies())

    # Whoever wants the layout gets it, and from then on the same again.
    assert loose.stats() == laid_out.stats()
    assert all(block.loose is None for block in loose._state.blocks)
    for one, other in zip(answers(loose, k), expected, strict=True):
        assert one.tobytes() == other.tobytes()


def test_scores_beyond_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.array([[3e38, 3e38], [-3e38, -3e38], [1.0, 0.0]])
    found = {}
    for name, choose in (("with", with_compiler), ("without", without_compiler)):
        choose(monkeypatch)
        found[name] = InvertedIndex.build(X).search(np.array([[2.0, 2.0], [0.0, 0.0]]), 4)
    for one, other in zip(found["with"], found["without"], strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_loose_block_does_not_follow_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch)
    X = vectors(10, 3)
    index = InvertedIndex.build(X)
    before = index.rows(index.ids).toarray()
    X.data[:] = 0.5
    assert np.array_equal(index.rows(index.ids).toarray(), before)


def test_many_rows_are_laid_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiler(monkeypatch)
    monkeypatch.setattr(blocks, "ENTRIES", 100)
    index = InvertedIndex.build(vectors(40, 0))
    assert all(block.loose is None for block in index._state.blocks)


def test_rows_saved_before_they_are_laid_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    without_compiler(monkeypatch)
    index = InvertedIndex.build(vectors(40, 0))
    index.save(tmp_path / "index")
    again = InvertedIndex.open(tmp_path / "index")
    again.verify()
    for one, other in zip(answers(again, 7), answers(index, 7), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("seed", range(200))
def test_rows_are_inspected_alike(seed: int) -> None:
    """The flags of the kernel and of the version without one, on arrays sound and damaged."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 4, rng.integers(1, 6))
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    n = int(ends[-1])
    words = np.concatenate(
        [np.zeros(0, int), *(np.sort(rng.choice(9, m, replace=False)) for m in lengths)]
    ).astype(np.int32)
    values = rng.normal(size=n).astype(np.float32)
    if n:
        at = int(rng.integers(n))
        match seed % 8:
            case 1:
                words[at] = rng.integers(-1, 10)
            case 2:
                values[at] = rng.choice([0.0, np.nan, np.inf, -np.inf, 5.0])
            case 3:
                ends[rng.integers(len(ends))] += rng.integers(-1, 2)
            case 4:
                rng.shuffle(words)
            case 5:
                words, values = words[:-1], values[:-1]
            case 6:
                words, values = np.append(words, 99).astype(np.int32), np.append(values, np.nan)
            case _:
                pass
    arguments = (ends, words, values.astype(np.float32), 9, 4.0)
    assert _csr._inspect(*arguments) == _csr._inspect_few(*arguments)
