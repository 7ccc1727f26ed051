"""Ordinal embedding: the paper's setting, scale, what people said, which questions, retrieval.

``--resume`` takes sections that an earlier run of the same size and seed finished from the cache
instead of measuring them again; ``--parts=NAME,NAME`` measures those named and takes the others
from the cache.  Every section says when it was measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.ordinal import figure as ordinal_figure
from benchmarks.ordinal import findings as ordinal_findings
from benchmarks.ordinal import paper as ordinal_paper
from benchmarks.ordinal import peers as ordinal_peers
from benchmarks.ordinal import people as ordinal_people
from benchmarks.ordinal import questions as ordinal_questions
from benchmarks.ordinal import retrieval as ordinal_retrieval
from benchmarks.ordinal import scale as ordinal_scale
from benchmarks.ordinal import steps as ordinal_steps

SECTIONS: dict[str, Callable[[int, bool], dict[str, Any]]] = {
    "paper": ordinal_paper.section,
    "steps": ordinal_steps.section,
    "scale": ordinal_scale.section,
    "peers": ordinal_peers.section,
    "people": ordinal_people.section,
    "questions": ordinal_questions.section,
    "retrieval": ordinal_retrieval.section,
}
# Of scale and peers only facts are kept.
TABLES: dict[str, Callable[[Any], list[Any]]] = {
    "scale": ordinal_scale.tables,
    "peers": ordinal_peers.tables,
}
# Part of the cache's names; grows when sections would hold other things.
_VERSION = 2

NOTES = [
    "A pass is |P| gradient evaluations of single comparisons; looking at F alone counts as one "
    "too, except the sample by which SGD and AdaGrad guard themselves (a tenth, at least 10,000: "
    "its CPU time counts, its passes do not); an SVRG epoch is three.  Error: share of comparisons "
    "violated, ties included, recomputed from the points a solver had.  Times are CPU seconds of "
    "one thread, without the watching.",
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
    "defaults (lambda 0.1); the embedding knows classes only through triplets.  Every solver has "
    f"{ordinal_retrieval.BUDGET} passes, and of these the point with the lowest F counts; the "
    "column says how many it made, mean of draws and noise (with GNMDS and no wrong triplets "
    "nothing is left to do after some).  Mean of three draws of pictures, triplets and starts, ten "
    "at full size.",
    "Noise: without questions that were asked more than once only an upper bound is known: "
    "held-out error where the curve levels off; whatever the map gets wrong about right answers is "
    "in it.",
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


def wanted(given: list[str]) -> tuple[bool, list[str]]:
    """Takes ``--resume`` and ``--parts=...`` out of the arguments: (whether the cache may be used,
    sections to measure all the same)."""
    parts: list[str] = []
    resume = False
    for one in [a for a in given if a == "--resume" or a.startswith("--parts=")]:
        given.remove(one)
        resume = True
        parts += [name for name in one.partition("=")[2].split(",") if name]
    strangers = [name for name in parts if name not in SECTIONS]
    if strangers:
        raise SystemExit(f"--parts: no section {', '.join(strangers)}; {', '.join(SECTIONS)}")
    return resume, parts


def main() -> int:
    """Run and write docs/results/ordinal.md; ``--full`` is the paper's size and more draws."""
    resume, parts = wanted(sys.argv)
    options = harness.arguments(__doc__ or "")
    seed, full = options.seed, options.full
    sections = {name: section(name, seed, full, resume and name not in parts) for name in SECTIONS}
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
        made = TABLES[name](found) if name in TABLES else found["tables"]
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
