"""The SOLIS updates in NumPy, equal to the kernels to the bit.

The readable definition of the kernels in ``solis_kernels``, and the faster way for few triplets:
loading numba takes 0.6 s of processor time, and compiling the kernels on a new machine half a
minute. Each round updates all words of its z at once; only the two sums of the margin depend on the
order of words, so they are cumulative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from likewise_methods import kernels as _kernels
from likewise_methods.solis.rows import Floats, Triplets
from likewise_methods.solis.solis_kernels import (
    LAST_LOSS,
    LOSS,
    LOSSES,
    PRINTED,
    ROUNDS,
    SKIPPED,
    STEPS,
    Rule,
)
from likewise_methods.sparse_rows import Rows

Array = Any

MAX_TRIPLETS = 1 << 13
"""Triplets that a process learns from without kernels: half a second of work."""

_learned = 0


def prefer_numpy(n_triplets: int) -> bool:
    """Return whether to learn from so many triplets with NumPy.

    Counted over all calls, since replaying a log learns one judgement per call.
    """
    global _learned
    if _kernels.numba_loaded() or _learned + n_triplets > MAX_TRIPLETS:
        return False
    _learned += n_triplets
    return True


# -- z of a triplet ------------------------------------------------------------------------------


def _margins(rows: Rows, triplets: Triplets) -> Iterator[tuple[Array, Floats]]:
    """Yield words and values of every z, in the order of ``find_margin``: words of x+ first."""
    anchor, words, values = -1, rows.words[:0], np.zeros(0)
    shared: dict[int, Floats] = {}
    for a, nearer, farther in triplets.tolist():
        if a != anchor:
            part = slice(rows.ends[a], rows.ends[a + 1])
            anchor, words, values = a, rows.words[part], rows.values[part].astype(np.float64)
            shared = {}
        for other in (nearer, farther):
            if other not in shared:
                shared[other] = _values_at(rows, other, words)
        plus, minus = shared[nearer], shared[farther]
        places = np.flatnonzero(plus)
        places = np.concatenate([places, np.flatnonzero((minus != 0) & (plus == 0))])
        z = values[places] * (plus - minus)[places]
        kept = z != 0
        yield words[places[kept]], z[kept]


def _values_at(rows: Rows, row: int, words: Array) -> Floats:
    """Return the values of a row at these words, 0 where it has none."""
    part = slice(rows.ends[row], rows.ends[row + 1])
    found = np.zeros(len(words))
    _, here, there = np.intersect1d(words, rows.words[part], True, return_indices=True)
    found[here] = rows.values[part][there]
    return found


def _sum(terms: Floats) -> float:
    """Add from left to right; ``sum`` of NumPy and of Python use another order."""
    return float(np.cumsum(terms)[-1]) if len(terms) else 0.0


# -- the four updates ----------------------------------------------------------------------------


def _soft(v: Floats, a: Any) -> Floats:
    size = np.abs(v)
    return np.where(size > a, np.copysign(np.maximum(size - a, 0.0), v), 0.0)


def _truncate(v: Floats, a: Any, theta: float) -> Floats:
    return np.where(np.abs(v) > theta, v, _soft(v, a))


def _tg_offset(state: Floats, n: int, rule: Rule, cost: Any) -> Floats:
    v, last = state.T
    made = _truncate(v, (n - last) * rule.eta * rule.l1 * cost, rule.theta)
    return np.where(v == 0, 0.0, made)


def _tg_step(
    state: Floats, offset: Floats, z: Floats, s: float, step: int, rule: Rule, cost: Any
) -> None:
    v = _truncate(offset + rule.eta * s * z, rule.eta * rule.l1 * cost, rule.theta)
    state[:, 0], state[:, 1] = np.maximum(v, rule.floor), step


def _afb_offset(state: Floats, n: int, rule: Rule, cost: Any) -> Floats:
    v, last, _, scale = state.T
    made = _soft(v, (n - last) * rule.eta * rule.l1 * cost / scale)
    return np.where(v == 0, 0.0, made)


def _afb_step(
    state: Floats, offset: Floats, z: Floats, s: float, step: int, rule: Rule, cost: Any
) -> None:
    g = s * z
    state[:, 2] += g * g
    scale = rule.delta + np.sqrt(state[:, 2])
    size = rule.eta / scale
    v = np.where(scale > 0, _soft(offset + size * g, size * rule.l1 * cost), offset)
    state[:, 0], state[:, 1], state[:, 3] = np.maximum(v, rule.floor), step, scale


def _da_offset(state: Floats, tau: int, rule: Rule, cost: Any) -> Floats:
    v, root = state[:, 0], np.sqrt(float(tau))
    threshold = rule.l1 * cost * tau + rule.gamma * rule.rho * root
    made = np.maximum(_soft(v, threshold) / (rule.gamma * root), rule.floor)
    return np.where((v == 0) | (tau == 0), 0.0, made)


def _da_step(
    state: Floats, offset: Floats, z: Floats, s: float, step: int, rule: Rule, cost: Any
) -> None:
    state[:, 0] += s * z


def _ada_offset(state: Floats, tau: int, rule: Rule, cost: Any) -> Floats:
    v = _soft(state[:, 0], rule.l1 * cost * tau)
    scale = rule.delta + np.sqrt(state[:, 1])
    made = np.maximum(v * rule.eta / scale, rule.floor)
    return np.where((v == 0) | (scale <= 0), 0.0, made)


def _ada_step(
    state: Floats, offset: Floats, z: Floats, s: float, step: int, rule: Rule, cost: Any
) -> None:
    g = s * z
    state[:, 0] += g
    state[:, 1] += g * g


class _Update(NamedTuple):
    """The offset of words given their state, and the update of the state in a lost round."""

    offset: Callable[[Floats, int, Rule, Any], Floats]
    step: Callable[[Floats, Floats, Floats, float, int, Rule, Any], None]
    averages: bool


_UPDATES = {
    "tg": _Update(_tg_offset, _tg_step, averages=False),
    "da": _Update(_da_offset, _da_step, averages=True),
    "afb": _Update(_afb_offset, _afb_step, averages=False),
    "ada": _Update(_ada_offset, _ada_step, averages=True),
}


def _now(update: _Update, counters: Array, rule: Rule) -> int:
    """Return the step at which offsets are evaluated."""
    late = update.averages and rule.clock == PRINTED
    return int(counters[LAST_LOSS if late else STEPS])


def _costs(cost: Floats, words: Any) -> Any:
    return cost[words] if len(cost) else 1.0


# Divisions by a scale of 0 are not used, and kernels overflow silently.
_QUIET: Any = {"divide": "ignore", "invalid": "ignore", "over": "ignore", "under": "ignore"}


def offsets(
    method: str, words: Any, state: Floats, counters: Array, rule: Rule, cost: Floats
) -> Floats:
    """Compute what the kernels ``offsets`` and ``some_offsets`` do; ``words`` may be a slice."""
    update = _UPDATES[method]
    with np.errstate(**_QUIET):
        return update.offset(state[words], _now(update, counters, rule), rule, _costs(cost, words))


def learn(
    method: str,
    rows: Rows,
    triplets: Triplets,
    sample_weight: Floats,
    state: Floats,
    counters: Array,
    rule: Rule,
    cost: Floats,
) -> None:
    """Compute what the kernel of this method does."""
    update = _UPDATES[method]
    with np.errstate(**_QUIET):
        for t, (words, z) in enumerate(_margins(rows, triplets)):
            if rule.skip_empty and not len(words):
                counters[SKIPPED] += 1
                continue
            mine, costs = state[words], _costs(cost, words)
            offset = update.offset(mine, _now(update, counters, rule), rule, costs)
            s = float(sample_weight[t]) if len(sample_weight) else 1.0
            lost = s > 0 and rule.start * _sum(z) + _sum(offset * z) < rule.margin
            counters[ROUNDS] += 1
            counters[LOSSES] += lost
            counters[STEPS] += lost or rule.clock != LOSS
            if lost:
                counters[LAST_LOSS] = counters[STEPS]
                update.step(mine, offset, z, s, int(counters[STEPS]), rule, costs)
                state[words] = mine
