"""The rooms that compute, tested under several processors' arithmetic: ``make test-machines``.

BLAS, faiss, OpenCV, numpy and numba each choose code for the processor they find, and each adds
up in another order; a test that passes with one order only proves nothing to anybody else.  All of
them can be told to choose otherwise.  A *machine* is such a set of switches; under each of them
pytest runs once in a process of its own, and so does ``tests.same_bits``, whose digests must be
the same everywhere.  onnxruntime has no such switch: what it computes is tested as it is.

The last result is kept in ``docs/results/machines.md``, with ``machines.csv`` beside it.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "machines"
RESULTS = ROOT / "docs" / "results"

ROOMS = (
    "tests/methods",
    "tests/product/vision",
    "tests/product/collection/test_folding.py",
    "tests/product/collection/test_models.py",
    "tests/product/collection/test_pooled.py",
    "tests/product/collection/test_storage.py",
)
"""Where numbers are made or compared.  The others (pages, commands, files, readers) compute with
these rooms or not at all, and start processes by the dozen."""

MORE = (
    "tests/product/collection/test_backfills.py",
    "tests/lab/test_classifier.py",
    "tests/product/collection/test_collection.py",
    "tests/product/collection/test_comparing.py",
    "tests/product/collection/test_deep.py",
    "tests/product/collection/test_history.py",
    "tests/product/collection/test_learned.py",
    "tests/product/collection/test_loop.py",
    "tests/product/collection/test_metric_gate.py",
    "tests/product/collection/test_parts.py",
    "tests/product/collection/test_tags.py",
    "tests/product/collection/test_tags_calibrating.py",
    "tests/product/collection/test_tags_confirming.py",
    "tests/product/collection/test_tags_suggesting.py",
)
"""What computes with those rooms, tested once: where all libraries are switched."""

LEFT_OUT = (
    "tests/product/vision/test_deep_weights.py",
    "tests/methods/index/test_files.py",
    "tests/methods/index/test_hostile_files.py",
    "tests/methods/neighbours/test_container.py",
)
"""Files of those rooms that are about bytes on disk, and slow."""

PROMISES = (
    "rankings and scores of the index, in every layout",
    "scores of dense rows, and rankings of all of them",
    "a profile's weights, folded from its judgements",
)
"""What ``tests.same_bits`` has a digest of each."""

AVX512_SKX = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
"""What OpenCV calls by this name."""

LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "opencv-python-headless", "onnxruntime",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A name, what it stands for, the switches, the processor feature it cannot do without, and
    what is tested there beyond the rooms."""

    name: str
    what: str
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = None
    more: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of one machine; ``died`` says how pytest ended if not with a summary, ``broken``
    why there are no digests, ``same_as`` which machine this one turned out to be (its tests are
    then not run again)."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: Sequence[str] = ()
    died: str = ""
    broken: str = ""
    same_as: str = ""
    seconds: float = 0.0
    promises: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        wrong = self.failed or self.died or self.broken
        return not wrong and (self.passed > 0 or bool(self.same_as))


def all_machines(numpy_features: Sequence[str] = (), flags: Collection[str] = ()) -> list[Machine]:
    """Every machine there is; ``numpy_features`` are those that numpy would dispatch to here,
    ``flags`` the processor's own."""
    blas = [
        ("Prescott", "SSE3", None),
        ("Sandybridge", "AVX", "avx"),
        ("Haswell", "AVX2", "avx2"),
        ("Zen", "AVX2", "avx2"),
        ("SkylakeX", "AVX-512", "avx512f"),
    ]
    # An empty list of features: with the name alone numba would still take those of the host.
    numba = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    # Wheels of before 1.13 take the first, later ones (one library, chosen inside) the second.
    faiss = {"FAISS_OPT_LEVEL": "generic", "FAISS_SIMD_LEVEL": "NONE"}
    numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features)} if numpy_features else {}
    # It complains in every process, at any level, of names that the processor does not have.
    wide = ",AVX512-COMMON,AVX512-SKX" if set(flags) >= AVX512_SKX else ""
    opencv = {
        "OPENCV_CPU_DISABLE": f"SSSE3,SSE4.1,POPCNT,SSE4.2,AVX,FP16,AVX2,FMA3{wide}",
        "OPENCV_IPP": "disabled",
        # It would warn of that in every process.
        "OPENCV_LOG_LEVEL": "ERROR",
    }
    plainest = {"OPENBLAS_CORETYPE": "Prescott", **numba, **faiss, **numpy, **opencv}
    return [
        Machine("as it is", "what every library chooses by itself"),
        *(
            Machine(core.lower(), f"OpenBLAS as for {core} ({what})",
                    {"OPENBLAS_CORETYPE": core}, needs)
            for core, what, needs in blas
        ),
        Machine("numba generic", "kernels compiled for any x86-64 (SSE2)", numba),
        Machine("libraries plain", "faiss without SIMD, numpy and OpenCV at their baselines",
                {**faiss, **numpy, **opencv}),
        Machine("plainest", "all of the plain ones at once", plainest, more=MORE),
    ]  # fmt: skip


