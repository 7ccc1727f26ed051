"""Product sparse coding against the coders around it: speed, recognition, retrieval, splits.

Run by ``make bench-psc``; writes docs/results/psc.md.  ``FULL=1`` is paper size.  Descriptors and
pooled rows are kept in the benchmarks' cache; encoding time is measured in every run.
"""

from __future__ import annotations

from benchmarks import harness

# isort: split
import cv2

from benchmarks.psc import findings as psc_findings
from benchmarks.psc.caltech import DRAWS, FEW_EVERY, TEST, add_caltech
from benchmarks.psc.retrieval import COMPONENTS, add_retrieval
from benchmarks.psc.rows import ROUNDS, SAMPLE, SC_ROUNDS, SC_SAMPLE
from benchmarks.psc.speed.report import add_speed


def add_quality(report: harness.Report, full: bool) -> None:
    """Recognition and retrieval, what was done, and what did (not) reproduce."""
    tables = add_caltech(report, full)
    tables |= add_retrieval(report, full)
    report.notes += [
        f"Recognition: {DRAWS} draws, {TEST} test pictures a class (all there are), accuracy is "
        "the mean over the classes; SIFT of unit length (not RootSIFT), pictures at most 300 "
        "pixels a side; max pooling in a pyramid of 1x1, 2x2 and 4x4 regions, unit length; VQ: "
        "histograms, sum 1, kernel exp(-d / mean d); VLAD and FV: whole picture and quarters. "
        "Linear SVM, one against the rest, C of 1, 10, 100 chosen inside the first draw's "
        "training pictures.",
        "Caltech-101 here are 40 pictures in each of 64 classes; figures of papers are for 102 "
        "classes, and lower for it.",
        f"Beside sparse coding: 20 classes and every {FEW_EVERY}th descriptor for all methods; SC "
        f"above 2,048 words codes on the 200 nearest. Codebooks: {SAMPLE:,} descriptors of the "
        f"set, {ROUNDS} rounds; SC {SC_SAMPLE:,} and {SC_ROUNDS} rounds, which is less.",
        "Splits: two contiguous halves of SIFT are its upper and lower cells, so contiguous and "
        "horizontal are one cut under two names, and equal.",
        f"Retrieval: RootSIFT, max pooling of the whole picture, whitening to {COMPONENTS} columns "
        "learned on the same pictures (no labels); oxford1k positives in turn, corel1k leave one "
        "out. Gaps under .02 are ties.",
        *psc_findings.notes(tables),
    ]


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
    add_speed(report, options.full)
    add_quality(report, options.full)
    report.write()
