"""From 100 to 100,000 objects: CPU time to a test error, against cblearn, L-BFGS and AdaGrad.

Everything but cblearn runs on the same compiled gradient; so what differs is the way of stepping.
"""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.bench.ordinal_data import Split, error_of, planted
from likewise.bench.ordinal_runs import TITLES, warm, watched
from likewise.ordinal.losses import loss_of
from likewise.solvers.ordinal_problem import Problem, pad

Row = dict[str, object]
P, TEST = 10, 20_000
GOAL = 0.055
SIZES = (100, 1_000, 10_000, 100_000)
SOLVERS = ("svrg-sbb", "sgd", "adagrad", "lbfgs")
BUDGETS = {"svrg-sbb": 91.0, "sgd": 60.0, "adagrad": 60.0, "lbfgs": 200.0}
# CPU seconds that cblearn gets for one fit, at default size and at full size.
PEER_LIMITS = (60, 1_200)


def section(seed: int, full: bool) -> dict[str, Any]:
    """Time to the goal at every size; cblearn where it can run."""
    for loss in ("gnmds", "ste"):
        warm(loss, P)
    facts, notes = [], []
    peers: list[Row] = []
    costs: list[Row] = []
    for n in SIZES:
        split = planted(n, P, 100 * n, TEST, seed)
        costs += cost_rows(split)
        repeats = 3 if n <= 1_000 else 1
        facts += [
            measured(split, loss, solver, GOAL, repeats)
            for loss in ("gnmds", "ste")
            for solver in SOLVERS
            # 10 million comparisons: some of the pairs are telling enough at default size.
            if full or n < 100_000 or (loss, solver) in BIG
        ]
        if n <= 10_000:
            rows, more = against_cblearn(split, PEER_LIMITS[full])
            peers += rows
            notes += more
    return {"facts": facts, "peers": peers, "costs": costs, "notes": notes}


def tables(found: Mapping[str, Any]) -> list[Any]:
    """The section's tables, from its facts."""
    out: list[Any] = []
    for n in SIZES:
        rows = shown([r for r in found["facts"] if r["n"] == n])
        out.append([f"{n:,} objects, {100 * n:,} comparisons: the way to {GOAL}", rows])
    return [
        *out,
        ["Against cblearn: the time to its own error", found["peers"]],
        ["Cost of one comparison, and what memory alone would cost", found["costs"]],
    ]


BIG = {("gnmds", "adagrad"), ("gnmds", "lbfgs"), ("ste", "svrg-sbb"), ("ste", "lbfgs")}


def measured(split: Split, loss: str, solver: str, goal: float, repeats: int) -> Row:
    """CPU seconds until the test error is at most ``goal``, the median of some starts."""
    runs = [
        watched(solver, loss, split, P, s, budget=BUDGETS[solver], goal=goal, sample=0)
        for s in range(repeats)
    ]
    reached = [r.test[-1] <= goal for r in runs]
    return {
        "n": split.n,
        "loss": loss,
        "solver": solver,
        "seconds": float(np.median([r.seconds[-1] for r in runs])),
        "passes": float(np.median([r.passes[-1] for r in runs])),
        "error": float(np.median([r.test[-1] for r in runs])),
        "reached": bool(np.all(reached)),
    }


def shown(found: list[Row]) -> list[Row]:
    """The same as a table, with the ratio to L-BFGS on the same loss."""
    rows = []
    for row in found:
        rival = next(r for r in found if r["solver"] == "lbfgs" and r["loss"] == row["loss"])
        ratio: object = _three(float(str(row["seconds"])) / float(str(rival["seconds"])))
        if not rival["reached"]:
            ratio = "L-BFGS never"
        spent = float(str(row["passes"])) >= BUDGETS[str(row["solver"])]
        missed = "no: budget spent" if spent else "no: converged above it"
        rows.append(
            {
                "loss": TITLES[str(row["loss"])],
                "solver": row["solver"],
                "CPU s": _three(row["seconds"]),
                "passes": row["passes"],
                "test error at the end": _three(row["error"]),
                "reached": "yes" if row["reached"] else missed,
                "time / L-BFGS's": ratio,
            }
        )
    return rows


def _three(value: object) -> float:
    return float(f"{float(str(value)):.3g}")


# -- the peer -------------------------------------------------------------------------------


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
    script = Path(__file__).with_name("ordinal_cblearn.py")
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


