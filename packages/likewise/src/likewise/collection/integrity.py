"""Counts and sizes of a collection, and a check of every byte."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from likewise.catalog import segments as seg
from likewise.catalog.cache import FOLDER as CACHE
from likewise.catalog.changes import UNREACHED, backfill_of
from likewise.catalog.engine_sync import count_pending, engine_choice, sync_states
from likewise.catalog.log_tables import models
from likewise.catalog.segments import open_idf
from likewise.catalog.store import Store, loose_ends
from likewise.catalog.word_index import loose_words
from likewise.errors import DamagedCollection, LikewiseError
from likewise.search.learned_models import check_model_files
from likewise.spaces import rows as space_rows
from likewise.spaces.base import Space
from likewise.spaces.graphs import open_graph
from likewise.spaces.registry import open_spaces
from likewise.tags import tag_log


def info(store: Store) -> dict[str, Any]:
    """Return counts and sizes of a collection."""
    spaces = {}
    for name, space in store.spaces().items():
        segments = store.segments(name, space.generation)
        fresh = store.n_vectors(name, space.generation) if space.generation else 0
        spaces[name] = {
            "kind": space.row_format_name,
            "feature": space.recipe["feature"],
            "generation": space.generation,
            "width": space.width,
            "segments": len(segments),
            "sealed": sum(row.n_pictures for row in segments),
            "fresh": fresh,
            "bytes": sum(row.n_bytes for row in segments),
            "gaps": len(store.gaps(name, space.generation)),
        }
    choice = engine_choice(store)
    return {
        "path": str(store.root),
        "pictures": store.n_images(),
        "problems": len(store.problems()),
        "roots": store.roots(),
        "bytes": seg.size_of(store.root, apart=CACHE),
        "job": store.running_job(),
        "catalog": store.catalog.name,
        "engine": None if choice is None else asdict(choice),
        "pushed": {
            address: {
                "spaces": dict(state.spaces),
                "waiting": count_pending(store, state.upto),
            }
            for address, state in sync_states(store).items()
            if state.spaces
        },
        "spaces": spaces,
    }


def verify(store: Store) -> list[str]:
    """Return everything that is wrong, in sentences; empty when all is well."""
    wrong: list[str] = []
    for part, check in (
        ("catalog", store.integrity),
        ("catalog", partial(loose_ends, store)),
        ("tags", partial(tag_log.verify, store)),
        ("words", partial(loose_words, store)),
    ):
        try:
            wrong += [f"{part}: {text}" for text in check()]
        except DamagedCollection as error:
            # An unreadable part is one more problem; continue with the others.
            wrong.append(f"{part}: {error}")
    try:
        wrong += _verify_rows(store)
    except DamagedCollection as error:
        wrong.append(str(error))
    return wrong


def _verify_rows(store: Store) -> list[str]:
    """Return what is wrong with the rows of spaces and with learned models."""
    wrong: list[str] = []
    with store.snapshot():
        spaces = open_spaces(store)
        for space in spaces.values():
            if space.generation:
                wrong += [f"space {space.name}: {text}" for text in _verify_space(store, space)]
        for name, row in models(store).items():
            found = check_model_files(store.root, row, spaces.get(row.space))
            wrong += [f"{row.kind} {name}: {text}" for text in found]
    return wrong


def _verify_space(store: Store, space: Space) -> list[str]:
    wrong: list[str] = []
    try:
        wrong += space.verify()
        open_idf(store.root, space)
        open_graph(store.root, space)
    except (LikewiseError, OSError) as error:
        wrong.append(str(error))
    counts: dict[int, int] = {}
    for row in store.segments(space.name, space.generation):
        try:
            ids, found = space.row_format.verify_segment(store.root, row.name)
            wrong += found
        except (LikewiseError, OSError) as error:
            wrong.append(str(error))
            continue
        if seg.size_of(store.root / row.name) != row.n_bytes:
            wrong.append(f"segment {row.name}: not {row.n_bytes:,} bytes as the catalog says")
        if len(ids) != row.n_pictures:
            wrong.append(f"segment {row.name}: {len(ids)} pictures, not {row.n_pictures}")
        for image in ids.tolist():
            counts[image] = counts.get(image, 0) + 1
    try:
        for some, rows in space_rows.fresh_rows(store, space, seg.SEAL_AT):
            if not np.isfinite(space.row_format.values(rows)).all():
                wrong.append("a fresh vector has NaN or infinite values")
            for image in some.tolist():
                counts[image] = counts.get(image, 0) + 1
    except LikewiseError as error:
        wrong.append(str(error))
    wrong += [f"picture {i} has {n} vectors" for i, n in counts.items() if n > 1]
    dead = {image for _, image in store.tombstones()}
    there = store.ids()
    strangers = set(counts) - there - dead
    wrong += [f"a vector for picture {i}, which is not there" for i in sorted(strangers)]
    # A known gap is no damage: rows that cannot be made on this machine, that a killed job was
    # making, or whose file is unavailable or gives no row.
    lacks = backfill_of(store, space.name)
    if space.describes_pictures and (lacks is None or lacks.state == UNREACHED):
        lacking = there - set(counts) - store.gaps(space.name, space.generation)
        lacking -= frozenset() if lacks is None else lacks.images
        if space.takes_rows_of is not None:
            lacking &= _pictures_with_rows(store, space.takes_rows_of)
        wrong += [f"picture {i} has no vector" for i in sorted(lacking)]
    return wrong


def _pictures_with_rows(store: Store, name: str) -> set[int]:
    """Return the pictures that have a row in a space."""
    space = store.spaces().get(name)
    found: set[int] = set()
    for ids, _ in () if space is None else space_rows.raw_rows(store, space):
        found |= set(ids.tolist())
    return found
