"""Collections for the SOLIS benchmark: photos as bags of words (cached), and generated ones.

Three real or planted sets with a ground truth of groups, so that no conclusion rests on one; and
generated rows of any width: ``generated`` for speed alone, ``telling`` where a weight a word can
learn something.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.oxford import read_oxford
from benchmarks.readers.records import data_root
from benchmarks.vocabulary.report import descriptors
from likewise.images.decode import decode
from likewise.vision.local import SIFT
from likewise_lab.evaluation.planted import planted_views
from likewise_methods.coding.bow import BagOfWords, count
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.evaluation.protocols import positives_in_turn
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays

LANDMARK_POSITIVES = 14
Ints = NDArray[np.int64]
Described = Callable[[], tuple[Any, Ints]]


@dataclass(frozen=True)
class Bags:
    """Term counts of a collection and its groups: rows that belong together, junk apart."""

    name: str
    counts: Any  # CSR
    groups: dict[str, Ints]
    junk: dict[str, Ints]

    @property
    def tf_idf(self) -> Any:
        """Unit rows, document frequencies on the whole collection."""
        return _narrow(BagOfWords().fit_transform(self.counts))

    @property
    def tf(self) -> Any:
        """Unit rows of plain frequencies."""
        return _narrow(BagOfWords("tf").fit_transform(self.counts))


def _narrow(X: Any) -> Any:
    # scikit-learn's SVM takes 32-bit indices only.
    arrays = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_array(arrays, shape=X.shape)


def oxford(n_words: int, seed: int) -> Bags | None:
    """oxford1k; groups are the landmarks with at least 14 positives present."""
    root = data_root()
    if root is None or not (root / "oxford1k").is_dir():
        return None
    data = read_oxford(root / "oxford1k")
    names = sorted(data.paths)
    place = {name: i for i, name in enumerate(names)}
    counts = _counts("oxford1k", lambda: descriptors(data), n_words, seed)
    groups: dict[str, Ints] = {}
    junk: dict[str, Ints] = {}
    for query in positives_in_turn(data, at_least=LANDMARK_POSITIVES):
        rows = sorted(place[name] for name in query.positives | {query.query})
        groups[query.group] = np.array(rows)
        junk[query.group] = np.array(sorted(place[name] for name in query.junk), np.int64)
    # The landmarks' own query pictures never train; where present they are left out like junk.
    for query in data.queries:
        if query.present and query.group in junk:
            extra = np.array([place[query.query]])
            junk[query.group] = np.union1d(junk[query.group], extra)
    return Bags("oxford1k", counts, groups, junk)


def corel(n_words: int, seed: int) -> Bags | None:
    """corel1k: ten classes of a hundred."""
    root = data_root()
    if root is None or not (root / "corel1k").is_dir():
        return None
    data = read_corel1k(root / "corel1k")

    def described() -> tuple[Any, Ints]:
        return _descriptors("corel1k", (decode(path).pixels for path in data.paths))

    counts = _counts("corel1k", described, n_words, seed)
    groups = {str(data.classes[c]): np.flatnonzero(data.labels == c) for c in range(10)}
    return Bags("corel1k", counts, groups, {})


def planted(n_words: int, seed: int, n_views: int = 24) -> Bags:
    """Planted views: the scenes that photo libraries ship, seen again and again."""
    views = list(planted_views(n_views))
    scene = np.array([view.scene for view in views])
    name = f"planted{n_views}"
    counts = _counts(name, lambda: _descriptors(name, (v.pixels for v in views)), n_words, seed)
    groups = {str(s): np.flatnonzero(scene == s) for s in np.unique(scene)}
    return Bags("planted views", counts, groups, {})


def _counts(name: str, described: Described, n_words: int, seed: int) -> Any:
    """Term counts, through the caches of descriptors and of words."""
    path = harness.cache_dir() / f"{name}-words-{n_words}-{seed}.arrays"
    kind = f"words of {name}, {SIFT()}, {n_words} words, seed {seed}"
    try:
        _, arrays = open_arrays(path, kind)
    except (FileNotFoundError, DamagedFile):
        X, starts = described()
        print(f"{name}: {n_words:,} words of {len(X):,} descriptors …", file=sys.stderr)
        vocabulary = Vocabulary(n_words, sample=min(len(X), 20 * n_words), n_iter=10,
                                random_state=seed).fit(X)  # fmt: skip
        words = vocabulary.quantise(X).astype(np.int32)
        save_arrays(path, kind, {}, {"words": words, "starts": starts})
        _, arrays = open_arrays(path, kind)
    return count(np.split(arrays["words"], arrays["starts"][1:-1]), n_words)


def _descriptors(name: str, pictures: Iterable[Any]) -> tuple[Any, Ints]:
    """RootSIFT of all pictures, cached; oxford1k's are those of bench-vocabulary."""
    path = harness.cache_dir() / f"{name}-rootsift.arrays"
    kind = f"descriptors of {name}, {SIFT()}"
    try:
        _, arrays = open_arrays(path, kind)
    except (FileNotFoundError, DamagedFile):
        found = [SIFT().extract(pixels).descriptors for pixels in pictures]
        starts = np.concatenate([[0], np.cumsum([len(f) for f in found])]).astype(np.int64)
        save_arrays(path, kind, {}, {"X": np.concatenate(found), "starts": starts})
        _, arrays = open_arrays(path, kind)
    return arrays["X"], arrays["starts"]


