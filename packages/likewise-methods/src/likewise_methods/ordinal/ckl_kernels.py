"""CKL (Tamuz et al. 2011): -log P with P = (mu + b) / (2 mu + a + b).

docs/methods/ordinal.md, (5).  The paper on SVRG-SBB prints it with the wrong sign
(docs/methods/ordinal.md, O2).
"""

from __future__ import annotations

import math

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.loops import FAST, evaluate_of, online_of, svrg_of, sweep_of


@kernel(cache=False, forceinline=True, fastmath=FAST)
def weights(a, b, mu):  # type: ignore[no-untyped-def]
    """f_a, f_b of (a, b)."""
    both = a + b + 2.0 * mu
    far = b + mu
    return 1.0 / both, -(a + mu) / (both * far)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def loss(a, b, mu):  # type: ignore[no-untyped-def]
    """f, f_a, f_b."""
    fa, fb = weights(a, b, mu)
    return math.log(a + b + 2.0 * mu) - math.log(b + mu), fa, fb


@kernel(fastmath=FAST)
def evaluate(a, b, parameter, f, fa, fb):  # type: ignore[no-untyped-def]
    evaluate_of(loss, a, b, parameter, f, fa, fb)


@kernel(fastmath=FAST)
def sweep(X, rows, parameter, G):  # type: ignore[no-untyped-def]
    return sweep_of(loss, X, rows, parameter, G)


@kernel(fastmath=FAST)
def svrg(X, S, slope, done, rows, parameter, step, steps, seed, room):  # type: ignore[no-untyped-def]
    svrg_of(weights, X, S, slope, done, rows, parameter, step, steps, seed, room)


@kernel(fastmath=FAST)
def online(X, squares, rows, parameter, step, first, stride, room):  # type: ignore[no-untyped-def]
    online_of(weights, X, squares, rows, parameter, step, first, stride, room)
