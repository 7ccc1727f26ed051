"""The same pictures over ever more words: time, sparsity and accuracy of the online learners.

The generated words are such that a weight a word can learn (``solis_data.telling``).  Training,
validation and test triplets are over different pictures; every learner is tuned on validation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.solis.data import telling
from benchmarks.solis.methods import GAINS, RIVALS, SHARES, at_scales
from benchmarks.solis.protocol import METHODS, timed
from benchmarks.solis.tuning import Choice, climb
from likewise_methods.coding.bow import BagOfWords
from likewise_methods.index.inverted import InvertedIndex
from likewise_methods.solis.rows import as_rows
from likewise_methods.solis.scales import measured_scales
from likewise_methods.solis.solis import SOLIS
from likewise_methods.solis.triplets import triplets_from_labels

Row = dict[str, object]

WIDTHS = (10_000, 100_000, 1_000_000)
# LEGO is slow: it learns from, and is timed on, as many; its time is then scaled up.
FEW = 20_000
TIMED = 3


@dataclass(frozen=True, eq=False)
class Problem:
    """TF-IDF rows, the words that tell classes apart, and triplets over different pictures."""

    X: Any
    words: Any
    train: Any
    validation: Any
    test: Any


def problem(n_words: int, seed: int, n_triplets: int, pictures: int) -> Problem:
    """The first pictures train; a tenth as many validate, and as many test."""
    tenth = pictures // 10
    counts, labels, words = telling(pictures + 2 * tenth, n_words, 300, seed)
    first, second = pictures, pictures + tenth
    return Problem(
        BagOfWords().fit_transform(counts),
        words,
        triplets_from_labels(labels[:first], n_triplets, random_state=seed),
        first + triplets_from_labels(labels[first:second], FEW, random_state=seed + 1),
        second + triplets_from_labels(labels[second:], FEW, random_state=seed + 2),
    )


def widths(
    seed: int, n_triplets: int, words: tuple[int, ...] = WIDTHS, pictures: int = 20_000
) -> list[Row]:
    """Rows of all learners at each width; "plain" is w = 1: TF-IDF."""
    made: list[Row] = []
    for n_words in words:
        p = problem(n_words, seed, n_triplets, pictures)
        plain = SOLIS("tg", l1=0.0, eta=1.0, start="ones").fit(p.X, p.train[:1], [0.0])
        made.append({"words": n_words, "learner": "plain", "training s": 0.0} | _judged(plain, p))
        for name in METHODS:
            make = partial(at_scales, name, _scales(p, name))
            choice = _tuned((SHARES, GAINS), make, p, p.train)
            made.append({"words": n_words, "learner": name} | _fitted(make(*choice.best), p))
            if name == "ada":
                sparse = _fitted(make(*choice.sparse), p)
                made.append({"words": n_words, "learner": "ada, sparse"} | sparse)
        for name in ("OASIS", "LEGO"):
            ladder, rival = RIVALS[name]
            some = p.train[:FEW] if name == "LEGO" else p.train
            choice = _tuned((ladder,), rival, p, some)
            row = _fitted(rival(*choice.best), p, some)
            made.append({"words": n_words, "learner": name} | row)
    return made


def _scales(p: Problem, method: str) -> dict[str, float]:
    return measured_scales(as_rows(p.X), p.train, method, 1.0, None, gain=1.0)


def _tuned(ladders: Any, make: Callable[..., Any], p: Problem, train: Any) -> Choice:
    """By accuracy on the validation triplets."""

    def value(point: tuple[float, ...]) -> tuple[float, float]:
        learner = make(*point).fit(p.X, train)
        return learner.score(p.X, p.validation), learner.sparsity_

    return climb(ladders, value)


def _fitted(learner: Any, p: Problem, train: Any = None) -> Row:
    """Time of training on all triplets, what it is worth, and what it leaves of an index."""
    some = p.train if train is None else train
    # The least of some: one alone tells more of the machine's other work than of the width.
    seconds = min(timed(partial(learner.fit, p.X, some))[1] for _ in range(TIMED))
    w = learner.weights_
    index, build = timed(partial(InvertedIndex.build, p.X))
    _, drop = timed(partial(index.compact, w))
    index.search(p.X[:5], 10, weights=w)
    _, search = timed(partial(index.search, p.X[:100], 10, weights=w))
    return {
        "training s": seconds * len(p.train) / len(some),
        **_judged(learner, p),
        "index s": build + drop,
        "postings left %": round(100 * index.stats().postings / p.X.nnz, 2),
        "query ms": 10 * search,
    }


def _judged(learner: Any, p: Problem) -> Row:
    """Accuracy; ties, which count as wrong; what is left, and how much of it tells classes."""
    margins = learner.margins(p.X, p.test)
    left = np.flatnonzero(learner.weights_)
    return {
        "accuracy": round(float(np.mean(margins > 0)), 4),
        "ties %": round(100 * float(np.mean(margins == 0)), 2),
        "sparsity %": f"{100 * learner.sparsity_:.3f}",
        "weights left": len(left),
        "of them telling %": round(100 * float(np.isin(left, p.words).mean()), 2)
        if len(left)
        else 0,
    }
