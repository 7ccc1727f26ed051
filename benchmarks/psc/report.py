"""Product sparse coding against the coders around it: speed, recognition, retrieval, splits.

Run by ``make bench-psc``; writes docs/results/psc.md.  ``FULL=1`` is paper size.  Descriptors and
pooled rows are kept in the benchmarks' cache; encoding time is measured in every run.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2

from benchmarks import harness
from benchmarks.psc.caltech import add_caltech
from benchmarks.psc.retrieval import add_retrieval
from benchmarks.psc.speed import report as speed

PARTS = ("speed", "recognition", "retrieval")


def main(arguments: Sequence[str] | None = None) -> None:
    options = harness.arguments_with_parts(__doc__ or "", PARTS, arguments)
    parts = options.parts
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
    if "speed" in parts:
        speed.measure(options.full)
    if "recognition" in parts:
        add_caltech(report, options.full)
    if "retrieval" in parts:
        add_retrieval(report, options.full)
    if report.sections:
        report.write()
