"""The protocol: half of each class can be asked about, the other half is ranked.

A concept is a set of classes.  One picture of it is given; then come rounds of twelve answers.  The
figure is the average precision of the half that is never asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.staying.data import Pictures
from likewise_methods.evaluation import average_precision

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

PAGE = 12
ROUNDS = 5
# Classes by their place in the alphabetical list of caltech101's 64.
CALTECH = {
    "animals": "Leopards ant beaver brontosaurus butterfly cougar_body cougar_face crab crocodile "
    "crocodile_head dalmatian dolphin dragonfly elephant emu flamingo flamingo_head hawksbill "
    "hedgehog ibis kangaroo llama lobster mayfly nautilus pigeon rhino rooster scorpion sea_horse "
    "stegosaurus tick",
    "music": "accordion bass electric_guitar euphonium gramophone grand_piano mandolin headphone",
    "insects": "ant butterfly dragonfly mayfly scorpion tick crab lobster",
    "home": "ceiling_fan chandelier lamp cup windsor_chair stapler",
    "transport": "car_side helicopter schooner",
    "crab": "crab",
}
CIFAR = {"animals": (2, 3, 4, 5, 6, 7), "vehicles": (0, 1, 8, 9), "pets": (3, 5), "birds": (2,)}
COREL = {"classes 0 and 6": (0, 6), "classes 4, 5, 7": (4, 5, 7), "classes 2 and 8": (2, 8)}


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of a set, its concepts, and which pictures may be asked about."""

    pictures: Pictures
    concepts: Mapping[str, NDArray[np.bool_]]

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Half of each class, drawn with a fixed seed."""
        rng = np.random.default_rng(0)
        half = np.zeros(len(self.pictures), bool)
        for name in self.pictures.classes:
            members = rng.permutation(np.flatnonzero(self.pictures.labels == name))
            half[members[: len(members) // 2]] = True
        return half


def task_of(name: str, pictures: Pictures, classes: Sequence[str]) -> Task:
    """The concepts of a set; ``classes`` are the names of caltech101's."""
    if name == "caltech101":
        chosen = {k: tuple(classes.index(c) for c in v.split()) for k, v in CALTECH.items()}
    else:
        chosen = CIFAR if name == "cifar10" else COREL
    return Task(pictures, {k: np.isin(pictures.labels, v) for k, v in chosen.items()})


class Learner(Protocol):
    """Something that can be taught one concept."""

    def teach(self, rows: Sequence[int], said: Sequence[bool]) -> None:
        """Take answers."""
        ...

    def scores(self) -> Floats:
        """Score every picture, higher is better."""
        ...

    def page(self, free: Ids) -> list[int]:
        """The next twelve pictures to ask about, among the free ones."""
        ...


def run(
    task: Task,
    make: Callable[[int], Learner],
    truth: NDArray[np.bool_],
    draw: int,
    wrong: float = 0.0,
) -> list[float]:
    """Average precision after each round of one draw; ``wrong`` answers are turned round."""
    rng = np.random.default_rng(100 * draw)
    can = np.flatnonzero(task.asked)
    first = int(rng.choice(can[truth[can]]))
    learner = make(draw)
    learner.teach([first], [True])
    known, found = [first], []
    hidden = np.flatnonzero(~task.asked)
    for _ in range(ROUNDS):
        page = learner.page(np.setdiff1d(can, known))
        flips = rng.random(len(page)) < wrong
        learner.teach(
            page, [bool(truth[row]) != bool(f) for row, f in zip(page, flips, strict=True)]
        )
        known += page
        ranked = hidden[np.argsort(-learner.scores()[hidden], kind="stable")]
        found.append(average_precision(truth[ranked]))
    return found
