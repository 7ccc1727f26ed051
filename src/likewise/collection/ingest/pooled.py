"""The next generation of a pooled space: codebooks, then the whitening, then every picture.

Three passes over pictures, the first two over a sample: descriptors for the codebooks, pooled
vectors for the whitening, vectors for all.  Where the sample is everything the pooled vectors are
kept, and the third pass is a matrix product.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likewise.coding.whitening import Whitening
from likewise.collection.content import read_content
from likewise.collection.ingest import generations as gen
from likewise.collection.ingest.carry import NextPooled
from likewise.collection.ingest.workers import run
from likewise.collection.jobs import Progress, Report
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.pooled import Pooled, dense_sift, open_pooled
from likewise.collection.spaces.recipes import DECODE_SIDE, step_for
from likewise.collection.store import changes as change
from likewise.collection.store.segments import pack_dense
from likewise.collection.store.store import Store
from likewise.errors import ImageError
from likewise.images import decode

CODEBOOK_PICTURES = 500
"""Pictures whose descriptors the codebooks are learned from, at most."""
DESCRIPTORS = 60_000
"""Descriptors the codebooks are learned from, at most: an equal share of each picture."""
RIDGE = 1.0
"""How far whitening stops short: the share of the strongest variance added to each.

Full whitening makes directions that a thousand pictures cannot tell from noise as loud as the
strongest, and loses up to half the mAP (docs/results/psc.md has both).
"""

Picture = tuple[int, str]
"""Id (or any number) and path."""


class _Task(NamedTuple):
    """One picture: descriptors (``coder`` None; at most ``most``), or its pooled vector."""

    number: int
    path: str
    recipe: dict[str, Any]
    most: int = 0
    coder: str | None = None


class _Answer(NamedTuple):
    """Descriptors, or the words and values of a pooled vector; nothing where it cannot be read."""

    number: int
    found: Any


def build_pooled(
    store: Store, name: str, *, workers: int, report: Report, seed: int = 0
) -> list[int]:
    """Learn codebooks and whitening, describe all pictures, switch; gives pictures left out.

    Everything stays as it was when there are too few pictures with descriptors to learn from.
    """
    space = store.spaces()[name]
    number = space.generation + 1
    recipe = dict(space.recipe)
    pictures = [(row.id, row.path) for row in store.every_image() if row.path]
    rng = np.random.default_rng(seed)
    X = descriptors_of(_some(pictures, CODEBOOK_PICTURES, rng), recipe, seed, workers, report)
    if len(X) < 16:
        return []

    def shown(done: int, of: int, _: float) -> None:
        report(Progress("learning codebooks", done, of))

    stem = f"{space_rows.WORDS_FOLDER}/{name}-{number}-{secrets.token_hex(6)}"
    (store.root / space_rows.WORDS_FOLDER).mkdir(exist_ok=True)
    report(Progress("learning codebooks", 0, 0))
    unwhitened = Pooled.learned(recipe, X, seed, shown)
    # Named by no generation: swept when the job ends, or by the next one.
    draft = store.root / f"{stem}.part.lwc"
    unwhitened.save(draft)
    chosen = _some(pictures, gen.SAMPLE_PICTURES, rng)
    numbers, rows = _pooled(chosen, recipe, str(draft), workers, report)
    if len(numbers) < 3:
        return []
    components = min(int(recipe["components"]), len(numbers) - 1, rows.shape[1])
    report(Progress("whitening", 0, 0))
    whitening = Whitening(components, ridge=RIDGE).fit(rows)
    files = {"coder": f"{stem}.lwc"}
    Pooled(unwhitened.coder, whitening).save(store.root / files["coder"])
    rest = pictures
    if len(chosen) == len(pictures):
        _put(store, name, number, [pictures[i][0] for i in numbers], whitening.transform(rows))
        there = set(numbers)
        # Those without descriptors have the zero vector; those unreadable are tried once more.
        rest = [picture for i, picture in enumerate(pictures) if i not in there]
    step = step_for(store.root, name, number, recipe, files)
    gen.count_all(store, step, rest, workers, report)
    draft.unlink(missing_ok=True)
    lacking = store.images_without(name, number) & {image for image, _ in pictures}
    coming = NextPooled(store.root, space, number, components, files)
    gen.hand_over(store, coming, None, len(pictures), report)
    return sorted(lacking)


def _some(pictures: list[Picture], most: int, rng: np.random.Generator) -> list[Picture]:
    if len(pictures) <= most:
        return pictures
    picked = np.sort(rng.choice(len(pictures), most, replace=False))
    return [pictures[i] for i in picked]


def descriptors_of(
    chosen: list[Picture], recipe: dict[str, Any], seed: int, workers: int, report: Report
) -> NDArray[np.float32]:
    """An equal share of each picture's descriptors, in the order of the pictures."""
    each = max(DESCRIPTORS // max(len(chosen), 1), 16)
    tasks = [_Task(i, path, recipe, each) for i, (_, path) in enumerate(chosen)]
    found = _worked(tasks, "descriptors for the codebooks", workers, report)
    parts = [answer.found for answer in found if answer.found is not None]
    whole = np.concatenate([np.zeros((0, 128), np.float16), *parts]).astype(np.float32)
    if len(whole) > DESCRIPTORS:
        rng = np.random.default_rng(seed)
        whole = whole[np.sort(rng.choice(len(whole), DESCRIPTORS, replace=False))]
    return whole


def _pooled(
    chosen: list[Picture], recipe: dict[str, Any], draft: str, workers: int, report: Report
) -> tuple[list[int], Any]:
    """Numbers of the pictures that have descriptors, and their pooled vectors (CSR)."""
    tasks = [_Task(i, path, recipe, coder=draft) for i, (_, path) in enumerate(chosen)]
    found = [
        answer
        for answer in _worked(tasks, "vectors for the whitening", workers, report)
        if answer.found is not None
    ]
    if not found:
        return [], None
    words = [answer.found[0] for answer in found]
    starts = np.cumsum([0, *map(len, words)])
    values = np.concatenate([answer.found[1] for answer in found])
    shape = (len(found), found[0].found[2])
    rows = sparse.csr_array((values, np.concatenate(words), starts), shape=shape)
    return [answer.number for answer in found], rows


def _worked(tasks: Sequence[_Task], what: str, workers: int, report: Report) -> list[_Answer]:
    """Answers in the order of the tasks, whoever was first."""
    found = []
    for answer in run(_work, iter(tasks), workers, _nothing):
        found.append(answer)
        report(Progress(what, len(found), len(tasks)))
    return sorted(found, key=lambda answer: answer.number)


def _work(task: _Task) -> _Answer:
    """In a worker: read, describe, and pool if there are codebooks."""
    try:
        picture = decode(read_content(task.path), max_side=DECODE_SIDE)
        found = dense_sift(task.recipe).extract(picture).descriptors
    except (ImageError, cv2.error, MemoryError):
        return _Answer(task.number, None)
    if len(found) == 0:
        return _Answer(task.number, None)
    if task.coder is None:
        rng = np.random.default_rng(task.number)
        picked = np.sort(rng.permutation(len(found))[: task.most])
        return _Answer(task.number, found[picked].astype(np.float16))
    pooled = open_pooled(task.coder).raw(found)
    words = np.flatnonzero(pooled)
    return _Answer(task.number, (words.astype(np.int32), pooled[words], len(pooled)))


def _nothing(task: _Task) -> _Answer:
    return _Answer(task.number, None)


def _put(
    store: Store, name: str, number: int, images: list[int], rows: NDArray[np.float32]
) -> None:
    with store.write() as c:
        for image, row in zip(images, rows, strict=True):
            change.put_vector(c, name, number, image, pack_dense(row))
