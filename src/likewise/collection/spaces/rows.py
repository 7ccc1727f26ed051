"""Rows of a space: fresh ones in the catalog, sealed ones in segments, small segments merged.

Rows are kept raw (term counts, for words); the index holds them weighted by the frozen idf of the
generation.  ``seal`` and ``merge`` move rows of the live generation from the catalog to segments
and from small segments to large ones; ``tidy`` is what every job does when it starts and ends.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from likewise.coding.bow import BagOfWords
from likewise.collection.errors import DamagedCollection
from likewise.collection.store import changes as change
from likewise.collection.store import segments as seg
from likewise.collection.store.store import SegmentRow, SpaceRow, Store

WORDS_FOLDER = "words"
_NAME = re.compile(r"-(\d{10,})-(\d+)(?:-[0-9a-f]{8})?$")


def bag_of(root: Path, space: SpaceRow) -> BagOfWords | None:
    """The frozen idf of a words space; None for spaces ranked by their raw rows."""
    file = space.files.get("bag")
    return BagOfWords.open(root / file) if file else None


def weighted(bag: BagOfWords | None, raw: Any) -> Any:
    """Raw rows as the index holds them."""
    return raw if bag is None else bag.transform(raw)


def raw_rows(store: Store, space: SpaceRow) -> Iterator[tuple[Any, Any]]:
    """(ids, raw rows) of all living pictures of a sparse space, a segment at a time."""
    dead = np.array([image for _, image in store.tombstones()], np.int64)
    for row in store.segments(space.name, space.generation):
        ids, raw = seg.read_sparse(store.root, row.name)
        alive = ~np.isin(ids, dead)
        yield ids[alive], raw[alive]
    fresh = store.vectors(space.name, space.generation)
    if fresh:
        raw = seg.unpack_sparse([vector for _, _, vector in fresh], space.width)
        yield np.array([image for _, image, _ in fresh], np.int64), raw


def write_chunk(
    root: Path,
    space: SpaceRow,
    generation: int,
    width: int,
    bag: BagOfWords | None,
    chunk: list[tuple[int, int, bytes]],
    serial: int,
) -> tuple[str, int]:
    name = segment_name(space.name, generation, chunk[-1][0], serial)
    ids = np.array([image for _, image, _ in chunk], np.int64)
    blobs = [vector for _, _, vector in chunk]
    if space.kind == "sparse":
        raw = seg.unpack_sparse(blobs, width)
        n_bytes = seg.write_sparse(root, name, seg.SparseRows(ids, raw), weighted(bag, raw))
    else:
        n_bytes = seg.write_dense(root, name, seg.DenseRows(ids, seg.unpack_dense(blobs, width)))
    return name, n_bytes


def segment_name(space: str, generation: int, number: int, serial: int) -> str:
    """A name no segment of the space had before, in the order of vector numbers.

    The token tells it from one that a killed job wrote from the same rows and did not live to
    name; that one is swept away when the next job ends.
    """
    return f"{seg.FOLDER}/{space}-{generation}-{number:010d}-{serial}-{secrets.token_hex(4)}"


def number_and_serial(name: str) -> tuple[int, int]:
    """The two that :func:`segment_name` was given; earlier names have no token."""
    found = _NAME.search(name)
    if found is None:
        raise DamagedCollection(f"{name} is no name of a segment")
    return int(found[1]), int(found[2])


def seal(store: Store, name: str, *, at_least: int | None = None) -> bool:
    """Move the fresh rows of a space into a segment when there are many."""
    space = store.spaces()[name]
    enough = seg.SEAL_AT if at_least is None else max(at_least, 1)
    if store.n_vectors(name, space.generation) < enough:
        return False
    chunk = store.vectors(name, space.generation, limit=seg.FULL)
    bag = bag_of(store.root, space)
    made, n_bytes = write_chunk(store.root, space, space.generation, space.width, bag, chunk, 0)
    with store.write(durable=True) as c:
        change.put_segment(c, made, name, space.generation, len(chunk), n_bytes)
        change.drop_vectors(c, [n for n, _, _ in chunk])
    return True


def merge(store: Store, name: str, *, at_least: int | None = None) -> bool:
    """Join small segments into one of at most the full size, leaving out what was removed."""
    space = store.spaces()[name]
    small: list[SegmentRow] = []
    size = 0
    for row in store.segments(name, space.generation):
        if row.n_pictures < seg.FULL and size + row.n_pictures <= seg.FULL:
            small.append(row)
            size += row.n_pictures
    if len(small) < max(seg.MERGE_AT if at_least is None else at_least, 2):
        return False
    joined = _joined(store, space, small, np.zeros(0, np.int64))
    with store.write(durable=True) as c:
        name_joined(c, space, joined)
    return True


class Joined(NamedTuple):
    """A segment written in the place of others, not yet named in the catalog."""

    old: list[str]
    name: str
    n_pictures: int
    n_bytes: int


def rewritten(store: Store, name: str, without: Any) -> list[Joined]:
    """Segments again without some pictures, still to be named; the others stay as they are."""
    space = store.spaces()[name]
    return [
        _joined(store, space, [row], without)
        for row in store.segments(name, space.generation)
        if np.isin(reader(space)(store.root, row.name).ids, without).any()
    ]


def _joined(store: Store, space: SpaceRow, rows: list[SegmentRow], without: Any) -> Joined:
    """One segment in the place of several, without the removed pictures and ``without``."""
    dead = np.array([image for _, image in store.tombstones()], np.int64)
    parts: list[tuple[Any, Any]] = []
    for row in rows:
        ids, raw = reader(space)(store.root, row.name)
        keep = ~np.isin(ids, dead) & ~np.isin(ids, without)
        parts.append((ids[keep], raw[keep]))
    ids = np.concatenate([ids for ids, _ in parts])
    numbers, serials = zip(*(number_and_serial(row.name) for row in rows), strict=True)
    last, serial = max(numbers), 1 + max(serials)
    made, n_bytes = segment_name(space.name, space.generation, last, serial), 0
    if len(ids):
        if space.kind == "sparse":
            raw = sparse.vstack([part for _, part in parts], format="csr")
            weighed = weighted(bag_of(store.root, space), raw)
            n_bytes = seg.write_sparse(store.root, made, seg.SparseRows(ids, raw), weighed)
        else:
            matrix = np.concatenate([part for _, part in parts])
            n_bytes = seg.write_dense(store.root, made, seg.DenseRows(ids, matrix))
    return Joined([row.name for row in rows], made, len(ids), n_bytes)


def name_joined(c: Any, space: SpaceRow, joined: Joined) -> None:
    """Inside a transaction: the joined segment takes the place of the old ones."""
    change.drop_segments(c, joined.old)
    if joined.n_pictures:
        change.put_segment(
            c, joined.name, space.name, space.generation, joined.n_pictures, joined.n_bytes
        )


def reader(space: SpaceRow) -> Callable[[Path, str], Any]:
    """How the segments of a space are read."""
    return seg.read_sparse if space.kind == "sparse" else seg.read_dense


def tidy(store: Store) -> None:
    """What every job does when it starts and ends: sweep, seal, merge."""
    with store.write() as c:
        change.drop_unfinished(c)
    for name, space in store.spaces().items():
        if space.generation:
            while seal(store, name):
                pass
            merge(store, name)
    seg.sweep(store.root, store.named_files())
