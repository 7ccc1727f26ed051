"""A collection at work: processor time of adding, opening, searching, memory.

Real pictures for adding (a sample of each data set, decoded and described as a user would);
generated term counts for opening and searching at 10,000, 100,000 and a million pictures, written
through the same segments and catalog.  Each measurement of memory runs in a process of its own.
Run by ``make bench-collection``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.index.report import Setting, term_counts, word_chances
from benchmarks.readers.records import data_root
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.spaces import rows as space_rows
from likewise_methods.coding.bow import BagOfWords
from likewise_methods.coding.vocabulary import Vocabulary

SETS = {
    "oxford1k": "oxford1k/images/*.jpg",
    "corel1k": "corel1k/images/*.jpg",
    "caltech101": "caltech101/*/*.jpg",
}
DESCRIBED: dict[str, dict[str, Any]] = {"network": {"deep": True}, "visual words": {"deep": False}}
"""What a collection is created with: as a new one has it, and without the network."""
WORDS_TOO = "oxford1k"
"""The set whose pictures are described by words as well; with ``--full`` it is all of them."""


def main() -> None:
    options = harness.arguments(__doc__ or "")
    count = 1000 if options.full else 240
    report = harness.Report(
        "collection",
        "A collection at work",
        f"{count} pictures a set for adding, generated codes up to a million pictures"
        + (" (FULL)" if options.full else ""),
        {"seed": options.seed},
    )
    with tempfile.TemporaryDirectory(prefix="likewise-bench-") as folder:
        root = Path(folder)
        added: list[dict[str, object]] = []
        for name, paths in pictures(count, options.seed).items():
            copied = root / name
            copied.mkdir()
            for path in paths:
                shutil.copy2(path, copied / f"{path.parent.name}-{path.name}")
            if not added:
                warm_up(root, paths[:12])
            added += [adding_row(root, name, copied, "network", workers) for workers in (1, 2)]
            if options.full or name in (WORDS_TOO, "planted views"):
                added.append(adding_row(root, name, copied, "visual words", 2))
        report.add("Adding", added)
        report.add("Opening and searching (generated words)", generated_rows(root, options.seed))
    report.write()


def pictures(count: int, seed: int) -> dict[str, list[Path]]:
    root = data_root()
    found: dict[str, list[Path]] = {}
    for name, pattern in SETS.items():
        paths = sorted(root.glob(pattern)) if root else []
        if paths:
            rng = np.random.default_rng(seed)
            chosen = rng.choice(len(paths), min(count, len(paths)), replace=False)
            found[name] = [paths[i] for i in sorted(chosen)]
    if not found:
        from likewise_lab.evaluation.planted import write_planted

        folder = harness.cache_dir() / "planted-views"
        found["planted views"] = list(write_planted(folder).paths.values())[:count]
    return found


def adding_row(
    root: Path, name: str, folder: Path, described: str, workers: int
) -> dict[str, object]:
    """One run of ``add`` in a process of its own.

    Its processor time is taken from here, when it has ended: only then its workers have, who do
    most of the work.  The clock would tell of other programs too.
    """
    target = root / f"{name}-{workers}.lw"
    before = os.times()
    said = harness.in_process(
        "benchmarks.collection", "add", str(target), str(folder), described, str(workers)
    )
    after = os.times()
    shutil.rmtree(target)
    spent = sum(after[2:4]) - sum(before[2:4])
    return {
        "data": name, "described by": described, "workers": workers, "pictures": said["pictures"],
        "CPU ms a picture": 1000 * spent / said["pictures"], "peak MB": said["peak MB"],
    }  # fmt: skip


def warm_up(root: Path, paths: Sequence[Path]) -> None:
    """Everything once on a few pictures: compiling for the first time is no cost of adding."""
    few = root / "few"
    few.mkdir()
    for path in paths:
        shutil.copy2(path, few / f"{path.parent.name}-{path.name}")
    for described in DESCRIBED:
        adding_row(root, "few", few, described, 2)


def run_add(target: str, folder: str, described: str, workers: str) -> dict[str, object]:
    with Collection.create(target, **DESCRIBED[described]) as col:
        result = col.add(folder, workers=int(workers))
        hits = col.search(sorted(Path(folder).iterdir())[0], k=10)
    assert len(hits) == 10
    return {"pictures": result.added, "peak MB": harness.peak() / (1 << 20)}


def generated_rows(root: Path, seed: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for n in (10_000, 100_000, 1_000_000):
        target = root / f"generated-{n}.lw"
        start = time.process_time()
        generate(target, n, seed)
        built = time.process_time() - start
        said = harness.in_process("benchmarks.collection", "open", str(target), str(n))
        size = seg.size_of(target)
        rows.append(
            {"pictures": n, "build CPU s": built, **said, "bytes a picture": round(size / n)}
        )
        shutil.rmtree(target)
    return rows


def generate(target: Path, n: int, seed: int) -> None:
    """A collection of n pictures that exist only as term counts, in full segments."""
    words = 100_000
    setting = Setting("generated", n, words, 200, 10.0, 0)
    chance, tokens = word_chances(setting)
    rng = np.random.default_rng(seed)
    col = Collection.create(target, words={"n_words": words}, deep=False)
    store, root = col._store, col.root
    info = ImageInfo("", "JPEG", 640, 480, "RGB", 1, None, 1000)
    chunks = []
    bag = BagOfWords()
    for first in range(0, n, seg.FULL):
        size = min(seg.FULL, n - first)
        counts = term_counts(size, chance, tokens, rng)
        with store.write() as c:
            ids = [
                change.put_image(c, int(i).to_bytes(20, "big"), info)[0]
                for i in range(first, first + size)
            ]
            for image in ids:
                change.put_file(c, f"/pictures/{image:07d}.jpg", 1000, 0, image=image)
        bag.partial_fit(counts)
        # Kept on disk between the two passes, as a real build keeps them in the catalog.
        (root / seg.FOLDER).mkdir(exist_ok=True)
        part = root / seg.FOLDER / f"pass-{first}.npz"
        np.savez(part, d=counts.data, i=counts.indices, p=counts.indptr)
        chunks.append((part, np.array(ids, np.int64)))
    bag.refresh()
    (root / "words").mkdir(exist_ok=True)
    bag.save(root / "words/words-1.bag")
    # Queries are pictures of the collection, so no descriptor is ever looked up in it.
    centres = np.eye(128, dtype=np.float32)
    Vocabulary.from_words(centres).save(root / "words/words-1.lwv")
    from scipy import sparse

    with store.write() as c:
        for serial, (part, names) in enumerate(chunks):
            with np.load(part, allow_pickle=False) as saved:
                counts = sparse.csr_array(
                    (saved["d"], saved["i"], saved["p"]), shape=(len(names), words)
                )
            name = space_rows.segment_name("words", 1, 0, serial)
            raw = seg.SparseRows(names, counts)
            n_bytes = seg.write_sparse(root, name, raw, bag.transform(counts))
            change.put_segment(c, name, "words", 1, len(names), n_bytes)
        change.switch_generation(
            c, "words", 1, width=words, n_pictures=n,
            files={"vocabulary": "words/words-1.lwv", "bag": "words/words-1.bag"},
        )  # fmt: skip
    seg.sweep(root, store.named_files())
    store.fold_journal()
    col.close()


def run_open(target: str, n: str) -> dict[str, object]:
    before = harness.resident()
    start = time.process_time()
    col = Collection.open(target)
    pictures_ = len(col)
    opened = time.process_time() - start
    held = harness.resident() - before
    start = time.process_time()
    col.search(1, k=20, by="words")
    first = time.process_time() - start
    rng = np.random.default_rng(0)
    queries = [int(i) for i in rng.integers(1, int(n) + 1, 200)]
    timing = harness.cpu_times(lambda q: col.search(q, k=20, by="words"), queries)
    hit = col.search(queries[0], k=20, by="words")
    assert len(hit) == 20
    assert pictures_ == int(n)
    adding = search_while_adding(col)
    return {
        "open CPU ms": 1000 * opened,
        "first answer CPU ms": 1000 * first,
        "search p50 ms": 1000 * timing.median,
        "search p99 ms": 1000 * timing.p99,
        "while adding p50 ms": 1000 * adding,
        "opened MB": held / 1e6,
        "searched MB": (harness.resident() - before) / 1e6,
    }


def search_while_adding(col: Collection) -> float:
    """Median CPU of a search when another connection commits a picture before each."""
    with Collection.open(col.root) as writer:
        info = ImageInfo("", "JPEG", 640, 480, "RGB", 1, None, 1000)
        rng = np.random.default_rng(1)
        seconds = []
        for turn in range(30):
            words = np.sort(rng.choice(100_000, 200, replace=False))
            with writer._store.write() as c:
                digest = (10**9 + turn).to_bytes(20, "big")
                image, _ = change.put_image(c, digest, info)
                change.put_file(c, f"/pictures/new-{turn}.jpg", 1000, 0, image=image)
                blob = seg.pack_sparse(words, np.ones(200))
                change.put_vector(c, "words", 1, image, blob)
            start = time.process_time()
            hits = col.search(image, k=20, by="words")
            seconds.append(time.process_time() - start)
            assert len(hits) == 20
    return float(np.median(seconds))


def child(what: str, arguments: Sequence[str]) -> None:
    jobs: dict[str, Any] = {"add": run_add, "open": run_open}
    sys.stdout.write(json.dumps(jobs[what](*arguments)) + "\n")
