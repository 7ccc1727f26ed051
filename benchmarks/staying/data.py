"""The five sets of this benchmark: all activations of every picture, classes, and junk.

Activations are made once and kept.  The rows that are compared follow from them: the product's
``deep`` (the strongest of them), all of them, their principal components, and the fitted space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep.rows import labels_of, pictures, space_rows
from benchmarks.siso.features import cifar_rows, why_not
from likewise.errors import DatasetError
from likewise.vision.deep.network import is_installed
from likewise.vision.deep.recipes import KEEP, DeepDense, strongest
from likewise_lab.evaluation.retrieval import Task, planted_task
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.spaces.fitted import FittedSpace, prepare, unit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

SETS = ("caltech101", "corel1k", "cifar10", "oxford1k", "planted views")
TUNED = ("caltech101", "corel1k", "cifar10")
"""Sets on whose draws the constants of the space and of the metric were chosen."""
LEAST = 14
"""Positives a landmark needs: half of them are asked, and each then has six to find."""
VIEWS = 16
CIFAR = 5_000
COMPONENTS = 128
_KIND = "bench.staying activations"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Rows of activations (>= 0); ``labels`` are classes, -1 for pictures of none.

    ``junk`` names by class the pictures that are neither right nor wrong for its queries.
    """

    name: str
    activations: Rows
    labels: Ints
    junk: Mapping[int, Ints] = field(default_factory=dict)
    trapezoid: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> Ints:
        return np.unique(self.labels[self.labels >= 0])

    @cached_property
    def deep(self) -> Any:
        """The product's sparse rows: the strongest activations, rooted, of unit length."""
        kept = [strongest(row, KEEP) for row in self.activations]
        starts = np.concatenate([[0], np.cumsum([len(at) for at, _ in kept])])
        parts = (np.concatenate([w for _, w in kept]), np.concatenate([at for at, _ in kept]))
        # scikit-learn takes no wider numbers of columns.
        short = (parts[0], parts[1].astype(np.int32), starts.astype(np.int32))
        return sp.csr_array(short, shape=self.activations.shape)

    @cached_property
    def space(self) -> FittedSpace:
        """Fitted to all pictures; it sees no class and no judgement."""
        return FittedSpace().fit(self.activations)

    @cached_property
    def rows(self) -> Rows:
        return self.space.transform(self.activations)

    @cached_property
    def reduced(self) -> Floats:
        """Roots of activations, centred, on their principal directions, of unit length: what the
        fitted space stretches."""
        space = self.space
        made = prepare(self.activations, space.rooted_) - space.mean_
        return unit(made @ space.directions_)


def read(name: str) -> Pictures:
    """A set, by name; DatasetError says why it cannot be had here."""
    if not is_installed():
        raise DatasetError(f"{name}: the extra deep is not installed")
    if name == "cifar10":
        if why := why_not("deep"):
            raise DatasetError(f"{name}: {why}")
        made = cifar_rows("deep", CIFAR, 1_000)
        return Pictures(name, made.X, made.labels)
    if name == "planted views":
        folder = harness.cache_dir() / f"planted-views-{VIEWS}"
        task = planted_task(folder, VIEWS)
        return Pictures(name, _activations(f"planted-{VIEWS}", task), labels_of(task))
    found = space_rows("caltech101-full" if name == "caltech101" else name, "deep-dense")
    if found is None:
        raise DatasetError(f"{name}: it is not among the data")
    if name != "oxford1k":
        return Pictures(name, found.X, found.labels)
    labels, junk = landmarks(found.task)
    return Pictures(name, found.X, labels, junk, found.task.trapezoid)


def landmarks(task: Task, least: int = LEAST) -> tuple[Ints, dict[int, Ints]]:
    """Class of each picture and junk of each class, of landmarks with enough positives."""
    place = {name: i for i, name in enumerate(task.paths)}
    positives: dict[str, set[str]] = {}
    apart: dict[str, set[str]] = {}
    for query in task.queries:
        positives.setdefault(query.group, set()).update(query.positives & place.keys())
        apart.setdefault(query.group, set()).update(query.junk & place.keys())
    labels = np.full(len(place), -1, np.int64)
    junk: dict[int, Ints] = {}
    for group in sorted(positives):
        if len(positives[group]) >= least:
            labels[[place[name] for name in positives[group]]] = number = len(junk)
            left_out = sorted(place[name] for name in apart[group] - positives[group])
            junk[number] = np.array(left_out, np.int64)
    return labels, junk


def _activations(stem: str, task: Task) -> Rows:
    path = harness.cache_dir() / f"staying-{stem}.arrays"
    try:
        _, arrays = open_arrays(path, _KIND)
        if len(arrays["rows"]) == len(task.paths):
            return np.array(arrays["rows"])
    except (OSError, DamagedFile):
        pass
    recipe = DeepDense()
    made = np.stack([recipe.extract(one.pixels) for one in pictures(list(task.paths.values()))])
    save_arrays(path, _KIND, {}, {"rows": made})
    return made


def sets(left_out: list[str]) -> Iterator[Pictures]:
    """All sets that are here; of the others the reason goes to ``left_out``."""
    for name in SETS:
        try:
            yield read(name)
        except DatasetError as error:
            left_out.append(str(error))
