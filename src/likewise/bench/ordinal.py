"""Ordinal embedding: the paper's setting, scale, what people said, which questions, retrieval.

``--resume`` takes sections that an earlier run of the same size and seed finished from the cache
instead of measuring them again; every section says when it was measured.
"""

# ruff: noqa: I001 - the harness pins threads before numerical libraries are loaded
from __future__ import annotations

from likewise.bench import harness

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from likewise.bench import (
    ordinal_figure,
    ordinal_findings,
    ordinal_paper,
    ordinal_people,
    ordinal_questions,
    ordinal_retrieval,
    ordinal_scale,
    ordinal_steps,
)

SECTIONS: dict[str, Callable[[int, bool], dict[str, Any]]] = {
    "paper": ordinal_paper.section,
    "steps": ordinal_steps.section,
    "scale": ordinal_scale.section,
    "people": ordinal_people.section,
    "questions": ordinal_questions.section,
    "retrieval": ordinal_retrieval.section,
}
# Part of the cache's names; grows when sections would hold other things.
_VERSION = 1

NOTES = [
    "A pass is |P| gradient evaluations of single comparisons; looking at F alone counts as one "
    "too; an SVRG epoch is three.  Error: share of comparisons violated, ties included, recomputed "
    "from the points a solver had.  Times are CPU seconds of one thread, without the watching.",
    "Paper's setting: 100 points N(0, I/20) in 10 dimensions, 10,000 of the 485,100 triplets "
    "without replacement, 10,000 others to test, starts uniform in [0, 1].  Of each run the point "
    "with the lowest F within the budget counts.  Tuned: the step of a grid with the lowest median "
    "training error after 90 passes on three starts used for nothing else.  Untuned: a small step "
    "as a paper's baseline might have it; 0.05 for gradient descent is that of the released code.",
    "no guards: the printed algorithm.  Else a step grows at most tenfold and an epoch after which "
    "F has doubled is taken back with half the step.",
    "Scale: planted points in 10 dimensions, 100 comparisons an object, no noise, 20,000 others to "
    "test; solvers with the package's default steps, stopped when the test error reaches the goal. "
    "cblearn runs in an interpreter of its own with its defaults; it makes an objects-by-objects "
    "matrix in every evaluation and cannot run with 100,000 (80 GB).",
    "Cost of a comparison: 10 dimensions padded to 12.  The bound is the bytes a gradient must "
    "move over the speed of copying a large array; points in the near caches can beat it.",
    "People: the package's estimator with its defaults (convex: 20 epochs and one draw); mean of "
    "the draws of training comparisons and starts.",
    "Retrieval: AP over the first 40 ranks divided by 39, the query excluded; KernelMap with its "
    "defaults (lambda 0.1); the embedding knows classes only through triplets.  20 epochs (60 "
    "passes for SVRG), batch, lbfgs and convex 60; one draw at default size.",
]


def section(name: str, seed: int, full: bool, resume: bool) -> dict[str, Any]:
    """One section, measured now or taken from an earlier run."""
    size = "full" if full else "default"
    kept = harness.cache_dir() / f"ordinal-{name}-{size}-{seed}-{_VERSION}.json"
    if resume and kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text())
        return found
    started = time.process_time()
    found = SECTIONS[name](seed, full)
    found["cpu"] = time.process_time() - started
    found["when"] = time.strftime("%Y-%m-%d")
    # Through JSON in any case: resumed or not, the page is written from the same thing.
    kept.write_text(json.dumps(found))
    print(f"[{found['cpu']:.0f} CPU s] {name}: done", file=sys.stderr, flush=True)
    again: dict[str, Any] = json.loads(kept.read_text())
    return again


def main() -> int:
    """Run and write docs/results/ordinal.md; ``--full`` is the paper's size and more draws."""
    resume = "--resume" in sys.argv
    if resume:
        sys.argv.remove("--resume")
    options = harness.arguments(__doc__ or "")
    seed, full = options.seed, options.full
    sections = {name: section(name, seed, full, resume) for name in SECTIONS}
    starts, convex = sections["paper"]["starts"]
    report = harness.Report(
        "ordinal",
        "Ordinal embedding: SVRG-SBB against its rivals, at scale, and on what people said",
        "FULL" if full else "default size",
        {"seed": seed, "starts": f"{starts} (convex {convex})"},
        notes=ordinal_figure.draw(sections) + list(NOTES),
    )
    said = ordinal_findings.findings(sections)
    report.preface = ["What did and did not reproduce, and the goals:", *(f"* {s}" for s in said)]
    for name, found in sections.items():
        # Of scale only facts are kept.
        made = ordinal_scale.tables(found) if name == "scale" else found["tables"]
        for heading, rows in made:
            report.add(heading, rows)
        report.notes += found.get("notes", [])
    report.notes.append(
        "Measured: "
        + ", ".join(f"{name} {s['when']} ({s['cpu']:.0f} CPU s)" for name, s in sections.items())
        + "."
    )
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
