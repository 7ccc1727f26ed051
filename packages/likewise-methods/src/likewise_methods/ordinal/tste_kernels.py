"""t-STE (van der Maaten and Weinberger 2012): -log P with Student-t kernels instead of Gaussian.

log(1 + rho), rho = ((alpha + a) / (alpha + b))^((alpha + 1) / 2); alpha: degrees of freedom
(docs/methods/ordinal.md, (4)).
"""

from __future__ import annotations

import math

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.loops import FAST, evaluate_of, online_of, svrg_of, sweep_of


@kernel(cache=False, forceinline=True, fastmath=FAST)
def weights(a, b, alpha):  # type: ignore[no-untyped-def]
    """f_a, f_b of (a, b), through log rho, which never overflows."""
    power = 0.5 * (alpha + 1.0)
    z = power * (math.log(alpha + a) - math.log(alpha + b))
    e = math.exp(-abs(z))
    wrong = (1.0 if z >= 0.0 else e) / (1.0 + e)
    return wrong * power / (alpha + a), -wrong * power / (alpha + b)


@kernel(cache=False, forceinline=True, fastmath=FAST)
def loss(a, b, alpha):  # type: ignore[no-untyped-def]
    """f, f_a, f_b."""
    z = 0.5 * (alpha + 1.0) * (math.log(alpha + a) - math.log(alpha + b))
    fa, fb = weights(a, b, alpha)
    return max(z, 0.0) + math.log1p(math.exp(-abs(z))), fa, fb


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
