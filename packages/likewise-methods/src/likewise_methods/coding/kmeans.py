"""Approximate k-means for very many words: each row looks only at the neighbours of its word.

The first, rough assignment goes through an inverted file of the starting words.  From then on a
row is compared with the ``n_near`` words nearest to the one it has (k²-means, Agustsson, Timofte
and Van Gool 2017), which costs n·n_near distances a round instead of n·k; the graph of nearest
words comes from ``neighbours`` too and is renewed in rounds 0, 1, 2, 4, 8 …, as words move less
and less.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.coding import _kmeans_kernels as kernels
from likewise_methods.neighbours.exact import Exact
from likewise_methods.neighbours.hnsw import HNSW
from likewise_methods.neighbours.ivf import IVF

Floats = NDArray[np.float32]
Report = Callable[[int, int, float], None]

# Below this many words the graph of words comes from comparing all pairs.  128 columns, one
# thread: at 30,000 words HNSW took 1.9 s a graph, all pairs about 2.6 s (from its rate).
GRAPH_EXACT = 20_000
_ROUGH_EXACT = 1_000
_ROWS_AT_ONCE = 65_536


def approximate_kmeans(
    X: Floats,
    n_words: int,
    *,
    n_iter: int,
    n_near: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    report: Report | None = None,
) -> tuple[Floats, list[float]]:
    """Words (n_words, columns) and the mean squared errors of ``X`` on the way.

    One error at the start, one after each round's assignment, and last that of the returned words,
    which moved once more: the mean squared distance of each row to the word it was last given.
    """
    words = X[np.sort(rng.choice(len(X), n_words, replace=False))]
    labels, errors = rough_assignment(X, words, rng, n_threads)
    history = [float(errors.mean(dtype=np.float64))]
    near = np.empty((0, 0), np.int32)
    for turn in range(n_iter):
        move_words(X, words, labels, errors, n_threads)
        if turn & (turn - 1) == 0:
            near = nearest_words(words, min(n_near, n_words), n_threads)
        members, starts = kernels.group(labels, n_words)
        arrays = (X, words, near, members, starts, labels, errors)
        _share(starts, n_threads, kernels.reassign, arrays)
        history.append(float(errors.mean(dtype=np.float64)))
        if report is not None:
            report(turn + 1, n_iter, history[-1])
    move_words(X, words, labels, errors, n_threads)
    members, starts = kernels.group(labels, n_words)
    # Without neighbours to turn to, every row stays with its word and only the error is new.
    alone = np.empty((n_words, 0), np.int32)
    _share(starts, n_threads, kernels.reassign, (X, words, alone, members, starts, labels, errors))
    history.append(float(errors.mean(dtype=np.float64)))
    return words, history


def rough_assignment(
    X: Floats, words: Floats, rng: np.random.Generator, n_threads: int = 1
) -> tuple[NDArray[np.int32], Floats]:
    """A near word for each row and the squared distance to it.

    Two cells of an inverted file are enough: the rounds that follow repair the rest.  Measured
    once, at 10,000 words: a tenth of the time, and no higher error after ten rounds.
    """
    index: Exact | IVF = Exact("l2", n_threads=n_threads)
    if len(words) > _ROUGH_EXACT:
        seed = int(rng.integers(2**31))
        index = IVF("l2", n_probes=2, random_state=seed, n_threads=n_threads)
    index.build(words)
    labels = np.empty(len(X), np.int32)
    errors = np.empty(len(X), np.float32)
    for a in range(0, len(X), _ROWS_AT_ONCE):
        ids, values = index.search(X[a : a + _ROWS_AT_ONCE], 1)
        labels[a : a + _ROWS_AT_ONCE], errors[a : a + _ROWS_AT_ONCE] = ids[:, 0], values[:, 0]
    # Both probed cells can be empty of words: any word will do for a start.
    lost = labels < 0
    labels[lost], errors[lost] = 0, ((X[lost] - words[0]) ** 2).sum(axis=1)
    return labels, errors


def nearest_words(words: Floats, n_near: int, n_threads: int = 1) -> NDArray[np.int32]:
    """The ``n_near`` nearest words of each word; a place left empty by HNSW is the word itself."""
    index: Exact | HNSW = Exact("l2", n_threads=n_threads)
    if len(words) > GRAPH_EXACT:
        index = HNSW("l2", links=16, ef_build=40, ef_search=n_near, n_threads=n_threads)
    index.build(words)
    near = np.empty((len(words), n_near), np.int32)
    for a in range(0, len(words), _ROWS_AT_ONCE):
        near[a : a + _ROWS_AT_ONCE] = index.search(words[a : a + _ROWS_AT_ONCE], n_near)[0]
    empty = near < 0
    near[empty] = np.nonzero(empty)[0]
    return near


def move_words(
    X: Floats, words: Floats, labels: NDArray[np.int32], errors: Floats, n_threads: int = 1
) -> int:
    """Words go to the means of their rows; words without rows are seeded again.  Their number.

    A word that nobody uses takes over the worst coded member of the word with the largest sum
    of errors, one such word each, so that crowded places are split first.  Rows that are all
    coded without error leave nothing to split: the word stays where it is.
    """
    n_words = len(words)
    members, starts = kernels.group(labels, n_words)
    empty = np.flatnonzero(np.diff(starts) == 0)
    if len(empty):
        totals, worst = np.empty(n_words), np.empty(n_words, np.int64)
        kernels.worst_members(errors, members, starts, totals, worst)
        rich = np.argsort(-totals, kind="stable")
        rich = rich[worst[rich] >= 0][: len(empty)]
        empty = empty[: len(rich)]
        labels[worst[rich]] = empty
        errors[worst[rich]] = 0
        members, starts = kernels.group(labels, n_words)
    _share(starts, n_threads, kernels.means, (X, members, starts, words))
    return len(empty)


def _share(
    starts: NDArray[np.int64], n_threads: int, kernel: Callable[..., None], arrays: tuple[Any, ...]
) -> None:
    """``kernel(first, last, *arrays)`` over ranges of words that hold about equally many rows."""
    n_words = len(starts) - 1
    if n_threads == 1:
        kernel(0, n_words, *arrays)
        return
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], 8 * n_threads + 1))
    cuts[0], cuts[-1] = 0, n_words
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda a, z: kernel(a, z, *arrays), cuts[:-1].tolist(), cuts[1:].tolist()))
