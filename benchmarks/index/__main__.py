"""Measure and write the page: ``python -m benchmarks.index``."""

from __future__ import annotations

from benchmarks.index.report import main

if __name__ == "__main__":
    main()
