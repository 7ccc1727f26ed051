"""Measure and write the page: ``python -m benchmarks.ordinal``."""

from __future__ import annotations

from benchmarks.ordinal.report import main

if __name__ == "__main__":
    raise SystemExit(main())
