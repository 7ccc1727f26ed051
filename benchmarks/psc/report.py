"""Product sparse coding against the coders around it: speed, recognition, retrieval, splits.

Run by ``make bench-psc``; writes docs/results/psc.md.  ``FULL=1`` is paper size.  Descriptors and
pooled rows are kept in the benchmarks' cache; encoding time is measured in every run.
"""

from __future__ import annotations

import cv2

from benchmarks import harness
from benchmarks.psc.caltech import add_caltech
from benchmarks.psc.retrieval import add_retrieval
from benchmarks.psc.speed import report as speed


def add_quality(report: harness.Report, full: bool) -> None:
    """Recognition and retrieval."""
    add_caltech(report, full)
    add_retrieval(report, full)


def main() -> None:
    options = harness.arguments(__doc__ or "")
    cv2.setNumThreads(1)
    report = harness.Report(
        "psc",
        "Product sparse coding: speed, recognition, retrieval",
        "FULL: dense SIFT at step 4 and 4 scales (recognition), step 5 and 3 scales (retrieval)"
        if options.full
        else "default: dense SIFT at step 8 and 2 scales; retrieval with product codes on every "
        "second descriptor",
        {"alpha": 0.3, "seed": options.seed},
    )
    speed.measure(options.full)
    add_quality(report, options.full)
    report.write()
