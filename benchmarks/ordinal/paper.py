"""The paper's synthetic setting: 100 points in 10 dimensions, 10,000 triplets, many starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ordinal.data import Split, planted
from benchmarks.ordinal.runs import LOSSES, TITLES, Run, warm, watched

Row = dict[str, object]
N, P, TRIPLETS, TEST = 100, 10, 10_000, 10_000
BUDGET = 90
GOAL = 0.15
TUNING_STARTS = (1000, 1001, 1002)
GRIDS: dict[str, tuple[float, ...]] = {
    "sgd": (0.005, 0.02, 0.05, 0.2, 0.5),
    "svrg": (0.002, 0.01, 0.05, 0.2),
    "adagrad": (0.5, 1.0, 2.0, 4.0),
    "fixed": (5.0, 20.0, 50.0, 200.0, 1000.0),
}


class Method(NamedTuple):
    """A line of the table: a solver, its options, and how its step came about."""

    solver: str
    options: Mapping[str, Any]
    tuning: str


NO_NEED = "needs none"
METHODS: dict[str, Method] = {
    "SVRG-SBB_eps": Method("svrg-sbb", {}, NO_NEED),
    "SVRG-SBB_eps, no guards": Method("svrg-sbb", {"guarded": False}, NO_NEED),
    "SVRG-SBB_0": Method("svrg-sbb0", {}, NO_NEED),
    "SVRG-SBB_0, no guards": Method("svrg-sbb0", {"guarded": False}, NO_NEED),
    "SVRG, tuned": Method("svrg", {}, "tuned"),
    "SVRG, untuned": Method("svrg", {"step": 0.001}, "untuned: 0.001"),
    "SGD, tuned": Method("sgd", {}, "tuned"),
    "SGD, untuned": Method("sgd", {"step": 0.001}, "untuned: 0.001"),
    "AdaGrad, tuned": Method("adagrad", {}, "tuned"),
    "GD fixed, tuned": Method("fixed", {}, "tuned"),
    "GD fixed, untuned": Method("fixed", {"step": 0.05}, "untuned: 0.05, as released"),
    "GD Armijo": Method("batch", {}, NO_NEED),
    "L-BFGS": Method("lbfgs", {}, NO_NEED),
    "convex": Method("convex", {}, NO_NEED),
}


@dataclass
class Paper:
    """All runs, by loss and method, and the steps that tuning chose."""

    runs: dict[str, dict[str, list[Run]]] = field(default_factory=dict)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    starts: int = 0


def run_all(seed: int, starts: int, convex_starts: int) -> Paper:
    """Every loss with every method from ``starts`` starts; the triplets are the same for all."""
    split = planted(N, P, TRIPLETS, TEST, seed)
    paper = Paper(starts=starts)
    for loss in LOSSES:
        warm(loss, P)
        steps = paper.steps[loss] = tuned_steps(loss, split)
        runs = paper.runs[loss] = {}
        for name, method in METHODS.items():
            if method.solver == "convex" and loss not in ("gnmds", "ste"):
                continue
            options = dict(method.options)
            if method.tuning == "tuned":
                options["step"] = steps[method.solver]
            count = convex_starts if method.solver == "convex" else starts
            runs[name] = [
                watched(method.solver, loss, split, P, s, budget=BUDGET, options=options)
                for s in range(count)
            ]
    return paper


def tuned_steps(loss: str, split: Split) -> dict[str, float]:
    """For each solver the step with the lowest training error after the budget, median of three
    starts that are used for nothing else."""
    chosen = {}
    for solver, grid in GRIDS.items():
        errors = []
        for step in grid:
            runs = [
                watched(solver, loss, split, P, s, budget=BUDGET, options={"step": step})
                for s in TUNING_STARTS
            ]
            # A run that ended early by divergence stands where it was best.
            errors.append(float(np.median([r.train[r.best()] for r in runs])))
        chosen[solver] = grid[int(np.argmin(errors))]
    return chosen


def quartiles(values: list[float]) -> str:
    """Median [lower, upper quartile]."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def to_goal(runs: list[Run]) -> tuple[float, float, int]:
    """Median passes and CPU milliseconds to 15 % training error (infinite for runs that never got
    there), and how many got there."""
    at = [r.reached(GOAL) for r in runs]
    passes = [np.inf if i is None else r.passes[i] for r, i in zip(runs, at, strict=True)]
    times = [np.inf if i is None else 1e3 * r.seconds[i] for r, i in zip(runs, at, strict=True)]
    middle = (float(np.median(passes)), float(np.median(times)))
    return *middle, sum(i is not None for i in at)


