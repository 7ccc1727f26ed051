"""What a collection says about itself: counts and sizes, and whether every byte is sound."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.coding.vocabulary import Vocabulary
from likewise.collection.ingest.add import WAITING, filling
from likewise.collection.jobs import running
from likewise.collection.search.fitted import check as check_model_files
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.graphs import open_graph
from likewise.collection.spaces.onnx_files import check_model
from likewise.collection.spaces.pooled import Pooled
from likewise.collection.spaces.recipes import learns, pools
from likewise.collection.store import segments as seg
from likewise.collection.store.checks import loose_ends
from likewise.collection.store.models import models
from likewise.collection.store.store import SpaceRow, Store
from likewise.collection.tags import tag_log
from likewise.errors import LikewiseError
from likewise.features.deep.projection import Projection

THUMBNAILS = "thumbnails"
"""A folder of small copies a server keeps; no part of the collection, and many files."""


def info(store: Store) -> dict[str, Any]:
    """Counts and sizes, for people and for ``--json``."""
    spaces = {}
    for name, space in store.spaces().items():
        segments = store.segments(name, space.generation)
        fresh = store.n_vectors(name, space.generation) if space.generation else 0
        spaces[name] = {
            "kind": space.kind,
            "feature": space.recipe["feature"],
            "generation": space.generation,
            "width": space.width,
            "segments": len(segments),
            "sealed": sum(row.n_pictures for row in segments),
            "fresh": fresh,
            "bytes": sum(row.n_bytes for row in segments),
        }
    return {
        "path": str(store.root),
        "pictures": store.n_images(),
        "problems": len(store.problems()),
        "roots": store.roots(),
        "bytes": seg.size_of(store.root, apart=THUMBNAILS),
        "job": running(store.root),
        "spaces": spaces,
    }


def verify(store: Store) -> list[str]:
    """Everything that is wrong, in sentences; empty when all is well."""
    wrong = [f"catalog: {text}" for text in (*store.integrity(), *loose_ends(store))]
    wrong += [f"tags: {text}" for text in tag_log.verify(store)]
    with store.snapshot():
        spaces = store.spaces()
        for space in spaces.values():
            if space.generation:
                wrong += [f"space {space.name}: {text}" for text in _space(store, space)]
        for name, row in models(store).items():
            found = check_model_files(store.root, row, spaces.get(row.space))
            wrong += [f"{row.kind} {name}: {text}" for text in found]
    return wrong


def _space(store: Store, space: SpaceRow) -> list[str]:
    wrong = []
    try:
        needed = {"vocabulary", "bag"} | ({"projection"} if "components" in space.recipe else set())
        if learns(space.recipe) and not needed <= set(space.files):
            wrong.append("its vocabulary or its idf is not named")
        # The files themselves, and not what this process may have kept of them.
        if "projection" in space.files:
            Projection.open(store.root / space.files["projection"])
        check_model(store.root, space)
        if pools(space.recipe):
            if "coder" not in space.files:
                wrong.append("its codebooks are not named")
            elif (width := Pooled.open(store.root / space.files["coder"]).width) != space.width:
                wrong.append(f"vectors of {width} columns, {space.width} in the catalog")
        if "vocabulary" in space.files:
            words = Vocabulary.open(store.root / space.files["vocabulary"]).n_words
            if words != space.width:
                wrong.append(f"{words} words in the vocabulary, {space.width} in the catalog")
        space_rows.bag_of(store.root, space)
        open_graph(store.root, space)
    except (LikewiseError, OSError) as error:
        wrong.append(str(error))
    counts: dict[int, int] = {}
    for row in store.segments(space.name, space.generation):
        try:
            if space.kind == "sparse":
                ids = seg.read_sparse(store.root, row.name).ids
                index = seg.open_index(store.root, row.name)
                index.verify()
                if not np.array_equal(np.sort(ids), index.ids):
                    wrong.append(f"segment {row.name}: rows and index hold other pictures")
            else:
                ids = seg.read_dense(store.root, row.name).ids
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
        for chunk in store.vectors_in_chunks(space.name, space.generation, seg.SEAL_AT):
            blobs = [vector for _, _, vector in chunk]
            unpack = seg.unpack_sparse if space.kind == "sparse" else seg.unpack_dense
            rows = unpack(blobs, space.width)
            values = rows.data if space.kind == "sparse" else rows
            if not np.isfinite(np.asarray(values)).all():
                wrong.append("a fresh vector has NaN or infinite values")
            for _, image, _ in chunk:
                counts[image] = counts.get(image, 0) + 1
    except LikewiseError as error:
        wrong.append(str(error))
    wrong += [f"picture {i} has {n} vectors" for i, n in counts.items() if n > 1]
    dead = {image for _, image in store.tombstones()}
    there = store.ids()
    strangers = set(counts) - there - dead
    wrong += [f"a vector for picture {i}, which is not there" for i in sorted(strangers)]
    # Pictures that were added where the space's vectors cannot be made are waiting for them.
    waiting = store.setting(filling(space.name))
    if space.recipe["feature"] != "own" and waiting != WAITING:
        unreached = waiting if isinstance(waiting, list) else []
        lacking = there - set(counts) - set(unreached)
        wrong += [f"picture {i} has no vector" for i in sorted(lacking)]
    return wrong
