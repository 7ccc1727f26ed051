"""Generations of a space: built while the live one is in use, and switched at once.

``learn_generation`` lets a space learn again from the pictures; ``renew_idf`` only computes a new
idf for the stored term counts.  The old generation is unchanged until one transaction names the
next; until then the new rows are invisible.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.log_tables import last_line
from likewise.catalog.segments import open_idf
from likewise.catalog.store import TRANSIENT, Store
from likewise.ingest.carry_over import NextGeneration, carry_over, make_codes, replay
from likewise.ingest.describe import DescribeTask, PictureDescription, describe, describe_failure
from likewise.ingest.pool import Workers, run
from likewise.ingest.survey import PictureSurvey
from likewise.ingest.walk import Candidate
from likewise.spaces.base import Space
from likewise.spaces.registry import SpaceSet
from likewise.spaces.rows import WORDS_FOLDER, fresh_rows, raw_rows, write_chunk
from likewise_methods.coding import BagOfWords
from likewise_methods.durable_files import private_folder, sync_file, sync_folder

_BATCH = 64


def start_generation(
    store: Store, space: str, width: int, files: Mapping[str, str] | None = None
) -> None:
    """Make the single generation of a space that learns nothing."""
    with store.write() as c:
        change.switch_generation(c, space, 1, width=width, n_pictures=0, files=files or {})


def learn_generation(
    store: Store, space: Space, *, workers: Workers, report: Report, seed: int = 0
) -> set[int] | None:
    """Learn from the present pictures, describe all of them, and switch.

    Return the pictures without a row, because they could not be read; None, without any change,
    where there was too little to learn from.
    """
    number = space.generation + 1
    pictures = store.every_path()
    if space.takes_rows_of is None:
        space.load()
    survey = _survey(store, space, pictures, workers, report, seed)
    learned = replace(space, files={}).learn(survey)
    if learned is None:
        return None
    coming = replace(
        space, generation=number, width=learned.width, files=learned.files,
        n_pictures=len(pictures),
    )  # fmt: skip
    known: set[int] = set()

    def made() -> Iterator[tuple[int, bytes]]:
        for at, row in learned.rows:
            known.add(pictures[at][0])
            yield pictures[at][0], space.row_format.pack(row)

    with store.write() as c:
        change.put_vectors(c, space.name, number, made())
    if space.describes_pictures and space.is_available():
        left = [one for one in pictures if one[0] not in known]
        describe_all(store, coming, left, workers, report)
    lacking = store.images_without(space.name, number) & {image for image, _ in pictures}
    _weigh_and_switch(store, space, coming, report)
    return lacking


def row_survey(store: Store, space: Space, report: Report) -> PictureSurvey:
    """Return a survey without workers, for a space that checks rows of other spaces."""
    return _survey(store, space, store.every_path(), 0, report, 0)


def _survey(
    store: Store,
    space: Space,
    pictures: list[tuple[int, str]],
    workers: Workers,
    report: Report,
    seed: int,
) -> PictureSurvey:
    return PictureSurvey(
        store.root, f"{space.name}-{space.generation + 1}", [path for _, path in pictures],
        workers=workers, report=report, seed=seed,
        rows=partial(_rows_by_number, store, [image for image, _ in pictures]),
    )  # fmt: skip


def _rows_by_number(
    store: Store, images: Sequence[int], name: str
) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Yield rows of a space by the index of their pictures in ``images`` (ascending)."""
    space, known = store.spaces().get(name), np.asarray(images, np.int64)
    if space is None or not space.generation or not len(known):
        return
    for ids, rows in raw_rows(store, space):
        at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        there = known[at] == ids
        yield at[there], rows[there]


def renew_idf(store: Store, space: Space, report: Report) -> None:
    """Make the next generation with the same columns and an idf of the present pictures."""
    number = space.generation + 1
    done = 0
    for ids, raw in raw_rows(store, space):
        form = space.row_format
        blobs = (form.pack(form.row_at(raw, at)) for at in range(len(ids)))
        with store.write() as c:
            change.put_vectors(c, space.name, number, zip(ids.tolist(), blobs, strict=True))
        done += len(ids)
        report(Progress("copying term counts", done, store.n_images()))
    with store.write() as c:
        change.copy_gaps(c, space.name, space.generation, number)
    files = {key: name for key, name in space.files.items() if key != "bag"}
    coming = replace(space, generation=number, files=files, n_pictures=done)
    _weigh_and_switch(store, space, coming, report)


