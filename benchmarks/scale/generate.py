"""Collections of pictures that exist only as rows, written through the product's own segments.

``look`` has 128 numbers a picture, drawn as in ``benchmarks.staying.scale`` (what features of
photographs look like); ``words`` has 200 of 100,000 words, drawn as in ``benchmarks.index``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.index.report import Setting, term_counts, word_chances
from benchmarks.staying.scale import Features
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.catalog.jobs import silent
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.spaces import rows as space_rows
from likewise.spaces.graphs import grow_graphs
from likewise_methods.coding.bow import BagOfWords
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.spaces.fitted import FittedSpace

WORDS, WORDS_EACH = 100_000, 200
WIDTH = 128
_SAMPLE, _SOURCE = 2_000, 1_280
INFO = ImageInfo("", "JPEG", 640, 480, "RGB", 1, None, 1000)


@dataclass
class Spent:
    """CPU seconds of the product's own work; drawing rows does not count."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.process_time() - start


def generate(space: str, target: Path, n: int, seed: int) -> Spent:
    """A collection of n pictures in full segments, with its graph where it gets one."""
    spent = Spent()
    if space == "words":
        _words(target, n, seed, spent)
    else:
        _look(target, n, seed, spent)
    return spent


def _pictures(store: Store, first: int, size: int) -> list[int]:
    with store.write() as c:
        ids = [
            change.put_image(c, int(i).to_bytes(20, "big"), INFO)[0]
            for i in range(first, first + size)
        ]
        for image in ids:
            change.put_file(c, f"/pictures/{image:08d}.jpg", 1000, 0, image=image)
    return ids


def _look(target: Path, n: int, seed: int, spent: Spent) -> None:
    features = Features(n, seed)
    rng = np.random.default_rng([seed, 1])
    with Collection.create(target) as col:
        store, root = col._store, col.root
        # What the space has learned is asked for the unit of judged pairs, and for nothing else.
        rows = np.random.default_rng([seed, 3]).standard_normal((_SAMPLE, _SOURCE))
        fit = FittedSpace(WIDTH).fit(rows.astype(np.float32))
        (root / "words").mkdir(exist_ok=True)
        fit.save(root / "words/look-1.lwf")
        named = []
        for serial, first in enumerate(range(0, n, seg.FULL)):
            size = min(seg.FULL, n - first)
            drawn = features.draw(size, rng)
            with spent.on("pictures"):
                ids = _pictures(store, first, size)
            with spent.on("rows"):
                name = space_rows.segment_name("look", 1, 0, serial)
                raw = seg.DenseRows(np.array(ids, np.int64), drawn)
                named.append((name, size, seg.write_dense(root, name, raw)))
        _switch(store, "look", WIDTH, n, {"fit": "words/look-1.lwf"}, named)
        with spent.on("graph"):
            grow_graphs(store, silent)
        store.fold_journal()


def _words(target: Path, n: int, seed: int, spent: Spent) -> None:
    chance, tokens = word_chances(Setting("generated", n, WORDS, WORDS_EACH, 10.0, 0))
    rng = np.random.default_rng(seed)
    with Collection.create(target, words={"n_words": WORDS}, deep=False) as col:
        store, root = col._store, col.root
        bag = BagOfWords()
        parts: list[tuple[Path, Any]] = []
        (root / seg.FOLDER).mkdir(exist_ok=True)
        for first in range(0, n, seg.FULL):
            size = min(seg.FULL, n - first)
            counts = term_counts(size, chance, tokens, rng)
            with spent.on("pictures"):
                ids = np.array(_pictures(store, first, size), np.int64)
            with spent.on("rows"):
                bag.partial_fit(counts)
            # Kept on disk between the two passes, as a real build keeps them in the catalog.
            part = root / seg.FOLDER / f"pass-{first}.npz"
            np.savez(part, d=counts.data, i=counts.indices, p=counts.indptr)
            parts.append((part, ids))
        bag.refresh()
        (root / "words").mkdir(exist_ok=True)
        bag.save(root / "words/words-1.bag")
        # Queries are pictures of the collection, so no descriptor is ever looked up in it.
        Vocabulary.from_words(np.eye(WIDTH, dtype=np.float32)).save(root / "words/words-1.lwv")
        named = []
        for serial, (part, ids) in enumerate(parts):
            with np.load(part) as kept:
                counts = sparse.csr_array(
                    (kept["d"], kept["i"], kept["p"]), shape=(len(ids), WORDS)
                )
            part.unlink()
            with spent.on("rows"):
                name = space_rows.segment_name("words", 1, 0, serial)
                raw = seg.SparseRows(ids, counts)
                n_bytes = seg.write_sparse(root, name, raw, bag.transform(counts))
            named.append((name, len(ids), n_bytes))
        files = {"vocabulary": "words/words-1.lwv", "bag": "words/words-1.bag"}
        _switch(store, "words", WORDS, n, files, named)
        store.fold_journal()


def _switch(
    store: Store,
    space: str,
    width: int,
    n: int,
    files: dict[str, str],
    named: list[tuple[str, int, int]],
) -> None:
    with store.write() as c:
        for name, size, n_bytes in named:
            change.put_segment(c, name, space, 1, size, n_bytes)
        change.switch_generation(c, space, 1, width=width, n_pictures=n, files=files)
