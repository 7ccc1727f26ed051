"""Several indexes searched as one, and rows given back as they were added."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from likewise_methods.errors import InvalidInput
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.index.layout import DamagedIndex


def rows(n: int, seed: int) -> sparse.csr_array:
    return sparse.csr_array(
        sparse.random(n, 60, density=0.1, random_state=seed, format="csr", dtype=np.float32)
    )


def test_united_is_one_index_of_all(tmp_path) -> None:
    A, B, Q = rows(40, 0), rows(30, 1), rows(7, 2)
    a = InvertedIndex.build(A, np.arange(40))
    b = InvertedIndex.build(B, np.arange(100, 130))
    a.save(tmp_path / "a")
    whole = InvertedIndex.build(sparse.vstack([A, B]), [*range(40), *range(100, 130)])
    both = InvertedIndex.union([InvertedIndex.open(tmp_path / "a"), b, InvertedIndex()])
    for weights in (None, np.linspace(-1, 2, 60)):
        for found, expected in zip(
            both.search(Q, 25, weights), whole.search(Q, 25, weights), strict=True
        ):
            assert np.array_equal(found, expected)
    # Removing from a part does not change the union made before, and the other way round.
    b.remove([100])
    assert len(both) == 70
    both.remove([0, 129])
    assert len(a) == 40
    assert len(b) == 29
    assert both.contains([0, 1, 100, 129, 500]).tolist() == [False, True, True, False, False]


def test_an_empty_union_is_an_empty_index() -> None:
    empty = InvertedIndex.union([])
    assert len(empty) == 0
    ids, scores = empty.search(rows(1, 0), 2)
    assert ids.tolist() == [[-1, -1]]
    assert np.isneginf(scores).all()


def test_rows_come_back_as_they_were_added(tmp_path) -> None:
    X = rows(200, 3)
    index = InvertedIndex.build(X[:120], np.arange(120))
    index.add(X[120:], np.arange(300, 380))
    index.save(tmp_path / "i")
    for one in (index, InvertedIndex.open(tmp_path / "i")):
        back = one.rows([5, 379, 0, 5])
        assert back.shape == (4, 60)
        assert (back != X[[5, 199, 0, 5]]).nnz == 0
        one.remove([5])
        with pytest.raises(InvalidInput, match="id 5 is not in the index"):
            one.rows([5])
        assert one.rows([]).shape == (0, 60)


def test_a_damaged_row_is_not_given_back(tmp_path) -> None:
    X = rows(100, 4)
    InvertedIndex.build(X, np.arange(100)).save(tmp_path / "i")
    (block,) = (tmp_path / "i").glob("*.lwb")
    content = bytearray(block.read_bytes())
    content[-3] ^= 0x10
    block.write_bytes(content)
    index = InvertedIndex.open(tmp_path / "i")
    assert (index.rows([0]) != X[[0]]).nnz == 0
    with pytest.raises(DamagedIndex):
        index.rows([99])
