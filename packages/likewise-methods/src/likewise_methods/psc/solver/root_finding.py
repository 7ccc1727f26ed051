"""The fallback for a vector that no path could follow: the same optimum by root finding.

At a fixed mass s the part's code is the point of the simplex where |x - s A'v| is least: the point
of a polytope nearest to zero, which one non-negative least squares problem finds (its solution,
scaled to sum 1).  The common mass is then the root of a falling function (docs/methods/psc.md, (9)
and (6)).  This is slow, but no step depends on words being in general position.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def at_mass(words: Floats, x: Floats, mass: float) -> tuple[Floats, float]:
    """Return the best u >= 0 of sum ``mass``, and its half-threshold max of words r."""
    points = mass * words - x
    size = max(float(np.abs(points).max()), 1e-300)
    system = np.vstack([points.T / size, np.ones(len(words))])
    from scipy.optimize import nnls  # heavy, and rarely needed

    shares = nnls(system, np.append(np.zeros(len(x)), 1.0))[0]
    shares /= shares.sum()
    u = mass * shares
    return u, float((words @ (x - u @ words)).max())


def together(codebooks: Sequence[Floats], parts: Sequence[Floats], half: float) -> list[Floats]:
    """Return marginals with a common mass whose half-thresholds add up to ``half``."""

    def above(mass: float) -> float:
        each = zip(codebooks, parts, strict=True)
        return sum(at_mass(words, x, mass)[1] for words, x in each) - half

    if sum(float((b @ x).max()) for b, x in zip(codebooks, parts, strict=True)) <= half:
        return [np.zeros(len(words)) for words in codebooks]
    high = 0.5 * float(np.sqrt(sum(x @ x for x in parts)))
    while above(high) > 0:
        high *= 2
    low = 1e-12 * high
    from scipy.optimize import brentq

    mass = brentq(above, low, high, xtol=1e-15 * high, rtol=1e-15) if above(low) > 0 else low
    return [at_mass(words, x, mass)[0] for words, x in zip(codebooks, parts, strict=True)]


def apart(
    codebooks: Sequence[Floats], parts: Sequence[Floats], levels: Sequence[float]
) -> list[Floats]:
    """Code each part separately at its own half-threshold."""
    each = zip(codebooks, parts, levels, strict=True)
    return [together([words], [x], level)[0] for words, x, level in each]


def halving(
    codebooks: Sequence[Floats], parts: Sequence[Floats], half: float, steps: int, tol: float
) -> list[Floats]:
    """Code two parts by bisecting their thresholds (IPSC)."""
    low, high, found = 0.0, half, []
    for _ in range(steps + 1):
        first = 0.5 * (low + high)
        found = apart(codebooks, parts, (first, half - first))
        masses = [float(u.sum()) for u in found]
        if abs(masses[0] - masses[1]) <= tol:
            break
        low, high = (low, first) if masses[0] < masses[1] else (first, high)
    return found
