"""``make bench-siso-speed``: the lasso over all tagged pictures, against others and against n.

One thread and CPU time throughout (wall time where threads are compared); every gap is computed
again in float64 over all columns from the coefficients returned.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.siso.data import N_REAL, Tagged, enlarged, pictures
from benchmarks.siso.growth import draw, growth
from benchmarks.siso.peers import PEERS, available, judged, run_peer, versions
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso

Row = dict[str, object]

ALPHAS = (0.1, 0.02, 0.002)
LARGE = 162_000
# Wanted at alpha = .002 against celer with its default tolerance: at least, and the goal.


def ours(D: Dictionary, Q: Any, alpha: float, solver: str = "homotopy") -> Row:
    """The engine on a batch; kernels and threads are warm."""
    lasso(D, Q[:2], alpha=0.3, solver=solver)
    start = time.process_time()
    codes = lasso(D, Q, alpha=alpha, solver=solver)
    seconds = time.process_time() - start
    made: Row = {"solver": f"Likewise, {solver}", "ms a picture": 1e3 * seconds / len(Q)}
    made |= judged(D, Q, codes.x, codes.gamma)
    rounds: object = round(float(codes.rounds.mean()), 1)
    if not codes.converged.all():
        rounds = f"{rounds} (not converged: {int((~codes.converged).sum())})"
    return made | {"rounds": rounds, "pictures": len(Q)}


def spectral(n: int, n_queries: int, seed: int, width: int = 428) -> Tagged:
    """Gaussian rows whose spectrum falls like i^-1/2: nearly every dimension counts, so that the
    support comes close to the width, the hard case for any solver."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.standard_normal((width, width)))
    falling = (np.arange(1, width + 1) ** -0.5)[:, None] * axes
    rows = rng.standard_normal((n + n_queries, width), np.float32) @ falling.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Tagged(rows[:n], np.zeros(n, np.int64), rows[n:], 1, False)


def table(data: Tagged, n_ours: int, n_peers: int, peers: Any) -> list[Row]:
    """All solvers at all alphas on one dictionary, in turns: a busy minute meets all of them."""
    D = Dictionary([data.X])
    A = np.asfortranarray(data.X.T)
    Q = data.Q[:n_ours].astype(np.float64)
    made: list[Row] = []
    for alpha in ALPHAS:
        turns: dict[str, list[Row]] = {}
        asked = [p for p in peers if available(p) and p.runs(len(data.X), alpha)]
        for turn in range(max([1, *(peer.turns for peer in asked)])):
            turns.setdefault("ours", []).append(ours(D, Q, alpha))
            for peer in asked:
                if turn < peer.turns:
                    few = not peer.name.startswith("celer, float32, default")
                    n = 1 if few else max(1, n_peers // peer.turns)
                    row = run_peer(peer, D, A, data.Q, alpha, n, turn * n)
                    turns.setdefault(peer.name, []).append(row)
        rows = [together(each) for each in turns.values()]
        rows[0]["pictures"] = n_ours
        ms = float(str(rows[0]["ms a picture"]))
        for row in rows:
            times = round(float(str(row["ms a picture"])) / ms, 1)
            made.append({"columns": len(data.X), "alpha": alpha, **row, "times ours": times})
            print(made[-1], flush=True)
    return made


def together(turns: list[Row]) -> Row:
    """One row of several turns: mean times and non-zeros, the largest gap, pictures of all."""
    numbers = {
        key: [float(str(row[key])) for row in turns] for key in ("ms a picture", "non-zeros")
    }
    return turns[0] | {
        "ms a picture": float(np.mean(numbers["ms a picture"])),
        "relative gap": max(float(str(row["relative gap"])) for row in turns),
        "non-zeros": round(float(np.mean(numbers["non-zeros"])), 1),
        "pictures": sum(int(str(row["pictures"])) for row in turns),
    }


def sub_solvers(data: Tagged, n_queries: int) -> list[Row]:
    """The three solvers for working sets; coordinate descent on fewer pictures at small alpha."""
    D = Dictionary([data.X])
    made: list[Row] = []
    for alpha in ALPHAS:
        for solver in ("homotopy", "feature-sign", "cd"):
            n = n_queries if solver != "cd" or alpha > 0.01 else 2
            made.append({"alpha": alpha, **ours(D, data.Q[:n].astype(np.float64), alpha, solver)})
            print(made[-1], flush=True)
    return made


def threads(data: Tagged, n_queries: int) -> list[Row]:
    """Wall time with one and with two threads, best of three."""
    D = Dictionary([data.X])
    Q = data.Q[:n_queries].astype(np.float64)
    made: list[Row] = []
    for n_jobs in (1, 2):
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            lasso(D, Q, n_jobs=n_jobs)
            best = min(best, time.perf_counter() - start)
        made.append({"threads": n_jobs, "wall ms a picture": 1e3 * best / len(Q)})
    first, second = (float(str(r["wall ms a picture"])) for r in made)
    made[0]["speed-up"], made[1]["speed-up"] = 1.0, round(first / second, 2)
    return made


PARTS = ("pictures", "large", "gaussian", "solvers", "threads", "growth")


def main() -> None:
    options = harness.arguments_with_parts(__doc__ or "", PARTS)
    full, parts = options.full, options.parts
    real = pictures()
    large = enlarged(real, LARGE, options.seed) if {"large", "threads"} & set(parts) else real
    report = harness.Report(
        "siso-speed",
        "SISO: a lasso over all tagged pictures, for many queries at once",
        "full" if full else "default",
        {"alpha": "0.1, 0.02, 0.002", "tol": 1e-4, "expand": 100, "width": 428} | versions(),
    )
    n_ours, n_peers = (400, 20) if full else (192, 6)
    if "pictures" in parts:
        rows = table(real, n_ours, n_peers, PEERS)
        report.add("28,000 CIFAR-10 pictures, holistic features", rows)
    if "large" in parts:
        rows = table(large, n_ours, n_peers, PEERS)
        report.add("162,000 rows: those pictures and generated ones like them", rows)
    if "gaussian" in parts:
        rows = table(spectral(N_REAL, n_ours, options.seed), n_ours, n_peers, PEERS[:2])
        report.add("28,000 Gaussian rows, support near 428", rows)
    if "solvers" in parts:
        report.add("Solvers for the working set, 28,000 pictures", sub_solvers(real, 32))
    if "threads" in parts:
        report.add("Two threads, 162,000 rows, alpha = .002", threads(large, n_ours))
        report.parameters["load while threads were compared"] = round(os.getloadavg()[0], 1)
    if "growth" in parts:
        sizes = (10_000, 28_000, 100_000, 300_000, 1_000_000)
        grown = growth(real, sizes, 0.002, sizes[-1] if full else 300_000, 32, options.seed)
        report.add("Time against the number of pictures, alpha = .002", grown)
        draw(grown)
    missing = sorted({peer.package for peer in PEERS if not available(peer)})
    if missing:
        report.left_out.append(f"{', '.join(missing)} (not installed)")
    report.write()


if __name__ == "__main__":
    main()
