"""Measure and write the page: ``python -m benchmarks.server``."""

from __future__ import annotations

import sys

from benchmarks.server.report import main, run_clients

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_clients(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
