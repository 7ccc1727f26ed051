"""What classification needs besides coders: kernels between pictures, draws, a linear SVM.

Kernels are computed once for all pictures of a method; each draw trains scikit-learn's
``LinearSVC``, one against the rest, on rows of a factor of them (see
``likewise_methods.coding.linear``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import LinearSVC

Doubles = NDArray[np.float64]
Labels = NDArray[np.int64]

PENALTIES = (1.0, 10.0, 100.0)


@njit(cache=True, nogil=True)
def _shared(starts, words, values, out):  # type: ignore[no-untyped-def]
    """``out[i, j]`` = sum of x y / (x + y) over the words both rows have; out is symmetric."""
    width = 0
    for w in words:
        width = max(width, w + 1)
    row = np.zeros(width, np.float32)
    n = starts.shape[0] - 1
    for i in range(n):
        for e in range(starts[i], starts[i + 1]):
            row[words[e]] = values[e]
        for j in range(i + 1):
            total = 0.0
            for e in range(starts[j], starts[j + 1]):
                x = row[words[e]]
                if x > 0:
                    total += x * values[e] / (x + values[e])
            out[i, j] = total
            out[j, i] = total
        for e in range(starts[i], starts[i + 1]):
            row[words[e]] = 0.0


def chi_squared(rows: Any) -> Doubles:
    """exp(-d / mean d) with d(x, y) = sum (x - y)^2 / (x + y), for histograms of sum 1.

    ``(x - y)^2 / (x + y) = x + y - 4 x y / (x + y)``: only words both have take time.
    """
    found = sparse.csr_array(rows)
    shared = np.empty((found.shape[0], found.shape[0]))
    _shared(
        found.indptr.astype(np.int64),
        found.indices.astype(np.int32),
        found.data.astype(np.float32),
        shared,
    )
    mass = np.asarray(found.sum(axis=1), np.float64).reshape(-1)
    distances = np.maximum(mass[:, None] + mass[None] - 4 * shared, 0)
    return np.asarray(np.exp(-distances / distances.mean()), np.float64)


class Draw(NamedTuple):
    """Pictures to learn from and to test on."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def draws(labels: Labels, n_train: int, n_test: int, n_draws: int, seed: int) -> list[Draw]:
    """``n_train`` pictures of each class to learn from and up to ``n_test`` others to test on."""
    found = []
    for number in range(n_draws):
        rng = np.random.default_rng([seed, number])
        train, test = [], []
        for label in np.unique(labels):
            mixed = rng.permutation(np.flatnonzero(labels == label))
            train.append(mixed[:n_train])
            test.append(mixed[n_train : n_train + n_test])
        found.append(Draw(np.concatenate(train), np.concatenate(test)))
    return found


def class_accuracy(rows: Doubles, labels: Labels, draw: Draw, penalty: float) -> float:
    """Mean over the classes of the share of test pictures that are recognised."""
    machine = LinearSVC(C=penalty, tol=1e-2, max_iter=200, random_state=0)
    machine.fit(rows[draw.train], labels[draw.train])
    right = machine.predict(rows[draw.test]) == labels[draw.test]
    return float(np.mean([right[labels[draw.test] == label].mean() for label in np.unique(labels)]))


def chosen_penalty(rows: Doubles, labels: Labels, draw: Draw) -> float:
    """The best C on a third of the training pictures of a draw, learning from the rest."""
    inner = draws(labels[draw.train], 20, 10, 1, 7)[0]
    inside = Draw(draw.train[inner.train], draw.train[inner.test])
    return max(PENALTIES, key=lambda C: class_accuracy(rows, labels, inside, C))
