"""The two squared distances of every comparison: all that scoring needs."""

from __future__ import annotations

import numpy as np

from likewise._kernels import kernel
from likewise.solvers.ordinal_loops import FAST, HALF, gap, hint, objects
from likewise.solvers.ordinal_problem import Floats, Rows, pad


@kernel(fastmath=FAST)
def _squares(X, rows, a, b):  # type: ignore[no-untyped-def]
    n = rows.shape[0]
    for t in range(n):
        if t + HALF < n:
            hint(X, rows, t + HALF)
        i, j, l, k = objects(rows, t)  # noqa: E741
        a[t] = gap(X, i, j)
        b[t] = gap(X, l, k)


def squares(points: Floats, rows: Rows) -> tuple[Floats, Floats]:
    """a = |x_i - x_j|^2 and b = |x_l - x_k|^2 of every comparison."""
    a, b = np.empty(len(rows)), np.empty(len(rows))
    _squares(pad(points), rows, a, b)
    return a, b
