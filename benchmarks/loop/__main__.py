"""Measure and write the page: ``python -m benchmarks.loop``."""

from __future__ import annotations

from benchmarks.loop.report import main

if __name__ == "__main__":
    raise SystemExit(main())
