"""Suggested tags in a large collection: building, asking, accepting, measuring, memory.

Rows are those of CIFAR-10 pictures, brought to the size by rows generated like them
(:func:`~benchmarks.siso.data.enlarged`).  Each size runs in a process of its own, so that the
peak of memory is its own.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import harness
from benchmarks.siso.data import Tagged, enlarged, pictures
from benchmarks.siso.features import cifar_rows, why_not
from benchmarks.tags.collection import collection_of, stored_as, tag_as_listed
from benchmarks.tags.look import LOOK, WIDTH, fitted
from likewise.collection.collection import Collection
from likewise.errors import DatasetError

OTHER_TAGS = 1000
ASKED = 40
_REAL_DEEP = (5_000, 1_000)
_WIDTHS = {"holistic": 428, "deep-dense": 1280, LOOK: WIDTH}

Row = dict[str, object]


class Made(NamedTuple):
    """Rows with classes, pictures to ask about, and what the rows are in words."""

    data: Tagged
    words: str


def rows_like_pictures(space: str, n: int, seed: int) -> Made:
    """n rows of a space; where CIFAR-10 is not on this machine, of no pictures at all."""
    try:
        real = pictures() if space == "holistic" else _deep(space)
        what = "CIFAR-10"
    except DatasetError:
        real, what = clusters(_WIDTHS[space], seed), "clusters"
    made = enlarged(real, n, seed)
    generated = max(0, n - len(real.X))
    return Made(made, f"{n - generated:,} {what}, {generated:,} generated")


def _deep(space: str) -> Tagged:
    missing = why_not("deep")
    if missing:
        raise DatasetError(missing)
    found = cifar_rows("deep", *_REAL_DEEP)
    rows = np.concatenate([found.X, found.Q])
    if space == LOOK:
        rows = fitted(rows)
    n = len(found.X)
    return Tagged(rows[:n], found.labels, rows[n:], len(found.classes), True)


def clusters(width: int, seed: int, n: int = 2_000) -> Tagged:
    """Rows around ten centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((10, width), dtype=np.float32)
    labels = np.arange(n + 400) % 10
    rows = centres[labels] + rng.standard_normal((n + 400, width), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Tagged(rows[:n], labels[:n], rows[n:], 10, False)


def scale_rows(space: str, sizes: tuple[int, ...], folder: Path, seed: int) -> list[Row]:
    """One row a size."""
    rows: list[Row] = []
    for n in sizes:
        root = folder / f"{space}-{n}.lw"
        made = rows_like_pictures(space, n, seed)
        build(root, space, made.data, seed)
        words, tagged = made.words, len(made.data.X)
        del made
        said = harness.in_process("benchmarks.tags", "scale", str(root), space, str(tagged))
        rows.append({"space": space, "tagged": tagged, "rows": words, **said})
        print(rows[-1], flush=True)
        shutil.rmtree(root)
    return rows


def build(root: Path, space: str, data: Tagged, seed: int) -> None:
    """All rows tagged with their class and one of a thousand other tags; queries follow them."""
    collection_of(root, space, np.concatenate([data.X, data.Q]))
    other = np.random.default_rng(seed).integers(OTHER_TAGS, size=len(data.X))
    tags = {i + 1: [f"class {data.labels[i]}", f"other {other[i]}"] for i in range(len(data.X))}
    with Collection.open(root) as col:
        tag_as_listed(col, tags)


def measure(root: str, space: str, tagged: str) -> dict[str, float]:
    """What a person waits for, CPU time; in a process of its own."""
    n = int(tagged)
    with Collection.open(root) as col:
        suggester = col.tags.suggester
        warm()
        before = harness.resident()
        built, evidence = _timed(lambda: suggester.evidence((stored_as(space),)))
        calibrated, _ = _timed(lambda: suggester.calibration(evidence))
        questions = range(n + 1, n + 1 + ASKED)
        asking = harness.cpu_times(col.suggest_tags, questions)
        accepting = harness.cpu_times(lambda i: _accept(col, i, i + ASKED), questions, warm_up=0)
        again = harness.cpu_times(lambda i: _accept(col, i - n, i + ASKED), questions, warm_up=0)
        # More tags at once than a curve bears: the next one is measured piece by piece.
        many = range(ASKED + 1, ASKED + 1 + max(11, n // 20 + 1))
        tag_as_listed(col, {i: ["one more"] for i in many})
        taken, _ = _timed(lambda: col.suggest_tags(n + 1 + 2 * ASKED))
        renewing = harness.cpu_times(col.suggest_tags, questions, warm_up=0)
    return {
        "build s": built,
        "calibration s": calibrated,
        "suggestion ms": 1e3 * asking.median,
        "p99 ms": 1e3 * asking.p99,
        "accepted to next ms": 1e3 * accepting.median,
        "longest ms": 1e3 * max(accepting.seconds),
        "second tag to next ms": 1e3 * again.median,
        "5 % more tags at once s": taken,
        "while renewing ms": 1e3 * renewing.median,
        "longest renewing ms": 1e3 * max(renewing.seconds),
        "held MB": (harness.resident() - before) / 1e6,
        "peak MB": harness.peak() / 1e6,
    }


def warm() -> None:
    """Load or compile what a suggestion runs, on a few rows."""
    from likewise_methods.siso.annotator import SparseAnnotator

    rows = np.random.default_rng(0).random((30, 8), dtype=np.float32)
    model = SparseAnnotator(alpha=0.05, nonnegative=True).fit(rows, [["a"]] * 30)
    model.transform(rows[:3], without=[0])
    from sklearn.isotonic import IsotonicRegression  # noqa: F401 - loaded with the first curve


def _accept(col: Collection, image: int, following: int) -> None:
    col.tags.accept(image, "accepted")
    col.suggest_tags(following)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = call()
    return time.process_time() - start, made
