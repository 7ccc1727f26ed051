"""Measure and write the page: ``python -m benchmarks.solis``."""

from __future__ import annotations

from benchmarks.solis.report import main

if __name__ == "__main__":
    raise SystemExit(main())
