"""CPU time of whole commands, each in a process of its own.

``python -m benchmarks.first_minute.start`` makes two collections as ``likewise add`` leaves them:
1,000 planted views, ranked by ``look``, and 200, ranked by ``deep`` since ``look`` is not learned
yet.  Every command is run once untimed, so that bytecode is kept, and then in turn with the others.
In the young collection nothing is kept of kernels: a first judgement must not wait for a compiler.
``--against SRC`` names the ``src`` folder of another checkout, measured between the same commands.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import likewise
from benchmarks import harness
from likewise.collection.collection import Collection
from likewise_lab.evaluation.planted import scenes, write_planted

SIZES = (1_000, 200)
YOUNG = 200
LIMIT = 0.5
COMMANDS = (
    "--help",
    "info",
    "search 1",
    "search 1 --by deep-dense",
    "judge 1 --liked 2 --disliked 150",
    "search 2",
    "learned",
    "log",
    "undo",
    "tags",
    "problems",
)
"""In this order a round leaves everything as it was, but for two lines of the log; ``search 2`` is
asked once something was judged."""
FLOOR = "Python with NumPy and typer, nothing done"
_COMMAND = "from likewise.cli import main; main()"
# With an argument: typer imports what it checks them with for the first one.
_FLOOR = """
import numpy, typer
app = typer.Typer()
@app.command()
def nothing(k: int = 1): pass
app()
"""


def make_collection(folder: Path, count: int) -> None:
    """``photos.lw`` in a folder."""
    # One view of each scene more than fits; the last ones are left out.
    write_planted(folder / "pictures", -(-count // len(scenes())))
    for path in sorted((folder / "pictures").glob("*.jpg"))[count:]:
        path.unlink()
    with Collection.create(folder / "photos.lw") as col:
        col.add(folder / "pictures")
        assert len(col) > 0.9 * count
        assert bool(col.spaces["look"].generation) == (count > YOUNG)
        col.tag(1, "astronaut")


def cpu_of(
    source: Path, folder: Path, kernels: Path | None, code: str, arguments: Sequence[str] = ()
) -> float:
    """CPU seconds, of the system too, of one process from its start to its end.

    ``kernels`` is where compiled ones are kept, if not where they always are.
    """
    keep = {k: v for k, v in os.environ.items() if not k.endswith(("_THREADS", "BYTECODE"))}
    if kernels is not None:
        keep["NUMBA_CACHE_DIR"] = str(kernels)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**keep, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{arguments} failed:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(
    sources: Mapping[str, Path], folder: Path, rounds: int
) -> dict[tuple[str, str, int], list[float]]:
    """CPU seconds by command, source and size; each source has a copy of each collection."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for name in sources:
        for size in SIZES:
            place = folder / name / str(size)
            place.mkdir(parents=True)
            shutil.copytree(folder / str(size) / "photos.lw", place / "photos.lw")
    for number in range(rounds + 1):
        for command in (FLOOR, *COMMANDS):
            for name, source in sources.items():
                for size in SIZES:
                    code, given = (_FLOOR, []) if command == FLOOR else (_COMMAND, command.split())
                    kernels = folder / f"kernels-{number}-{name}-{len(found)}"
                    seconds = cpu_of(
                        source, folder / name / str(size), kernels if size == YOUNG else None,
                        code, given,
                    )  # fmt: skip
                    if number:
                        found.setdefault((command, name, size), []).append(seconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="SRC", help="src of another checkout")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    sources = {"now": Path(likewise.__file__).parents[1]}
    if given.against is not None:
        sources = {"before": given.against.resolve(), **sources}
    report = harness.Report(
        "first-minute-start",
        "The first minute: the start of a command",
        " and ".join(f"{size:,}" for size in SIZES) + " planted views",
        {"rounds": given.rounds, "asked for": f"less than {LIMIT} CPU s"},
        page="first-minute",
    )
    with tempfile.TemporaryDirectory(prefix="likewise-start-") as temporary:
        folder = Path(temporary)
        for size in SIZES:
            (folder / str(size)).mkdir()
            make_collection(folder / str(size), size)
        found = measure(sources, folder, given.rounds)
    rows: list[dict[str, object]] = []
    for command in (FLOOR, *COMMANDS):
        row: dict[str, object] = {"likewise": command}
        for size in SIZES:
            for name in sources:
                of = f"{size:,} pictures" + (f", {name}" if len(sources) > 1 else "")
                row[f"{of}, CPU s"] = round(float(np.median(found[command, name, size])), 3)
                row[f"{of}, least"] = round(min(found[command, name, size]), 3)
        rows.append(row)
    report.add("CPU seconds of a command", rows)
    report.write()


if __name__ == "__main__":
    main()
