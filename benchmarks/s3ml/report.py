"""S3ML beside its rivals: few labels, retrieval, the sparse inverse, propagation to a million rows.

``make bench-s3ml`` measures every part; ``python -m benchmarks.s3ml --parts uci,retrieval``
measures some and takes the others as they were last measured on this machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.deep.rows import task_of
from benchmarks.s3ml import defaults as s3ml_defaults
from benchmarks.s3ml import many_pairs as s3ml_pairs
from benchmarks.s3ml import propagation as s3ml_propagation
from benchmarks.s3ml import retrieval as s3ml_retrieval
from benchmarks.s3ml import uci as s3ml_uci
from benchmarks.s3ml.figure import draw
from benchmarks.s3ml.sice import report as s3ml_sice

PARTS = (
    "uci", "retrieval", "propagation", "pairs", "sice", "second", "third", "hard", "defaults",
)  # fmt: skip
Part = dict[str, Any]
CONCEPTS = {"corel1k": 10, "caltech101": 10}


def uci(full: bool, seed: int) -> Part:
    """1-NN error with 5 % of the labels."""
    n_draws = 200 if full else 50
    outcomes = {}
    for table in s3ml_uci.tables():
        outcomes[table.name] = s3ml_uci.measure(table, n_draws, seed)
        print(table.name, s3ml_uci.rows({table.name: outcomes[table.name]}), flush=True)
    return {
        "size": f"{n_draws} draws",
        "sections": [
            (f"1-NN error %, 5 % of the labels, {n_draws} draws", s3ml_uci.rows(outcomes)),
            (
                "S3ML against others, paired by draw, points of error",
                s3ml_uci.paired_rows(outcomes),
            ),
            ("CPU ms of a fit", s3ml_uci.seconds_rows(outcomes)),
        ],
        "errors": {
            name: {method: errors.tolist() for method, errors in outcome.errors.items()}
            for name, outcome in outcomes.items()
        },
    }


def retrieval(full: bool, seed: int) -> Part:
    """Average precision with pairs from a fifth of the pictures."""
    n_draws = 20 if full else 10
    # Ten draws of ITML and SDML would take the whole benchmark beyond half an hour.
    peer_draws = 20 if full else 2
    outcomes, names = {}, {}
    for dataset, count in CONCEPTS.items():
        for kind in ("moments", "deep"):
            data = s3ml_retrieval.pictures(dataset, kind)
            if data is None:
                continue
            every = np.unique(data.labels)
            some = every if full else every[:: max(1, len(every) // count)][:count]
            outcomes[data.name] = s3ml_retrieval.measure(data, some, n_draws, peer_draws, seed)
            names[data.name] = [_classes(dataset)[c] for c in some]
            print(data.name, s3ml_retrieval.rows({data.name: outcomes[data.name]}), flush=True)
    counts = ", ".join(f"{count} concepts of {name}" for name, count in _concepts(names).items())
    heading = f"MAP %, pairs from a fifth of the pictures, {n_draws} draws, {counts}"
    return {
        "size": f"{n_draws} draws, "
        + ", ".join(f"{name}: {len(some)} concepts" for name, some in names.items()),
        "sections": [
            (heading, s3ml_retrieval.rows(outcomes)),
            ("AP % by concept", s3ml_retrieval.concept_rows(outcomes, names)),
            ("CPU ms of a fit, retrieval", s3ml_retrieval.seconds_rows(outcomes)),
            (
                "Retrieval: zeros off the diagonal of S3ML's metric, %",
                [{name: round(100 * found.sparsity) for name, found in outcomes.items()}],
            ),
        ],
        "precision": {
            name: {method: found.tolist() for method, found in outcome.precision.items()}
            for name, outcome in outcomes.items()
        },
    }


def _concepts(names: dict[str, list[str]]) -> dict[str, int]:
    """How many concepts of each set."""
    return {name.partition(",")[0]: len(some) for name, some in names.items()}


def _classes(dataset: str) -> list[str]:
    """Names of the classes in the order of their numbers."""
    task = task_of(dataset)
    assert task is not None
    return list(dict.fromkeys(query.group for query in task.queries))


def propagation(full: bool, seed: int) -> Part:
    """Time and memory of T."""
    del full, seed
    rows = s3ml_propagation.measure(s3ml_propagation.sizes())
    return {
        "size": "1,000 to 1,000,000 rows",
        "sections": [("T from 1,000 to 1,000,000 rows", rows)],
        "rows": rows,
    }


def pairs(full: bool, seed: int) -> Part:
    """Fits with thousands of pairs."""
    del full, seed
    return {
        "size": "50,000 to 1,000,000 rows, 4,400 and 10,000 pairs",
        "sections": [
            ("S3ML with many pairs, neighbours included", s3ml_pairs.fits()),
            ("T of many pairs against the full matrix", s3ml_pairs.errors()),
            ("Many small blocks, l1 = 0.1", s3ml_pairs.blocks()),
        ],
    }


def _sparse_inverse(add: Callable[[harness.Report, bool], None], full: bool) -> Part:
    """Tables of the sparse inverse covariance, measured by its own module."""
    report = harness.Report("s3ml-sice", "", "")
    add(report, full)
    return {"size": "see its table", "sections": report.sections, "left_out": report.left_out}


def sice(full: bool, seed: int) -> Part:
    """Known problems."""
    del seed
    return _sparse_inverse(s3ml_sice.add_first, full)


def second(full: bool, seed: int) -> Part:
    """Problems that no constant was chosen on, drawn by a seed of their own."""
    del seed
    return _sparse_inverse(s3ml_sice.add_second, full)


def third(full: bool, seed: int) -> Part:
    """Problems drawn after the second set had been looked at."""
    del seed
    return _sparse_inverse(s3ml_sice.add_third, full)


def hard(full: bool, seed: int) -> Part:
    """Ill-conditioned problems, and 10,000 variables in blocks."""
    del seed
    return _sparse_inverse(s3ml_sice.add_hard, full)


def defaults(full: bool, seed: int) -> Part:
    """How the default settings were chosen."""
    n_draws = 20 if full else 6
    heading = f"Settings of S3ML on other data, error relative to Euclid, {n_draws} draws"
    rows = s3ml_defaults.rows(n_draws, seed)
    return {"size": f"{n_draws} draws", "sections": [(heading, rows)]}


MEASURE = {
    "uci": uci,
    "retrieval": retrieval,
    "propagation": propagation,
    "pairs": pairs,
    "sice": sice,
    "second": second,
    "third": third,
    "hard": hard,
    "defaults": defaults,
}


def part(name: str, full: bool, seed: int, again: bool) -> Part:
    """A part measured now, or as it was last measured with this size and seed."""
    kept = harness.cache_dir() / f"s3ml-{name}-{'full' if full else 'default'}-{seed}.json"
    if again:
        start = time.process_time()
        found: Part = MEASURE[name](full, seed)
        found["cpu"] = time.process_time() - start
        found["measured"] = datetime.now(UTC).date().isoformat()
        kept.write_text(json.dumps(found))
    if not kept.exists():
        return {"size": _said(name), "sections": []}
    read: Part = json.loads(kept.read_text())
    # Parts of before they were stamped: the day their file was written.
    written = datetime.fromtimestamp(kept.stat().st_mtime, UTC).date().isoformat()
    read.setdefault("measured", written)
    return read


def _said(name: str) -> str:
    """Return the recorded size of a part that was measured elsewhere; its tables stay, too."""
    sizes = [
        part
        for row in harness.read_csv(harness.RESULTS / harness.RUNS)
        if row["report"] == "s3ml"
        for part in row["size"].split("; ")
    ]
    found = [part.removeprefix(f"{name}: ") for part in sizes if part.startswith(f"{name}: ")]
    return found[0] if found else "not measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="paper size instead of default size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure now")
    options = parser.parse_args()
    asked = options.parts.split(",") if options.parts else []
    parts = {name: part(name, options.full, options.seed, name in asked) for name in PARTS}
    report = harness.Report(
        "s3ml",
        "S3ML: a sparse metric from a few pairs",
        "; ".join(f"{name}: {found['size']}{_when(found)}" for name, found in parts.items()),
        {"seed": options.seed, "metric-learn": _version(), **s3ml_sice.versions()},
    )
    for found in parts.values():
        for heading, rows in found["sections"]:
            report.add(heading, rows)
        report.left_out += found.get("left_out", [])
    if all(parts[name]["sections"] for name in ("uci", "retrieval", "propagation")):
        draw(parts)
    report.write()


def _when(found: Part) -> str:
    return f" (measured on {found['measured']})" if "measured" in found else ""


def _version() -> str:
    try:
        return importlib.metadata.version("metric-learn")
    except importlib.metadata.PackageNotFoundError:
        return "0.7.0, in an environment of its own"
