"""Measure and write the page: ``python -m benchmarks.siso.cuda``."""

from __future__ import annotations

from benchmarks.siso.cuda.report import main

if __name__ == "__main__":
    main()
