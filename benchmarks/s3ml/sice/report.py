"""Sparse inverse covariance against its peers: the SICE part of ``make bench-s3ml``.

Colour moments of real pictures, chains and random graphs at m = 225, 500, 1,000, and m = 10,000 in
blocks, each to a relative gap of 1e-4 that is computed again in float64 from what was returned;
then problems that no constant was chosen on, and ill-conditioned ones.
One thread, CPU time, compilation apart.  Alone:
``python -m benchmarks.s3ml --parts sice,second,third``.
"""

from __future__ import annotations

import importlib.metadata
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import figures, harness
from benchmarks.s3ml.sice.peers import (
    GOAL,
    METHODS,
    Method,
    Row,
    climb,
    compared,
    judged,
    rounds,
)
from benchmarks.s3ml.sice.problems import chain, factors, first_set, graph, held_out
from benchmarks.s3ml.sice.second import SEED, second_set
from benchmarks.s3ml.sice.third import SEED as THIRD_SEED
from benchmarks.s3ml.sice.third import third_set
from likewise_methods.s3ml.solver.sparse_inverse import sparse_inverse_covariance

BLOCK, N_BLOCKS = 50, 200
# The others are slower everywhere and run with FULL=1 alone.
FAST = [m for m in METHODS if not m.name.endswith(("newton", "alm", "primal", "learn"))]


def in_blocks(seed: int) -> tuple[Any, list[Any]]:
    """A dense S of 10,000 in 200 blocks, and the blocks: two common waves tie all variables
    together, weaker than l1, so that no entry is zero and only screening finds the blocks."""
    m = BLOCK * N_BLOCKS
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, m)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    S = 0.03 * (waves @ waves.T)
    for k in range(N_BLOCKS):
        block = slice(k * BLOCK, (k + 1) * BLOCK)
        S[block, block] += graph(BLOCK, 4 * BLOCK, seed + k)
    order = np.random.default_rng(seed + 1).permutation(m)
    where = np.argsort(order)
    parts = [where[k * BLOCK : (k + 1) * BLOCK] for k in range(N_BLOCKS)]
    return S[np.ix_(order, order)], parts


def large(seed: int, l1: float, sample: int) -> list[Row]:
    """m = 10,000: ours on all of S; peers on a sample of the blocks, which they must be given."""
    S, parts = in_blocks(seed)
    sparse_inverse_covariance(S[:200, :200], l1, False, tol=1e-4)
    start = time.process_time()
    found = sparse_inverse_covariance(S, l1, False, tol=3e-5)
    seconds = time.process_time() - start
    gaps, values = [], []
    for part in parts:
        own = S[np.ix_(part, part)]
        gap, F = judged(own, l1, found.precision[np.ix_(part, part)])
        gaps.append(gap * abs(F))
        values.append(F)
    inside = sum(int(np.count_nonzero(found.precision[np.ix_(p, p)])) for p in parts)
    between = int(np.count_nonzero(found.precision)) - inside
    made: list[Row] = [
        {
            "solver": "Likewise, auto, all of S (screening included)",
            "CPU s": seconds,
            "relative gap": float(f"{sum(gaps) / abs(sum(values)):.1e}"),
            "blocks": found.blocks,
            "largest": found.largest_block,
            "times ours": 1.0,
        }
    ]
    if between:
        raise RuntimeError(f"{between} non-zeros between blocks; none expected")
    for method in METHODS:
        if not method.there() or method.name.startswith("Likewise"):
            continue
        given = [S[np.ix_(p, p)] for p in parts[:sample]]
        climbed = [climb(method, own, l1, 20.0) for own in given]
        times = [rounds([rung], own, l1) for rung, own in zip(climbed, given, strict=True)]
        each = float(np.mean(times))
        made.append(
            {
                "solver": f"{method.name}, given the blocks",
                "CPU s": each * N_BLOCKS,
                "relative gap": float(f"{max(rung.gap for rung in climbed):.1e}"),
                "blocks": f"{N_BLOCKS} (from {sample})",
                "largest": BLOCK,
                "times ours": round(each * N_BLOCKS / seconds, 1),
            }
        )
    return made


