"""What a picture costs in the space ``words`` as it was and as it is, and what the words are worth.

As it was: OpenCV's SIFT, and every word compared with every descriptor.  As it is: our SIFT, and
the words of the nearest cells.  Both in the same process, turn by turn on the same pictures; then
tf-idf retrieval with words learned from the descriptors of each, the way a collection does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.oxford import read_oxford
from benchmarks.readers.records import data_root
from likewise.images.decode import decode
from likewise.vision.local import SIFT, root_sift
from likewise.vision.pixels import grey
from likewise_methods.coding.bow import BagOfWords, count
from likewise_methods.coding.vocabulary import Assignment, Vocabulary
from likewise_methods.evaluation.datasets import RetrievalQuery
from likewise_methods.evaluation.protocols import evaluate, leave_one_out, positives_in_turn
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.neighbours.exact import Exact

COSTS = "Describing and assigning, CPU ms a picture"
WORTH = "What the words are worth, as it was and as it is"
MANY = "A hundred thousand words, oxford1k"
_SIDE, _FEATURES, _WORDS, _ROUNDS = 800, 1_500, 10_000, 12
_PICTURES, _TURNS = 40, 3
_A_WORD = 20
_MANY = 100_000
Floats = NDArray[np.float32]
Row = dict[str, object]
Ways = dict[str, Callable[[NDArray[np.uint8], int], Floats]]


def by_opencv(pixels: NDArray[np.uint8], max_features: int) -> Floats:
    """RootSIFT of the strongest keypoints by OpenCV alone."""
    detector = cv2.SIFT.create(nfeatures=max_features, enable_precise_upscale=True)
    found, raw = detector.detectAndCompute(grey(pixels), None)
    order = np.argsort([-keypoint.response for keypoint in found], kind="stable")
    return root_sift(np.asarray(raw, np.float32).reshape(-1, 128)[order[:max_features]])


def by_likewise(pixels: NDArray[np.uint8], max_features: int) -> Floats:
    """The same by Likewise."""
    return SIFT(max_features=max_features).extract(pixels).descriptors


ASSIGNMENTS: tuple[Assignment, ...] = ("exact", "cells")
MANY_ASSIGNMENTS: tuple[Assignment, ...] = ("hnsw", "cells")
WAYS: Ways = {"OpenCV": by_opencv, "Likewise": by_likewise}


def costs(name: str, paths: Sequence[Path], words: Floats) -> Row:
    """CPU milliseconds a picture of each step, the least of three turns through all pictures."""
    cv2.setNumThreads(1)
    some = paths[:: -(-len(paths) // _PICTURES)]
    every, cells = (Vocabulary.from_words(words, assignment=a) for a in ASSIGNMENTS)
    # Compilation and first-touch costs belong elsewhere.
    first = by_likewise(decode(some[0], max_side=_SIDE).pixels, _FEATURES)
    cells.quantise(first)
    turns: list[list[float]] = []
    same: list[NDArray[np.bool_]] = []
    for _ in range(_TURNS):
        spent = [0.0] * 5
        for path in some:
            marks = [time.process_time()]
            pixels = decode(path, max_side=_SIDE).pixels
            marks.append(time.process_time())
            theirs = by_opencv(pixels, _FEATURES)
            marks.append(time.process_time())
            ours = by_likewise(pixels, _FEATURES)
            marks.append(time.process_time())
            exact = every.quantise(theirs)
            marks.append(time.process_time())
            cells.quantise(ours)
            marks.append(time.process_time())
            spent = [s + step for s, step in zip(spent, np.diff(marks), strict=True)]
            same.append(cells.quantise(theirs) == exact)
        turns.append([1e3 * s / len(some) for s in spent])
    read, opencv, sift, all_words, assign = np.min(turns, axis=0).tolist()
    before, now = read + opencv + all_words, read + sift + assign
    return {
        "pictures": f"{name}, {len(some)}",
        "descriptors": round(len(np.concatenate(same)) / len(same)),
        "read": read,
        "SIFT, OpenCV": opencv,
        "SIFT": sift,
        "words": len(words),
        "assign, all": all_words,
        "assign": assign,
        "sum, as it was": before,
        "sum": now,
        "times less": before / now,
        "same word %": round(100 * float(np.concatenate(same).mean()), 2),
    }


def worth(
    name: str,
    names: Sequence[str],
    paths: Sequence[Path],
    queries: Sequence[RetrievalQuery],
    *,
    trapezoid: bool,
    seed: int,
) -> tuple[list[Row], Floats]:
    """mAP as it was, with only the other assignment, and as it is; and the words of all three.

    The words are one and the same, learned from OpenCV's descriptors: what an earlier collection
    has.
    """
    made: list[Row] = []
    words = np.empty((0, 128), np.float32)
    for way in WAYS:
        X, starts = described(name, paths, way)
        if way == "OpenCV":
            words = learned_words(X, seed)
        exact = None
        for assignment in ASSIGNMENTS if way == "OpenCV" else ASSIGNMENTS[1:]:
            given = Vocabulary.from_words(words, assignment=assignment).quantise(X)
            exact = given if assignment == "exact" else exact
            same = "" if exact is None else round(100 * float((given == exact).mean()), 2)
            made.append(
                {
                    "data": name,
                    "descriptors by": way,
                    "words": len(words),
                    "compared with": "all words" if assignment == "exact" else "nearest cells",
                    "mAP": retrieved(
                        names, given, starts, len(words), queries, trapezoid=trapezoid
                    ),
                    "same word %": same,
                }
            )
            print(made[-1], flush=True)
    return made, words


def worth_of_many(
    names: Sequence[str], paths: Sequence[Path], queries: Sequence[RetrievalQuery], seed: int
) -> list[Row]:
    """mAP with 100,000 words, found by walking the graph and in the nearest cells; CPU of both."""
    X, starts = described("oxford1k", paths, "Likewise")
    words = Vocabulary(_MANY, n_iter=3, sample=4 * _MANY, random_state=seed).fit(X).words_
    made: list[Row] = []
    for assignment in MANY_ASSIGNMENTS:
        start = time.process_time()
        found = Vocabulary.from_words(words, assignment=assignment)
        built = time.process_time()
        given = found.quantise(X)
        spent = time.process_time() - built
        some = slice(None, None, len(X) // 3_000)
        exact = Exact("l2").build(words).search(X[some], 1)[0][:, 0]
        made.append(
            {
                "words": _MANY,
                "looked for": "by a graph" if assignment == "hnsw" else "in the nearest cells",
                "build CPU s": built - start,
                "us a descriptor": 1e6 * spent / len(X),
                "same word %": round(100 * float((given[some] == exact).mean()), 2),
                "mAP": retrieved(names, given, starts, _MANY, queries, trapezoid=True),
            }
        )
        print(made[-1], flush=True)
    return made


def retrieved(
    names: Sequence[str],
    given: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_words: int,
    queries: Sequence[RetrievalQuery],
    *,
    trapezoid: bool,
) -> float:
    """mAP of tf-idf rows by the words given to all descriptors."""
    rows = BagOfWords("tf-idf").fit_transform(count(np.split(given, starts[1:-1]), n_words))
    order = np.argsort(-(rows @ rows.T).toarray(), axis=1, kind="stable")
    place = {name: i for i, name in enumerate(names)}

    def ranked(query: RetrievalQuery) -> list[str]:
        return [names[i] for i in order[place[query.query]]]

    return round(evaluate(queries, ranked, trapezoid=trapezoid).mean, 4)


def learned_words(X: Floats, seed: int) -> Floats:
    """As many words as a collection of this size has, from some of the descriptors."""
    n_words = min(_WORDS, len(X) // 8)
    sample = min(len(X), _A_WORD * n_words)
    return Vocabulary(n_words, n_iter=_ROUNDS, sample=sample, random_state=seed).fit(X).words_


def described(name: str, paths: Sequence[Path], way: str) -> tuple[Floats, NDArray[np.int64]]:
    """Descriptors of all pictures, one after another, and where each begins; cached."""
    kind = f"2000 RootSIFT a picture by {way}, {len(paths)} of {name}"
    path = harness.cache_dir() / f"{name}-{way.lower()}-rootsift.arrays"
    try:
        _, arrays = open_arrays(path, kind)
    except (FileNotFoundError, DamagedFile):
        found = [WAYS[way](decode(p, max_side=1024).pixels, 2_000) for p in paths]
        starts = np.concatenate([[0], np.cumsum([len(f) for f in found])]).astype(np.int64)
        save_arrays(path, kind, {}, {"X": np.concatenate(found), "starts": starts})
        _, arrays = open_arrays(path, kind)
    return arrays["X"], arrays["starts"]


def measure(root: Path, report: harness.Report, seed: int, *, full: bool) -> None:
    """The tables for the sets there are under ``root``; ``full``: only that of many words."""
    oxford = read_oxford(root / "oxford1k")
    names = sorted(oxford.paths)
    paths = [oxford.paths[name] for name in names]
    landmarks = positives_in_turn(oxford, at_least=14)
    if full:
        report.add(MANY, worth_of_many(names, paths, landmarks, seed))
        return
    sets = [("oxford1k", names, paths, landmarks)]
    if (root / "corel1k").is_dir():
        corel = read_corel1k(root / "corel1k")
        labels = {str(i): int(label) for i, label in enumerate(corel.labels)}
        sets.append(("corel1k", list(labels), list(corel.paths), leave_one_out(labels)))
    rows: list[Row] = []
    steps: list[Row] = []
    for name, names, paths, queries in sets:
        made, words = worth(name, names, paths, queries, trapezoid=name == "oxford1k", seed=seed)
        rows += made
        steps.append(costs(name, paths, words))
        print(steps[-1], flush=True)
    report.add(COSTS, steps)
    report.add(WORTH, rows)


def main() -> int:
    """Measure these tables alone, with ``--full`` that of 100,000 words, and write the page."""
    options = harness.arguments(__doc__ or "")
    root = data_root()
    if root is None or not (root / "oxford1k").is_dir():
        print("needs oxford1k in LIKEWISE_DATA or ../shared/data; nothing done")
        return 0
    report = harness.Report(
        "vocabulary",
        "Visual words: clustering and retrieval on oxford1k",
        "1,317,636 RootSIFT descriptors of 1,008 pictures, full size; describing and assigning "
        f"{_PICTURES} pictures a set, mAP over all",
        {"seed": options.seed, "rounds": 20, "descriptors a word": "at most 40"},
        page="features",
    )
    measure(root, report, options.seed, full=options.full)
    report.write()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
