"""What ``make trust`` tried and lost, next to an earlier test whose findings were repaired.

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

EARLIER: Mapping[str, tuple[str, str]] = {
    "kill -9": ("182", "0"),
    "injected I/O errors": ("245", "0"),
    "mutated pictures": ("9,500", "0"),
    "unauthorised requests": ("1,829", "0"),
    "fuzzed requests": ("4,296 + 9,320", "0"),
    "flipped bits of a catalog": ("180", "17 wrong answers"),
}
"""What an earlier adversarial test tried, and what it lost or broke."""
SOAK = "A server killed again and again under eight clients"


def read(path: Path) -> Counter[str]:
    """Trials of each kind, from the file that the tests wrote."""
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        what, _, n = line.rpartition("\t")
        found[what] += int(n)
    return found


def rows(tried: Counter[str], results: Path) -> list[dict[str, Any]]:
    """Return the table: what was tried, how often and with what loss, earlier and now."""
    names = [*EARLIER, *(name for name in tried if name not in EARLIER)]
    made: list[dict[str, Any]] = []
    for name in names:
        then, lost = EARLIER.get(name, ("-", "-"))
        made.append(_row(name, then, lost, tried[name], 0))
    soak = _last_soak(results)
    if soak:
        lost_now = sum(
            int(soak[key])
            for key in ("answers 5xx", "of these lost", "of these gone", "damage found")
        )
        requests = f"{int(soak['requests']):,} ({soak['kills']} kills)"
        made.append(_row("requests during kills", "8,588 (2 kills)", "0", requests, lost_now))
        if soak.get("of these searches"):
            searches = int(soak["of these searches"])
            made.append(_row("searches during writes", "25,534", "0", searches, lost_now))
    return made


def _row(what: str, then: str, lost: str, now: Any, lost_now: int) -> dict[str, Any]:
    return {
        "what": what, "tried earlier": then, "lost or wrong earlier": lost, "tried": now,
        "lost or wrong": lost_now,
    }  # fmt: skip


def _last_soak(results: Path) -> dict[str, str]:
    path = results / "trust.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return next((row for row in csv.DictReader(file) if row["table"] == SOAK), {})
