"""Measure and write the page: ``python -m benchmarks.deep``."""

from __future__ import annotations

from benchmarks.deep.report import main

if __name__ == "__main__":
    main()
