"""The loop of ``make bench-loop`` on every space: does learning help where the rows are deep?

The same protocol and methods, over the rows that ``make bench-deep`` makes; part of it.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep.rows import SpaceRows, space_rows
from benchmarks.loop.runs import loop_rows

Ints = NDArray[np.int64]
SETS = ("corel1k", "oxford1k", "caltech101")
SPACES = ("deep", "deep-dense", "deep-words", "words", "holistic")
_SHOWN = ("method", "1 click", "3 clicks", "10 clicks", "round 1", "round 3", "frozen mAP, 3")
_LEFT_OUT = ("OASIS", "SOLIS")
_FEW = 14
"""Pictures a group must have: fewer leave nothing to find after a round."""


def groups_of(made: SpaceRows) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Rows that are right for one another by label, and rows to leave out (Oxford's junk)."""
    place = {name: row for row, name in enumerate(made.names)}
    right: dict[str, set[int]] = {}
    junk: dict[str, set[int]] = {}
    for query in made.task.queries:
        if query.group and query.query in place:
            right.setdefault(query.group, set()).add(place[query.query])
            apart = {place[name] for name in query.junk if name in place}
            junk.setdefault(query.group, set()).update(apart)
    kept = [group for group, rows in right.items() if len(rows) >= _FEW]
    return (
        {group: np.array(sorted(right[group]), np.int64) for group in kept},
        {group: np.array(sorted(junk[group] - right[group]), np.int64) for group in kept},
    )


def deep_loop_rows(full: bool) -> list[dict[str, object]]:
    """One row a set, space and method."""
    rows: list[dict[str, object]] = []
    for dataset in SETS:
        for space in SPACES:
            made = space_rows(dataset, space)
            if made is None:
                continue
            groups, junk = groups_of(made)
            start = time.process_time()
            found = loop_rows(
                f"{dataset}, {space}", made.X, groups, junk,
                seeds=(0, 1, 2) if full else (0, 1), each=2 if full else 1,
                n_groups=None if full else 12,
            )  # fmt: skip
            rows += [
                {"set": dataset, "space": space, **{key: one[key] for key in _SHOWN}}
                for one in found
                if not str(one["method"]).startswith(_LEFT_OUT)
            ]
            print(f"{dataset} {space}: {time.process_time() - start:.0f} s", flush=True)
    return rows


def main(seed: int = 0, full: bool = False) -> None:
    report = harness.Report(
        "deep-loop",
        "The loop on deep spaces",
        "FULL" if full else "default size",
        {"seed": seed, "least pictures a group": _FEW},
        page="loop",
    )
    heading = "mAP on pictures not yet seen (told), and of the whole (frozen)"
    report.add(heading, deep_loop_rows(full))
    report.write()


if __name__ == "__main__":
    options = harness.arguments(__doc__ or "")
    main(options.seed, options.full)
