"""Show the progress of a fit: one line on stderr, or the caller's own function."""

from __future__ import annotations

import sys
from collections.abc import Callable

Report = Callable[[int, int, float], None]
"""A function of (round, rounds, value)."""


def reporter(progress: bool | Report, what: str, value: str) -> Report | None:
    """Return the function to call after each round; None to show nothing."""
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return None

    def show(done: int, total: int, now: float) -> None:
        sys.stderr.write(f"\r{what} {done}/{total}, {value} {now:.4g}")
        sys.stderr.write("\n" if done == total else "")
        sys.stderr.flush()

    return show
