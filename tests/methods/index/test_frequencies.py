"""Document frequencies, counted in the postings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from likewise_methods.index.inverted import InvertedIndex


@pytest.mark.parametrize("width", [7, 300, 70_000])
def test_frequencies_are_the_counts_of_the_rows(width: int) -> None:
    X = sparse.random_array((200, width), density=min(1.0, 40 / width), rng=0, dtype=np.float32)
    X = sparse.csr_array(X)
    index = InvertedIndex.build(X[:120], np.arange(120))
    index.add(X[120:], np.arange(120, 200))
    assert np.array_equal(index.frequencies(), np.bincount(X.indices, minlength=width))


@pytest.mark.parametrize("density", [0.001, 0.05, 0.4])
def test_removed_pictures_do_not_count(density: float) -> None:
    """Of rare lists, of lists and of columns alike, before compaction as after it."""
    X = sparse.random_array((9_000, 60), density=density, rng=0, dtype=np.float32, format="csr")
    index = InvertedIndex.build(X, np.arange(9_000))
    index.remove(np.arange(0, 9_000, 3))
    living = X[np.flatnonzero(np.arange(9_000) % 3)]
    expected = np.bincount(living.indices, minlength=60)
    assert np.array_equal(index.frequencies(), expected)
    index.compact()
    assert np.array_equal(index.frequencies(), expected)
