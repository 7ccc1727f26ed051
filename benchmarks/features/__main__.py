"""Measure and write the page: ``python -m benchmarks.features``."""

from __future__ import annotations

from benchmarks.features.report import main

if __name__ == "__main__":
    main()
