"""STE (van der Maaten and Weinberger 2012): -log P with P = e^-a / (e^-a + e^-b).

That is log(1 + e^(a - b)); docs/methods/ordinal.md, (3).  The paper on SVRG-SBB prints it with
the wrong sign (docs/methods/ordinal.md, O1).
"""

from __future__ import annotations

import math

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.loops import FAST, evaluate_of, online_of, svrg_of, sweep_of


@kernel(cache=False, forceinline=True, fastmath=FAST)
def weights(a, b, parameter):  # type: ignore[no-untyped-def]
    """f_a, f_b of (a, b); there is no parameter.  No exponential overflows."""
    e = math.exp(-abs(a - b))
    wrong = (1.0 if a >= b else e) / (1.0 + e)
    return wrong, -wrong


@kernel(cache=False, forceinline=True, fastmath=FAST)
def loss(a, b, parameter):  # type: ignore[no-untyped-def]
    """f, f_a, f_b."""
    fa, fb = weights(a, b, parameter)
    return max(a - b, 0.0) + math.log1p(math.exp(-abs(a - b))), fa, fb


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
