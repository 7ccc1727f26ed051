"""What every benchmark needs: CPU time, memory, a description of the machine, tables on disk.

A benchmark gives its rows to a :class:`Report`.  It writes every table to
``docs/results/NAME.csv``, records size, machine and parameters in ``runs.csv``, and updates the
blocks of the page.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import mmap
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages

RESULTS = Path("docs/results")
RUNS = "runs.csv"
"""One row for the tables of a report that were measured together."""

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "opencv-python-headless")


@dataclass(frozen=True)
class Timing:
    """CPU seconds of repeated calls."""

    seconds: Sequence[float]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def p99(self) -> float:
        return float(np.quantile(self.seconds, 0.99))

    @property
    def total(self) -> float:
        return float(np.sum(self.seconds))


def cpu_times(call: Callable[[Any], object], inputs: Sequence[Any], *, warm_up: int = 1) -> Timing:
    """CPU time of ``call`` on each input.  The first ``warm_up`` inputs run once before, untimed:
    compilation and first-touch costs belong elsewhere."""
    for item in inputs[:warm_up]:
        call(item)
    seconds = []
    for item in inputs:
        start = time.process_time()
        call(item)
        seconds.append(time.process_time() - start)
    return Timing(seconds)


def cpu_times_in_turn(
    calls: Mapping[str, Callable[[Any], object]], inputs: Sequence[Any], *, block: int = 10
) -> dict[str, Timing]:
    """CPU time of several rivals on each input, a few inputs of one after a few of the other.

    Memory is shared with whatever else runs on the machine, so that a busy minute would count
    against whom it meets; taken in turn, all meet the same.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for first in range(0, len(inputs), block):
        for name, call in calls.items():
            seconds[name] += cpu_times(call, inputs[first : first + block]).seconds
    return {name: Timing(found) for name, found in seconds.items()}


def cache_dir() -> Path:
    """Where benchmarks keep what is costly to make again: ``LIKEWISE_CACHE``, else the user's."""
    named = os.environ.get("LIKEWISE_CACHE")
    root = Path(named) if named else Path("~/.cache/likewise")
    root = root.expanduser()
    root.mkdir(parents=True, exist_ok=True)
    return root


def resident() -> int:
    """Bytes of memory this process holds now (0 where the system does not tell)."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE if status.exists() else 0


def peak() -> int:
    """The most bytes this process ever held (0 where the system does not tell).

    Not ``ru_maxrss``, which a child takes over from the process that started it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def processor() -> str:
    """Return the processor and the number of cores."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores (shared), one thread"


def machine() -> str:
    """Return processor, cores, Python and library versions in one line."""
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{processor()}; Python {platform.python_version()}, {', '.join(versions)}"


def in_process(module: str, what: str, *arguments: str) -> dict[str, Any]:
    """One measurement of a benchmark in a fresh interpreter, so that memory and caches are its own.

    The module is run with ``--child what ...`` and prints its answer as JSON on the last line.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, "--child", what, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} {arguments} failed:\n{done.stderr}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def arguments_with_parts(
    description: str, parts: Sequence[str], given: Sequence[str] | None = None
) -> argparse.Namespace:
    """The arguments of a benchmark whose page is renewed in parts: those named, all if none is."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}; all if none is named")
    parser.add_argument("--full", action="store_true", help="paper size instead of default size")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given)
    if unknown := set(options.parts) - set(parts):
        parser.error(
            f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(parts)}"
        )
    options.parts = options.parts or list(parts)
    return options


def arguments(description: str) -> argparse.Namespace:
    """The options all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--full", action="store_true", help="paper size instead of default size")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


@dataclass
class Report:
    """The tables of a benchmark, with the size and the machine they were measured at.

    ``name`` names the CSV file, ``page`` the page if it has another name.  ``left_out`` says what
    could not be measured here and why: data that is missing, peers that are not installed.
    """

    name: str
    title: str
    size: str
    parameters: dict[str, object] = field(default_factory=dict)
    sections: list[tuple[str, list[dict[str, object]]]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    page: str = ""

    def __post_init__(self) -> None:
        # Check the page before hours of work, not after.
        pages.blocks(_text(RESULTS / self._page_name()))

    def add(self, heading: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Add one table: a heading and rows with the same keys."""
        self.sections.append((heading, [dict(row) for row in rows]))

    def write(self, folder: Path | None = None) -> Path:
        """Write all tables to NAME.csv, update the page, and return the page's path.

        Tables that this run did not measure stay as they are, in the CSV file and on the page.
        """
        folder = RESULTS if folder is None else folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self._page_name()
        old = _text(path)
        earlier = self._write_csv(folder / f"{self.name}.csv")
        self._record_run(folder / RUNS)
        shown = [name for name in earlier if f"table: {name}" in pages.blocks(old)]
        new = {f"run: {self.name}": self._run(shown)}
        new |= {f"table: {heading}": table(rows) for heading, rows in self.sections}
        path.write_text(pages.update(old, new) if old else pages.draft(self.title, new))
        sys.stdout.write(pages.draft(self.title, new))
        return path

    def _page_name(self) -> str:
        return f"{self.page or self.name}.md"

    def _run(self, earlier: Sequence[str]) -> list[str]:
        """Return the lines of the run block; parameters and versions are in ``runs.csv``."""
        lines = [f"Size: {self.size}. Machine: {processor()}. [Details]({RUNS})."]
        if self.left_out:
            lines.append(f"Left out: {'; '.join(self.left_out)}.")
        if earlier:
            lines.append(f"From an earlier run: {'; '.join(earlier)}.")
        return lines

    def _write_csv(self, path: Path) -> list[str]:
        """Write the tables and return the names of those kept from earlier runs."""
        made = {name for name, _ in self.sections}
        lines: list[dict[str, object]] = [
            {key: value for key, value in row.items() if value}
            for row in read_csv(path)
            if row["table"] not in made
        ]
        earlier = list(dict.fromkeys(str(line["table"]) for line in lines))
        lines += [{"table": name, **row} for name, rows in self.sections for row in rows]
        _write_rows(path, lines)
        return earlier

    def _record_run(self, path: Path) -> None:
        """Record this run in ``runs.csv``; a table belongs to the last run that measured it."""
        made = [name for name, _ in self.sections]
        lines: list[dict[str, object]] = []
        for row in read_csv(path):
            tables = row["tables"].split(_BETWEEN)
            if row["report"] == self.name:
                tables = [name for name in tables if name not in made]
            if tables:
                lines.append({**row, "tables": _BETWEEN.join(tables)})
        if made:
            lines.append(
                {
                    "report": self.name,
                    "tables": _BETWEEN.join(made),
                    "date": datetime.now(UTC).date().isoformat(),
                    "size": self.size,
                    "machine": machine(),
                    "parameters": ", ".join(f"{k} {v}" for k, v in self.parameters.items()),
                    "left out": "; ".join(self.left_out),
                }
            )
        _write_rows(path, sorted(lines, key=lambda line: str(line["report"])))


_BETWEEN = " | "


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write_rows(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    keys = dict.fromkeys(key for line in lines for key in line)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(keys) or ["table"])
        writer.writeheader()
        writer.writerows(lines)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def table(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Rows with the same keys as lines of a Markdown table."""
    if not rows:
        return ["(nothing measured)"]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = [f"| {' | '.join(keys)} |", "|" + "---|" * len(keys)]
    lines += [f"| {' | '.join(_cell(row.get(key, '')) for key in keys)} |" for row in rows]
    return lines


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
