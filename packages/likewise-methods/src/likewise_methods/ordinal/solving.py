"""Which solver a name means, how long each works by default, and what it takes of the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.ordinal.solver.batch import solve_batch, solve_lbfgs
from likewise_methods.ordinal.solver.convex import solve_convex
from likewise_methods.ordinal.solver.online import solve_online
from likewise_methods.ordinal.solver.problem import Problem, Solution, Watch
from likewise_methods.ordinal.solver.svrg import solve_svrg

Floats = NDArray[np.float64]
# What is left to a solver's own default is None (step, epsilon).
Settings = dict[str, Any]
Run = Callable[..., Solution]


class Solver(NamedTuple):
    """``run(problem, start, rng, settings, **shared)``, its epochs by default, and whether the
    threads of BLAS are of use to it."""

    run: Run
    epochs: int
    blas_threads: bool = False


def _svrg_sbb(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    taken = {name: settings[name] for name in ("epsilon", "step", "batch")}
    return solve_svrg(problem, start, rng=rng, **taken, **shared)


def _svrg(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    # A step of a batch stands for as many single ones.
    step, batch = settings["step"], settings["batch"]
    fixed = settings["loss"].svrg_step * batch if step is None else step
    return solve_svrg(problem, start, rng=rng, barzilai=False, step=fixed, batch=batch, **shared)


def _sgd(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    step, batch = settings["step"], settings["batch"]
    fixed = settings["loss"].sgd_step * batch if step is None else step
    return solve_online(problem, start, rng=rng, step=fixed, batch=batch, **shared)


def _adagrad(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    step, batch = settings["step"], settings["batch"]
    first = settings["loss"].adagrad_step(start.shape[1]) if step is None else step
    return solve_online(problem, start, rng=rng, step=first, adaptive=True, batch=batch, **shared)


def _batch(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    return solve_batch(problem, start, step=settings["step"], **shared)


def _lbfgs(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    return solve_lbfgs(problem, start, **shared)


def _convex(
    problem: Problem, start: Floats, rng: np.random.Generator, settings: Settings, **shared: Any
) -> Solution:
    return solve_convex(problem, start, step=settings["step"], **shared)


SOLVERS = {
    "svrg-sbb": Solver(_svrg_sbb, 30),
    "svrg": Solver(_svrg, 30),
    "sgd": Solver(_sgd, 60),
    "adagrad": Solver(_adagrad, 30),
    "batch": Solver(_batch, 200),
    "lbfgs": Solver(_lbfgs, 200),
    # Eigenvectors of a large matrix; the others' products are of a few thousand numbers, where
    # threads would only wait for each other.
    "convex": Solver(_convex, 100, blas_threads=True),
}


def solve(
    problem: Problem,
    start: Floats,
    rng: np.random.Generator,
    settings: Settings,
    watch: Watch | None = None,
) -> Solution:
    """Run the solver that ``settings`` name, from ``start``."""
    shared = {"epochs": settings["epochs"], "tol": settings["tol"], "watch": watch}
    return SOLVERS[settings["solver"]].run(problem, start, rng, settings, **shared)
