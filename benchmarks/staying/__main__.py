"""Measure and write the page: ``python -m benchmarks.staying [PART ...]``; all parts by default."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys

from benchmarks.staying import report

HERE = ("space", "learning")
APART = ("territory", "scale", "latency")
"""Parts with a program of their own, which renews its own table of the page."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.staying", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join((*HERE, *APART))}")
    parser.add_argument("--full", action="store_true", help="more draws and queries")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - {*HERE, *APART}:
        parser.error(f"there is no part {min(unknown)!r}; there are {', '.join((*HERE, *APART))}")
    parts = given.parts or [*HERE, *APART]
    if here := [part for part in HERE if part in parts]:
        report.write(here, full=given.full)
    for part in APART:
        module = f"benchmarks.staying.{part}"
        if part in parts and importlib.util.find_spec(module):
            command = [sys.executable, "-m", module, *["--full"] * given.full]
            subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
