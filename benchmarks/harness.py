"""What every benchmark needs: CPU time, memory, the machine in words, a table on disk.

A benchmark gives its rows to a :class:`Report`, which puts them as tables into
``docs/results/NAME.md``, between sentences written by hand, with ``NAME.csv`` beside it.
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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages

RESULTS = Path("docs/results")

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


def machine() -> str:
    """Processor, cores, Python and library versions in one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return (
        f"{model}, {os.cpu_count()} cores (shared), one thread; "
        f"Python {platform.python_version()}, {', '.join(versions)}"
    )


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
    """Tables with their circumstances; ``write`` leaves them in docs/results.

    A table's name is the heading it gets when it first appears on the page.  ``left_out`` names
    what could not be measured here and why: data that is missing, peers that are not installed.
    """

    name: str
    title: str
    size: str
    parameters: dict[str, object] = field(default_factory=dict)
    sections: list[tuple[str, list[dict[str, object]]]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A page that cannot be written should be told before hours of work, not after.
        pages.blocks(_text(RESULTS / f"{self.name}.md"))

    def add(self, heading: str, rows: Sequence[Mapping[str, object]]) -> None:
        """One table: a heading and rows with the same keys."""
        self.sections.append((heading, [dict(row) for row in rows]))

    def write(self, folder: Path | None = None) -> Path:
        """Renew the tables in NAME.md and NAME.csv; gives the page's path.

        Tables of the page that this run did not measure stay, in both files, and are named.
        """
        folder = RESULTS if folder is None else folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.md"
        old = _text(path)
        made = {heading: table(rows) for heading, rows in self.sections}
        kept = [name for name in pages.blocks(old) if name not in (*made, pages.RUN)]
        self._write_csv(path.with_suffix(".csv"), kept)
        page = pages.renewed(old, self.title, {pages.RUN: self._run(kept), **made})
        path.write_text(page)
        sys.stdout.write(page)
        return path

    def _run(self, kept: Sequence[str]) -> list[str]:
        lines = [f"Size: {self.size}.", f"Machine: {machine()}."]
        if self.parameters:
            settings = ", ".join(f"{key} {value}" for key, value in self.parameters.items())
            lines.append(f"Parameters: {settings}.")
        if self.left_out:
            lines.append(f"Left out: {'; '.join(self.left_out)}.")
        if kept:
            lines.append(f"From an earlier run: {'; '.join(kept)}.")
        return lines

    def _write_csv(self, path: Path, kept: Sequence[str]) -> None:
        lines: list[dict[str, object]] = []
        if path.exists():
            with path.open(newline="") as file:
                lines += [
                    {key: value for key, value in row.items() if value}
                    for row in csv.DictReader(file)
                    if row["table"] in kept
                ]
        lines += [{"table": name, **row} for name, rows in self.sections for row in rows]
        keys = dict.fromkeys(key for line in lines for key in line)
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(keys) or ["table"])
            table.writeheader()
            table.writerows(lines)


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
