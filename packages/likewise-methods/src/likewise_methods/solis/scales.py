"""Measure the order of magnitude of l1, eta, gamma and delta on the first triplets.

No fixed step suits two data sets: unit vectors give |z| of about 0.03, so a margin of 1 needs
weights far above 1.  The scales follow from mean and mean square of z (docs/methods/solis.md, (13)
and (14)), without sample weights and word costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likewise_methods.solis.margin_kernels import moments, new_work
from likewise_methods.solis.rows import Floats, Triplets
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import generator

SAMPLE = 10_000

# With gain e = 1 the mean margin is reached in the last round.  Larger gains fit the training
# triplets better and rank worse (docs/results/solis.md).
L1_SHARE = 0.01
GAIN = 1.0
DELTA_SHARE = 0.01


def measured_scales(
    rows: Rows,
    triplets: Triplets,
    method: str,
    margin: float,
    random_state: Any,
    *,
    gain: float | None = None,
) -> dict[str, float]:
    """Return ``lambda_max`` and scaled ``l1``, ``eta`` or ``gamma``, ``delta`` of a method.

    Measures at most 10,000 triplets: evenly spaced ones, or random ones with ``random_state``.
    ``gain`` is the e of (14).
    """
    n = len(triplets)
    sample = triplets
    if n > SAMPLE:
        if random_state is None:
            chosen = np.linspace(0, n - 1, SAMPLE).astype(np.int64)
        else:
            chosen = np.sort(generator(random_state).choice(n, SAMPLE, replace=False))
        sample = triplets[chosen]
    total, squares = np.zeros(rows.width), np.zeros(rows.width)
    moments(rows, sample, new_work(rows, len(sample)), total, squares)
    touched = np.flatnonzero(squares)
    mean = total[touched] / len(sample)
    rms = np.sqrt(squares[touched] / len(sample))
    lambda_max = float(np.abs(mean).max(initial=0.0))
    found = {"lambda_max": lambda_max, "l1": L1_SHARE * lambda_max}
    gain = (GAIN if gain is None else gain) * margin
    found |= STEP_SIZES[method].measure(n, mean, rms, gain)
    return {name: float(value) for name, value in found.items()}


class Step(NamedTuple):
    """The parameters of a method's step, and a function that measures them.

    ``measure`` takes the number of triplets, mean and root mean square of z, and the gain.
    """

    names: tuple[str, ...]
    measure: Callable[[int, Floats, Floats, float], dict[str, float]]


def _fixed_step(n: int, mean: Floats, rms: Floats, gain: float) -> dict[str, float]:
    power = float(mean @ mean)
    return {"eta": gain / (n * power) if power > 0 else 1.0}


def _averaged_step(n: int, mean: Floats, rms: Floats, gain: float) -> dict[str, float]:
    power = float(mean @ mean)
    return {"gamma": power * np.sqrt(n) / gain if power > 0 else 1.0}


def _adaptive_step(n: int, mean: Floats, rms: Floats, gain: float) -> dict[str, float]:
    drift = float((mean**2 / rms).sum())
    return {
        "eta": gain / (np.sqrt(n) * drift) if drift > 0 else 1.0,
        "delta": float(DELTA_SHARE * np.sqrt(n) * rms.max(initial=0.0)) or 1.0,
    }


STEP_SIZES = {
    "tg": Step(("eta",), _fixed_step),
    "da": Step(("gamma",), _averaged_step),
    "afb": Step(("eta", "delta"), _adaptive_step),
    "ada": Step(("eta", "delta"), _adaptive_step),
}
