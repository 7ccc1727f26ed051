"""The homotopy of one query on a tableau: the work of one block of threads on a device.

The tableau of a working set with support S and the rest O is, with G its Gram matrix,

    T = [ -G_SS^-1         G_SS^-1 G_SO                 ]
        [ G_OS G_SS^-1     G_OO - G_OS G_SS^-1 G_SO     ]

(docs/methods/siso.md, (23)).  One column of it has everything a pivot needs: a column outside has
its coefficients on the support and its squared distance to their span; a column inside has minus
its column of the inverse.  Entering and leaving are sweeps: rank-one updates that may be computed
in any order, which suits a device better than a triangular factor.  A test compares the kernel
``walk`` in ``kernels.cu`` with this file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.siso.solver.dictionary import Floats
from likewise_methods.siso.solver.homotopy import DONE, PAUSED, STUCK

# A column whose squared distance to the span of the support is below this depends on it.  A tableau
# is less precise than a factor: compare ``cholesky.DEPENDENT``.
DEPENDENT = 1e-10
# Rates below this share of the bound are rounding.
_STILL = 1e-12
_AT_ONCE = 1e-14
_WAITS, _NEVER = 1, 2


class Walked(NamedTuple):
    """How far a walk came; ``left`` is the share of the way left."""

    left: float
    state: int
    pivots: int
    entered: int


def sweep(T: Floats, j: int) -> None:
    """Move column j into the support if T[j, j] > 0, else out of it."""
    p, t = T[j, j], T[j].copy()
    way = 1.0 if p > 0 else -1.0
    T -= np.outer(t, t) / p
    T[j] = T[:, j] = way * t / p
    T[j, j] = -1.0 / p


def build(T: Floats, x: Floats, s: NDArray[np.int8]) -> None:
    """Build the tableau of the support of x from the Gram matrix; dependent columns leave x."""
    for j in np.flatnonzero(s):
        if T[j, j] <= DEPENDENT:
            x[j], s[j] = 0.0, 0
        else:
            sweep(T, int(j))


def walk(
    T: Floats, x: Floats, c: Floats, s: NDArray[np.int8], empty: NDArray[np.bool_], *,
    level: float, target: float, entries: int, most: int, nonnegative: bool, limit: int,
) -> Walked:  # fmt: skip
    """Lower the bounds of all columns to ``target``, or until ``entries`` columns have entered.

    T, x and s are updated; c is read.  Bounds begin where x is optimal for them: at the correlation
    itself on the support, at ``level`` or the own correlation elsewhere.
    """
    c = c.copy()
    reach = c if nonnegative else np.abs(c)
    db = target - np.where(s != 0, s * c, np.maximum(level, reach * (1 + 1e-12)))
    # Rates: of x on the support, of c elsewhere.
    q = T @ (s * db)
    barred = np.where(empty, _NEVER, 0)
    left, pivots, entered = 1.0, 0, 0

    def leave(j: int) -> None:
        t, p, qj, z = T[j].copy(), T[j, j], q[j], s[j] * db[j]
        q[:] -= t * (qj / p)
        q[j] = z - qj / p
        c[j], x[j], barred[j] = s[j] * (target - left * db[j]), 0.0, _WAITS
        s[j] = 0
        sweep(T, j)

    def enter(j: int, sign: int, coefficient: float) -> None:
        f = (sign * db[j] - q[j]) / T[j, j]
        q[:] += T[j] * f
        q[j], x[j], s[j] = -f, coefficient, sign
        sweep(T, j)

    for _ in range(limit):
        step, j, sign = _next(x, c, s, q, db, barred, target, left, nonnegative)
        step = max(step, 0.0)
        inside = s != 0
        x[inside] += step * q[inside]
        c[~inside] += step * q[~inside]
        left -= step
        if j < 0:
            return Walked(0.0, DONE, pivots, entered)
        # Ties are resolved one at a time; a column that left may only return after a positive step.
        if step > _AT_ONCE:
            barred[barred == _WAITS] = 0
        pivots += 1
        if s[j]:
            leave(j)
            continue
        if entered >= entries:
            return Walked(left, PAUSED, pivots, entered)
        coefficient = 0.0
        if np.count_nonzero(s) == most or T[j, j] <= DEPENDENT:
            # The column depends on the support: its coefficient grows until the first of the
            # support is zero, while the residual stays.
            rate = sign * T[j] * s
            at = np.flatnonzero((s != 0) & (rate > 1e-9))
            if not len(at):
                barred[j] = _NEVER
                continue
            shares = x[at] * s[at] / rate[at]
            out, share = int(at[np.argmin(shares)]), float(shares.min())
            x[s != 0] -= share * sign * T[j][s != 0]
            leave(out)
            if T[j, j] <= DEPENDENT:
                return Walked(left, STUCK, pivots, entered)
            coefficient = sign * share
        enter(j, sign, coefficient)
        entered += 1
    return Walked(left, STUCK, pivots, entered)


def _next(
    x: Floats, c: Floats, s: Any, q: Floats, db: Floats, barred: Any,
    target: float, left: float, nonnegative: bool,
) -> tuple[float, int, int]:  # fmt: skip
    """Return (step, who, sign) of the first event; who is -1 where the target comes first."""
    b = target - left * db
    times = np.full((2, len(x)), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = -q * s
        at = (s != 0) & (rate > 0)
        times[0, at] = (x * s)[at] / rate[at]
        for row, sign in enumerate((1.0, -1.0)[: 1 if nonnegative else 2]):
            rate = sign * q - db
            at = (s == 0) & (barred == 0) & (rate > _STILL * b)
            times[row, at] = (b - sign * c)[at] / rate[at]
    # Position by position, as the kernel numbers them.
    first = int(np.argmin(times.T))
    step = float(times.T.flat[first])
    if step >= left:
        return left, -1, 0
    return step, first // 2, 1 if first % 2 == 0 else -1