def possible(machines: Sequence[Machine], flags: set[str]) -> tuple[list[Machine], list[Machine]]:
    """Those that a processor with these features can imitate, and the others."""
    can = [one for one in machines if one.needs is None or one.needs in flags]
    return can, [one for one in machines if one not in can]


def processor() -> tuple[str, set[str]]:
    """Its kind and its features, as far as the system tells."""
    kind, flags = platform.processor() or platform.machine(), set[str]()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.is_file() else ():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            kind = value.strip()
        elif name.strip() == "flags":
            flags = set(value.split())
    return kind, flags


def dispatched() -> list[str]:
    """The features numpy has code for beyond its baseline, of those this processor has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def read_summary(text: str) -> tuple[dict[str, int], list[str]]:
    """Counts by outcome, and the tests that failed, from what pytest printed.

    >>> read_summary("FAILED tests/a.py::test_b - assert 1 == 2\\n1 failed, 3 passed in 0.10s")
    ({'failed': 1, 'passed': 3}, ['tests/a.py::test_b'])
    """
    failures = re.findall(
        r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\])?)(?: - .*)?$", text, re.MULTILINE
    )
    counts: dict[str, int] = {}
    lines = [line for line in text.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)]
    for number, what in re.findall(r"(\d+) ([a-z]+)", lines[-1].split(" in ")[0]) if lines else ():
        counts[what] = int(number)
    return counts, list(dict.fromkeys(failures))


def settings_of(machine: Machine) -> dict[str, str]:
    """The environment of a machine's processes: nobody else's switches, and one thread each.

    Compiled kernels have a folder of their own where they differ, lest one takes the other's.
    """
    switches = {name for one in all_machines(["any"]) for name in one.environment}
    made = {name: value for name, value in os.environ.items() if name not in switches}
    made |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **machine.environment}
    if "NUMBA_CPU_NAME" in machine.environment:
        made["NUMBA_CACHE_DIR"] = str(KEPT / "kernels")
    return made


def run(machine: Machine, paths: Sequence[str], *, workers: int, root: Path = ROOT) -> Outcome:
    """pytest over ``paths`` in a process of its own."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rfE", "--tb=short", "--durations=20",
         "-p", "no:cacheprovider", "-n", str(workers), "-k", "not compiles_nothing",
         *(f"--ignore={path}" for path in LEFT_OUT), *paths],
        cwd=root, env=settings_of(machine), capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = sum(os.times()[2:4]) - sum(before[2:4])  # of children that ended
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{machine.name.replace(' ', '-')}.log").write_text(done.stdout + done.stderr)
    counts, failures = read_summary(done.stdout)
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    died = ""
    if done.returncode not in (0, 1) or not counts or (done.returncode == 1 and not failed):
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        died = f"pytest ended with {ended}"
    return Outcome(
        machine.name,
        counts.get("passed", 0),
        failed,
        counts.get("skipped", 0),
        failures,
        died,
        seconds=round(seconds, 1),
    )


