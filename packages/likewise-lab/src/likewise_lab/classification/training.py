"""Train a classifier from pictures in folders: one folder a label.

A part of each label's pictures is held out.  Codebooks and machine are learned from the others and
tested on it.  Then the machine is trained on all pictures with the same codebooks, and saved.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.catalog.content import read_content
from likewise.catalog.jobs import Progress, Report, silent
from likewise.catalog.locations import is_collection
from likewise.errors import CollectionError, ImageError, InvalidInput
from likewise.images.decode import decode
from likewise.ingest.pool import Failure, n_workers, run
from likewise.ingest.survey import PictureSurvey
from likewise.ingest.walk import candidates
from likewise.spaces.base import DECODE_SIDE
from likewise.spaces.pooled import sample_descriptors
from likewise.spaces.registry import find_kind, new_space
from likewise_lab.classification.classifier import GRID, Classifier, PictureDescriber
from likewise_methods.coding import brought_back, factor, products
from likewise_methods.psc import ProductSparseCoder
from likewise_methods.validation import number, whole

LEAST = 4
"""The fewest pictures of a label: one to test with, and a few to learn from."""
PENALTY = 10.0
"""C of the machine; 10 to 100 are equally good on Caltech-101 (docs/results/psc.md)."""
FACTOR_BELOW = 8_000
"""Up to this many pictures the machine is trained on a factor of their products."""


@dataclass(frozen=True)
class Outcome:
    """What was trained, and how good it was on the held-out part.

    ``accuracy`` is the mean over the labels of their share of right answers; ``by_label`` gives
    (right, of) for each.  ``skipped`` lists files that are not in, with the reason.
    """

    labels: tuple[str, ...]
    pictures: int
    held_out: int
    accuracy: float
    by_label: Mapping[str, tuple[int, int]]
    skipped: list[tuple[str, str]] = field(default_factory=list)


def find_labelled(source: Path) -> dict[str, list[str]]:
    """Return pictures by label: names of sub-folders, or of the folders in a collection."""
    if not source.is_dir():
        raise CollectionError(f"{source} is not there; a folder of folders, or a collection")
    if is_collection(source):
        return _of_collection(source)
    found: dict[str, list[str]] = {}
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        paths = sorted(one.path for one in candidates([folder]))
        if paths:
            found[folder.name] = paths
    return found


def _of_collection(source: Path) -> dict[str, list[str]]:
    from likewise.collection.collection import Collection

    found: dict[str, list[str]] = {}
    with Collection.open(source) as col:
        for row in col.images():
            if row.path:
                found.setdefault(Path(row.path).parent.name, []).append(row.path)
    return {label: sorted(paths) for label, paths in sorted(found.items())}


def train(
    pictures: Mapping[str, Sequence[str]],
    *,
    n_words: int = 64,
    held_out: float = 0.25,
    penalty: float = PENALTY,
    workers: int | None = None,
    seed: int = 0,
    report: Report = silent,
) -> tuple[Classifier, Outcome]:
    """Train a classifier; return it with its accuracy on the held-out part."""
    whole(n_words, "n_words", 2)
    number(penalty, "penalty", above=0)
    number(held_out, "held_out", above=0, below=1)
    _check(pictures)
    labels = tuple(pictures)
    paths = [path for some in pictures.values() for path in some]
    y = np.repeat(np.arange(len(labels)), [len(some) for some in pictures.values()])
    aside = _held_out(y, held_out, np.random.default_rng(seed))
    count = n_workers(workers, len(paths))
    numbered = list(enumerate(path for path, out in zip(paths, aside, strict=True) if not out))
    described = _codebooks(numbered, n_words, seed, count, report)
    rows, skipped = _rows(paths, described, count, report)
    there = np.array([path not in skipped for path in paths])
    kept = {
        label: [path for path in some if path not in skipped] for label, some in pictures.items()
    }
    _check(kept, readable=True)
    y = y[there]
    aside = _balance(y, aside[there])
    report(Progress("training the machine", 0, 2))
    machine = _machine(rows[~aside], y[~aside], penalty)
    guessed = (rows[aside] @ machine.weights.T + machine.intercepts).argmax(axis=1)
    by_label = {
        label: (int((guessed[y[aside] == i] == i).sum()), int((y[aside] == i).sum()))
        for i, label in enumerate(labels)
    }
    report(Progress("training the machine", 1, 2))
    machine = _machine(rows, y, penalty)
    report(Progress("training the machine", 2, 2))
    accuracy = float(np.mean([right / of for right, of in by_label.values() if of]))
    outcome = Outcome(labels, len(y), int(aside.sum()), accuracy, by_label, sorted(skipped.items()))
    figures = {key: value for key, value in asdict(outcome).items() if key != "skipped"}
    made = Classifier(labels, described, machine.weights, machine.intercepts, figures)
    return made, outcome


def _check(pictures: Mapping[str, Sequence[str]], *, readable: bool = False) -> None:
    """Refuse labels with too few pictures."""
    what = "readable pictures" if readable else "pictures"
    if not pictures:
        raise InvalidInput("no folder with pictures; one folder for each label expected")
    if len(pictures) == 1:
        raise InvalidInput(
            f"all pictures are in one folder ({next(iter(pictures))!r}); at least two labels "
            "expected, each a folder of its own"
        )
    for label, some in pictures.items():
        if len(some) < LEAST:
            raise InvalidInput(
                f"{label!r} has {len(some)} {what}; at least {LEAST} expected: add some, or move "
                "the folder away"
            )


def _held_out(y: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a share of each label's pictures: at least one, and at least two are left."""
    aside = np.zeros(len(y), bool)
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        aside[own[: min(max(round(share * len(own)), 1), len(own) - 2)]] = True
    return aside


