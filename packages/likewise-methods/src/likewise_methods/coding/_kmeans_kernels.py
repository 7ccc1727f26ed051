"""The compiled part of approximate k-means: grouping, local re-assignment, means, worst members.

Every kernel works on a range of words and writes only what belongs to that range, so that
threads outside can share the work and the result does not depend on how they did.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.neighbours._distances import squared_distance


@kernel
def group(labels, n_words):  # type: ignore[no-untyped-def]
    """Counting sort: ``members[starts[c]:starts[c + 1]]`` are the rows labelled c, ascending."""
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
    """Give each member of words [first, last) the nearest of ``near[c]``, its word's neighbours.

    Starts from the word it has, so an error never grows by a move; ties keep the earlier word.
    """
    block = np.empty((near.shape[1], X.shape[1]), np.float32)
    for c in range(first, last):
        if starts[c] == starts[c + 1]:
            continue
        # The neighbours side by side: they stay in the first-level cache for all members.
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
    """Words [first, last) move to the mean of their members, summed in float64."""
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
    """Per word the sum of its members' errors and the first member with the largest."""
    for c in range(starts.shape[0] - 1):
        totals[c] = 0.0
        worst[c] = -1
        largest = np.float32(0.0)
        for m in range(starts[c], starts[c + 1]):
            e = errors[members[m]]
            totals[c] += e
            if e > largest:
                largest, worst[c] = e, members[m]
