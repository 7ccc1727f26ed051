"""A smaller index for a sparse profile: only postings of words it gives weight to.

The full index stays for everybody else.  A compacted segment answers this profile's searches with
the same scores; a word that gains weight later is answered from the rows until the next compact.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.catalog import log_tables
from likewise.catalog import segments as seg
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import SpaceRow
from likewise.search.reranker import apply_weights
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces import rows as space_rows
from likewise_methods.durable_files import rename_whole

_SAMPLE = 50


@dataclass(frozen=True)
class Compaction:
    """What compaction changed.

    Attributes
    ----------
    bytes_before, bytes_after : int
        Of the lists.
    postings_before, postings_after : int
        In them.
    ms_before, ms_after : float
        CPU ms of a search.

    See Also
    --------
    likewise_methods.index.InvertedIndex : the lists.
    """

    bytes_before: int
    bytes_after: int
    postings_before: int
    postings_after: int
    ms_before: float
    ms_after: float


def compact(
    views: Views, profile: str, space: SpaceRow, weights: Any,
    report: Report,
) -> Compaction:  # fmt: skip
    """Write the smaller copies of every segment, then name them in one transaction."""
    while space_rows.seal_segment(views.store, space.name, at_least=1):
        pass
    full = views.view(space.name)
    assert isinstance(full, SparseView)
    made = []
    rows = views.store.segments(space.name, space.generation)
    mark = hashlib.blake2b(profile.encode(), digest_size=4).hexdigest()
    for done, row in enumerate(rows, 1):
        index = seg.open_index(views.store.root, row.name)
        index.compact(weights)
        name = f"{row.name}~{mark}-{time.time_ns():x}"
        part = views.store.root / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        index.save(part)
        rename_whole(part, views.store.root / name)
        made.append((row.name, name, seg.size_of(views.store.root / name)))
        report(Progress("compacting segments", done, len(rows)))
    with views.store.write(durable=True) as c:
        log_tables.drop_compacted(c, profile)
        for segment, name, n_bytes in made:
            log_tables.put_compacted(c, segment, profile, name, n_bytes)
    small = views.view(space.name, profile)
    assert isinstance(small, SparseView)
    before, after = full.index.stats(), small.index.stats()
    return Compaction(
        before.list_bytes, after.list_bytes, before.postings, after.postings,
        _milliseconds(full, full, weights), _milliseconds(small, full, weights),
    )  # fmt: skip


def _milliseconds(view: SparseView, full: SparseView, weights: Any) -> float:
    """CPU time of a search with the profile's weights, the middle of some; 0 without pictures."""
    ids = full.index.ids
    if not len(ids):
        return 0.0
    step = max(1, len(ids) // _SAMPLE)
    queries = [apply_weights(full.index.rows([int(i)]), weights) for i in ids[::step][:_SAMPLE]]
    taken = []
    for query in (queries[0], *queries):
        start = time.process_time()
        view.search_row(query, 20)
        taken.append(time.process_time() - start)
    return 1000.0 * float(np.median(taken[1:]))
