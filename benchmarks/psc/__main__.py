"""Measure and write the page: ``python -m benchmarks.psc``."""

from __future__ import annotations

from benchmarks.psc.report import main

if __name__ == "__main__":
    main()
