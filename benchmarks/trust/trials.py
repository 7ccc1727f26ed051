"""What ``make trust`` tried and lost, beside the attack that found what had to be mended.

The tests write down every trial (``tests/trials.py``) and fail at the first loss, so that a file of
trials that all passed is one of no losses; the soak's figures are those of its last run, which
counts its losses itself.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ATTACK: Mapping[str, tuple[str, str]] = {
    "kill -9": ("182", "0"),
    "injected I/O errors": ("245", "0"),
    "mutated pictures": ("9,500", "0"),
    "requests without right": ("1,829", "0"),
    "fuzzed requests": ("4,296 + 9,320", "0"),
    "flipped bits of a catalog": ("180", "17 wrong answers"),
}
"""What the attack tried, and what it lost or broke."""
SOAK = "A server killed again and again under eight clients"


def read(path: Path) -> Counter[str]:
    """Trials of each kind, from the file that the tests wrote."""
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        what, _, n = line.rpartition("\t")
        found[what] += int(n)
    return found


def rows(tried: Counter[str], results: Path) -> list[dict[str, Any]]:
    """The table: what, how often by the attack and what it lost, how often now and what was."""
    names = [*ATTACK, *(name for name in tried if name not in ATTACK)]
    made: list[dict[str, Any]] = []
    for name in names:
        then, lost = ATTACK.get(name, ("-", "-"))
        made.append(_row(name, then, lost, tried[name], 0))
    soak = _last_soak(results)
    if soak:
        lost_now = sum(
            int(soak[key])
            for key in ("answers 5xx", "of these lost", "of these gone", "damage found")
        )
        requests = f"{int(soak['requests']):,} ({soak['kills']} kills)"
        made.append(
            _row(
                "requests of many clients beside kills", "8,588 (2 kills)", "0", requests, lost_now
            )
        )
        if soak.get("of these searches"):
            searches = int(soak["of these searches"])
            made.append(_row("searches beside writers", "25,534", "0", searches, lost_now))
    return made


def _row(what: str, then: str, lost: str, now: Any, lost_now: int) -> dict[str, Any]:
    return {
        "what": what, "the attack": then, "lost or wrong then": lost, "tried": now,
        "lost or wrong": lost_now,
    }  # fmt: skip


def _last_soak(results: Path) -> dict[str, str]:
    path = results / "trust.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return next((row for row in csv.DictReader(file) if row["table"] == SOAK), {})
