"""Kernels of the four SOLIS updates; a round touches only the non-zeros of z.

Updates of other words are done lazily: ``soft(soft(v, a), b) = soft(v, a + b)``, so k rounds of
shrinking are one, and the weights of the averaging methods depend on sums that only loss rounds
change (docs/methods/solis.md, (10) to (12)).  The updates are (6) to (9), ``soft`` and T1 are (5).
The state of a word is one row of float64, so it costs one cache line.  Each method has its own
loops: a kernel that takes a compiled function cannot be cached.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from likewise_methods.kernels import kernel
from likewise_methods.solis.margin_kernels import find_margin

# Indices into the counters.  STEPS is the clock of the methods, n of (11); LAST_LOSS its value at
# the last loss round.
ROUNDS, LOSSES, SKIPPED, STEPS, LAST_LOSS = range(5)
N_COUNTERS = 5
ALL, LOSS, PRINTED = range(3)


class Rule(NamedTuple):
    """The parameters of a round, as numbers."""

    l1: float
    eta: float
    gamma: float
    rho: float
    delta: float
    theta: float
    margin: float
    start: float  # initial weight of all words; kernels learn the offset from it
    floor: float  # smallest offset; -inf without ``nonnegative``
    clock: int
    skip_empty: bool


@kernel(inline="always")
def soft(v, a):  # type: ignore[no-untyped-def]
    """sign(v) max(|v| - a, 0)."""
    return math.copysign(max(abs(v) - a, 0.0), v) if abs(v) > a else 0.0


@kernel(inline="always")
def _truncate(v, a, theta):  # type: ignore[no-untyped-def]
    """Langford's T1: shrink by a what is not larger than theta."""
    return v if abs(v) > theta else soft(v, a)


@kernel(inline="always")
def _cost(cost, word):  # type: ignore[no-untyped-def]
    return cost[word] if len(cost) else 1.0


@kernel(inline="always")
def tg_weight(row, word, n, rule, cost):  # type: ignore[no-untyped-def]
    """Return the offset of a word after n steps; ``row`` is (offset, step of the last write)."""
    if row[0] == 0.0:
        return 0.0
    return _truncate(row[0], (n - row[1]) * rule.eta * rule.l1 * _cost(cost, word), rule.theta)


@kernel(inline="always")
def afb_weight(row, word, n, rule, cost):  # type: ignore[no-untyped-def]
    """``row`` is (offset, step of the last write, G, H)."""
    if row[0] == 0.0:
        return 0.0
    return soft(row[0], (n - row[1]) * rule.eta * rule.l1 * _cost(cost, word) / row[3])


@kernel(inline="always")
def da_weight(row, word, tau, rule, cost):  # type: ignore[no-untyped-def]
    """``row`` is (sum of z over loss rounds): S of (12)."""
    if row[0] == 0.0 or tau == 0:
        return 0.0
    root = math.sqrt(tau)
    threshold = rule.l1 * _cost(cost, word) * tau + rule.gamma * rule.rho * root
    return max(soft(row[0], threshold) / (rule.gamma * root), rule.floor)


@kernel(inline="always")
def ada_weight(row, word, tau, rule, cost):  # type: ignore[no-untyped-def]
    """``row`` is (sum of z, G), both over loss rounds."""
    v = soft(row[0], rule.l1 * _cost(cost, word) * tau)
    if v == 0.0:
        return 0.0
    # H is 0 only where squares underflowed with delta = 0.
    scale = rule.delta + math.sqrt(row[1])
    return max(v * rule.eta / scale, rule.floor) if scale > 0.0 else 0.0


@kernel(inline="always")
def _weight_of_round(sample_weight, t):  # type: ignore[no-untyped-def]
    return sample_weight[t] if len(sample_weight) else 1.0


@kernel(inline="always")
def _count(counters, lost, rule):  # type: ignore[no-untyped-def]
    """Count one round."""
    counters[ROUNDS] += 1
    counters[LOSSES] += lost
    if lost or rule.clock != LOSS:
        counters[STEPS] += 1
    if lost:
        counters[LAST_LOSS] = counters[STEPS]


@kernel(inline="always")
def averaging_time(counters, clock):  # type: ignore[no-untyped-def]
    """Return tau of the averaging methods: the step at which weights are evaluated."""
    return counters[LAST_LOSS] if clock == PRINTED else counters[STEPS]


