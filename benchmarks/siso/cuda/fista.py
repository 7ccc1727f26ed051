"""FISTA over all columns on the device: what one writes first with an array library.

Accelerated proximal gradient steps (Beck and Teboulle 2009) for a batch of queries, in float32 with
float32 matrix products; the step is 1 / L by power iteration.  No working sets: every step is two
products with all of the dictionary.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from likewise_cuda.device import DeviceOperations
from likewise_methods.siso.objective import relative_gap

Row = dict[str, object]
_CHUNK = 1 << 16


def run_fista(operations: DeviceOperations, Q: Any, alpha: float, steps: int) -> Row:
    """ms a picture for so many steps, and the gap they reach."""
    xp = operations.xp
    operations.free_unused()
    A = operations._rows * operations._scale.astype(np.float32)[:, None]
    Y = xp.asarray(Q, np.float32)
    gamma = alpha * xp.abs(Y @ A.T).max(axis=1)
    v = xp.ones(A.shape[1], np.float32)
    for _ in range(30):
        v = (A @ v) @ A
        v /= xp.linalg.norm(v)
    L = 1.02 * float(xp.linalg.norm((A @ v) @ A))
    x = z = xp.zeros((len(Q), len(A)), np.float32)
    t = 1.0
    xp.cuda.Device().synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step = z - ((z @ A - Y) @ A.T) / L
        new = xp.sign(step) * xp.maximum(xp.abs(step) - (gamma / L)[:, None], 0)
        t, before = (1 + (1 + 4 * t * t) ** 0.5) / 2, t
        z = new + np.float32((before - 1) / t) * (new - x)
        x = new
    xp.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    row: Row = {
        "columns": len(A),
        "solver": f"FISTA over all columns, float32, {steps:,} steps",
        "ms a picture": 1e3 * seconds / len(Q),
        "relative gap": float(f"{_gap(operations, Q, x, gamma):.1e}"),
        "non-zeros": float((x != 0).sum()) / len(Q),
        "rounds": "",
        "pictures": len(Q),
    }
    print(row, flush=True)
    return row


def _gap(operations: DeviceOperations, Q: Any, x: Any, gamma: Any) -> float:
    """The largest gap, in float64 over all columns."""
    xp = operations.xp
    Y, X = xp.asarray(Q), x.astype(np.float64)

    def chunks() -> Any:
        for i in range(0, operations.n, _CHUNK):
            rows = operations._rows[i : i + _CHUNK].astype(np.float64)
            yield i, rows * operations._scale[i : i + _CHUNK, None]

    R = Y - sum(X[:, i : i + len(A)] @ A for i, A in chunks())
    largest = xp.zeros(len(Q))
    for _, A in chunks():
        largest = xp.maximum(largest, xp.abs(R @ A.T).max(axis=1))
    each = [(Y * R).sum(axis=1), (R * R).sum(axis=1), xp.abs(X).sum(axis=1), largest, gamma]
    numbers = [operations.back(one).astype(np.float64) for one in each]
    return max(
        relative_gap(yr, rr, l1, most, own) for yr, rr, l1, most, own in zip(*numbers, strict=True)
    )
