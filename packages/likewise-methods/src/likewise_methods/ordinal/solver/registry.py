"""The table of solvers: ``OrdinalEmbedding(solver=NAME)`` runs the row NAME of ``SOLVERS``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likewise_methods.ordinal.objective import Floats, Problem, Solution
from likewise_methods.ordinal.solver.lbfgs import solve_lbfgs
from likewise_methods.ordinal.solver.online import solve_online
from likewise_methods.ordinal.solver.svrg import solve_svrg

Generator = np.random.Generator
# Checked parameters of the estimator; None leaves a value to the solver.
Settings = dict[str, Any]


class Solver(NamedTuple):
    """A solver ``run(problem, start, rng, settings, **shared)`` and its default epochs."""

    run: Callable[..., Solution]
    epochs: int


def _sbb(p: Problem, start: Floats, rng: Generator, given: Settings, **shared: Any) -> Solution:
    taken = {name: given[name] for name in ("epsilon", "step", "batch")}
    return solve_svrg(p, start, rng=rng, **taken, **shared)


def _svrg(p: Problem, start: Floats, rng: Generator, given: Settings, **shared: Any) -> Solution:
    # A step of a batch replaces as many single steps.
    step, batch = given["step"], given["batch"]
    fixed = given["loss"].svrg_step * batch if step is None else step
    return solve_svrg(p, start, rng=rng, barzilai=False, step=fixed, batch=batch, **shared)


def _sgd(p: Problem, start: Floats, rng: Generator, given: Settings, **shared: Any) -> Solution:
    step, batch = given["step"], given["batch"]
    fixed = given["loss"].sgd_step * batch if step is None else step
    return solve_online(p, start, rng=rng, step=fixed, batch=batch, **shared)


def _adagrad(p: Problem, start: Floats, rng: Generator, given: Settings, **shared: Any) -> Solution:
    step, batch = given["step"], given["batch"]
    first = given["loss"].adagrad_step(start.shape[1]) if step is None else step
    return solve_online(p, start, rng=rng, step=first, adaptive=True, batch=batch, **shared)


def _lbfgs(p: Problem, start: Floats, rng: Generator, given: Settings, **shared: Any) -> Solution:
    return solve_lbfgs(p, start, **shared)


SOLVERS = {
    "svrg-sbb": Solver(_sbb, 30),
    "svrg": Solver(_svrg, 30),
    "sgd": Solver(_sgd, 60),
    "adagrad": Solver(_adagrad, 30),
    "lbfgs": Solver(_lbfgs, 200),
}
