"""Rows of the space ``look`` for the sets: the network's activations, fitted label-free to each."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.deep.rows import space_rows
from benchmarks.siso.features import cifar_rows, why_not
from likewise_methods.spaces import FittedSpace

LOOK = "look"
WIDTH = 128
CIFAR = 3_000
"""Pictures of CIFAR-10 that the quality of suggestions is measured on."""
# Caltech-101 whole: of half of it, 5 % would be one picture a tag.
_NAMES = {"corel1k": "corel1k", "caltech101": "caltech101-full"}


class LabelledRows(NamedTuple):
    """Rows and their classes."""

    X: NDArray[np.float32]
    labels: NDArray[np.int64]


@cache
def look_rows(data: str) -> LabelledRows | None:
    """Rows of a set; None where it, or the network, is not on this machine."""
    found = _activations(data)
    if found is None:
        return None
    return LabelledRows(fitted(found.X), found.labels)


def fitted(activations: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of ``look``; their classes take no part."""
    return FittedSpace(n_components=WIDTH).fit(activations).transform(activations)


def _activations(data: str) -> LabelledRows | None:
    if data == "cifar10":
        if why_not("deep"):
            return None
        # The same rows as those of the large collection: described once.
        rows = cifar_rows("deep", 5_000, 1_000)
        return LabelledRows(rows.X[:CIFAR], rows.labels[:CIFAR])
    found = space_rows(_NAMES[data], "deep-dense")
    return None if found is None else LabelledRows(np.asarray(found.X, np.float32), found.labels)
