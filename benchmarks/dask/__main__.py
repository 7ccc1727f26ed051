"""Measure and write the page: ``python -m benchmarks.dask``."""

from __future__ import annotations

from benchmarks.dask.report import main

if __name__ == "__main__":
    main()
