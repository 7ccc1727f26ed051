"""Which solver a name means, and how long each works by default."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.solvers.ordinal_batch import solve_batch, solve_lbfgs
from likewise.solvers.ordinal_convex import solve_convex
from likewise.solvers.ordinal_online import solve_online
from likewise.solvers.ordinal_problem import Problem, Solved, Watch
from likewise.solvers.ordinal_svrg import solve_svrg

# Default epochs.
EPOCHS = {
    "svrg-sbb": 30,
    "svrg": 30,
    "sgd": 60,
    "adagrad": 30,
    "batch": 200,
    "lbfgs": 200,
    "convex": 100,
}


def solve(
    problem: Problem,
    start: NDArray[np.float64],
    rng: np.random.Generator,
    settings: dict[str, Any],
    watch: Watch | None = None,
) -> Solved:
    """Run the solver that ``settings`` name, from ``start``."""
    name, loss = settings["solver"], settings["loss"]
    step, batch = settings["step"], settings["batch"]
    shared = {"epochs": settings["epochs"], "tol": settings["tol"], "watch": watch}
    if name == "svrg-sbb":
        return solve_svrg(
            problem, start, rng=rng, epsilon=settings["epsilon"], step=step, batch=batch, **shared
        )
    if name == "svrg":
        fixed = loss.svrg_step * batch if step is None else step
        return solve_svrg(
            problem, start, rng=rng, barzilai=False, step=fixed, batch=batch, **shared
        )
    if name in ("sgd", "adagrad"):
        adaptive = name == "adagrad"
        # A step of a batch stands for as many single ones.
        default = loss.adagrad_step(start.shape[1]) if adaptive else loss.sgd_step * batch
        return solve_online(
            problem,
            start,
            rng=rng,
            step=default if step is None else step,
            adaptive=adaptive,
            batch=batch,
            **shared,
        )
    if name == "batch":
        return solve_batch(problem, start, step=step, **shared)
    if name == "lbfgs":
        return solve_lbfgs(problem, start, **shared)
    return solve_convex(problem, start, step=step, **shared)
