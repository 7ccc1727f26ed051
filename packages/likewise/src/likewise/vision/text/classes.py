"""The classes of the pictures' network: the 1,000 classes of ILSVRC 2012, by name.

``classes.tsv`` has a line a class, in the order of the network's outputs: the WordNet synset, its
lemmas and its definition.  They are WordNet 3.0's, used under its licence (THIRD_PARTY.md).
The classifier itself lies in the weights of the network: its pooled activations a give the logits
W a + b.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.errors import DamagedWeights
from likewise.vision.deep.graph import N_CHANNELS
from likewise.vision.deep.network import check_weights, weights_path
from likewise.vision.deep.weights import read_tensors

N_CLASSES = 1_000

Floats = NDArray[np.float32]


class PictureClass(NamedTuple):
    """One class of the network."""

    synset: str
    lemmas: tuple[str, ...]
    definition: str

    @property
    def name(self) -> str:
        """The lemma that WordNet puts first."""
        return self.lemmas[0]

    @property
    def sentence(self) -> str:
        """How the class is put to a sentence model."""
        return f"{', '.join(self.lemmas)}: {self.definition}"


@lru_cache(maxsize=1)
def picture_classes() -> tuple[PictureClass, ...]:
    """All classes, in the order of the network's outputs."""
    read = (line.split("\t") for line in _table().decode().splitlines())
    return tuple(
        PictureClass(synset, tuple(lemmas.split(", ")), definition)
        for synset, lemmas, definition in read
    )


def table_digest() -> str:
    """What the table is known by."""
    return hashlib.sha256(_table()).hexdigest()


def _table() -> bytes:
    return resources.files("likewise.vision.text").joinpath("classes.tsv").read_bytes()


def classifier() -> tuple[Floats, Floats]:
    """W (1000, 1280) and b (1000): the last layer of the pictures' network."""
    path = weights_path()
    check_weights(path)
    tensors = read_tensors(path)
    W, b = tensors.get("_fc.weight"), tensors.get("_fc.bias")
    if W is None or b is None or W.shape != (N_CLASSES, N_CHANNELS) or b.shape != (N_CLASSES,):
        raise DamagedWeights(f"{path} has no classifier of {N_CLASSES:,} classes")
    return np.asarray(W, np.float32), np.asarray(b, np.float32)
