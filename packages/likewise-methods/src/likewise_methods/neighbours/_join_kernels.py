"""Kernels of ``join``: lists of the nearest rows so far, and insertion into them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

FAST = {"reassoc", "contract", "nsz"}


@kernel(fastmath=FAST)
def cut_values(X, rows, line, values):
    """Compute <x, line> of some rows."""
    width = len(line)
    for t in range(len(rows)):
        x = X[rows[t]]
        total = line[0] * 0
        for c in range(width):
            total += x[c] * line[c]
        values[t] = total


@kernel
def _insert(i, v, d, ids, away, marks):
    """Insert v at distance d into the sorted list of i, unless it is there."""
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
    """Insert every row of a leaf into the lists of the others."""
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
    """Insert rows from ``low`` on into each list, by |x|^2 - 2 <x, q>."""
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
    """Find for each row some rows that list it, nearest first; -1 after the last."""
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
    """Return the squared distance of two rows."""
    total = X[0, 0] * 0
    for c in range(X.shape[1]):
        gap = X[i, c] - X[j, c]
        total += gap * gap
    return total


@kernel
def _through(X, i, v, first, ids, away, new, fresh, seen):
    """Insert the neighbours of v into the list of i: all if v is new to i, else those new to v."""
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
    """Compare each row with the neighbours of its neighbours and of its reverse neighbours.

    ``new`` marks entries of the last round, ``fresh`` those of this one; old pairs are skipped.
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
