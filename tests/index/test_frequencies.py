"""Document frequencies read from the directory of the lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from likewise.index.inverted import InvertedIndex


@pytest.mark.parametrize("width", [7, 300, 70_000])
def test_frequencies_are_the_counts_of_the_rows(width: int) -> None:
    X = sparse.random_array((200, width), density=min(1.0, 40 / width), rng=0, dtype=np.float32)
    X = sparse.csr_array(X)
    index = InvertedIndex.build(X[:120], np.arange(120))
    index.add(X[120:], np.arange(120, 200))
    assert np.array_equal(index.frequencies(), np.bincount(X.indices, minlength=width))


def test_removed_pictures_leave_with_compaction() -> None:
    X = sparse.csr_array(np.eye(4, dtype=np.float32))
    index = InvertedIndex.build(X, np.arange(4))
    index.remove([2])
    index.compact()
    assert index.frequencies().tolist() == [1, 1, 0, 1]
