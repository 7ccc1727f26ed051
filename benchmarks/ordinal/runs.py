"""One run of one solver, watched: error and CPU time against gradient evaluations.

No solver grades itself: every error is recomputed from the points it had at that moment, and the
time the watching takes is not counted.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ordinal.data import Rows, Split, error_of
from benchmarks.ordinal.rivals import solve_batch, solve_convex
from likewise_methods.ordinal.losses import ComparisonLoss, loss_of
from likewise_methods.ordinal.objective import Problem, Record, Solution
from likewise_methods.ordinal.solver.lbfgs import solve_lbfgs
from likewise_methods.ordinal.solver.online import solve_online
from likewise_methods.ordinal.solver.svrg import solve_svrg

Floats = NDArray[np.float64]
LOSSES = ("gnmds", "ste", "tste", "ckl")
TITLES = {"gnmds": "GNMDS", "ste": "STE", "tste": "t-STE", "ckl": "CKL"}
MANY = 10_000  # epochs; the budget of evaluations ends a run


class Enough(Exception):
    """The budget is spent or the goal is reached."""


@dataclass
class Run:
    """The way of one run."""

    passes: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)
    train: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    ended: str = ""
    points: Floats | None = None

    def best(self, budget: float = np.inf) -> int:
        """Where F was lowest within a budget of passes: what the solver would have given back."""
        inside = [i for i, p in enumerate(self.passes) if p <= budget]
        values = [self.objective[i] if np.isfinite(self.objective[i]) else np.inf for i in inside]
        return inside[int(np.argmin(values))]

    def reached(self, goal: float, of: str = "train") -> int | None:
        """The first record whose error is at most ``goal``."""
        errors = self.train if of == "train" else self.test
        return next((i for i, e in enumerate(errors) if e <= goal), None)


@dataclass
class Watcher:
    """Takes the records of a solver."""

    split: Split
    sample: Rows
    budget: float
    goal: float
    run: Run = field(default_factory=Run)
    watching: float = 0.0
    started: float = field(default_factory=time.process_time)

    def __call__(self, record: Record, X: Floats) -> None:
        now = time.process_time()
        run = self.run
        run.seconds.append(now - self.started - self.watching)
        run.passes.append(record.evaluations / len(self.split.train))
        run.objective.append(record.objective)
        run.step.append(record.step)
        run.test.append(error_of(X, self.split.test))
        run.train.append(error_of(X, self.sample) if len(self.sample) else np.nan)
        self.watching += time.process_time() - now
        if run.passes[-1] >= self.budget or run.test[-1] <= self.goal:
            run.points = X.copy()
            raise Enough


def solve(
    method: str, problem: Problem, start: Floats, rng: np.random.Generator, **options: Any
) -> Solution:
    """A solver by its name in the tables' small language."""
    shared = {"epochs": MANY, "tol": 0.0, **options}
    if method == "svrg-sbb":
        return solve_svrg(problem, start, rng=rng, **shared)
    if method == "svrg-sbb0":
        return solve_svrg(problem, start, rng=rng, **{"epsilon": 0.0, **shared})
    if method == "svrg":
        return solve_svrg(problem, start, rng=rng, barzilai=False, **shared)
    if method in ("sgd", "adagrad"):
        return solve_online(problem, start, rng=rng, adaptive=method == "adagrad", **shared)
    if method == "batch":
        return solve_batch(problem, start, **shared)
    if method == "fixed":
        return solve_batch(problem, start, armijo=False, **shared)
    if method == "lbfgs":
        return solve_lbfgs(problem, start, **shared)
    return solve_convex(problem, start, **shared)


def watched(
    method: str,
    loss: str,
    split: Split,
    p: int,
    seed: int,
    *,
    budget: float,
    goal: float = -1.0,
    sample: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Run:
    """Run a solver from a random start in [0, 1]^p until a budget of passes or a test error.

    ``sample`` limits how many training comparisons are looked at for the training error.
    """
    rng = np.random.default_rng([seed, 77])
    start = rng.random((split.n, p))
    problem = Problem(split.train, split.n, loss_of(loss, p))
    watcher = Watcher(split, split.train[:sample], budget, goal)
    options = {**default_step(method, problem.loss, p), **(options or {})}
    with np.errstate(all="ignore"):
        try:
            found = solve(method, problem, start, rng, watch=watcher, **options)
            watcher.run.ended, watcher.run.points = found.ended, found.points
        except Enough:
            watcher.run.ended = "budget or goal"
    return watcher.run


def default_step(method: str, loss: Any, p: int) -> dict[str, float]:
    """The package's own step where a solver needs one."""
    assert isinstance(loss, ComparisonLoss)
    steps = {"svrg": loss.svrg_step, "sgd": loss.sgd_step, "adagrad": loss.adagrad_step(p)}
    return {"step": steps[method]} if method in steps else {}


def within(
    method: str, loss: str, rows: Rows, n: int, p: int, seed: int, budget: float
) -> tuple[Floats, float]:
    """The point of lowest F that a solver sees within so many passes, and how many it made.

    The package's own steps, from a random start in [0, 1]^p.
    """
    rng = np.random.default_rng([seed, 78])
    start = rng.random((n, p))
    problem = Problem(rows, n, loss_of(loss, p))
    best, points, made = np.inf, start, 0.0

    def look(record: Record, X: Floats) -> None:
        nonlocal best, points, made
        passes = record.evaluations / len(rows)
        if passes > budget:
            raise Enough
        made = passes
        if record.objective < best:
            best, points = record.objective, X.copy()

    with np.errstate(all="ignore"), contextlib.suppress(Enough):
        solve(method, problem, start, rng, watch=look, **default_step(method, problem.loss, p))
    return points, made


def warm(loss: str, p: int) -> None:
    """Compile (or load) the kernels of a loss before anything is timed."""
    split = Split(5, np.array([[0, 1, 2], [2, 3, 4]], np.int32), np.array([[0, 1, 2]], np.int32))
    for method in ("svrg-sbb", "sgd", "lbfgs"):
        watched(method, loss, split, p, 0, budget=2)
