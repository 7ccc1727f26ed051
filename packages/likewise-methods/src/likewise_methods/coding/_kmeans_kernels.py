"""Kernels of approximate k-means; each writes only to its range of words, for threads."""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.neighbours._distances import squared_distance


@kernel
def group(labels, n_words):  # type: ignore[no-untyped-def]
    """Sort rows by label: ``members[starts[c]:starts[c + 1]]`` are the rows of c, ascending."""
    starts = np.zeros(n_words + 1, np.int64)
    for label in labels:
        starts[label + 1] += 1
    for c in range(n_words):
        starts[c + 1] += starts[c]
    at = starts[:-1].copy()
    members = np.empty(labels.shape[0], np.int64)
    for i in range(labels.shape[0]):
        members[at[labels[i]]] = i
        at[labels[i]] += 1
    return members, starts


@kernel
def reassign(first, last, X, words, near, members, starts, labels, errors):  # type: ignore[no-untyped-def]
    """Assign each member of words [first, last) to the nearest of its word and ``near[c]``."""
    block = np.empty((near.shape[1], X.shape[1]), np.float32)
    for c in range(first, last):
        if starts[c] == starts[c + 1]:
            continue
        # Contiguous neighbours stay in the first-level cache.
        for j in range(near.shape[1]):
            block[j] = words[near[c, j]]
        for m in range(starts[c], starts[c + 1]):
            i = members[m]
            best, least = c, squared_distance(words[c], X[i])
            for j in range(near.shape[1]):
                d = squared_distance(block[j], X[i])
                if d < least:
                    best, least = near[c, j], d
            labels[i] = best
            errors[i] = least


@kernel
def means(first, last, X, members, starts, words):  # type: ignore[no-untyped-def]
    """Move words [first, last) to the means of their members."""
    total = np.empty(X.shape[1], np.float64)
    for c in range(first, last):
        n = starts[c + 1] - starts[c]
        if n == 0:
            continue
        total[:] = 0.0
        for m in range(starts[c], starts[c + 1]):
            row = X[members[m]]
            for i in range(row.shape[0]):
                total[i] += row[i]
        for i in range(total.shape[0]):
            words[c, i] = total[i] / n


@kernel
def worst_members(errors, members, starts, totals, worst):  # type: ignore[no-untyped-def]
    """Compute per word the sum of its members' errors and the member with the largest."""
    for c in range(starts.shape[0] - 1):
        totals[c] = 0.0
        worst[c] = -1
        largest = np.float32(0.0)
        for m in range(starts[c], starts[c + 1]):
            e = errors[members[m]]
            totals[c] += e
            if e > largest:
                largest, worst[c] = e, members[m]
