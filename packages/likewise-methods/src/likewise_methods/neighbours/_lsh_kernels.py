"""Kernels of p-stable LSH: keys of rows, and search by bisection over sorted keys.

A key is the sum (modulo 2^64) of one mixed word per hash, so the key of a neighbouring cell costs
one subtraction and one addition.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.neighbours._distances import squared_distance


@kernel
def _mix(cell, hash_number):  # type: ignore[no-untyped-def]
    """Mix cell number and hash number into a 64-bit word (the splitmix64 finaliser)."""
    z = np.uint64(cell) + np.uint64(hash_number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(fastmath=True)
def _dot(a, x):  # type: ignore[no-untyped-def]
    s = np.float32(0.0)
    for i in range(x.shape[0]):
        s += a[i] * x[i]
    return s


@kernel
def row_keys(X, directions, shifts, n_hashes, keys):  # type: ignore[no-untyped-def]
    """Fill ``keys`` (tables, rows of X)."""
    for i in range(X.shape[0]):
        for t in range(keys.shape[0]):
            key = np.uint64(0)
            for j in range(n_hashes):
                h = t * n_hashes + j
                key += _mix(np.int64(np.floor(_dot(directions[h], X[i]) + shifts[h])), j)
            keys[t, i] = key


@kernel
def _probe_keys(q, directions, shifts, n_hashes, n_probes, t, keys, cells, borders):  # type: ignore[no-untyped-def]
    """Write the key of table t, then the keys across its n_probes nearest cell borders.

    Lv et al. 2007: changing hash j by -1 (+1) is likelier the nearer the projection is to the
    lower (upper) border of its cell.
    """
    key = np.uint64(0)
    for j in range(n_hashes):
        h = t * n_hashes + j
        p = _dot(directions[h], q) + shifts[h]
        cells[j] = np.int64(np.floor(p))
        borders[2 * j] = p - np.floor(p)
        borders[2 * j + 1] = np.float32(1.0) - borders[2 * j]
        key += _mix(cells[j], j)
    keys[0] = key
    if n_probes == 0:
        return
    order = np.argsort(borders)
    for p in range(n_probes):
        j, side = order[p] // 2, order[p] % 2
        keys[p + 1] = key - _mix(cells[j], j) + _mix(cells[j] + 2 * side - 1, j)


@kernel
def _first_at_least(keys, key):  # type: ignore[no-untyped-def]
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _gather(probes, keys, ids, cap, seen, candidates):  # type: ignore[no-untyped-def]
    """Collect distinct rows with a probed key, at most ``cap``."""
    n = 0
    for p in range(probes.shape[1]):
        for t in range(probes.shape[0]):
            key = probes[t, p]
            at = _first_at_least(keys[t], key)
            while at < keys.shape[1] and keys[t, at] == key:
                row = ids[t, at]
                at += 1
                bit = np.uint8(1 << (row & 7))
                if seen[row >> 3] & bit:
                    continue
                if n == cap:
                    return n
                seen[row >> 3] |= bit
                candidates[n] = row
                n += 1
    return n


@kernel
def _keep(ids, values, row, value):  # type: ignore[no-untyped-def]
    """Insert into the k smallest (value, id) so far."""
    at = ids.shape[0] - 1
    if ids[at] >= 0 and (value > values[at] or (value == values[at] and row > ids[at])):
        return
    while at > 0 and (
        ids[at - 1] < 0 or value < values[at - 1] or (value == values[at - 1] and row < ids[at - 1])
    ):
        values[at], ids[at] = values[at - 1], ids[at - 1]
        at -= 1
    values[at], ids[at] = value, row


@kernel
def search_rows(Q, X, directions, shifts, keys, table_ids, ways, ids, values):  # type: ignore[no-untyped-def]
    """Fill ids and values with the smallest squared distances, or minus inner products.

    ``ways`` is (hashes per table, probes per table, most candidates, 1 for l2 or 0 for ip).
    """
    n_hashes, n_probes, cap, l2 = ways[0], ways[1], ways[2], ways[3]
    probes = np.empty((keys.shape[0], n_probes + 1), np.uint64)
    cells = np.empty(n_hashes, np.int64)
    borders = np.empty(2 * n_hashes, np.float32)
    seen = np.zeros(X.shape[0] // 8 + 1, np.uint8)
    candidates = np.empty(cap, np.int32)
    for i in range(Q.shape[0]):
        for t in range(keys.shape[0]):
            _probe_keys(Q[i], directions, shifts, n_hashes, n_probes, t, probes[t], cells, borders)
        n = _gather(probes, keys, table_ids, cap, seen, candidates)
        for c in range(n):
            row = candidates[c]
            seen[row >> 3] = 0
            value = squared_distance(X[row], Q[i]) if l2 else -_dot(X[row], Q[i])
            _keep(ids[i], values[i], row, value)
