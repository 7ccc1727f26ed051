"""Measure and write the page: ``python -m benchmarks.scale``."""

from __future__ import annotations

import json
import sys

from benchmarks.scale.measure import measure
from benchmarks.scale.report import main

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.stdout.write(json.dumps(measure(sys.argv[2], *sys.argv[3:])) + "\n")
    else:
        main()