def against_cblearn(split: Split, limit: int) -> tuple[list[Row], list[str]]:
    """cblearn's time and error, and our fastest to the same error (or better)."""
    n = split.n
    if peer_python() is None:
        return [], [
            "cblearn: not installed.  It pins an older numpy; a venv of its own does: python -m "
            "venv DIR; DIR/bin/pip install cblearn; LIKEWISE_CBLEARN=DIR/bin/python."
        ]
    rows: list[Row] = []
    for loss in ("gnmds", "ste") if n <= 1_000 else ("gnmds",):
        said = cblearn(split, loss, limit)
        if "failed" in said:
            rows.append({"objects": n, "cblearn": TITLES[loss], "its CPU s": said["failed"]})
            continue
        ours = [
            measured(split, ours_loss, solver, said["error"], 3 if n <= 1_000 else 1)
            for ours_loss, solver in (("gnmds", "adagrad"), ("ste", "adagrad"),
                                      ("ste", "svrg-sbb"), (loss, "lbfgs"))
        ]  # fmt: skip
        there = [r for r in ours if r["reached"]]
        best = min(there, key=lambda r: float(str(r["seconds"]))) if there else None
        sbb = next(r for r in ours if r["solver"] == "svrg-sbb")
        rows.append(
            {
                "objects": n,
                "cblearn": f"{TITLES[loss]} {said['version']}",
                "its CPU s": _three(said["seconds"]),
                "its test error": _three(said["error"]),
                "our best": f"{TITLES[str(best['loss'])]} {best['solver']}" if best else "none",
                "CPU s": _three(best["seconds"]) if best else "never",
                "test error": _three(best["error"]) if best else "",
                "times faster": round(said["seconds"] / float(str(best["seconds"])), 1)
                if best
                else "",
                "svrg-sbb STE, CPU s": _three(sbb["seconds"]) if sbb["reached"] else "never",
                "svrg-sbb, times faster": round(said["seconds"] / float(str(sbb["seconds"])), 1)
                if sbb["reached"]
                else "",
            }
        )
    return rows, []


# -- cost of a comparison -------------------------------------------------------------------


def cost_rows(split: Split) -> list[Row]:
    """CPU ns a comparison of each kernel, and of the bytes it must move."""
    stream = copy_bandwidth()
    rows = []
    rng = np.random.default_rng(0)
    X = pad(rng.random((split.n, P)))
    for name in ("gnmds", "ste"):
        loss = loss_of(name, P)
        # A million are enough: what matters is how much room the points take.
        problem = Problem(split.train[:1_000_000], split.n, loss)
        G = np.empty_like(X)
        repeats = max(1, 1_000_000 // problem.size)
        gradient = _timed(lambda g=G, q=problem: q.gradient(X, g), repeats)
        value = _timed(lambda q=problem: q.value(X), repeats)
        room = np.empty((1, 2, X.shape[1]))
        nothing, squares = np.empty(0), np.zeros(split.n)

        def online(scales: Any, q: Problem = problem, r: Any = room) -> None:
            q.loss.kernels.online(X.copy(), scales, q.rows, q.loss.parameter, 1e-6, 0, 1, r)

        sgd = _timed(lambda o=online, z=nothing: o(z), repeats)
        ada = _timed(lambda o=online, z=squares: o(z), repeats)
        slope, done = np.zeros_like(X), np.zeros(split.n, np.int64)
        problem.gradient(X, slope)

        def inner(q: Problem = problem, s: Any = slope, d: Any = done, r: Any = room) -> None:
            d[:] = 0
            q.loss.kernels.svrg(
                X.copy(), X, s, d, q.rows, q.loss.parameter, 1e-6, q.size, np.uint64(1), r
            )

        svrg = _timed(inner, repeats)
        ns = 1e9 / problem.size
        # A gradient reads a comparison (12 bytes), three points, and reads and writes three rows.
        moved = 12 + 3 * 8 * X.shape[1] * 3
        rows.append(
            {
                "objects": split.n,
                "loss": TITLES[name],
                "points, MB": round(X.nbytes / 1e6, 2),
                "F, ns": round(value * ns, 1),
                "gradient, ns": round(gradient * ns, 1),
                "SGD step, ns": round(sgd * ns, 1),
                "AdaGrad step, ns": round(ada * ns, 1),
                "SVRG step (2 evaluations), ns": round(svrg * ns, 1),
                "bytes a gradient moves": moved,
                "at copying speed, ns": round(moved / stream * 1e9, 1),
                "gradient / bound": round(gradient * ns / (moved / stream * 1e9), 1),
            }
        )
    return rows


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of copying 256 MB: what memory gives one thread."""
    a = np.ones(16_000_000)
    b = np.empty_like(a)
    seconds = _timed(lambda: np.copyto(b, a), 5)
    return 2 * a.nbytes / seconds


def _timed(call: Any, repeats: int) -> float:
    """CPU seconds of a call, the median of three rounds after a first."""
    call()
    rounds = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(repeats):
            call()
        rounds.append((time.process_time() - start) / repeats)
    return float(np.median(rounds))
