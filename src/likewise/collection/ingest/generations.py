"""Generations: words, idf and segments of a space, built beside the live ones and switched at once.

A generation is a vocabulary and a frozen idf.  ``build_words`` makes new words, ``reweigh`` a new
idf from the kept term counts; both leave the old generation untouched until one transaction names
the next.  ``seal`` and ``merge`` only move rows of the live generation from the catalog to
segments and from small segments to large ones.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from likewise.coding.bow import BagOfWords
from likewise.coding.vocabulary import Vocabulary
from likewise.collection.ingest.carry import Next, NextPooled, carry, coded, replay
from likewise.collection.ingest.sampling import learn_projection, samples
from likewise.collection.ingest.walk import Candidate
from likewise.collection.ingest.workers import (
    Described,
    DescribeTask,
    describe,
    run,
)
from likewise.collection.jobs import Progress, Report
from likewise.collection.spaces.onnx_files import check_model
from likewise.collection.spaces.recipes import (
    Step,
    learns,
    load_networks,
    made_here,
    n_words,
    step_for,
    step_of,
    words_of,
)
from likewise.collection.spaces.rows import WORDS_FOLDER, bag_of, raw_rows, write_chunk
from likewise.collection.store import changes as change
from likewise.collection.store import segments as seg
from likewise.collection.store.log import last_line
from likewise.collection.store.store import TRANSIENT, SpaceRow, Store

SAMPLE_PICTURES = 2_000
"""Pictures whose descriptors the words are learned from, at most."""
KEEP_PICTURES = 500
"""Up to this many, their descriptors are kept in memory and not extracted twice."""
_ROUNDS = 12
_BATCH = 64


def steps(store: Store) -> tuple[Step, ...]:
    """What a worker has to do for a new picture: every space that can make its own vectors."""
    made = []
    for space in store.spaces().values():
        if space.generation and made_here(space.recipe):
            # Now, and not as a problem of every picture.
            load_networks(space.recipe)
            check_model(store.root, space)
            made.append(step_of(store.root, space))
    return tuple(made)


def start_dense(
    store: Store, space: str, width: int, files: Mapping[str, str] | None = None
) -> None:
    """The one generation of a space without words: it learned nothing, so it needs no other."""
    with store.write() as c:
        change.switch_generation(c, space, 1, width=width, n_pictures=0, files=files or {})


def build_words(store: Store, name: str, *, workers: int, report: Report, seed: int = 0) -> bool:
    """Learn words from the pictures there are, count them in all pictures, switch.

    Gives False, and leaves everything as it was, when the pictures have no descriptors.
    """
    space = store.spaces()[name]
    number = space.generation + 1
    pictures = [(row.id, row.path) for row in store.every_image() if row.path]
    rng = np.random.default_rng(seed)
    chosen = pictures
    if len(pictures) > SAMPLE_PICTURES:
        picked = np.sort(rng.choice(len(pictures), SAMPLE_PICTURES, replace=False))
        chosen = [pictures[i] for i in picked]
    recipe = dict(space.recipe)
    load_networks(recipe)
    # A name no build had before: readers and workers keep what they opened by its name.
    stem = f"{WORDS_FOLDER}/{name}-{number}-{secrets.token_hex(6)}"
    (store.root / WORDS_FOLDER).mkdir(exist_ok=True)
    files: dict[str, str] = {}
    found: list[Any] = []
    if "components" in recipe:
        files["projection"] = f"{stem}.lwp"
        found = learn_projection(store.root / files["projection"], recipe, chosen, workers, report)
    if not found:
        projection = step_for(store.root, name, number, recipe, files).projection
        found = samples(chosen, recipe, projection, workers, report)
    total = sum(len(d) for _, d in found)
    if total < 8:
        return False
    words = n_words(recipe, len(pictures), total)
    report(Progress(f"learning {words:,} words", 0, _ROUNDS))
    vocabulary = Vocabulary(
        words,
        n_iter=_ROUNDS,
        random_state=seed,
        n_threads=max(workers, 1),
        progress=lambda done, of, _: report(Progress(f"learning {words:,} words", done, of)),
    ).fit(d.astype(np.float32) for _, d in found if len(d))
    files["vocabulary"] = f"{stem}.lwv"
    vocabulary.save(store.root / files["vocabulary"])
    step = step_for(store.root, name, number, recipe, files)

    rest = pictures
    if len(chosen) == len(pictures) <= KEEP_PICTURES:
        # What was found is projected already.
        words_here = words_of(step)._replace(projection=None)
        rows = [
            (pictures[i][0], words_here.counted(descriptors.astype(np.float32)))
            for i, descriptors in found
        ]
        with store.write() as c:
            for image, vector in rows:
                change.put_vector(c, name, number, image, vector)
        rest = []
    del found
    count_all(store, step, rest, workers, report)
    _finish(store, space, number, vocabulary.n_words, files, report)
    return True


def count_all(
    store: Store, step: Step, pictures: list[tuple[int, str]], workers: int, report: Report
) -> None:
    """Raw rows of the next generation, invisible until the switch."""
    id_of = {path: image for image, path in pictures}
    tasks = (DescribeTask(Candidate(path, 0, 0), (step,)) for _, path in pictures)
    batch: list[Described] = []

    def put() -> None:
        with store.write() as c:
            for one in batch:
                vector = one.vectors.get((step.space, step.generation))
                if vector is None and learns(step.recipe):
                    vector = b""  # cannot be read now: it keeps its place with an empty bag
                if vector is not None:
                    image = id_of[one.candidate.path]
                    change.put_vector(c, step.space, step.generation, image, vector)
        batch.clear()

    for done, one in enumerate(run(describe, tasks, workers, crashed), 1):
        batch.append(one)
        what = "counting words" if learns(step.recipe) else "describing pictures"
        report(Progress(what, done, len(pictures)))
        if len(batch) >= _BATCH:
            put()
    put()


def crashed(task: DescribeTask) -> Described:
    """The answer for a picture that kills its worker."""
    # Perhaps the memory ran out and another was to blame: it is tried again next time.
    return Described(task.candidate, f"{TRANSIENT}its worker died twice", b"", None, {})


def reweigh(store: Store, name: str, report: Report) -> None:
    """The next generation with the same words and an idf of the pictures there are now."""
    space = store.spaces()[name]
    number = space.generation + 1
    done = 0
    for ids, raw in raw_rows(store, space):
        with store.write() as c:
            for i, image in enumerate(ids.tolist()):
                a, b = raw.indptr[i], raw.indptr[i + 1]
                blob = seg.pack_sparse(raw.indices[a:b], raw.data[a:b])
                change.put_vector(c, name, number, image, blob)
        done += len(ids)
        report(Progress("copying term counts", done, store.n_images()))
    files = {key: name for key, name in space.files.items() if key != "bag"}
    _finish(store, space, number, space.width, files, report)


def _finish(
    store: Store,
    space: SpaceRow,
    number: int,
    width: int,
    files: dict[str, str],
    report: Report,
) -> None:
    """idf from the counted rows, segments of what is much, then the switch."""
    # The root keeps a sky of twenty alike cells from outvoting what stands before it.
    soft = space.recipe["feature"] == "deep-words"
    bag = BagOfWords("sqrt-tf-idf" if soft else "tf-idf")
    for chunk in store.vectors_in_chunks(space.name, number, seg.SEAL_AT):
        bag.partial_fit(seg.unpack_sparse([vector for _, _, vector in chunk], width))
    bag.refresh()
    files = {**files, "bag": f"{WORDS_FOLDER}/{space.name}-{number}-{secrets.token_hex(6)}.bag"}
    bag.save(store.root / files["bag"])
    coming = Next(store.root, space, number, width, files, (bag_of(store.root, space), bag))
    hand_over(store, coming, bag, bag.n_pictures_, report)


def hand_over(
    store: Store,
    coming: Next | NextPooled,
    bag: BagOfWords | None,
    n_pictures: int,
    report: Report,
) -> None:
    """The generation whose rows and files are written takes over: codes, segments, the switch."""
    space, number, width, files = coming.old, coming.number, coming.width, dict(coming.files)
    # Described before the transaction: nobody who judges shall wait for it.
    codes = coded(store, coming)
    with store.write() as c:
        carry(c, store, coming, {**codes, **coded(store, coming)})
        carried = last_line(store)
    if space.kind == "sparse":
        made = replace(space, generation=number, width=width, files=files)
        replay(store, made, report, carried)
    sealed = []
    for i, chunk in enumerate(store.vectors_in_chunks(space.name, number, seg.FULL)):
        if len(chunk) >= seg.SEAL_AT:
            name, n_bytes = write_chunk(store.root, space, number, width, bag, chunk, i)
            sealed.append((name, n_bytes, [n for n, _, _ in chunk]))
            report(Progress("writing segments", i * seg.FULL + len(chunk), n_pictures))
    with store.write(durable=True) as c:
        # What was said while the segments were written: a handful at most.
        carry(c, store, coming, coded(store, coming))
        for name, n_bytes, numbers in sealed:
            change.put_segment(c, name, space.name, number, len(numbers), n_bytes)
            change.drop_vectors(c, numbers)
        change.switch_generation(
            c, space.name, number, width=width, n_pictures=n_pictures, files=files
        )
