"""Approximate k-means for very many words: a row is compared only with neighbours of its word.

The first assignment uses an inverted file of the initial words.  Then a row is compared with the
``n_near`` words nearest to its word (k²-means, Agustsson, Timofte and Van Gool 2017), which costs
n·n_near distances per round instead of n·k.  The graph of nearest words is computed again in rounds
0, 1, 2, 4, 8 …
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

# Below this many words the graph comes from comparing all pairs.
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
    """Return words, and mean squared errors at the start, after each round and at the end."""
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
    # Without neighbours every row keeps its word; only the error is new.
    alone = np.empty((n_words, 0), np.int32)
    _share(starts, n_threads, kernels.reassign, (X, words, alone, members, starts, labels, errors))
    history.append(float(errors.mean(dtype=np.float64)))
    return words, history


def rough_assignment(
    X: Floats, words: Floats, rng: np.random.Generator, n_threads: int = 1
) -> tuple[NDArray[np.int32], Floats]:
    """Return a near word of each row and the squared distance, from two cells."""
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
    # Both cells can be empty: any word will do for a start.
    lost = labels < 0
    labels[lost], errors[lost] = 0, ((X[lost] - words[0]) ** 2).sum(axis=1)
    return labels, errors


def nearest_words(words: Floats, n_near: int, n_threads: int = 1) -> NDArray[np.int32]:
    """Return the ``n_near`` nearest words of each word, padded with the word itself."""
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
    """Move words to the means of their rows; return the number of words without rows.

    A word without rows moves to the worst member of a word with a large sum of errors.
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
    """Call a kernel in threads, for ranges of words with equally many rows."""
    n_words = len(starts) - 1
    if n_threads == 1:
        kernel(0, n_words, *arrays)
        return
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], 8 * n_threads + 1))
    cuts[0], cuts[-1] = 0, n_words
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda a, z: kernel(a, z, *arrays), cuts[:-1].tolist(), cuts[1:].tolist()))