def generated(
    n: int, n_words: int, per_row: int, seed: int, classes: int = 100, spread: float = 1.0
) -> tuple[Any, Ints]:
    """Unit rows (float32 CSR) of about ``per_row`` words, and a class for each row.

    Words have log-normal frequencies; a tenth of a row's words come from the few hundred that its
    class prefers, so that pictures of a class share more words than others do.
    """
    rng = np.random.default_rng(seed)
    mass = np.cumsum(rng.lognormal(0, spread, n_words))
    own = rng.integers(0, n_words, (classes, 3 * per_row))
    labels = rng.integers(0, classes, n)
    k = per_row // 10
    words = np.searchsorted(mass, rng.random((n, per_row + 2)) * mass[-1])
    words[:, :k] = own[labels[:, None], rng.integers(0, own.shape[1], (n, k))]
    words = np.sort(np.minimum(words, n_words - 1), axis=1)
    fresh = np.ones(words.shape, bool)
    fresh[:, 1:] = words[:, 1:] != words[:, :-1]
    values = (rng.lognormal(0, 0.5, words.shape) * fresh).astype(np.float32)
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    ends = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))])
    rows = (values[fresh], words[fresh].astype(np.int32), ends.astype(np.int32))
    return sp.csr_array(rows, shape=(n, n_words)), labels


def telling(
    n: int, n_words: int, per_row: int, seed: int, *, classes: int = 100, pool: int = 300
) -> tuple[Any, Ints, Ints]:
    """Counts (float32 CSR) of about ``per_row`` words, a class for each row, the telling words.

    ``pool`` words tell classes apart, wherever in the vocabulary they stand: a class prefers
    twenty of them, each is preferred by a few classes, and eight of a row's words are of those.
    All others are noise by Zipf's law, a few in most rows and most in hardly any.  So weights that
    raise the telling words and drop the noise are right for every class and for rows not seen yet,
    whatever the width; idf alone cannot find them, for noise is as rare as they are.
    """
    rng = np.random.default_rng(seed)
    words = rng.permutation(n_words)
    own = np.stack([rng.choice(words[:pool], 20, replace=False) for _ in range(classes)])
    noise = words[pool:]
    mass = np.cumsum((np.arange(len(noise)) + 10.0) ** -0.8)
    labels = rng.integers(0, classes, n)
    drawn = noise[np.searchsorted(mass, rng.random((n, per_row)) * mass[-1])]
    drawn[:, :8] = own[labels[:, None], rng.integers(0, 20, (n, 8))]
    ones = np.ones(drawn.size, np.float32)
    ends = np.arange(0, drawn.size + 1, per_row)
    counts = sp.csr_array((ones, drawn.ravel(), ends), shape=(n, n_words))
    counts.sum_duplicates()
    return counts, labels, words[:pool]
