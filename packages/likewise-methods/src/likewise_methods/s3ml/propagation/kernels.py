"""Compiled loops of the propagation: sweeps over all rows, and pushes that stay near one row.

Pi = (1 - a)(I - aP)^-1 has non-negative rows that sum to 1 (docs/methods/s3ml.md, (2)).  A push
along the links finds a row of it, a push against them a column (docs/methods/s3ml.md, (15), (18)
and (19)).
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel


@kernel
def sweep(graph, B, a, F):
    """Set F_i to (1-a) B_i + a mean of F over the neighbours; return the largest change.

    New rows are used at once (Gauss-Seidel), which halves the number of sweeps.
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
    """Set out to (1-a) 1 + a P'u; return the sum of the changes."""
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
def opposite(graph):
    """Return the links reversed: where each row's begin, and the rows that link to it."""
    n, k = graph.shape
    starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        for t in range(k):
            starts[graph[i, t] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    ends = starts[:n].copy()
    sources = np.empty(n * k, np.int32)
    for i in range(n):
        for t in range(k):
            v = graph[i, t]
            sources[ends[v]] = i
            ends[v] += 1
    return starts, sources


@kernel
def two_steps(starts, sources):
    """Return how many paths of two links end at each row."""
    n = len(starts) - 1
    paths = np.zeros(n, np.int64)
    for j in range(n):
        for t in range(starts[j], starts[j + 1]):
            u = sources[t]
            paths[j] += starts[u + 1] - starts[u]
    return paths


@kernel
def _push(graph, source, a, eps, work):
    """Compute row ``source`` of Pi: residuals and values in ``state``; list the rows pushed.

    First in, first out.  A row waits exactly if its residual is above eps.  The place after the
    last is always written, so the only branch is the end.  A value is low by at most eps times the
    column's sum.
    """
    state, queue, pushed, _, spent = work
    k = graph.shape[1]
    ring = len(queue) - 1
    state[source, 0] = 1.0
    queue[0] = source
    head, tail = 0, 1
    n_pushed = 0
    while head < tail:
        u = queue[head & ring]
        head += 1
        left = state[u, 0]
        state[u, 0] = 0.0
        before = state[u, 1]
        pushed[n_pushed] = u
        n_pushed += int(before == 0.0)
        state[u, 1] = before + (1 - a) * left
        share = a * left / k
        for t in range(k):
            v = graph[u, t]
            old = state[v, 0]
            new = old + share
            state[v, 0] = new
            queue[tail & ring] = v
            tail += int((old <= eps) & (new > eps))
    spent[0] += tail * k
    return n_pushed


@kernel
def _clear(graph, work, n_pushed):
    state, _, pushed, _, _ = work
    for t in range(n_pushed):
        u = pushed[t]
        state[u, 0] = 0.0
        state[u, 1] = 0.0
        for s in range(graph.shape[1]):
            state[graph[u, s], 0] = 0.0


@kernel
def push_rows(graph, sources, begin, a, eps, floors, work, ends, columns, values):
    """Write entries of at least ``floors`` of their column in rows of Pi, without the diagonal.

    Start at ``begin``; return where the sources or the room ended.
    """
    state, _, pushed, _, _ = work
    used = 0
    for s in range(begin, len(sources)):
        source = sources[s]
        n_pushed = _push(graph, source, a, eps, work)
        room = used + n_pushed <= len(columns)
        if room:
            for t in range(n_pushed):
                v = pushed[t]
                value = state[v, 1] + (1 - a) * state[v, 0]
                if value >= floors[v] and v != source:
                    columns[used] = v
                    values[used] = value
                    used += 1
            ends[s - begin + 1] = used
        _clear(graph, work, n_pushed)
        if not room:
            return s
        if s - begin + 2 == len(ends):
            return s + 1
    return len(sources)


@kernel
def push_lookup(graph, links, paths, crowd, low, high, a, near, far, starts, asked, work, values):
    """Compute Pi_ij for each row i and the j in ``asked[starts[i]:starts[i + 1]]``.

    A push down to ``near`` leaves residuals; what they send to j within two links is found against
    the links.  Where more than ``crowd`` paths of two links end at some j, a push down to ``far``
    is cheaper and as accurate.
    """
    begins, sources = links
    state = work[0]
    k = graph.shape[1]
    share = a / k
    for i in range(low, high):
        if starts[i] == starts[i + 1]:
            continue
        back = True
        for s in range(starts[i], starts[i + 1]):
            if paths[asked[s]] > crowd:
                back = False
        n_pushed = _push(graph, i, a, near if back else far, work)
        for s in range(starts[i], starts[i + 1]):
            j = asked[s]
            come = state[j, 0]
            if back:
                one, two = 0.0, 0.0
                for t in range(begins[j], begins[j + 1]):
                    u = sources[t]
                    one += state[u, 0]
                    for q in range(begins[u], begins[u + 1]):
                        two += state[sources[q], 0]
                come += share * (one + share * two)
            values[s] = state[j, 1] + (1 - a) * come
        _clear(graph, work, n_pushed)


@kernel
def _push_back(links, k, seeds, weights, a, eps, budget, work):
    """Compute Pi b for the b with ``weights`` at ``seeds``; return how many rows were pushed.

    This pushes against the links: residuals of at most eps change no row by more than eps, since
    rows of Pi sum to 1.  Return -1 if more than ``budget`` links were followed.
    """
    begins, sources = links
    state, queue, pushed, listed, spent = work
    ring = len(queue) - 1
    head = tail = 0
    for s in range(len(seeds)):
        v = seeds[s]
        state[v, 0] = weights[s]
        if abs(weights[s]) > eps:
            queue[tail] = v
            tail += 1
    n_pushed = followed = 0
    while head < tail and followed <= budget:
        u = queue[head & ring]
        head += 1
        left = state[u, 0]
        state[u, 0] = 0.0
        state[u, 1] += (1 - a) * left
        pushed[n_pushed] = u
        # Values have both signs and may cancel to 0, so a mark shows whether a row is listed.
        n_pushed += int(listed[u] == 0)
        listed[u] = 1
        share = a * left / k
        followed += begins[u + 1] - begins[u]
        for t in range(begins[u], begins[u + 1]):
            v = sources[t]
            old = state[v, 0]
            new = old + share
            state[v, 0] = new
            queue[tail & ring] = v
            tail += int((abs(old) <= eps) & (abs(new) > eps))
    spent[0] += followed
    if head < tail:
        _clear_back(links, seeds, work, n_pushed)
        return -1
    return n_pushed


@kernel
def _clear_back(links, seeds, work, n_pushed):
    begins, sources = links
    state, _, pushed, listed, _ = work
    for t in range(n_pushed):
        u = pushed[t]
        state[u, 0] = 0.0
        state[u, 1] = 0.0
        listed[u] = 0
        for s in range(begins[u], begins[u + 1]):
            state[sources[s], 0] = 0.0
    for v in seeds:
        state[v, 0] = 0.0


@kernel
def push_pairs(
    graph, links, rows, begin, starts, seeds, weights, a, eps, budget, least, place,
    work, other, ends, columns, values, own_ends, own_columns, own_values, hard,
):  # fmt: skip
    """Write W between rows in pairs and free rows, cut; and z among rows in pairs, uncut.

    ``rows`` are those in pairs and ``place`` has their numbers, -1 for free rows; z_j spreads from
    ``seeds[starts[s]:starts[s + 1]]``.  Rows whose z took too long are marked in ``hard``.  Start
    at ``begin``; return where the rows or the room ended.
    """
    positive, negative = least
    state, _, pushed, listed, _ = work
    there, _, reached, _, _ = other
    k = graph.shape[1]
    used = used_own = 0
    for s in range(begin, len(rows)):
        j = rows[s]
        own_seeds = seeds[starts[s] : starts[s + 1]]
        n = _push_back(
            links, k, own_seeds, weights[starts[s] : starts[s + 1]], a, eps, budget, work
        )
        room = True
        if n < 0:
            hard[s] = 1
        else:
            n_reached = _push(graph, j, a, eps, other)
            room = used + n + n_reached <= len(columns) and used_own + n <= len(own_columns)
            if room:
                for t in range(n):
                    v = pushed[t]
                    z = state[v, 1] + (1 - a) * state[v, 0]
                    if place[v] >= 0:
                        if v != j:
                            own_columns[used_own] = place[v]
                            own_values[used_own] = z
                            used_own += 1
                        continue
                    w = (z + there[v, 1] + (1 - a) * there[v, 0]) / 2
                    if w >= positive or w <= -negative:
                        columns[used] = v
                        values[used] = w
                        used += 1
                for t in range(n_reached):
                    v = reached[t]
                    if place[v] >= 0 or listed[v] != 0:
                        continue
                    w = (state[v, 0] * (1 - a) + there[v, 1] + (1 - a) * there[v, 0]) / 2
                    if w >= positive:
                        columns[used] = v
                        values[used] = w
                        used += 1
            _clear(graph, other, n_reached)
            _clear_back(links, own_seeds, work, n)
        if not room:
            return s
        ends[s - begin + 1] = used
        own_ends[s - begin + 1] = used_own
        if s - begin + 2 == len(ends):
            return s + 1
    return len(rows)
