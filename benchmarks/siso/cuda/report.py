"""``make bench-siso-cuda``: the lasso over all tagged pictures on one CUDA device.

Wall time, the device idle otherwise; every gap is computed again by ``certify``, on the processor,
in float64 over all columns from the coefficients returned.  Rows are bags of 1,000 words of
CIFAR-10 pictures, more of them generated as for ``bench-siso-speed``.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.siso.cuda.words import ALPHA, EXPAND, N_WORDS, SIZES, TOL, begin, sizes
from benchmarks.siso.peers import judged
from benchmarks.siso.speed import spectral
from likewise_cuda.device import DeviceOperations
from likewise_cuda.rounds import run
from likewise_cuda.solve import on_device
from likewise_methods.siso.solver.dictionary import Dictionary
from likewise_methods.siso.solver.lasso import lasso
from likewise_methods.siso.solver.rounds import Settings

Row = dict[str, object]

QUERIES = (1_024, 128, 16)
# What a round consists of, and which operations do it.
STAGES = {
    "scan: correlations (float16 products)": ("_correlations",),
    "scan: the largest, and float64 near gamma": ("_scan",),
    "expansion: columns, products, tableaux": ("columns", "product", "place"),
    "walks (homotopy)": ("walk",),
    "residuals and correlations in float64": ("refresh",),
}


def wall(call: Any) -> tuple[float, Any]:
    """Seconds until the device is done, best of three, and the last answer."""
    device = importlib.import_module("cupy").cuda.Device()
    best, answer = np.inf, None
    for _ in range(3):
        device.synchronize()
        start = time.perf_counter()
        answer = call()
        device.synchronize()
        best = min(best, time.perf_counter() - start)
    return best, answer


def ours(D: Dictionary, Q: Any, alpha: float) -> Row:
    """The engine on a batch; kernels and dictionary are on the device."""
    seconds, codes = wall(lambda: lasso(D, Q, alpha=alpha, tol=TOL, expand=EXPAND, device="cuda"))
    operations = on_device(D)
    settings = Settings(alpha, TOL, EXPAND, False, "homotopy", True, 20_000, 96)
    slots = min(operations.slots(EXPAND), len(Q))
    given_up = sum(one is None for one in run(operations, Q, None, settings, slots))
    row: Row = {"columns": D.n, "alpha": alpha, "pictures": len(Q), "batch": slots}
    row |= {"ms a picture": 1e3 * seconds / len(Q)}
    row |= judged(D, Q, codes.x, codes.gamma)
    row |= {"rounds": float(codes.rounds.mean()), "pivots": float(codes.pivots.mean())}
    row |= {"left to the processor": given_up}
    print(row, flush=True)
    return row


@contextmanager
def watched(operations: DeviceOperations) -> Iterator[dict[str, float]]:
    """Seconds of each operation, the device idle before and after; as an instance attribute, so
    that everybody else's operations stay as they are."""
    device = operations.xp.cuda.Device()
    spent: dict[str, float] = {}
    names = [name for some in STAGES.values() for name in some]

    def wrap(name: str) -> Any:
        method = getattr(operations, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            device.synchronize()
            start = time.perf_counter()
            made = method(*arguments, **named)
            device.synchronize()
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - start
            return made

        return timed

    for name in names:
        setattr(operations, name, wrap(name))
    try:
        yield spent
    finally:
        for name in names:
            delattr(operations, name)


def stages(D: Dictionary, Q: Any) -> list[Row]:
    """Where the time of a batch goes; microseconds a picture and round."""
    operations = on_device(D)
    with watched(operations) as spent:
        start = time.perf_counter()
        codes = lasso(D, Q, alpha=ALPHA, tol=TOL, expand=EXPAND, device="cuda")
        total = time.perf_counter() - start
    rounds = float(codes.rounds.sum())
    seconds = {name: sum(spent[one] for one in some) for name, some in STAGES.items()}
    first, second = list(STAGES)[:2]
    seconds[second] -= seconds[first]
    seconds["the rest: choosing newcomers, Python"] = total - sum(seconds.values())
    seconds["all"] = total
    return [
        {
            "stage": name,
            "ms a picture": 1e3 * one / len(Q),
            "us a picture and round": 1e6 * one / rounds,
        }
        for name, one in seconds.items()
    ]


def main() -> None:
    report, seed = begin(__doc__ or "")
    rows: list[Row] = []
    for data, D, brought in sizes(seed):
        Q = data.Q.astype(np.float64)
        lasso(D, Q, alpha=0.3, device="cuda")
        batches = QUERIES if D.n == SIZES[-1] else QUERIES[:1]
        made = [ours(D, Q[:n], ALPHA) for n in batches]
        rows += [row | {"brought over s": brought} for row in made]
    report.add("Pictures, alpha = .002", rows)
    report.add("Where the time goes, 1.2 million pictures", stages(D, Q))
    report.write()
    report.add("1.2 million pictures, larger alpha", [ours(D, Q, alpha) for alpha in (0.1, 0.02)])
    report.write()
    del D
    data = spectral(SIZES[-1], QUERIES[0], seed, N_WORDS)
    hard = ours(Dictionary([data.X]), data.Q.astype(np.float64), ALPHA)
    report.add("1.2 million Gaussian rows, alpha = .002", [hard])
    report.write()


if __name__ == "__main__":
    main()
