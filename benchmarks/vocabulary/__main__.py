"""Measure and write the page: ``python -m benchmarks.vocabulary``."""

from __future__ import annotations

from benchmarks.vocabulary.report import main

if __name__ == "__main__":
    raise SystemExit(main())