def promised(machine: Machine) -> dict[str, Any]:
    """Digests of what must be the same bits everywhere, and what the libraries ran on; or, as
    ``broken``, why there are none: that they fail alike everywhere must not count as the same."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.same_bits"],
        cwd=ROOT, env=settings_of(machine), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = done.stderr.strip().splitlines() or ["nothing was said"]
        broken = f"tests.same_bits ended with code {done.returncode}: {said[-1]}"
        return {"promises": {}, "seen": {}, "broken": broken}
    found: dict[str, Any] = json.loads(lines[-1])
    missing = [name for name in PROMISES if not found["promises"].get(name)]
    return {**found, "broken": f"no digest of {'; '.join(missing)}" if missing else ""}


def source() -> str:
    """What was tested: a digest of every Python file of package and tests."""
    made = hashlib.sha256()
    for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        made.update(path.read_bytes())
    return made.hexdigest()


def kept(machine: Machine, paths: Sequence[str]) -> Outcome | None:
    """The outcome of an earlier run over the same source and paths."""
    path = KEPT / f"{machine.name.replace(' ', '-')}.json"
    if not path.is_file():
        return None
    record = json.loads(path.read_text())
    same = (record.pop("source"), record.pop("paths")) == (source(), list(paths))
    outcome = Outcome(**record) if same else None
    return None if outcome is not None and outcome.broken else outcome


def outcome_of(
    machine: Machine,
    paths: Sequence[str],
    workers: int,
    *,
    resume: bool,
    earlier: Sequence[Outcome] = (),
) -> Outcome:
    """One machine, run now or (``resume``) taken from an earlier run of the same source.

    Where a switch changes nothing here (OpenBLAS as for Zen on a Zen), the libraries say so.
    """
    known = kept(machine, paths) if resume else None
    if known is not None:
        return known
    found = promised(machine)
    # What could not be asked is nobody's twin.
    same = [] if found["broken"] else [one for one in earlier if one.seen == found["seen"]]
    twin = next((one.name for one in same if not one.broken), "")
    outcome = Outcome(machine.name, same_as=twin) if twin else run(machine, paths, workers=workers)
    outcome = Outcome(**{**asdict(outcome), **found})
    KEPT.mkdir(parents=True, exist_ok=True)
    record = {**asdict(outcome), "source": source(), "paths": list(paths)}
    (KEPT / f"{machine.name.replace(' ', '-')}.json").write_text(json.dumps(record, indent=1))
    return outcome


def differing(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Promise to the machines whose digest is not that of the first."""
    names = dict.fromkeys(name for one in outcomes for name in one.promises)
    return {
        name: [
            one.name for one in outcomes if one.promises.get(name) != outcomes[0].promises.get(name)
        ]
        for name in names
    }


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


