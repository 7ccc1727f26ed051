"""Suggested tags as the product makes them: right how often, sure how rightly, after how long.

Real collections are made of rows that other benchmarks described and kept (Corel-1k, Caltech-101);
some pictures are tagged with their class, all others are asked about.  Then the same with 50,000
tagged pictures, for time and memory.  Run by ``make bench-tags``.
"""

from __future__ import annotations

from benchmarks import harness

# isort: split
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.deep.rows import space_rows
from benchmarks.tags import scale as tags_scale
from benchmarks.tags.figure import draw
from benchmarks.tags.quality import (
    ABOVE,
    ACCEPTED,
    BINS,
    Quality,
    Setting,
    cause_row,
    measured,
    quality_row,
    time_row,
    trust_row,
)
from benchmarks.tags.weights import weight_rows
from likewise.collection.tagging.calibrating import ASKED, SHARE
from likewise.collection.tagging.evidence import ALPHA

DATA = ("corel1k", "caltech101")
SPACES = ("deep-dense", "holistic")
SHARES = (0.5, 0.1)
SIZES = (5_000, 50_000)


def settings_of(data: str) -> list[Setting]:
    """Half and a tenth of every class tagged, in each space; nothing where the set is not here."""
    made = []
    for space in SPACES:
        found = space_rows(data, space)
        if found is None:
            continue
        each = int(np.bincount(found.labels).min())
        rows = np.asarray(found.X, np.float32)
        made += [Setting(data, space, rows, found.labels, round(share * each)) for share in SHARES]
    return made


def main() -> None:
    options = harness.arguments((__doc__ or "").splitlines()[0])
    seeds = range(options.seed, options.seed + (10 if options.full else 3))
    start = time.process_time()
    settings = [setting for data in DATA for setting in settings_of(data)]
    found: list[Quality] = []
    with tempfile.TemporaryDirectory(prefix="likewise-bench-") as folder:
        root = Path(folder)
        tags_scale.warm()
        for setting in settings:
            found.append(measured(setting, seeds, root))
            print(quality_row(found[-1]), flush=True)
        half = [setting for setting in settings if setting.each == _most(settings, setting)]
        weights = weight_rows(half, 500 if options.full else 150, options.seed)
        spent = time.process_time() - start
        scale = [
            row
            for space in SPACES
            for row in tags_scale.scale_rows(space, SIZES, root, options.seed)
        ]
    report = harness.Report(
        "tags",
        "Suggested tags",
        f"{len(seeds)} splits a row, {SIZES[-1]:,} tagged pictures at most"
        + (" (FULL)" if options.full else " (default size)"),
        {"alpha": ALPHA, "bulk above": ABOVE, "seeds": f"{seeds[0]} to {seeds[-1]}"},
    )
    report.preface.append(
        "Pictures are tagged with their class in a real collection whose rows were described "
        "before; all others are asked about through `Collection.suggest_tags` and "
        "`Collection.tag_all`. What is asked about was never tagged: neither the annotator nor the "
        "calibration saw it. How it works: [Tags](../tags.md)."
    )
    report.add("Held-out pictures", [quality_row(one) for one in found])
    report.add("Is confidence true?", [trust_row(one, options.seed) for one in found])
    report.add("First suggestions: said minus right, and why", [cause_row(o) for o in found])
    report.add("Time, CPU ms", [time_row(one) for one in found])
    report.add("Many tagged pictures", scale)
    report.add("The lasso's weight and sign", weights)
    report.notes += notes(spent, found)
    if found and find_spec("matplotlib"):
        draw(found)
        report.notes.append("![What was said, and what was right](tags.png)")
    report.write()


def _most(settings: list[Setting], one: Setting) -> int:
    return max(s.each for s in settings if (s.data, s.space) == (one.data, one.space))


def groups_matter(found: list[Quality]) -> str:
    """How far the curve measured in groups is from the one measured one by one."""
    rows = [trust_row(one, 0) for one in found]

    def most(a: str, b: str) -> float:
        return max(abs(float(str(row[a])) - float(str(row[b]))) for row in rows)

    return (
        "In groups against one by one, on pictures that were never tagged: said minus right "
        f"differs by at most {most('said minus right, top', 'one by one: said minus right'):.3f}, "
        f"the error by at most {most('error, top', 'one by one: error'):.3f}."
    )


def notes(spent: float, found: list[Quality]) -> list[str]:
    """What the columns mean, and what the figures do not say."""
    made = [
        "Top right: the first suggestion is the picture's class; a picture without a suggestion "
        f"counts as wrong. Bulk: what `tag --all` gives from a confidence of {ABOVE} on (up to "
        "five tags a picture): precision is the share of given tags that are right, recall the "
        "share of held-out pictures that got theirs.",
        f"Error: the mean distance of said and true over {BINS} equal ranges of confidence, "
        "weighted by how many suggestions are in each; mean of the splits. 'By chance': the same "
        "for confidences that are exactly true, on as few pictures; an error near it is as good as "
        "can be measured. 'All': not the first suggestion only, but up to five.",
        f"Leaving out: of at most {ASKED} tagged pictures asked about, a {SHARE}th of the tagged "
        "leave together ('leave together'), which a new picture does not have to do without; 'one "
        "by one' is the curve measured by leaving out each alone, judged on the same answers. Said "
        "minus right above zero is too sure, below zero too cautious.",
        *([groups_matter(found)] if found else []),
        "First suggestions, said minus right by three curves. 'As it is' is the product's; "
        "'measured on firsts only' leaves out one by "
        "one and forgets all later suggestions; 'in hindsight' is the product's kind of curve "
        "fitted to the held-out answers themselves, so that nothing is left out. One curve serves "
        "every rank although at equal scores a first suggestion is right more often than a later "
        "one (last columns). Where hindsight errs as the product does, that is the cause; where it "
        "errs much less, the cause is that so few pictures were measured and each cost its tag one "
        "of its pictures (the two are not told apart here).",
        f"Accepted to next: `accept_tag` of one picture and `suggest_tags` of another, {ACCEPTED} "
        "times; the longest includes a piece of the next calibration, or, up to 100 tagged "
        "pictures, all of it (with little tagged every eleventh change calls for the next). "
        "CPU: waiting for the disk is not in it.",
        "Many tagged pictures: every picture has its class and one of "
        f"{tags_scale.OTHER_TAGS:,} other tags. 'Second tag to next' accepts a further tag of a "
        "tagged picture, which leaves the annotator and comes back. '5 % more tags at once' is the "
        "first suggestion after an import of so many; 'while renewing', those after it, each of "
        "which measures a piece of the next calibration. Held: what rows, tags and catalog take "
        "after the imports; peak: the largest resident size of the process, libraries included.",
        "One tag a picture in the first tables, balanced classes, and classes that are the tags: "
        "people's tags are less tidy. Spaces are measured one at a time; `psc` beside `holistic` "
        "is not measured.",
    ]
    if found:
        made.append(f"All but 'Many tagged pictures' took {spent:.0f} s of CPU.")
    return made
