"""CPU time of whole commands, each in a process of its own.

``python -m benchmarks.first_minute.start`` makes a collection of 1,000 planted views with the
spaces deep-dense and look.  Every command is run once untimed, so that bytecode and kernels are
kept, and then in turn with the others.  ``--against SRC`` names the ``src`` folder of another
checkout, which is measured between the same commands.
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
from likewise.collection.store.changes import drop_space
from likewise.evaluation.planted import scenes, write_planted

PICTURES = 1_000
SPACES = ("deep-dense", "look")
LIMIT = 0.5
COMMANDS = (
    "--help",
    "info",
    "search 1",
    "search 1 --by look",
    "search 1 --by deep-dense",
    "judge 1 --liked 2 --disliked 300",
    "learned",
    "log",
    "undo",
    "tags",
    "problems",
)
"""In this order a round leaves everything as it was, but for two lines of the log."""
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


def make_collection(folder: Path) -> None:
    """``photos.lw`` in a folder."""
    # One view of each scene more than fits; the last ones are left out.
    write_planted(folder / "pictures", -(-PICTURES // len(scenes())))
    for path in sorted((folder / "pictures").glob("*.jpg"))[PICTURES:]:
        path.unlink()
    with Collection.create(folder / "photos.lw", deep=True) as col:
        others = [name for name in col.spaces if name not in SPACES]
        with col._store.write(durable=True) as c:
            for name in others:
                drop_space(c, name)
    with Collection.open(folder / "photos.lw") as col:
        col.add(folder / "pictures")
        assert len(col) > 0.9 * PICTURES
        assert set(col.spaces) == set(SPACES)
        col.tag(1, "astronaut")


def cpu_of(source: Path, folder: Path, code: str, arguments: Sequence[str] = ()) -> float:
    """CPU seconds, of the system too, of one process from its start to its end."""
    keep = {k: v for k, v in os.environ.items() if not k.endswith(("_THREADS", "BYTECODE"))}
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
) -> dict[tuple[str, str], list[float]]:
    """CPU seconds by command and source; each source has a copy of the collection."""
    found: dict[tuple[str, str], list[float]] = {}
    for name in sources:
        (folder / name).mkdir()
        shutil.copytree(folder / "photos.lw", folder / name / "photos.lw")
    for number in range(rounds + 1):
        for command in (FLOOR, *COMMANDS):
            for name, source in sources.items():
                code, given = (_FLOOR, []) if command == FLOOR else (_COMMAND, command.split())
                seconds = cpu_of(source, folder / name, code, given)
                if number:
                    found.setdefault((command, name), []).append(seconds)
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
        f"{PICTURES:,} planted views, spaces {' and '.join(SPACES)}",
        {"rounds": given.rounds, "asked for": f"less than {LIMIT} CPU s"},
    )
    with tempfile.TemporaryDirectory(prefix="likewise-start-") as temporary:
        folder = Path(temporary)
        make_collection(folder)
        found = measure(sources, folder, given.rounds)
    rows: list[dict[str, object]] = []
    for command in (FLOOR, *COMMANDS):
        row: dict[str, object] = {"likewise": command}
        for name in sources:
            row[f"{name}, CPU s"] = round(float(np.median(found[command, name])), 3)
            row[f"{name}, least"] = round(min(found[command, name]), 3)
        rows.append(row)
    report.add("CPU seconds of a command", rows)
    report.write()


if __name__ == "__main__":
    main()
