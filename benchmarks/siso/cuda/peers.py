"""``make bench-siso-cuda-peers``: the lasso on the device, beside others on the same machine.

The same call on the machine's processor, and FISTA over all columns on the device.  A part of the
page of ``bench-siso-cuda``.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from benchmarks.siso.cuda.fista import run_fista
from benchmarks.siso.cuda.report import ours
from benchmarks.siso.cuda.words import ALPHA, EXPAND, TOL, begin, sizes
from benchmarks.siso.peers import judged
from likewise_cuda.solve import on_device
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso

Row = dict[str, object]
TABLE = "Others on the same machine, alpha = .002"
SHOWN = ("ms a picture", "relative gap", "non-zeros", "rounds", "pictures")


def processor(D: Dictionary, Q: Any, threads: int) -> Row:
    """The same call on the processor of the same machine."""
    lasso(D, Q[:threads], alpha=0.3, n_jobs=threads)
    start = time.perf_counter()
    codes = lasso(D, Q, alpha=ALPHA, tol=TOL, expand=EXPAND, n_jobs=threads)
    seconds = time.perf_counter() - start
    row: Row = {"columns": D.n, "solver": f"Likewise, processor, {threads} threads"}
    row |= {"ms a picture": 1e3 * seconds / len(Q), **judged(D, Q, codes.x, codes.gamma)}
    row |= {"rounds": float(codes.rounds.mean()), "pictures": len(Q)}
    print(row, flush=True)
    return row


def main() -> None:
    report, seed = begin(__doc__ or "")
    threads = os.cpu_count() or 1
    rows: list[Row] = []
    for data, D, _ in sizes(seed):
        Q = data.Q.astype(np.float64)
        mine = ours(D, Q, ALPHA)
        name = {"columns": D.n, "solver": f"Likewise, {report.parameters['device']}"}
        made = [name | {key: mine[key] for key in SHOWN}]
        made.append(processor(D, Q[: 4 * threads], threads))
        made.append(run_fista(on_device(D), Q[:64], ALPHA, 5_000 if D.n < 100_000 else 1_000))
        first = float(str(made[0]["ms a picture"]))
        rows += [
            row | {"times ours": round(float(str(row["ms a picture"])) / first, 1)} for row in made
        ]
    report.add(TABLE, rows)
    report.write()


if __name__ == "__main__":
    main()