@kernel
def tg(rows, triplets, sample_weight, state, counters, rule, cost, work):  # type: ignore[no-untyped-def]
    """Truncated gradient: w <- T1(w + eta s z, eta l1 c)."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        if at == end and rule.skip_empty:
            counters[SKIPPED] += 1
            continue
        n = counters[STEPS]
        value = 0.0
        plain = 0.0
        for k in range(at, end):
            word = work.words[k]
            plain += work.z[k]
            value += tg_weight(state[word], word, n, rule, cost) * work.z[k]
        s = _weight_of_round(sample_weight, t)
        lost = s > 0.0 and rule.start * plain + value < rule.margin
        _count(counters, lost, rule)
        if not lost:
            continue
        for k in range(at, end):
            word = work.words[k]
            v = tg_weight(state[word], word, n, rule, cost) + rule.eta * s * work.z[k]
            v = _truncate(v, rule.eta * rule.l1 * _cost(cost, word), rule.theta)
            state[word, 0] = max(v, rule.floor)
            state[word, 1] = counters[STEPS]


@kernel
def afb(rows, triplets, sample_weight, state, counters, rule, cost, work):  # type: ignore[no-untyped-def]
    """Adaptive forward-backward: w <- soft(w + eta s z/H, eta l1 c/H), H = delta + sqrt G."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        if at == end and rule.skip_empty:
            counters[SKIPPED] += 1
            continue
        n = counters[STEPS]
        value = 0.0
        plain = 0.0
        for k in range(at, end):
            word = work.words[k]
            plain += work.z[k]
            value += afb_weight(state[word], word, n, rule, cost) * work.z[k]
        s = _weight_of_round(sample_weight, t)
        lost = s > 0.0 and rule.start * plain + value < rule.margin
        _count(counters, lost, rule)
        if not lost:
            continue
        for k in range(at, end):
            word = work.words[k]
            v = afb_weight(state[word], word, n, rule, cost)
            g = s * work.z[k]
            state[word, 2] += g * g
            scale = rule.delta + math.sqrt(state[word, 2])
            if scale > 0.0:
                step = rule.eta / scale
                v = soft(v + step * g, step * rule.l1 * _cost(cost, word))
            state[word, 0] = max(v, rule.floor)
            state[word, 1] = counters[STEPS]
            state[word, 3] = scale


@kernel
def da(rows, triplets, sample_weight, state, counters, rule, cost, work):  # type: ignore[no-untyped-def]
    """Dual averaging: w = soft(sum of s z, l1 c tau + gamma rho sqrt tau) / (gamma sqrt tau)."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        if at == end and rule.skip_empty:
            counters[SKIPPED] += 1
            continue
        tau = averaging_time(counters, rule.clock)
        value = 0.0
        plain = 0.0
        for k in range(at, end):
            word = work.words[k]
            plain += work.z[k]
            value += da_weight(state[word], word, tau, rule, cost) * work.z[k]
        s = _weight_of_round(sample_weight, t)
        lost = s > 0.0 and rule.start * plain + value < rule.margin
        _count(counters, lost, rule)
        if lost:
            for k in range(at, end):
                state[work.words[k], 0] += s * work.z[k]


@kernel
def ada(rows, triplets, sample_weight, state, counters, rule, cost, work):  # type: ignore[no-untyped-def]
    """Adaptive dual averaging: w = eta soft(sum of s z, l1 c tau) / (delta + sqrt G)."""
    for t in range(len(triplets)):
        at, end = find_margin(rows, triplets, t, work)
        if at == end and rule.skip_empty:
            counters[SKIPPED] += 1
            continue
        tau = averaging_time(counters, rule.clock)
        value = 0.0
        plain = 0.0
        for k in range(at, end):
            word = work.words[k]
            plain += work.z[k]
            value += ada_weight(state[word], word, tau, rule, cost) * work.z[k]
        s = _weight_of_round(sample_weight, t)
        lost = s > 0.0 and rule.start * plain + value < rule.margin
        _count(counters, lost, rule)
        if lost:
            for k in range(at, end):
                g = s * work.z[k]
                state[work.words[k], 0] += g
                state[work.words[k], 1] += g * g


@kernel
def offsets(method, state, counters, rule, cost, out):  # type: ignore[no-untyped-def]
    """Compute the current offsets of all words; ``method`` is an index into ``METHODS``."""
    for word in range(len(state)):
        out[word] = _offset(method, state[word], word, counters, rule, cost)


@kernel
def some_offsets(method, words, state, counters, rule, cost, out):  # type: ignore[no-untyped-def]
    """Compute the current offsets of some words."""
    for i in range(len(words)):
        out[i] = _offset(method, state[words[i]], words[i], counters, rule, cost)


@kernel(inline="always")
def _offset(method, row, word, counters, rule, cost):  # type: ignore[no-untyped-def]
    if method == 0:
        return tg_weight(row, word, counters[STEPS], rule, cost)
    if method == 1:
        return da_weight(row, word, averaging_time(counters, rule.clock), rule, cost)
    if method == 2:
        return afb_weight(row, word, counters[STEPS], rule, cost)
    return ada_weight(row, word, averaging_time(counters, rule.clock), rule, cost)


METHODS: dict[str, tuple[Any, int]] = {
    "tg": (tg, 2),
    "da": (da, 1),
    "afb": (afb, 4),
    "ada": (ada, 2),
}
"""Kernel and number of state columns of each method; ``offsets`` takes the index."""
