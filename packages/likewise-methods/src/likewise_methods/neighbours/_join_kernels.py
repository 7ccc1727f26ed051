"""Compiled loops of ``join``: lists of the nearest so far, and what is offered to them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

FAST = {"reassoc", "contract", "nsz"}


@kernel(fastmath=FAST)
def cut_values(X, rows, line, values):
    """<x, line> of each of the rows."""
    width = len(line)
    for t in range(len(rows)):
        x = X[rows[t]]
        total = line[0] * 0
        for c in range(width):
            total += x[c] * line[c]
        values[t] = total


@kernel
def _insert(i, v, d, ids, away, marks):
    """Put v at distance d, which is less than the last, into the sorted list of i, once."""
    last = ids.shape[1] - 1
    for t in range(last + 1):
        if ids[i, t] == v:
            return
    at = last
    while at > 0 and away[i, at - 1] > d:
        ids[i, at], away[i, at], marks[i, at] = ids[i, at - 1], away[i, at - 1], marks[i, at - 1]
        at -= 1
    ids[i, at], away[i, at], marks[i, at] = v, d, 1


@kernel
def offer_leaf(rows, products, squares, ids, away, marks):
    """Offer every row of a leaf to every other."""
    size = len(rows)
    last = ids.shape[1] - 1
    for s in range(size):
        i = rows[s]
        own, worst = squares[i], away[i, last]
        for t in range(size):
            d = own + squares[rows[t]] - 2 * products[s, t]
            if d < worst and t != s:
                _insert(i, rows[t], d, ids, away, marks)
                worst = away[i, last]


@kernel
def offer_all(products, squares, low, ids, away, marks):
    """Offer rows from ``low`` on to each list, by squared distance less that of the asker."""
    last = ids.shape[1] - 1
    for s in range(len(products)):
        worst = away[s, last]
        for t in range(products.shape[1]):
            d = squares[low + t] - 2 * products[s, t]
            if d < worst:
                _insert(s, low + t, d, ids, away, marks)
                worst = away[s, last]


@kernel
def reverse_lists(ids, named):
    """For each row some of those that name it, -1 after the last; near ones first."""
    n, wide = ids.shape
    most = named.shape[1]
    for i in range(n):
        for t in range(most):
            named[i, t] = -1
    for t in range(wide):
        for i in range(n):
            v = ids[i, t]
            if v >= 0:
                for s in range(most):
                    if named[v, s] < 0:
                        named[v, s] = i
                        break


@kernel(fastmath=FAST)
def _apart(X, i, j):
    """The squared distance of two rows."""
    total = X[0, 0] * 0
    for c in range(X.shape[1]):
        gap = X[i, c] - X[j, c]
        total += gap * gap
    return total


@kernel
def _through(X, i, v, first, ids, away, new, fresh, seen):
    """Offer the neighbours of v to i: all where v itself is new to i, else those new to v."""
    last = ids.shape[1] - 1
    for t in range(last + 1):
        w = ids[v, t]
        if not (first or new[v, t]) or w < 0 or w == i or seen[w] == i:
            continue
        seen[w] = i
        d = _apart(X, i, w)
        if d < away[i, last]:
            _insert(i, w, d, ids, away, fresh)


@kernel
def refine(X, ids, away, new, fresh, named, seen):
    """Compare each row with the neighbours of its neighbours, and of those that name it.

    ``new`` marks what came in the round before, ``fresh`` what comes in this one; pairs of which no
    part is new were compared before.
    """
    n, wide = ids.shape
    last = wide - 1
    near, first = np.empty(wide, np.int32), np.empty(wide, np.uint8)
    for i in range(n):
        for t in range(wide):
            near[t], first[t] = ids[i, t], new[i, t]
        for t in range(wide):
            if near[t] >= 0:
                _through(X, i, near[t], first[t] != 0, ids, away, new, fresh, seen)
        for t in range(named.shape[1]):
            v = named[i, t]
            if v < 0:
                break
            _through(X, i, v, False, ids, away, new, fresh, seen)
            if seen[v] != i:
                seen[v] = i
                d = _apart(X, i, v)
                if d < away[i, last]:
                    _insert(i, v, d, ids, away, fresh)
