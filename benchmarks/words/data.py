"""Three sets with named classes, their rows, and what is typed for each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.deep.rows import space_rows
from benchmarks.siso.features import cifar_rows, why_not
from benchmarks.words import phrases
from likewise.errors import DatasetError
from likewise.vision.deep.network import is_installed
from likewise.vision.text.words import PictureWords, TextQuery
from likewise_methods.spaces.fitted import FittedSpace

SETS = ("corel1k", "caltech101", "cifar10")
CIFAR = 5_000
FRESH = "fresh"
"""Phrases that were written when every choice had been made."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NamedSet:
    """Rows of ``deep-dense`` (activations of unit length), class numbers and the classes' names."""

    name: str
    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    classes: list[str]

    @cached_property
    def looks(self) -> NDArray[np.float32]:
        """The rows in the space ``look``, fitted without labels."""
        return FittedSpace().fit(self.rows).transform(self.rows)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.rows.mean(axis=0, dtype=np.float64))


class Asker:
    """Scores of a set's pictures by a text: the product's row, by inner product."""

    def __init__(self, words: PictureWords, pictures: NamedSet) -> None:
        self.words, self.pictures = words, pictures
        self.deviations = words.deviations(pictures.rows)

    def __call__(self, query: TextQuery) -> Floats:
        row = self.words.row(query, self.pictures.mean, self.deviations)
        return np.asarray(self.pictures.rows @ row, np.float64)


def read(name: str) -> NamedSet:
    """A set, by name; DatasetError says why it cannot be had here."""
    if not is_installed():
        raise DatasetError(f"{name}: the extra deep is not installed")
    if name == "cifar10":
        if why := why_not("deep"):
            raise DatasetError(f"{name}: {why}")
        made = cifar_rows("deep", CIFAR, 1_000)
        return NamedSet(name, made.X, made.labels, made.classes)
    found = space_rows("caltech101-full" if name == "caltech101" else name, "deep-dense")
    if found is None:
        raise DatasetError(f"{name}: it is not among the data")
    # Class numbers are given in the order in which queries name their groups.
    classes = list(dict.fromkeys(query.group for query in found.task.queries))
    return NamedSet(name, found.X, found.labels, classes)


def sets(left_out: list[str]) -> Iterator[NamedSet]:
    """All sets that are here; of the others the reason goes to ``left_out``."""
    for name in SETS:
        try:
            yield read(name)
        except DatasetError as error:
            left_out.append(str(error))


def typed(pictures: NamedSet) -> dict[str, dict[int, str]]:
    """What is typed, by kind of phrase: class number -> text."""
    names = {name: phrases.spelt(name) for name in pictures.classes}
    kinds: dict[str, Mapping[str, str]] = {"names": names}
    if pictures.name == "corel1k":
        kinds |= {
            "loose": phrases.COREL_LOOSE,
            "other words": phrases.COREL_OTHER,
            FRESH: phrases.COREL_FRESH,
        }
    elif pictures.name == "caltech101":
        # Halves by turns of the alphabet: choices were made on the first.
        half = sorted(names)[::2]
        kinds = {
            "names, first half": {name: names[name] for name in half},
            "names, second half": {k: text for k, text in names.items() if k not in half},
            "loose": phrases.CALTECH_LOOSE,
            FRESH: phrases.CALTECH_FRESH,
        }
    else:
        kinds |= {
            "loose": phrases.CIFAR_LOOSE,
            "other words": phrases.CIFAR_OTHER,
            FRESH: phrases.CIFAR_FRESH,
        }
    number = {name: i for i, name in enumerate(pictures.classes)}
    return {
        kind: {number[name]: text for name, text in texts.items() if name in number}
        for kind, texts in kinds.items()
    }


CHOSEN_ON = {("corel1k", "loose"), ("caltech101", "names, first half")}
"""On these the rule's constants were chosen; the others were in sight, but for the fresh ones."""
