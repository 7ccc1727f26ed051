"""From 100 to 100,000 objects: CPU time to a test error, L-BFGS and AdaGrad beside SVRG-SBB.

All run on the same compiled gradient; so what differs is the way of stepping.  The peer has a file
of its own (``ordinal_peers``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.ordinal.data import Split, planted
from benchmarks.ordinal.runs import TITLES, warm, watched
from likewise_methods.ordinal.losses import loss_of
from likewise_methods.ordinal.objective import Problem, pad

Row = dict[str, object]
P, TEST = 10, 20_000
GOAL = 0.055
SIZES = (100, 1_000, 10_000, 100_000)
SOLVERS = ("svrg-sbb", "sgd", "adagrad", "lbfgs")
BUDGETS = {"svrg-sbb": 91.0, "sgd": 60.0, "adagrad": 60.0, "lbfgs": 200.0}
DASH = "—"


def section(seed: int, full: bool) -> dict[str, Any]:
    """Time to the goal at every size, and the cost of a comparison."""
    for loss in ("gnmds", "ste"):
        warm(loss, P)
    facts: list[Row] = []
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
    return {"facts": facts, "costs": costs}


def tables(found: Mapping[str, Any]) -> list[Any]:
    """The section's tables, from its facts."""
    out: list[Any] = []
    for n in SIZES:
        rows = shown([r for r in found["facts"] if r["n"] == n])
        out.append([f"{n:,} objects, {100 * n:,} comparisons: the way to {GOAL}", rows])
    return [
        *out,
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
        "there": int(np.sum(reached)),
        "starts": repeats,
    }


def shown(found: list[Row]) -> list[Row]:
    """The same as a table, with the ratio to L-BFGS on the same loss where both got there."""
    rows = []
    for row in found:
        rival = next(r for r in found if r["solver"] == "lbfgs" and r["loss"] == row["loss"])
        ratio: object = DASH
        if row["reached"] and rival["reached"]:
            ratio = three(float(str(row["seconds"])) / float(str(rival["seconds"])))
        spent = float(str(row["passes"])) >= BUDGETS[str(row["solver"])]
        missed = "budget spent" if spent else "converged above it"
        missed = f"no, {row['there']} of {row['starts']}: {missed}"
        rows.append(
            {
                "loss": TITLES[str(row["loss"])],
                "solver": row["solver"],
                "CPU s": three(row["seconds"]),
                "passes": row["passes"],
                "test error at the end": f"{float(str(row['error'])):.4f}",
                "reached": "yes" if row["reached"] else missed,
                "time / L-BFGS's": ratio,
            }
        )
    return rows


def three(value: object) -> float:
    """Three digits."""
    return float(f"{float(str(value)):.3g}")


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
