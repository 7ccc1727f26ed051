"""What a map is learned from: pictures, what people compared, and comparisons made up beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.store import SpaceRow, Store
from likewise.learning.lessons import label_pictures
from likewise.learning.models.constraints import Comparison, subject_rows
from likewise.learning.models.map import MapData, from_labels, from_neighbours
from likewise.search.model_rows import sample_rows


def gather_comparisons(
    store: Store,
    space: SpaceRow,
    said: Sequence[Comparison],
    row_of: Callable[[int], Any],
    *,
    anchors: int,
    labels: str | None,
    seed: int,
    beside: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None,
) -> tuple[MapData, NDArray[np.bool_]]:
    """Pictures and comparisons for a map; the mask says which comparisons could be used.

    Up to ``anchors`` pictures: those compared, and others drawn at random, or those of ``beside``
    (ids and rows).
    """
    subjects = {s for one in said for s in (one.anchor, one.nearer, one.farther)}
    rows = subject_rows(store, space, subjects, row_of)
    place = {subject: at for at, subject in enumerate(rows)}
    used = np.array(
        [all(s in place for s in (one.anchor, one.nearer, one.farther)) for one in said], bool
    )
    triplets = np.array(
        [
            (place[one.anchor], place[one.nearer], place[one.farther])
            for one, fits in zip(said, used, strict=True)
            if fits
        ],
        np.int64,
    ).reshape(-1, 3)
    here = log_tables.subjects_in_collection(store, rows)
    own = np.array([here.get(subject, 0) for subject in rows], np.int64)
    if beside is None:
        more = max(anchors - len(rows), 0)
        ids, others = sample_rows(store, space, more, seed, avoid=set(own.tolist()))
    else:
        new = ~np.isin(beside[0], own)
        ids, others = beside[0][new], beside[1][new]
    whole = np.array(list(rows.values()), np.float32).reshape(len(rows), space.width)
    names = np.concatenate([own, ids])
    X = np.concatenate([whole, others])
    if labels is None:
        made, made_from = from_neighbours(X, seed), "space"
    else:
        known = dict(zip(*(part.tolist() for part in label_pictures(store, labels)), strict=True))
        made = from_labels(np.array([str(known.get(i, "")) for i in names.tolist()]), seed)
        made_from = labels
    return MapData(names, X, len(rows), triplets, made, made_from), used
