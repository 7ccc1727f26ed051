"""CIFAR-10 pictures as bags of 1,000 dense SIFT words: rows as wide as the paper's largest set.

Made once and kept in the cache as counts, a byte each.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.readers.records import data_root
from benchmarks.siso.data import Tagged, enlarged, in_turn
from likewise.errors import DatasetError, LikewiseError
from likewise_cuda.device import why_not
from likewise_cuda.solve import on_device
from likewise_methods.neighbours.container import open_arrays, save_arrays
from likewise_methods.siso.solver.dictionary import Dictionary

ALPHA, TOL, EXPAND = 0.002, 1e-4, 100
N_REAL = 28_000
N_QUERIES = 1_024
N_WORDS = 1_000
SIZES = (N_REAL, 162_000, 1_200_000)
_KIND = "bench.siso words"


def begin(description: str) -> tuple[harness.Report, int]:
    """The report on this device, and the seed; an error where there is none."""
    options = harness.arguments(description)
    if reason := why_not():
        raise LikewiseError(f"this benchmark needs a CUDA device: {reason}")
    xp = importlib.import_module("cupy")
    name = xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    number = xp.cuda.runtime.runtimeGetVersion()
    parameters: dict[str, object] = {
        "device": name, "cupy": xp.__version__, "CUDA": f"{number // 1000}.{number % 1000 // 10}",
        "tol": TOL, "expand": EXPAND, "width": N_WORDS, "seed": options.seed,
        "threads of the processor": os.cpu_count(),
    }  # fmt: skip
    title = "SISO on a CUDA device: an exact lasso over all tagged pictures"
    report = harness.Report("siso-cuda", title, "default", parameters, page="siso-speed")
    return report, options.seed


def sizes(seed: int) -> Iterator[tuple[Tagged, Dictionary, float]]:
    """Rows of every size on the device, with the seconds it took to bring them there."""
    real = word_pictures()
    for n in SIZES:
        data = enlarged(real, n, seed)
        D = Dictionary([data.X])
        start = time.perf_counter()
        on_device(D)
        importlib.import_module("cupy").cuda.Device().synchronize()
        yield data, D, time.perf_counter() - start


def word_pictures() -> Tagged:
    """28,000 training pictures, class by class in turn, and 1,024 test pictures; unit rows."""
    path = harness.cache_dir() / f"cifar10-words-{N_WORDS}-{N_REAL}-{N_QUERIES}.arrays"
    if not path.exists():
        _extract(path)
    _, arrays = open_arrays(path, _KIND)
    counts = np.array(arrays["counts"], np.float32)
    rows = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    labels = np.array(arrays["labels"])
    return Tagged(rows[:N_REAL], labels[:N_REAL], rows[N_REAL:], 10, True)


def _extract(path: Path) -> None:
    # Only whoever makes the rows needs what makes them.
    from benchmarks.readers.folders import read_folders
    from benchmarks.siso.features import SIFT_RECIPE
    from likewise.images.decode import Picture, decode
    from likewise_methods.coding.bow import count
    from likewise_methods.coding.vocabulary import Vocabulary

    root = data_root()
    source = None if root is None else root / "cifar10.tar.gz"
    if source is None or not source.exists():
        raise DatasetError("cifar10.tar.gz is not there; the SISO benchmark needs its pictures")
    images = read_folders(source)
    train = in_turn(images.labels, images.part("train"), N_REAL)
    rows = np.concatenate([train, in_turn(images.labels, images.part("test"), N_QUERIES)])
    place = {int(row): i for i, row in enumerate(rows)}
    held: dict[int, Picture] = {}
    for row, content in images.pictures():
        if row in place:
            held[place[row]] = decode(content)
    pictures = [held[i] for i in range(len(place))]
    words = Vocabulary(N_WORDS, n_iter=10, random_state=0)
    words.fit(SIFT_RECIPE.extract(picture).descriptors for picture in pictures[:1_000])
    numbers = [words.quantise(SIFT_RECIPE.extract(p).descriptors) for p in pictures]
    # 371 patches a picture: no word is counted more often than a byte can say, or it says 255.
    counts = np.minimum(count(numbers, N_WORDS).toarray(), 255).astype(np.uint8)
    save_arrays(path, _KIND, {}, {"counts": counts, "labels": images.labels[rows]})
