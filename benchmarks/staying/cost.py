"""CPU time of the local metric: asking, adding a judgement, choosing N0."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import cycle, islice

import numpy as np

from benchmarks import harness
from benchmarks.staying.data import Pictures
from benchmarks.staying.protocol import FIRST_SEED, Judgement, Local, Split, judgements

SIZES = (10, 100, 1000, 5000)
ASKED = 100
Row = dict[str, object]


def cost_rows(pictures: Pictures) -> list[Row]:
    """Milliseconds at several numbers of judgements; beyond the queries there are, the same pages
    again."""
    split = Split.draw(pictures, FIRST_SEED)
    pages = list(judgements(split, SIZES[-1]))
    return [_row(pictures, split, pages, size) for size in SIZES]


def _row(pictures: Pictures, split: Split, pages: Sequence[Judgement], size: int) -> Row:
    local = Local(pictures)
    adding = harness.cpu_times(local.judge, list(islice(cycle(pages), size)), warm_up=0)
    start = time.process_time()
    local.metric.used_prior()
    chosen = time.process_time() - start
    asked = np.resize(split.queries, ASKED).tolist()
    start = time.process_time()
    local.ask(asked[0])
    first = time.process_time() - start
    asking = harness.cpu_times(local.ask, asked)
    return {
        "judgements": size,
        "add one, ms": round(1e3 * adding.median, 3),
        "ask, ms": round(1e3 * asking.median, 2),
        "ask, p99 ms": round(1e3 * asking.p99, 2),
        "first ask after a judgement, ms": round(1e3 * first, 1),
        "choose N0, ms": round(1e3 * chosen, 1),
    }
