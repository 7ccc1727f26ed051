"""Measure and write the page: ``python -m benchmarks.s3ml``."""

from __future__ import annotations

from benchmarks.s3ml.report import main

if __name__ == "__main__":
    main()