def draw(rows: list[Row], folder: Path) -> None:
    """CPU time against m for the chain, one line a solver."""
    figure, axes = figures.pyplot().subplots(figsize=(6.5, 4.2))
    chains = [row for row in rows if row["problem"] == "chain" and row["CPU s"] != ""]
    for name in dict.fromkeys(str(row["solver"]) for row in chains):
        own = [row for row in chains if row["solver"] == name]
        style = "-" if name.startswith("Likewise") else "--"
        axes.plot(
            [int(str(r["m"])) for r in own], [float(str(r["CPU s"])) for r in own], style,
            marker="o", label=name,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="m", ylabel="CPU seconds", title="chain, l1 = 0.1")
    axes.set_xticks([225, 500, 1000], ["225", "500", "1,000"])
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.tight_layout()
    figures.save(figure, "s3ml_sice.png", folder=folder)


def warm() -> list[str]:
    """Every solver run once, so that compilation is apart; names of packages that are missing."""
    for method in METHODS:
        if method.there():
            for S, l1 in ((chain(60, 120, 1), 0.2), (chain(90, 120, 1, 0.9), 0.02)):
                # Tight tolerances are reached by kernels of their own.
                for tol in (1e-3, 1e-5, 1e-6):
                    method.run(S, l1, tol)
    missing = sorted({m.package for m in METHODS if not m.there()})
    return [f"{', '.join(missing)} (not installed)"] if missing else []


def add_first(report: harness.Report, full: bool) -> None:
    """Add the tables of known problems and the figure to a report."""
    limit = _limit(full)
    rows: list[Row] = []
    report.left_out += warm()
    for name, S, l1 in first_set(full, 0):
        able = [m for m in (METHODS if full else FAST) if full or len(S) <= m.largest]
        rows += _rows(name, S, l1, able, limit)
    report.add(f"Sparse inverse covariance to a relative gap of {GOAL:g}", rows)
    try:
        draw(rows, harness.RESULTS)
    except ImportError:
        report.left_out.append("figure of sparse inverse covariance (matplotlib is not installed)")


def add_hard(report: harness.Report, full: bool) -> None:
    """Add the tables of ill-conditioned problems and of 10,000 variables in blocks."""
    limit = _limit(full)
    warm()
    # Newton's method alone did not end within half a minute at m = 60: left out.
    hard = [m for m in METHODS if m.name.endswith(("auto", "alm", "(ADMM)"))]
    ill: list[Row] = []
    for m, noise, share in ((60, 0.05, 1e-3), (225, 0.1, 1e-3), (225, 0.02, 1e-3)):
        S = factors(m, noise, 0)
        name = f"eight factors, condition {np.linalg.cond(S):.0e}"
        ill += _rows(name, S, share * float(np.trace(S)) / m, hard, limit)
    report.add(f"Ill-conditioned: relative gap {GOAL:g}", ill)
    blocks = large(0, 0.1, 20 if full else 5)
    report.add("m = 10,000 in 200 blocks of 50, l1 = 0.1", blocks)


def add_second(report: harness.Report, full: bool) -> None:
    """Add the tables of problems that no constant was chosen on."""
    limit = _limit(full)
    warm()
    drawn = [row for name, S, l1 in second_set() for row in _rows(name, S, l1, FAST, limit)]
    held = [row for name, S, l1 in held_out() for row in _rows(name, S, l1, FAST, limit)]
    report.add(f"Held out: no constant was chosen on these; relative gap {GOAL:g}", held)
    report.add(f"Second set, drawn once by seed {SEED}: relative gap {GOAL:g}", drawn)


def add_third(report: harness.Report, full: bool) -> None:
    """Add the table of other problems, drawn after constants had been chosen again."""
    limit = _limit(full)
    warm()
    drawn = [row for name, S, l1 in third_set() for row in _rows(name, S, l1, FAST, limit)]
    report.add(f"Third set, drawn once by seed {THIRD_SEED}: relative gap {GOAL:g}", drawn)


def _limit(full: bool) -> float:
    """Seconds a solver may climb."""
    return 600.0 if full else 5.0


def _rows(name: str, S: Any, l1: float, methods: list[Method], limit: float) -> list[Row]:
    made = []
    for row in compared(S, l1, methods, limit):
        made.append({"problem": name, "m": len(S), "l1": float(f"{l1:.2g}"), **row})
        print(made[-1], flush=True)
    return made


def versions() -> dict[str, str]:
    """Of the solvers compared that are installed."""
    found = {}
    for package in ("skglm", "gglasso", "scikit-learn"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
