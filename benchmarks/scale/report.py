"""The page: each size built and measured, how the figures grow, what a million pictures cost."""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import harness
from benchmarks.scale.generate import generate
from likewise.catalog import segments as seg

SIZES, LARGEST = (10_000, 100_000, 1_000_000), 10_000_000
SPACES = ("look", "words")
WARM_UP = 1_000
MACHINES = (16, 64, 256)
"""Gigabytes of memory, for where one machine ends."""
_GROWING = (
    "build CPU s", "graph CPU s", "bytes a picture", "open ms", "first answer ms", "search p50 ms",
    "judged and answered ms", "search meanwhile ms", "own MB", "mapped MB",
)  # fmt: skip

Row = dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="ten million pictures, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", help="other numbers of pictures, separated by commas")
    parser.add_argument("--spaces", default=",".join(SPACES))
    parser.add_argument("--work", type=Path, help="where collections are built and figures kept")
    options = parser.parse_args()
    sizes = list(SIZES) + [LARGEST] * options.full
    if options.sizes:
        sizes = [int(size) for size in options.sizes.split(",")]
    report = harness.Report(
        "scale",
        "How large is large",
        f"{', '.join(f'{n:,}' for n in sizes)} generated pictures"
        + (" (FULL)" if options.full else ""),
        {"seed": options.seed, "k": 20},
    )
    with tempfile.TemporaryDirectory(prefix="likewise-scale-", dir=options.work) as folder:
        for space in options.spaces.split(","):
            one_size(space, Path(folder), WARM_UP, options.seed)  # kernels are compiled once
            rows = [kept(space, Path(folder), n, options.seed, options.work) for n in sizes]
            report.add(f"{space}: one machine", rows)
            report.add(f"{space}: how each grows", growth(rows))
            if len(rows) > 1:
                report.add(f"{space}: a million pictures", [a_million(*rows[-2:])])
                report.add(f"{space}: where one machine ends", ends(*rows[-2:]))
    report.write()


def kept(space: str, folder: Path, n: int, seed: int, work: Path | None) -> Row:
    """The figures of one size.

    Ten million pictures take hours: in a folder that was named, each size is written down as soon
    as it is measured, and a run that was stopped goes on from there.
    """
    place = work / f"{space}-{n}-{seed}.json" if work else None
    if place and place.exists():
        found: Row = json.loads(place.read_text())
        return found
    row = one_size(space, folder, n, seed)
    if place:
        place.write_text(json.dumps(row))
    return row


def one_size(space: str, folder: Path, n: int, seed: int) -> Row:
    """Build one collection, open it in a process of its own, throw it away."""
    target = folder / f"{space}-{n}.lw"
    spent = generate(space, target, n, seed).seconds
    graph = sum(path.stat().st_size for path in (target / "words").glob("*-1-*"))
    rows = sum(p.stat().st_size for p in (target / seg.FOLDER).rglob("*") if p.is_file())
    catalog = (target / "catalog.sqlite").stat().st_size
    said = harness.in_process("benchmarks.scale", space, str(target), str(n))
    shutil.rmtree(target)
    return {
        "pictures": n,
        "build CPU s": spent["pictures"] + spent["rows"],
        "graph CPU s": spent["graph"] if graph else 0,
        "bytes a picture": round((catalog + rows + graph) / n),
        "of them catalog": round(catalog / n),
        "rows": round(rows / n),
        "graph": round(graph / n),
        **said,
    }


def growth(rows: Sequence[Mapping[str, object]]) -> list[Row]:
    """By which factor each figure grew from one size to the next."""
    made = []
    for smaller, larger in itertools.pairwise(rows):
        row: Row = {"from": smaller["pictures"], "to": larger["pictures"]}
        for key in _GROWING:
            before, after = smaller[key], larger[key]
            assert isinstance(before, int | float)
            assert isinstance(after, int | float)
            row[key.removesuffix(" ms").removesuffix(" MB")] = after / before if before else ""
        made.append(row)
    return made


def slope(smaller: Mapping[str, object], larger: Mapping[str, object], *keys: str) -> float:
    """What a further picture adds to the sum of some figures: libraries and such do not count."""
    more = float(str(larger["pictures"])) - float(str(smaller["pictures"]))
    return sum(float(str(larger[key])) - float(str(smaller[key])) for key in keys) / more


def a_million(smaller: Mapping[str, object], larger: Mapping[str, object]) -> Row:
    """What a million pictures cost, by what the last of those measured added."""
    return {
        "memory of its own GB": max(1e3 * slope(smaller, larger, "own MB"), 0.0),
        "pages of files in use GB": max(1e3 * slope(smaller, larger, "mapped MB"), 0.0),
        "disk GB": float(str(larger["bytes a picture"])) / 1e3,
        "build CPU min": 1e6 * slope(smaller, larger, "build CPU s") / 60,
        "graph CPU min": 1e6 * slope(smaller, larger, "graph CPU s") / 60,
    }


def ends(smaller: Mapping[str, object], larger: Mapping[str, object]) -> list[Row]:
    """Computed, not measured: pictures whose pages in use fit into half of the memory.

    In use are those that the searches touched; at worst, every page of rows and graph.  The other
    half is for the system, for other programs and for the next generation.
    """
    held = 1e6 * slope(smaller, larger, "own MB", "mapped MB")
    most = 1e6 * slope(smaller, larger, "own MB")
    most += sum(float(str(larger[key])) for key in ("rows", "graph"))
    made: list[Row] = []
    for gigabytes in MACHINES:
        n = gigabytes * 1e9 / 2 / held
        made.append(
            {
                "memory GB": gigabytes,
                "pictures, millions": n / 1e6,
                "with every page in use": gigabytes * 1e9 / 2 / most / 1e6,
                "disk GB": n * float(str(larger["bytes a picture"])) / 1e9,
            }
        )
    return made