def describe_all(
    store: Store, space: Space, pictures: list[tuple[int, str]], workers: Workers, report: Report
) -> Counter[str]:
    """Store raw rows of pictures in one space; return why others got none, and how many.

    Rows of the next generation are invisible before the switch.
    """
    problems: Counter[str] = Counter()
    id_of = {path: image for image, path in pictures}
    spaces = SpaceSet([space])
    tasks = (DescribeTask(Candidate(path, 0, 0), spaces) for _, path in pictures)
    batch: list[PictureDescription] = []

    def put() -> None:
        with store.write() as c:
            for one in batch:
                row = one.vectors.get((space.name, space.generation), space.placeholder)
                image = id_of[one.candidate.path]
                if row is not None:
                    change.put_vector(c, space.name, space.generation, image, row)
                else:
                    problems[(one.problem or "").removeprefix(TRANSIENT)] += 1
                    change.put_gap(c, space.name, space.generation, image)
        batch.clear()

    done = 0

    def report_done() -> None:
        report(Progress(space.stage, done, len(pictures)))

    try:
        for one in run(describe, tasks, workers, describe_failure, tick=report_done):
            batch.append(one)
            done += 1
            report_done()
            if len(batch) >= _BATCH:
                put()
    finally:
        # After an interruption too, so that described pictures are not described again.
        put()
    return problems


def _weigh_and_switch(store: Store, old: Space, coming: Space, report: Report) -> None:
    """Compute an idf from the raw rows where the kind has one, then switch."""
    idf = None
    if coming.idf is not None:
        idf = BagOfWords(coming.idf)
        for _, raw in fresh_rows(store, coming, seg.SEAL_AT):
            idf.partial_fit(raw)
        idf.refresh()
        file = f"{WORDS_FOLDER}/{coming.name}-{coming.generation}-{secrets.token_hex(6)}.bag"
        private_folder(store.root / WORDS_FOLDER)
        idf.save(store.root / file)
        coming = replace(coming, files={**coming.files, "bag": file}, n_pictures=idf.n_pictures_)
    # A kind may not have synced its files, and the switch must name only files on disk.
    files = [store.root / name for name in coming.files.values() if (store.root / name).is_file()]
    for path in files:
        sync_file(path)
    for folder in {path.parent for path in files}:
        sync_folder(folder)
    switch_to(store, NextGeneration(old, coming, (open_idf(store.root, old), idf)), report)


def switch_to(store: Store, coming: NextGeneration, report: Report) -> None:
    """Make a complete generation live: carry codes over, write segments, switch."""
    space = coming.space
    # Describe before the transaction, so that judgements need not wait.
    codes = make_codes(store, coming)
    with store.write() as c:
        carry_over(c, store, coming, {**codes, **make_codes(store, coming)})
        carried = last_line(store)
    if space.row_format.learns_weights:
        # A metric of judged pairs needs no replay, only the codes.
        replay(store, space, report, carried)
    sealed = []
    size = 2 * seg.SEAL_AT
    for i, chunk in enumerate(store.vectors_in_chunks(space.name, space.generation, size)):
        if len(chunk) >= seg.SEAL_AT:
            name, n_bytes = write_chunk(store.root, space, coming.idf, chunk, i)
            sealed.append((name, n_bytes, [n for n, _, _ in chunk]))
            report(Progress("writing segments", i * size + len(chunk), space.n_pictures))
    with store.write(durable=True) as c:
        # Judgements made while the segments were written: only a few.
        carry_over(c, store, coming, make_codes(store, coming))
        for name, n_bytes, numbers in sealed:
            change.put_segment(c, name, space.name, space.generation, len(numbers), n_bytes)
            change.drop_vectors(c, numbers)
        change.switch_generation(
            c, space.name, space.generation, width=space.width, n_pictures=space.n_pictures,
            files=space.files,
        )  # fmt: skip
