"""Measure and write the page: ``python -m benchmarks.siso``."""

from __future__ import annotations

from benchmarks.siso.report import main

if __name__ == "__main__":
    main()
