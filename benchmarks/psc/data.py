"""Dense SIFT of the development sets, kept in the benchmarks' cache as SIFT files keep it: bytes.

``dense("caltech101", DenseSIFT(...))`` gives each picture's descriptors, places and size.  A byte
is 512 times an entry of the unit descriptor, as in the files of Lowe's own program; what a coder
gets is made of it on the way out (unit length, or RootSIFT).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep.rows import DATASETS, labels_of, pictures, task_of
from likewise.vision.local import DenseSIFT, root_sift
from likewise_lab.evaluation.retrieval import Task
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays

Floats = NDArray[np.float32]

_BYTE = 512.0
_KIND = "dense sift"


class Dense(NamedTuple):
    """Descriptors (bytes) and places of all pictures, one after the other; ``starts`` cuts them."""

    task: Task
    labels: NDArray[np.int64]
    bytes_: NDArray[np.uint8]
    places: Floats
    starts: NDArray[np.int64]
    sizes: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    def picture(self, i: int, *, root: bool = True) -> tuple[Floats, Floats, tuple[float, float]]:
        """Descriptors of one picture, their places, and its size."""
        here = slice(self.starts[i], self.starts[i + 1])
        width, height = self.sizes[i]
        return restored(self.bytes_[here], root), self.places[here], (float(width), float(height))

    def sample(self, n: int, rng: np.random.Generator, *, root: bool = True) -> Floats:
        """Some descriptors of all pictures."""
        chosen = np.sort(rng.choice(len(self.bytes_), min(n, len(self.bytes_)), replace=False))
        return restored(self.bytes_[chosen], root)


def restored(found: NDArray[np.uint8], root: bool) -> Floats:
    """Bytes as descriptors of unit length, RootSIFT if asked for."""
    raw = found.astype(np.float32)
    if root:
        return root_sift(raw)
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    return np.asarray(raw / np.where(norms > 0, norms, 1), np.float32)


def dense(dataset: str, recipe: DenseSIFT) -> Dense | None:
    """The descriptors of a set; None where it is not on this machine."""
    task = task_of(dataset)
    if task is None:
        return None
    name = hashlib.blake2b(repr(recipe).encode(), digest_size=4).hexdigest()
    kept = harness.cache_dir() / f"dense-{dataset}-{name}.arrays"
    arrays = _kept(kept, recipe, len(task.paths))
    if arrays is None:
        arrays = _described(list(task.paths.values()), recipe)
        save_arrays(kept, _KIND, {"recipe": repr(recipe)}, arrays)
    return Dense(
        task,
        labels_of(task),
        arrays["bytes"],
        arrays["places"].astype(np.float32),
        arrays["starts"],
        arrays["sizes"].astype(np.float32),
    )


def _described(paths: Sequence[Path], recipe: DenseSIFT) -> dict[str, NDArray[Any]]:
    parts, places, starts, sizes = [], [], [0], []
    for picture in pictures(list(paths)):
        found = recipe.extract(picture)
        parts.append(np.minimum(np.rint(found.descriptors * _BYTE), 255).astype(np.uint8))
        places.append(found.positions)
        starts.append(starts[-1] + len(found))
        height, width = picture.pixels.shape[:2]
        sizes.append((width, height))
    return {
        "bytes": np.concatenate(parts),
        "places": np.concatenate(places).astype(np.float32),
        "starts": np.array(starts, np.int64),
        "sizes": np.array(sizes, np.float32),
    }


def _kept(path: Path, recipe: DenseSIFT, n_pictures: int) -> dict[str, NDArray[Any]] | None:
    try:
        meta, arrays = open_arrays(path, _KIND)
    except (OSError, DamagedFile):
        return None
    if meta["recipe"] != repr(recipe) or len(arrays["starts"]) != n_pictures + 1:
        return None
    return dict(arrays)


def there(datasets: Sequence[str]) -> Iterator[str]:
    """Those of some sets that are on this machine."""
    return (name for name in datasets if name in DATASETS and task_of(name) is not None)
