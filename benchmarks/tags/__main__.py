"""Measure and write the page: ``python -m benchmarks.tags``."""

from __future__ import annotations

import json
import sys

from benchmarks.tags import scale
from benchmarks.tags.report import main

if __name__ == "__main__":
    if sys.argv[1:3] == ["--child", "scale"]:
        sys.stdout.write(json.dumps(scale.measure(*sys.argv[3:])) + "\n")
    else:
        main()
