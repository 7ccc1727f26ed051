"""Measure and write the page: ``python -m benchmarks.psc.speed``."""

from __future__ import annotations

from benchmarks.psc.speed.report import main

if __name__ == "__main__":
    main()
