"""Measure and write the page: ``python -m benchmarks.words [quality] [speed]``; both by default."""

from __future__ import annotations

import argparse

from benchmarks import harness
from benchmarks.words.data import NamedSet, sets
from benchmarks.words.quality import choice_rows, elsewhere_rows, quality_rows
from benchmarks.words.speed import speed_row
from likewise.vision.text import PictureWords, TextModel, TextModelMissing

PARTS = ("quality", "speed")
SIZES = (50_000, 1_000_000)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.words", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--full", action="store_true", help="the same: there is no larger size")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - {*PARTS}:
        parser.error(f"there is no part {min(unknown)!r}; there are {', '.join(PARTS)}")
    parts = given.parts or PARTS
    try:
        words = PictureWords(TextModel.open())
    except TextModelMissing as error:
        parser.exit(1, f"{error}\n")
    report = harness.Report(
        "words",
        "Typed words: which pictures they find, and how soon",
        "all pictures of each set, P@20 / mAP, means over phrases",
    )
    if "quality" in parts:
        found: list[NamedSet] = list(sets(report.left_out))
        report.add("quality", [row for one in found for row in quality_rows(words, one)])
        report.add("choices", choice_rows(words, found) if found else [])
        for one in found:
            if one.name == "corel1k":
                report.add("other languages", elsewhere_rows(words, one))
    if "speed" in parts:
        report.add("speed", [speed_row(words, n) for n in SIZES])
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
