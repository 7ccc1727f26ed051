"""How much SBB_0 and SBB_eps depend on their first step: the printed algorithm, no guards."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.ordinal.data import planted
from benchmarks.ordinal.paper import BUDGET, TEST, TRIPLETS, N, P, diverged, quartiles
from benchmarks.ordinal.runs import LOSSES, TITLES, warm, watched

Row = dict[str, object]
FIRST = (0.001, 0.01, 0.05)
WAYS = {"SBB_eps": "svrg-sbb", "SBB_0": "svrg-sbb0"}


def section(seed: int, full: bool) -> dict[str, Any]:
    """Every loss from every first step, without and with the guards."""
    split = planted(N, P, TRIPLETS, TEST, seed)
    starts = 50 if full else 20
    rows: list[Row] = []
    for loss in LOSSES:
        warm(loss, P)
        for eta in FIRST:
            for name, method in WAYS.items():
                runs = [
                    watched(method, loss, split, P, s, budget=BUDGET,
                            options={"step": eta, "guarded": False})
                    for s in range(starts)
                ]  # fmt: skip
                # What a user of the printed algorithm gets: the last point, not the best.
                last = [r.test[-1] if np.isfinite(r.objective[-1]) else 1.0 for r in runs]
                gone = sum(diverged(r) for r in runs)
                rows.append(
                    {
                        "loss": TITLES[loss],
                        "first step": eta,
                        "method": name,
                        "starts diverged": f"{gone} of {starts}",
                        "largest jump of the step, worst start": _worst_jump(runs),
                        "test error of the last point": quartiles(last),
                        "of the best point": quartiles([r.test[r.best()] for r in runs]),
                    }
                )
    return {"tables": [["The first step decides whether SBB_0 survives (no guards)", rows]]}


def _worst_jump(runs: list[Any]) -> float:
    jumps = []
    for run in runs:
        eta = np.asarray(run.step[1:])
        eta = eta[np.isfinite(eta) & (eta > 0)]
        jumps.append(float(np.max(eta[1:] / eta[:-1])) if len(eta) > 1 else 1.0)
    return round(max(jumps), 1)
