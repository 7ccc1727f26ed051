"""Ordinal embedding: the paper's setting, scale, what people said, which questions, retrieval.

``--resume`` takes sections that an earlier run of the same size and seed finished from the cache
instead of measuring them again; ``--parts=NAME,NAME`` measures those named and takes the others
from the cache.  ``--kept`` measures nothing: of sections that are not in the cache the page keeps
its tables.  Every section says when it was measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.ordinal import figure as ordinal_figure
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


def place(name: str, seed: int, full: bool) -> Path:
    """Where a section is kept."""
    size = "full" if full else "default"
    return harness.cache_dir() / f"ordinal-{name}-{size}-{seed}-{_VERSION}.json"


def section(name: str, seed: int, full: bool, resume: bool) -> dict[str, Any]:
    """One section, measured now or taken from an earlier run."""
    kept = place(name, seed, full)
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


def starts_of(sections: Mapping[str, Any]) -> dict[str, str]:
    """How many starts the paper's setting had, where it was measured."""
    if "paper" not in sections:
        return {}
    starts, convex = sections["paper"]["starts"]
    return {"starts": f"{starts} (convex {convex})"}


def main() -> int:
    """Run and write docs/results/ordinal.md; ``--full`` is the paper's size and more draws."""
    resume, parts = wanted(sys.argv)
    only_kept = "--kept" in sys.argv
    if only_kept:
        sys.argv.remove("--kept")
    options = harness.arguments(__doc__ or "")
    seed, full = options.seed, options.full
    sections = {
        name: section(name, seed, full, only_kept or (resume and name not in parts))
        for name in SECTIONS
        if not only_kept or place(name, seed, full).exists()
    }
    report = harness.Report(
        "ordinal",
        "Ordinal embedding: SVRG-SBB against its rivals, at scale, and on what people said",
        "FULL" if full else "default size",
        {
            "seed": seed,
            **starts_of(sections),
            "measured": "; ".join(
                f"{name} {found['when']} ({found['cpu']:.0f} CPU s)"
                for name, found in sections.items()
            ),
        },
    )
    for name, found in sections.items():
        made = TABLES[name](found) if name in TABLES else found["tables"]
        for heading, rows in made:
            report.add(heading, rows)
        report.left_out += found.get("left_out", [])
    ordinal_figure.draw(sections)
    report.write()
    return 0
