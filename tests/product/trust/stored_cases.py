"""A small collection with something in every table, and all that can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.collection import Collection
from likewise.errors import UnknownPicture
from tests import trials
from tests.product.collection.pictures import write

ROUNDS = trials.ROUNDS
"""How many more rounds than `make test` has time for (`make trust`)."""


def write_small(folder: Path, n: int, seed: int = 0) -> list[Path]:
    """Small pictures, each with edges and colours of its own."""
    rng = np.random.default_rng(seed)
    paths = []
    for i in range(n):
        coarse = rng.integers(0, 256, (6, 6, 3)).astype(np.uint8)
        pixels = np.kron(coarse, np.ones((16, 16, 1), np.uint8))
        paths.append(write(folder / f"picture {i:02d}.jpg", pixels))
    return paths


def make_full(root: Path) -> Path:
    """A collection with pictures, spaces, judgements, profiles, tags and a learned state."""
    write_small(root / "pictures", 14)
    with Collection.create(root / "photos.lw", deep=False) as col:
        col.add(root / "pictures", workers=1)
        ids = [row.id for row in col.images()]
        col.spaces.add("mine", {"feature": "own"})
        col.spaces.add_vectors("mine", ids, np.random.default_rng(1).normal(size=(len(ids), 12)))
        col.tag(ids[0], "garden")
        col.tag(ids[1], "garden", "sea")
        col.tag(ids[2], "sea")
        col.profiles.create("other")
        for i in range(4):
            col.judge(ids[i], [ids[i + 4]], [ids[i + 5]])
            col.judge(ids[i], [ids[i + 6]], profile="other")
        col.undo()
        col.compare(ids[0], ids[3], ids[4])
        col.remove(ids[-1])
    return root / "photos.lw"


def ask_all(col: Collection) -> dict[str, Any]:
    """Rankings with scores to the last bit, paths, tags, lines, words: what a person could see."""
    ids = [row.id for row in col.images()]
    answers: dict[str, Any] = {
        "pictures": [(r.id, r.path, r.width, r.height, r.date, r.format) for r in col.images()],
        "lines": [tuple(map(str, line)) for line in col.log.entries()],
        "tags": {i: col.tags.of(i) for i in ids},
        "words": [(h.id, h.score, h.path) for h in col.search(text="garden", k=9)],
    }
    hits: list[Any]
    for by in col.similarities:
        for i in ids[:4]:
            try:
                hits = [(h.id, h.score, h.path) for h in col.search(i, k=50, by=by)]
            except UnknownPicture as error:  # a gap: it has no row in this space
                hits = [str(error)]
            answers[f"{by} {i}"] = hits
    return answers