_LIMITS = (
    "- arm64, which rounds in ways of its own: all of these are x86-64 processors.",
    "- Real processors: one machine imitates the others by the settings of its libraries.",
    "- Kernels that changed after this run.",
)


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what the tables show and what it means for a user."""
    ran = [one for one in outcomes if not one.same_as]
    wrong = [one.name for one in ran if one.died or one.failed]
    bits = differing(outcomes)
    kept = [name for name, others in bits.items() if not others]
    broken = [name for name in bits if name not in kept]
    holds = [f"{ran[0].passed:,} tests pass on {len(ran) - len(wrong)} of {len(ran)} processors"]
    holds += [f"the same bits on all of them: {', '.join(kept)}"] if kept else []
    fails = [f"Something fails on {', '.join(wrong)}."] if wrong else []
    fails += [f"Bits differ: {', '.join(broken)}."] if broken else []
    return [
        f"**What holds.** {'; '.join(holds)}.",
        "",
        f"**What does not.** {' '.join(fails) or 'Nothing failed.'}",
        "",
        "**For you.** A collection ranks alike on another computer of this kind, and judgements",
        "give the same weights. What BLAS learns (metrics, maps, fitted spaces) agrees within the",
        "rounding of sums.",
        "",
    ]


def rendered(
    machines: Sequence[Machine],
    outcomes: Sequence[Outcome],
    left_out: Sequence[Machine],
    paths: Sequence[str],
    about: str,
    tested: str,
) -> str:
    """The page of results; ``tested`` says which source, and when."""
    by_name = {one.name: one for one in machines}
    lines = [
        "# The tests under the arithmetic of several processors",
        "",
        *summary(outcomes),
        "`make test-machines` (`tests/machines.py`) makes each library choose its code for another",
        "processor and runs the numerical tests in a process of their own.",
        "",
        f"Machine: {about}.",
        "",
        f"Source: {tested}.",
        "",
        f"Tested: {', '.join(f'`{path}`' for path in paths)}; without "
        f"{', '.join(f'`{path}`' for path in LEFT_OUT)} and the tests of the compiler's cache.",
        *(
            f"On {one.name} also {', '.join(f'`{path}`' for path in one.more)}."
            for one in machines
            if one.more
        ),
        "",
    ]
    lines += [f"Not run: {one.what}; this processor has no `{one.needs}`." for one in left_out]
    lines += ["", "## Tests", ""]
    header = ["machine", "what it is", "passed", "failed", "skipped", "CPU s"]
    rows = []
    for one in outcomes:
        what = by_name[one.name].what
        counts: list[Any] = [one.passed, one.died or one.failed, one.skipped, f"{one.seconds:.0f}"]
        if one.same_as:
            counts = [f"as {one.same_as!r}", "", "", ""]
        rows.append([one.name, what, *counts])
    lines += [*table(header, rows), "", "## Failures", ""]
    failures = [f"- {one.name}: `{name}`" for one in outcomes for name in one.failures]
    failures += [f"- {one.name}: `{one.broken}`" for one in outcomes if one.broken]
    lines += [*(failures or ["None."]), "", "## The same bits on all of them", ""]
    rows = [
        [name, f"`{outcomes[0].promises.get(name, 'missing')}`",
         "the same on all" if not others else "differs on " + ", ".join(others)]
        for name, others in differing(outcomes).items()
    ]  # fmt: skip
    lines += table(["promise", "digest", f"on {len(outcomes)} machines"], rows)
    lines += ["", "Settings of each machine, and the code its libraries chose: "]
    lines[-1] += "[machines.csv](machines.csv)."
    lines += ["", "## What this does not show", "", *_LIMITS]
    return "\n".join(lines) + "\n"


def as_csv(
    machines: Sequence[Machine], outcomes: Sequence[Outcome], path: Path, source: str, day: str
) -> None:
    by_name = {one.name: one for one in machines}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["machine", "environment", "passed", "failed", "skipped", "died", "broken",
             "same_as", "cpu_seconds", "failures", "promises", "libraries", "source", "date"]
        )  # fmt: skip
        for one in outcomes:
            environment = ";".join(f"{k}={v}" for k, v in by_name[one.name].environment.items())
            digests = ";".join(f"{name}={value}" for name, value in one.promises.items())
            seen = ";".join(f"{name}={value}" for name, value in one.seen.items())
            writer.writerow(
                [one.name, environment, one.passed, one.failed, one.skipped, one.died, one.broken,
                 one.same_as, one.seconds, ";".join(one.failures), digests, seen, source, day]
            )  # fmt: skip


def versions() -> str:
    known = {dist.metadata["Name"].lower() for dist in importlib.metadata.distributions()}
    found = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES if name in known]
    return f"Python {platform.python_version()}, {', '.join(found)}"


def told(outcome: Outcome) -> str:
    """An outcome in a line, and a line for each failure."""
    if outcome.same_as:
        return f"{outcome.name}: changes nothing here, the same as {outcome.same_as!r}"
    state = outcome.died or f"{outcome.failed} failed"
    first = (
        f"{outcome.name}: {outcome.passed} passed, {state}, {outcome.skipped} skipped, "
        f"{outcome.seconds:.0f} s of CPU"
    )
    return "\n  ".join([first, *outcome.failures, *([outcome.broken] if outcome.broken else [])])


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("paths", nargs="*", default=list(ROOMS), help="what pytest is given")
    parser.add_argument("--only", action="append", help="a machine by name; can be repeated")
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest")
    parser.add_argument(
        "--resume", action="store_true", help="take earlier outcomes of the same source"
    )
    given = parser.parse_args(arguments)
    kind, flags = processor()
    machines = all_machines(dispatched(), flags)
    can, left_out = possible(machines, flags)
    unknown = set(given.only or ()) - {one.name for one in can}
    if unknown:
        parser.error(f"no such machine here: {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(one.name for one in can)}")  # fmt: skip
    # As it is now: whoever edits while the machines run has tested something else.
    digest, day = source()[:16], datetime.now(UTC).date().isoformat()
    outcomes: list[Outcome] = []
    for machine in can:
        if given.only and machine.name not in given.only:
            continue
        paths = [*given.paths, *machine.more] if list(given.paths) == list(ROOMS) else given.paths
        outcome = outcome_of(machine, paths, given.workers, resume=given.resume, earlier=outcomes)
        outcomes.append(outcome)
        say(told(outcome))
    wrong = [f"{what}: {', '.join(who)}" for what, who in differing(outcomes).items() if who]
    for line in wrong:
        say(f"not the same bits: {line}")
    # A page of results is about all machines and all rooms, or it is not written.
    if not given.only and list(given.paths) == list(ROOMS):
        about = f"{kind}, {os.cpu_count()} cores (shared); {versions()}"
        RESULTS.mkdir(parents=True, exist_ok=True)
        tested = f"`{digest}` (`tests.machines.source`), {day}"
        page = rendered(machines, outcomes, left_out, given.paths, about, tested)
        (RESULTS / "machines.md").write_text(page)
        as_csv(machines, outcomes, RESULTS / "machines.csv", digest, day)
    return 0 if not wrong and all(one.good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
