"""Compiled loops of the propagation: one sweep of a solve, and the push that finds a row of Pi.

Pi = (1 - a)(I - aP)^-1 has non-negative rows that sum to 1 (docs/methods/s3ml.md, (2) and (15)).
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from likewise._kernels import kernel


@kernel
def sweep(graph, B, a, F):
    """F_i <- (1-a) B_i + a mean of F over the neighbours, row after row; the largest change.

    New rows are used at once (Gauss-Seidel): about half the sweeps of the plain iteration.
    """
    n, k = graph.shape
    width = B.shape[1]
    total = np.empty(width)
    share = a / k
    change = 0.0
    for i in range(n):
        for c in range(width):
            total[c] = 0.0
        for t in range(k):
            row = F[graph[i, t]]
            for c in range(width):
                total[c] += row[c]
        for c in range(width):
            new = (1 - a) * B[i, c] + share * total[c]
            change = max(change, abs(new - F[i, c]))
            F[i, c] = new
    return change


@kernel
def send(graph, a, u, out):
    """out <- (1-a) 1 + a P'u; the sum of the changes."""
    n, k = graph.shape
    share = a / k
    for i in range(n):
        out[i] = 1 - a
    for i in range(n):
        given = share * u[i]
        for t in range(k):
            out[graph[i, t]] += given
    change = 0.0
    for i in range(n):
        change += abs(out[i] - u[i])
    return change


@kernel
def _push(graph, source, a, eps, p, r, queue, waiting, touched):
    """Row ``source`` of Pi into ``p``; the rows touched are listed, their number returned.

    First in, first out; p is low by at most eps times the column sums of Pi.
    """
    n, k = graph.shape
    r[source] = 1.0
    touched[0] = source
    n_touched = 1
    queue[0] = source
    waiting[source] = 1
    head, length = 0, 1
    while length:
        u = queue[head]
        head += 1
        if head == n:
            head = 0
        length -= 1
        # 2: seen before and not waiting.
        waiting[u] = 2
        left = r[u]
        r[u] = 0.0
        p[u] += (1 - a) * left
        share = a * left / k
        for t in range(k):
            v = graph[u, t]
            r[v] += share
            if waiting[v] == 0:
                waiting[v] = 3
                touched[n_touched] = v
                n_touched += 1
            if waiting[v] != 1 and r[v] > eps:
                waiting[v] = 1
                place = head + length
                if place >= n:
                    place -= n
                queue[place] = v
                length += 1
    return n_touched


@kernel
def _clear(p, r, waiting, touched, n_touched):
    for t in range(n_touched):
        v = touched[t]
        p[v] = 0.0
        r[v] = 0.0
        waiting[v] = 0


@kernel
def push_rows(graph, sources, begin, a, eps, least, wanted, work, ends, columns, values):
    """Entries of at least ``least`` in rows of Pi, where ``wanted`` is not 0, without the diagonal.

    Goes on from ``begin`` until the sources or the room are spent; gives where it stopped.
    """
    p, r, queue, waiting, touched = work
    used = 0
    for s in range(begin, len(sources)):
        source = sources[s]
        n_touched = _push(graph, source, a, eps, p, r, queue, waiting, touched)
        room = used + n_touched <= len(columns)
        if room:
            for t in range(n_touched):
                v = touched[t]
                if p[v] > 0 and p[v] >= least and v != source and wanted[v] != 0:
                    columns[used] = v
                    values[used] = p[v]
                    used += 1
            ends[s - begin + 1] = used
        _clear(p, r, waiting, touched, n_touched)
        if not room:
            return s
        if s - begin + 2 == len(ends):
            return s + 1
    return len(sources)


@kernel
def push_lookup(graph, low, high, a, eps, starts, asked, work, values):
    """Pi_ji for each row j and the i asked for in ``asked[starts[j]:starts[j + 1]]``."""
    p, r, queue, waiting, touched = work
    for j in range(low, high):
        if starts[j] == starts[j + 1]:
            continue
        n_touched = _push(graph, j, a, eps, p, r, queue, waiting, touched)
        for s in range(starts[j], starts[j + 1]):
            values[s] = p[asked[s]]
        _clear(p, r, waiting, touched, n_touched)
