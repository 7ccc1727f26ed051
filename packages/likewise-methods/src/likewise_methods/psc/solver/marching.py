"""Code many vectors over a product codebook from the paths of their parts (PSC).

A code over all k^m products of words has marginals u_1 ... u_m, one for each part of the vector.
The objective depends only on them: it is the sum of |x_i - A_i u_i|^2 plus alpha times the common
mass s of the marginals.  With half-thresholds h_i(s), the slopes of the parts at mass s, the
optimum is where the h_i add up to alpha / 2.  Each h_i falls along its own path, piece by piece
(``homotopy``), so following all paths by mass finds it exactly, for any m and any vector:
docs/methods/psc.md, (2) and (4) to (6).

h_i may become negative, and at h_i = 0 a path may rest while its mass grows.  The Gram matrices
given to ``together`` therefore have ``lift`` added to every entry, as if each word had one more
coordinate.  u(s) is the same, since that coordinate depends only on s, but the threshold h_i - lift
s falls strictly and factors exist for every support in general position (docs/methods/psc.md, (8)).
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel
from likewise_methods.psc.solver.homotopy import (
    ACT,
    DEPENDS,
    END,
    EVENT,
    KERNEL,
    MASS,
    NO_EVENT,
    NOW,
    RATE,
    SCALE,
    SIZE,
    STEP,
    H,
    Q,
    U,
    begin,
    forget,
    go,
    look,
    settle,
    sound,
    turn,
    walk,
)
from likewise_methods.psc.solver.simd import (
    below,
    broadcast,
    load,
    lowest,
    minus,
    n_bits,
    peek,
    store,
)

DONE, TIED = 0, 1


@kernel(**KERNEL)
def _write(F, I, B, i, row, h, ids, values, counts):  # type: ignore[no-untyped-def]  # noqa: E741
    """Write the support by rising word and u = p - h q of path i, after ``settle``.

    Words are sorted as bits of a set, which avoids mispredicted branches.
    """
    n, found = I[i, END, SIZE], 0
    for a in range(0, n, 8):
        store(F, (i, U, a), minus(load(F, (i, U, a)), load(F, (i, Q, a)), broadcast(F, h)))
    for p in range(n):
        word = I[i, ACT, p]
        B[0, word] = p
        B[1, word >> 6] |= 1 << (word & 63)
    for x in range(B.shape[1] >> 6):
        bits = B[1, x]
        B[1, x] = 0
        while bits != 0:
            word = 64 * x + lowest(bits)
            bits &= bits - 1
            value = peek(F, (i, U, peek(B, (0, word))))
            ids[i, row, found], values[i, row, found] = word, value
            found += value > 0.0
    counts[i, row] = found


@kernel(**KERNEL)
def apart(G, E, state, given, level, still, limit, ids, values, counts, status):  # type: ignore[no-untyped-def]
    """Code each part separately at half-threshold ``level``: APSC (docs/methods/psc.md, (10))."""
    F, I, c, w, B = state  # noqa: E741
    for i in range(given.shape[0]):
        for row in range(given.shape[1]):
            counts[i, row] = 0
            begin(E, F, I, c, w, given, i, row)
            if F[i, NOW, H] <= level:
                continue
            arrived = walk(G, E, F, I, c, w, i, level, still, limit)
            if not arrived or I[i, END, DEPENDS] or not sound(F, c, w, i, still):
                status[row] = TIED
            settle(E, F, I, given, i, row)
            _write(F, I, B, i, row, level, ids, values, counts)


@kernel(**KERNEL)
def _to(G, E, state, given, i, row, h, still, limit):  # type: ignore[no-untyped-def]
    """Advance the path to half-threshold h; return False where words depend on each other."""
    F, I, c, w, _ = state  # noqa: E741
    if I[i, END, SIZE] == 0:
        begin(E, F, I, c, w, given, i, row)
        if F[i, NOW, H] <= h:
            forget(F, I, i)
            return True
    arrived = walk(G, E, F, I, c, w, i, h, still, limit)
    return arrived and not I[i, END, DEPENDS] and sound(F, c, w, i, still)


@kernel(**KERNEL)
def halving(G, E, state, given, half, steps, tol, still, limit, ids, values, counts, status):  # type: ignore[no-untyped-def]
    """Bisect the thresholds of two parts until masses agree: IPSC (docs/methods/psc.md, (13))."""
    F, I = state.F, state.I  # noqa: E741
    for row in range(given.shape[1]):
        forget(F, I, 0)
        forget(F, I, 1)
        low, high, first = 0.0, half, 0.0
        for turns in range(steps + 1):
            first = 0.5 * (low + high)
            for i in range(2):
                h = first if i == 0 else half - first
                if not _to(G, E, state, given, i, row, h, still, limit):
                    status[row] = TIED
            if abs(F[0, NOW, MASS] - F[1, NOW, MASS]) <= tol or turns == steps:
                break
            if F[0, NOW, MASS] < F[1, NOW, MASS]:
                high = first
            else:
                low = first
        for i in range(2):
            settle(E, F, I, given, i, row)
            _write(F, I, state.B, i, row, first if i == 0 else half - first, ids, values, counts)


@kernel(**KERNEL)
def _meet(F, half, lift, low, high):  # type: ignore[no-untyped-def]
    """Return the mass at which thresholds add up on the current pieces; h_i falls by 1 / rate_i."""
    m = F.shape[0]
    above, slope = -half, -m * lift
    for i in range(m):
        above += F[i, NOW, H] + F[i, NOW, MASS] / F[i, NOW, RATE]
        slope += 1.0 / F[i, NOW, RATE]
    # All parts rest at threshold zero: any mass of the piece is optimal.
    mass = above / slope if slope > 1e-13 * m * lift else low
    return min(max(mass, low), high)


@kernel(**KERNEL)
def _march(G, E, state, half, lift, still, limit):  # type: ignore[no-untyped-def]
    """Follow all paths to the piece where thresholds add up to ``half``: (low, high) masses."""
    F, I, c, w, _ = state  # noqa: E741
    m = F.shape[0]
    for _ in range(limit):
        low, high, first = 0.0, np.inf, -1
        for i in range(m):
            low = max(low, F[i, NOW, MASS])
            if I[i, END, EVENT] != NO_EVENT:
                end = F[i, NOW, MASS] + F[i, NOW, STEP] * F[i, NOW, RATE]
                if end < high:
                    high, first = end, i
        if first < 0:
            return low, high
        total = m * lift * high
        for i in range(m):
            total += F[i, NOW, H] - (high - F[i, NOW, MASS]) / F[i, NOW, RATE]
        if total <= half:
            return low, max(high, low)
        go(F, I, first, F[first, NOW, STEP])
        turn(E, F, I, c, w, first)
        look(G, F, I, c, w, first, 1.0, still)
    return -1.0, -1.0


@kernel(**KERNEL)
def together(G, E, state, given, plain, half, lift, still, limit, ids, values, counts, status):  # type: ignore[no-untyped-def]
    """Code all parts at the mass where their half-thresholds add up to ``half``: the optimum.

    ``given`` leads the way, ``plain`` determines u in the end; they differ where ties are broken.
    """
    F, I, c, w, _ = state  # noqa: E741
    m = given.shape[0]
    for row in range(given.shape[1]):
        total, scale, tied = 0.0, 0.0, False
        for i in range(m):
            counts[i, row] = 0
            begin(E, F, I, c, w, given, i, row)
            total += F[i, NOW, H]
            scale = max(scale, F[i, NOW, SCALE])
            tied = tied or F[i, NOW, H] == 0.0
        if total <= half:
            continue
        low, high = -1.0, -1.0
        if not tied:
            for i in range(m):
                F[i, NOW, SCALE] = scale
                look(G, F, I, c, w, i, 1.0, still)
            low, high = _march(G, E, state, half, lift, still, limit)
        if low < 0.0:
            status[row] = TIED
            continue
        mass = _meet(F, half, lift, low, high)
        for i in range(m):
            go(F, I, i, (mass - F[i, NOW, MASS]) / F[i, NOW, RATE])
            if I[i, END, DEPENDS] or not sound(F, c, w, i, still):
                status[row] = TIED
            settle(E, F, I, plain, i, row)
            F[i, NOW, H], F[i, NOW, MASS] = 0.0, 0.0
            for p in range(I[i, END, SIZE]):
                F[i, NOW, MASS] += F[i, U, p]
        mass = _meet(F, half, lift, low, high)
        for i in range(m):
            h = (F[i, NOW, MASS] - mass) / F[i, NOW, RATE]
            _write(F, I, state.B, i, row, h, ids, values, counts)
            kept = 0.0
            for p in range(counts[i, row]):
                kept += values[i, row, p]
            for p in range(counts[i, row]):
                values[i, row, p] *= mass / kept


@kernel(**KERNEL)
def pack(ids, values, counts, all_ids, all_values):  # type: ignore[no-untyped-def]
    """Write the rows of a batch one after another, by rising word, one part after another.

    A word's place is the number of words below it, found without branches by comparing a register
    of them at a time.  Rows of ids have room as ``simd.pad_support`` says.
    """
    at = 0
    for i in range(counts.shape[0]):
        for row in range(counts.shape[1]):
            n = counts[i, row]
            for p in range(n):
                word, place = peek(ids, (i, row, p)), at
                for q in range(0, n, 16):
                    real = (1 << min(n - q, 16)) - 1
                    place += n_bits(below(load(ids, (i, row, q)), word) & real)
                all_ids[place], all_values[place] = word, peek(values, (i, row, p))
            at += n