def _balance(y: NDArray[np.int64], aside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Correct the held-out part after unreadable pictures: one a label out, two left.

    Unreadable pictures are known only after describing, so a replacement may be a picture that the
    codebooks were learned from.
    """
    made = aside.copy()
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        out, left = own[made[own]], own[~made[own]]
        if not len(out):
            made[left[-1]] = True
        elif len(left) < 2:
            made[out[: 2 - len(left)]] = False
    return made


def _codebooks(
    pictures: list[tuple[int, str]], n_words: int, seed: int, workers: int, report: Report
) -> PictureDescriber:
    survey = PictureSurvey(
        Path(), "", [path for _, path in pictures], workers=workers, report=report, seed=seed
    )
    space = new_space(Path(), "", {**find_kind("psc").default_recipe(), **GRID})
    X = sample_descriptors(space, survey, survey.choose(_SAMPLE))
    if len(X) < 16:
        raise InvalidInput(
            "the pictures have hardly any structure to describe; are they too small?"
        )
    k = min(n_words, len(X) // 8)
    coder = ProductSparseCoder(
        k,
        n_iter=12,
        random_state=seed,
        progress=lambda done, of, _: report(Progress("learning codebooks", done, of)),
    )
    return PictureDescriber(coder.fit(X), GRID)


_SAMPLE = 1_000


def _rows(
    paths: Sequence[str], described: PictureDescriber, workers: int, report: Report
) -> tuple[Any, dict[str, str]]:
    """Return rows of readable pictures in order, and the others with the reason."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "rows.lwc")
        described.save(file)
        tasks = [_Task(i, path, file) for i, path in enumerate(paths)]
        found: list[_Answer] = []
        for answer in run(_work, iter(tasks), workers, _report_failure):
            found.append(answer)
            report(Progress("describing pictures", len(found), len(paths)))
    found.sort(key=lambda answer: answer.number)
    skipped = {paths[a.number]: a.problem for a in found if a.problem is not None}
    kept = [answer for answer in found if answer.problem is None]
    if not kept:
        raise InvalidInput(f"no picture can be read; the first: {next(iter(skipped.items()))}")
    starts = np.cumsum([0, *(len(answer.words) for answer in kept)])
    if starts[-1] > np.iinfo(np.int32).max:
        raise InvalidInput(
            f"{len(kept):,} pictures are more than the machine takes; use fewer words or pictures"
        )
    words = np.concatenate([answer.words for answer in kept])
    values = np.concatenate([answer.values for answer in kept])
    shape = (len(kept), kept[0].width)
    return sparse.csr_array((values, words, starts.astype(np.int32)), shape=shape), skipped


class _Task(NamedTuple):
    number: int
    path: str
    coder: str


class _Answer(NamedTuple):
    """Columns and values of a row, or the reason why there is none."""

    number: int
    problem: str | None
    words: Any = None
    values: Any = None
    width: int = 0


@lru_cache(maxsize=2)
def _open_describer(path: str) -> PictureDescriber:
    return PictureDescriber.open(path)


def _work(task: _Task) -> _Answer:
    """Read and describe a picture in a worker."""
    try:
        picture = decode(read_content(task.path), max_side=DECODE_SIDE)
        row = _open_describer(task.coder).row(picture)
    except ImageError as error:
        return _Answer(task.number, error.reason)
    except (cv2.error, MemoryError) as error:
        return _Answer(task.number, f"cannot be described here ({error or type(error).__name__})")
    words = np.flatnonzero(row).astype(np.int32)
    return _Answer(task.number, None, words, row[words], len(row))


def _report_failure(task: _Task, failure: Failure) -> _Answer:
    return _Answer(task.number, str(failure))


class _Machine(NamedTuple):
    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]


def _machine(rows: Any, y: NDArray[np.int64], penalty: float) -> _Machine:
    """Train a linear SVM, each label against the rest."""
    from sklearn.svm import LinearSVC

    small = len(y) <= FACTOR_BELOW
    short = factor(products(rows)) if small else None
    svm = LinearSVC(C=penalty, random_state=0, max_iter=2_000, dual=True)
    svm.fit(rows if short is None else short, y)
    weights, intercepts = svm.coef_, svm.intercept_
    if short is not None:
        weights = brought_back(rows, short, weights)
    if len(weights) == 1:
        # Two labels: one machine, whose other side is the first label.
        weights, intercepts = np.vstack([-weights, weights]), np.append(-intercepts, intercepts)
    return _Machine(weights.astype(np.float32), intercepts.astype(np.float32))
