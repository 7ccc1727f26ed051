"""Suggested tags as the product makes them: right how often, sure how rightly, after how long.

Real collections are made of rows that other benchmarks described and kept (Corel-1k, Caltech-101,
CIFAR-10); some pictures are tagged with their class, all others are asked about.  Then the same
with 50,000 tagged pictures, for time and memory.  Run by ``make bench-tags``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.deep.rows import space_rows
from benchmarks.tags import scale as tags_scale
from benchmarks.tags.figure import draw
from benchmarks.tags.look import LOOK, look_rows
from benchmarks.tags.machines import compared, machine_row
from benchmarks.tags.quality import (
    ABOVE,
    Quality,
    Setting,
    cause_row,
    measured,
    quality_row,
    time_row,
    trust_row,
)
from benchmarks.tags.weights import weight_rows
from likewise.tags.evidence import ALPHA

DATA = ("corel1k", "caltech101")
SPACES = ("deep-dense", "holistic")
SHARES = (0.5, 0.1)
LOOK_DATA = (*DATA, "cifar10")
LOOK_SHARES = (0.05, 0.2, 0.5)
SIZES = (5_000, 50_000)


def settings_of(data: str) -> list[Setting]:
    """Half and a tenth of every class tagged, in each space; nothing where the set is not here."""
    made = []
    for space in SPACES:
        found = space_rows(data, space)
        if found is None:
            continue
        each = int(np.bincount(found.labels).min())
        rows = np.asarray(found.X, np.float32)
        made += [Setting(data, space, rows, found.labels, round(share * each)) for share in SHARES]
    return made


def look_settings(sets: Sequence[str], shares: Sequence[float]) -> list[Setting]:
    """Some shares of every class tagged, in ``look``."""
    made = []
    for data in sets:
        found = look_rows(data)
        if found is None:
            continue
        each = int(np.bincount(found.labels).min())
        made += [
            Setting(data, LOOK, found.X, found.labels, round(share * each)) for share in shares
        ]
    return made


def main() -> None:
    options = harness.arguments((__doc__ or "").splitlines()[0])
    seeds = range(options.seed, options.seed + (10 if options.full else 3))
    start = time.process_time()
    settings = [setting for data in DATA for setting in settings_of(data)]
    found: list[Quality] = []
    with tempfile.TemporaryDirectory(prefix="likewise-bench-") as folder:
        root = Path(folder)
        tags_scale.warm()
        look = look_settings(LOOK_DATA, LOOK_SHARES)
        # Spread over more splits: machines differ by less than splits do.
        draws = range(options.seed, options.seed + 2 * len(seeds))
        machines = []
        for setting in [*look, *(one for one in settings if one.space == "holistic")]:
            machines.append(machine_row(compared(setting, draws, root), options.seed))
            print(machines[-1], flush=True)
        for setting in [*settings, *look_settings(DATA, SHARES)]:
            found.append(measured(setting, seeds, root))
            print(quality_row(found[-1]), flush=True)
        half = [setting for setting in settings if setting.each == _most(settings, setting)]
        weights = weight_rows(half, 500 if options.full else 150, options.seed)
        spent = time.process_time() - start
        scale = [
            row
            for space in (*SPACES, LOOK)
            for row in tags_scale.scale_rows(space, SIZES, root, options.seed)
        ]
    report = harness.Report(
        "tags",
        "Suggested tags",
        f"{len(seeds)} splits a row, {SIZES[-1]:,} tagged pictures at most"
        + (" (FULL)" if options.full else " (default size)"),
        {
            "alpha": ALPHA,
            "bulk above": ABOVE,
            "seeds": f"{seeds[0]} to {seeds[-1]}",
            "CPU s of all but 'Many tagged pictures'": round(spent),
        },
    )
    report.add("Reconstruction, linear machine and their mix", machines)
    report.add("Held-out pictures", [quality_row(one) for one in found])
    report.add("Is confidence true?", [trust_row(one, options.seed) for one in found])
    report.add("First suggestions: said minus right, and why", [cause_row(o) for o in found])
    report.add("Time, CPU ms", [time_row(one) for one in found])
    report.add("Many tagged pictures", scale)
    report.add("The lasso's weight and sign", weights)
    if found and find_spec("matplotlib"):
        draw(found)
    report.write()


def _most(settings: list[Setting], one: Setting) -> int:
    return max(s.each for s in settings if (s.data, s.space) == (one.data, one.space))
