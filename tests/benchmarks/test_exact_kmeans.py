"""Exact k-means, which the benchmark of vocabularies compares with."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.vocabulary.exact_kmeans import exact_kmeans
from likewise_methods.errors import InvalidInput


def test_exact_kmeans_refuses_too_few_rows() -> None:
    with pytest.raises(InvalidInput, match="X has 2 rows"):
        exact_kmeans(np.ones((2, 3)), 3)