def table(paper: Paper, loss: str) -> list[Row]:
    """One loss: errors at a third of the budget and at all of it, and the way to 15 %."""
    rows = []
    for name, runs in paper.runs[loss].items():
        passes, ms, there = to_goal(runs)
        step = paper.steps[loss].get(METHODS[name].solver)
        tuning = METHODS[name].tuning
        rows.append(
            {
                "method": name,
                "step": f"tuned: {step:g}" if tuning == "tuned" else tuning,
                "test error, 30 passes": quartiles([r.test[r.best(30)] for r in runs]),
                "test error, 90 passes": quartiles([r.test[r.best(BUDGET)] for r in runs]),
                "training error, 90": quartiles([r.train[r.best(BUDGET)] for r in runs]),
                "passes to 15 % training": _or_never(passes),
                "CPU ms to 15 %": _or_never(ms),
                "reached by": f"{there} of {len(runs)}",
                "diverged": sum(diverged(r) for r in runs),
            }
        )
    return rows


def _or_never(value: float) -> object:
    return round(value, 1) if np.isfinite(value) else "never (median)"


def diverged(run: Run) -> bool:
    """F became infinite, NaN, or a hundred times what it was at the start."""
    F = np.asarray(run.objective)
    return bool((~np.isfinite(F)).any() or (100 * F[0] < F).any())


def steps_table(paper: Paper) -> list[Row]:
    """SBB_0 beside SBB_eps without guards: how far the step jumps, and what comes of it."""
    rows: list[Row] = []
    for loss, runs in paper.runs.items():
        for name in ("SVRG-SBB_eps, no guards", "SVRG-SBB_0, no guards"):
            jumps, highest = [], []
            for run in runs[name]:
                # The first record is the start, the second has eta_0.
                eta = np.asarray(run.step[1:])
                eta = eta[np.isfinite(eta) & (eta > 0)]
                jumps.append(float(np.max(eta[1:] / eta[:-1])) if len(eta) > 1 else 1.0)
                highest.append(float(eta.max()))
            rose = [int(np.sum(np.diff(r.objective) > 0)) for r in runs[name]]
            rows.append(
                {
                    "loss": TITLES[loss],
                    "method": name,
                    "largest jump of the step, median": round(float(np.median(jumps)), 2),
                    "worst start": round(max(jumps), 1),
                    "largest step, median": float(f"{np.median(highest):.3g}"),
                    "largest of all": float(f"{max(highest):.3g}"),
                    "epochs in which F rose, mean": round(float(np.mean(rose)), 2),
                    "starts diverged": sum(diverged(r) for r in runs[name]),
                    "test error, 90 passes": quartiles([r.test[r.best()] for r in runs[name]]),
                }
            )
    return rows


def section(seed: int, full: bool) -> dict[str, Any]:
    """Tables and curves of the paper's setting, as plain lists and numbers."""
    paper = run_all(seed, 50, 50 if full else 5)
    return {
        "tables": [
            [f"The paper's synthetic setting: {TITLES[loss]}", table(paper, loss)]
            for loss in LOSSES
        ]
        + [["Step sizes: SBB_0 beside SBB_eps, the printed algorithm", steps_table(paper)]],
        "curves": {loss: curves(paper.runs[loss]) for loss in LOSSES},
        "steps": {loss: step_curves(paper.runs[loss]) for loss in LOSSES},
        "starts": [50, 50 if full else 5],
    }


def curves(runs: Mapping[str, list[Run]]) -> dict[str, list[list[float]]]:
    """Quartiles of the test error on a grid of passes: grid, lower, median, upper."""
    grid = np.arange(0, BUDGET + 1, 3.0)
    out = {}
    for name, several in runs.items():
        values = np.array([[_at(r, g) for g in grid] for r in several])
        quarters = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        out[name] = [grid.tolist(), *quarters.tolist()]
    return out


def _at(run: Run, passes: float) -> float:
    """Test error at the last record within so many passes."""
    at = int(np.searchsorted(run.passes, passes, "right")) - 1
    return run.test[max(at, 0)]


def step_curves(runs: Mapping[str, list[Run]]) -> dict[str, list[list[float]]]:
    """Quartiles of the step by epoch, of the starts that still ran: epoch, lower, median, upper."""
    out = {}
    for name in ("SVRG-SBB_eps, no guards", "SVRG-SBB_0, no guards"):
        longest = max(len(r.step) for r in runs[name])
        columns: list[list[float]] = [[], [], [], []]
        for epoch in range(1, longest):
            here = [r.step[epoch] for r in runs[name] if len(r.step) > epoch]
            if len(here) < 3:
                break
            columns[0].append(epoch)
            for column, value in zip(
                columns[1:], np.quantile(here, [0.25, 0.5, 0.75]), strict=True
            ):
                column.append(float(value))
        out[name] = columns
    return out
