"""GNMDS (Agarwal et al. 2007): the hinge max(0, 1 + a - b); docs/methods/ordinal.md, (2)."""

from __future__ import annotations

from likewise_methods.kernels import kernel
from likewise_methods.ordinal.solver.loops import FAST, evaluate_of, online_of, svrg_of, sweep_of


@kernel(cache=False, forceinline=True, fastmath=FAST)
def weights(a, b, parameter):  # type: ignore[no-untyped-def]
    """f_a, f_b of (a, b); there is no parameter."""
    # Asked this way round, what is no number stays one that is seen: two distances beyond all
    # bounds must not pass for a comparison that is satisfied.
    if 1.0 + a - b <= 0.0:
        return 0.0, 0.0
    return 1.0, -1.0


@kernel(cache=False, forceinline=True, fastmath=FAST)
def loss(a, b, parameter):  # type: ignore[no-untyped-def]
    """f, f_a, f_b."""
    fa, fb = weights(a, b, parameter)
    if fa == 0.0:
        return 0.0, fa, fb
    return 1.0 + a - b, fa, fb


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
