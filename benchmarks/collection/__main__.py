"""Measure and write the page: ``python -m benchmarks.collection``."""

from __future__ import annotations

import sys

from benchmarks.collection.report import child, main

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
    else:
        main()
