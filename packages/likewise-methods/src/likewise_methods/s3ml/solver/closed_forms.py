"""Closed forms: blocks of one and of two variables, all at once, and l1 = 0.

The best Z has the largest diagonal the box allows and, for two variables, the off-diagonal entry
nearest to zero; M is its inverse.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.s3ml.solver.bounds import REMEDY, UnboundedProblem
from likewise_methods.s3ml.solver.problem import (
    Floats,
    Problem,
    Solution,
    cholesky,
    inverse,
    logdet,
)


def toward_zero(off: Floats, l1: float) -> Floats:
    """The number nearest to zero in the box around an entry."""
    return np.asarray(np.sign(off) * np.maximum(np.abs(off) - l1, 0.0))


def twos(first: Floats, second: Floats, off: Floats, l1: float) -> tuple[Floats, Floats, Floats]:
    """M_11, M_22, M_12 for diagonals of A and |off| > l1; ``toward_zero`` gives Z_12."""
    # In units of the larger diagonal entry, a power of two: products of entries stay in range.
    unit = np.ldexp(1.0, np.frexp(np.maximum(first, second))[1] - 1)
    a, b, z = first / unit, second / unit, toward_zero(off, l1) / unit
    det = a * b - z * z
    if np.any(det <= 0.0):
        worst = int(np.argmin(det))
        raise UnboundedProblem(
            f"no minimum exists: an entry of S, {off[worst]:g}, exceeds l1 = {l1:g} by more than "
            "the geometric mean of both (penalised) diagonal entries, "
            f"{np.sqrt(first[worst]) * np.sqrt(second[worst]):g}; {REMEDY}"
        )
    return b / det / unit, a / det / unit, -z / det / unit


def plain_inverse(problem: Problem) -> Solution:
    """The minimum without a penalty: M = S^-1."""
    factor = cholesky(problem.S)
    if factor is None:
        raise UnboundedProblem(
            "no minimum exists: l1 is 0 and S is not positive definite (its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(problem.S)[0]:.3g}); {REMEDY}"
        )
    M = inverse(factor)
    value = problem.value(M)
    dual = logdet(factor) + problem.m
    return Solution(M, value, dual, 0, True, max(value - dual, 0.0), problem.S)
