"""Against cblearn: the time to its own test error, and plain fits of both to their default ends.

A solver that is stopped the moment it reaches another's error has been told when to stop, which
nobody tells it in earnest.  So there are two tables: how long ours needs to get as far, and what a
plain ``fit`` costs and gives, theirs beside ours.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.ordinal.data import Split, error_of, planted
from benchmarks.ordinal.runs import TITLES, warm
from benchmarks.ordinal.scale import DASH, TEST, P, measured, three
from likewise_methods.ordinal.embedding import OrdinalEmbedding

Row = dict[str, object]
SIZES = (100, 1_000, 10_000)
LOSSES = ("gnmds", "ste")
# Ours in the table of plain fits: the default solver, and the two it is usually compared with.
PLAIN = ("svrg-sbb", "adagrad", "lbfgs")
ABSENT = "cblearn (not installed; see peer_python)"
# CPU seconds that cblearn gets for one fit, at default size and at full size.
LIMITS = (60, 1_200)


def section(seed: int, full: bool) -> dict[str, Any]:
    """Both tables up to the size at which cblearn no longer ends."""
    for loss in LOSSES:
        warm(loss, P)
    raced: list[Row] = []
    plain: list[Row] = []
    here = peer_python() is not None
    for n in SIZES:
        split = planted(n, P, 100 * n, TEST, seed)
        said = {}
        for loss in LOSSES if here else ():
            if n <= 1_000 or loss == "gnmds" or full:
                said[loss] = cblearn(split, loss, LIMITS[full])
                raced.append(race(split, loss, said[loss]))
        plain += plain_fits(split, said)
    return {"raced": raced, "plain": plain, "left_out": [] if here else [ABSENT]}


def tables(found: Any) -> list[Any]:
    """The section's tables."""
    return [
        ["Against cblearn: ours stopped at its test error", found["raced"]],
        ["Against cblearn: plain fits, each to its own default end", found["plain"]],
    ]


def peer_python() -> str | None:
    """An interpreter that has cblearn: this one, ``LIKEWISE_CBLEARN``, or a venv in the cache."""
    if importlib.util.find_spec("cblearn"):
        return sys.executable
    named = os.environ.get("LIKEWISE_CBLEARN")
    kept = harness.cache_dir() / "ordinal-peers" / "venv" / "bin" / "python"
    for candidate in (named, str(kept)):
        if candidate and Path(candidate).exists():
            return candidate
    return None


def cblearn(split: Split, loss: str, limit: int) -> dict[str, Any]:
    """One fit of cblearn in its own process: CPU seconds, error, version; or why it failed."""
    python = peer_python()
    assert python is not None
    script = Path(__file__).with_name("cblearn_child.py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "train.npy", Path(folder) / "points.npy"
        np.save(source, split.train.astype(np.int64))
        # -P: files beside the script are not modules to import.
        told = [loss, str(P), str(split.n), str(limit), str(source), str(target)]
        done = subprocess.run(
            [python, "-P", str(script), *told], capture_output=True, text=True, check=False
        )
        if done.returncode == -signal.SIGXCPU:
            return {"failed": f"no end within {limit}"}
        if done.returncode:
            return {"failed": " ".join(done.stderr.strip().splitlines()[-1:])}
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return {**said, "error": error_of(np.load(target), split.test)}


def race(split: Split, loss: str, said: dict[str, Any]) -> Row:
    """cblearn's time and error, and our fastest to the same error (or better)."""
    n = split.n
    if "failed" in said:
        return {"objects": n, "cblearn": TITLES[loss], "its CPU s": said["failed"]}
    ours = [
        measured(split, ours_loss, solver, said["error"], _starts(n))
        for ours_loss, solver in (("gnmds", "adagrad"), ("ste", "adagrad"),
                                  ("ste", "svrg-sbb"), (loss, "lbfgs"))
    ]  # fmt: skip
    there = [r for r in ours if r["reached"]]
    best = min(there, key=lambda r: float(str(r["seconds"]))) if there else None
    sbb = next(r for r in ours if r["solver"] == "svrg-sbb")
    return {
        "objects": n,
        "cblearn": f"{TITLES[loss]} {said['version']}",
        "its CPU s": three(said["seconds"]),
        "its test error": three(said["error"]),
        "our best": f"{TITLES[str(best['loss'])]} {best['solver']}" if best else "none",
        "CPU s": three(best["seconds"]) if best else "never",
        "test error": three(best["error"]) if best else "",
        "times faster": _times(said["seconds"], best["seconds"]) if best else "",
        "svrg-sbb STE, CPU s": three(sbb["seconds"]) if sbb["reached"] else "never",
        "svrg-sbb, times faster": _times(said["seconds"], sbb["seconds"]) if sbb["reached"] else "",
    }


def plain_fits(split: Split, said: dict[str, dict[str, Any]]) -> list[Row]:
    """A row for cblearn with each loss, and below it ours with the same loss."""
    rows: list[Row] = []
    for loss in LOSSES:
        head: Row = {"objects": split.n, "loss": TITLES[loss]}
        theirs = said.get(loss)
        if theirs is not None and "failed" in theirs:
            rows.append({**head, "library": "cblearn", "ended": theirs["failed"]})
        elif theirs is not None:
            rows.append(
                {
                    **head,
                    "library": f"cblearn {theirs['version']}",
                    "solver": "its default",
                    "CPU s": three(theirs["seconds"]),
                    "test error": f"{theirs['error']:.4f}",
                    "ended": "its default end",
                    "times faster": 1.0,
                }
            )
        for solver in PLAIN:
            own = plain_fit(split, loss, solver)
            rows.append(
                {
                    **head,
                    "library": "likewise",
                    "solver": solver,
                    "CPU s": three(own["seconds"]),
                    "test error": f"{own['error']:.4f}",
                    "ended": own["ended"],
                    "times faster": faster(own, theirs),
                }
            )
    return rows


def plain_fit(split: Split, loss: str, solver: str) -> dict[str, Any]:
    """CPU seconds, test error and end of a fit with all defaults, the median of some starts."""
    seconds, errors, ended = [], [], ""
    for seed in range(_starts(split.n)):
        model = OrdinalEmbedding(P, loss=loss, solver=solver, random_state=seed)
        start = time.process_time()
        model.fit(split.train, split.n)
        seconds.append(time.process_time() - start)
        errors.append(error_of(model.embedding_, split.test))
        ended = model.ended_
    middle = {"seconds": float(np.median(seconds)), "error": float(np.median(errors))}
    return {**middle, "ended": ended.capitalize() if ended.isupper() else ended}


def faster(own: dict[str, Any], theirs: dict[str, Any] | None) -> object:
    """How many times faster, where ours is at least as good."""
    if theirs is None or "failed" in theirs or own["error"] > theirs["error"]:
        return DASH
    return _times(theirs["seconds"], own["seconds"])


def _times(theirs: Any, ours: Any) -> float:
    return round(float(theirs) / float(ours), 1)


def _starts(n: int) -> int:
    return 3 if n <= 1_000 else 1
