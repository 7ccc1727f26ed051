"""The lasso on a working set by cyclic coordinate descent on the Gram matrix.

An epoch costs one pass over the rows of G that change.  It is good for large gamma and useless near
full support (at alpha = .002 thousands of epochs leave a gap of a percent), so it is not the
default.  It needs no factor, so dependent columns are harmless.
"""

from __future__ import annotations

from likewise_methods.kernels import kernel
from likewise_methods.siso.solver.cholesky import FAST
from likewise_methods.siso.solver.homotopy import DONE, STUCK


@kernel(fastmath=FAST)
def descend(G, x, c, w, gamma, nonnegative, tol, epochs):  # type: ignore[no-untyped-def]
    """Run epochs until no coordinate moves its fit by more than ``tol``; return (state, epochs)."""
    taken = 0
    for _ in range(epochs):
        taken += 1
        largest = 0.0
        for j in range(w):
            if G[j, j] <= 0.0:
                continue
            free = c[j] + G[j, j] * x[j]
            if free > gamma:
                value = (free - gamma) / G[j, j]
            elif free < -gamma and not nonnegative:
                value = (free + gamma) / G[j, j]
            else:
                value = 0.0
            change = value - x[j]
            if change != 0.0:
                x[j] = value
                row = G[j, :w]
                for k in range(row.shape[0]):
                    c[k] -= change * row[k]
                largest = max(largest, abs(change) * G[j, j])
        if largest <= tol:
            return DONE, taken
    return STUCK, taken
