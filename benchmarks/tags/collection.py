"""Collections made of rows that are there already: the product's tags without describing pictures.

The rows lie in a sealed segment of a real collection, below files that do not exist; everything
that suggests tags (catalog, views, evidence, calibration) is the product's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog import tag_tables
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.ingest import generations as gen
from likewise.spaces import rows as space_rows
from likewise.spaces.registry import find_kind

# Rows of one space may lie under the name of another: suggestions ask no more of a space than its
# rows, and those of look are given here, not fitted by the collection.
_STORED = {"look": "deep-dense"}

_INFO = ImageInfo("", "JPEG", 640, 480, "RGB", 1, None, 1000)


def stored_as(space: str) -> str:
    """The space of the collection that holds the rows of ``space``."""
    return _STORED.get(space, space)


def collection_of(root: Path, space: str, rows: Any) -> None:
    """A collection whose pictures 1, 2, ... have these rows in ``space``, and nothing else."""
    space = stored_as(space)
    with Collection.create(root, deep=False) as col:
        store = col._store
        if space == "deep-dense":
            with store.write() as c:
                change.put_space(c, space, "dense", find_kind(space).default_recipe())
            gen.start_generation(store, space, rows.shape[1])
        with store.write() as c:
            for number in range(1, len(rows) + 1):
                digest = number.to_bytes(20, "big")
                image, _ = change.put_image(c, digest, _INFO)
                change.put_file(c, f"/pictures/{number:07d}.jpg", 1000, 0, image=image)
        ids = np.arange(1, len(rows) + 1)
        with store.write() as c:
            for serial, start in enumerate(range(0, len(rows), seg.FULL)):
                part = slice(start, start + seg.FULL)
                name = space_rows.segment_name(space, 1, 0, serial)
                n_bytes = seg.write_dense(root, name, seg.DenseRows(ids[part], rows[part]))
                change.put_segment(c, name, space, 1, len(ids[part]), n_bytes)
        store.fold_journal()


def tag_as_listed(col: Collection, tags: Mapping[int, Sequence[str]]) -> None:
    """Tags of pictures, by number, as from a list (``likewise library tags import``)."""
    pairs = [(image, tag) for image, some in tags.items() for tag in some]
    with col._store.write() as c:
        tag_tables.put_sources(c, tag_tables.FILE, pairs)


def balanced(labels: Any, each: int, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of pictures (from 1): ``each`` of every class to be tagged, and all the others."""
    rng = np.random.default_rng(seed)
    seen: Counter[int] = Counter()
    tagged, held_out = list[int](), list[int]()
    for at in rng.permutation(len(labels)).tolist():
        label = int(labels[at])
        seen[label] += 1
        (tagged if seen[label] <= each else held_out).append(at + 1)
    return sorted(tagged), sorted(held_out)
