"""How fast: triplets a second against a numpy loop and against what the memory gives."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.solis.data import generated
from benchmarks.solis.protocol import METHODS, timed
from likewise_methods.solis.lego import LEGO
from likewise_methods.solis.oasis import OASIS
from likewise_methods.solis.rows import as_rows
from likewise_methods.solis.solis import SOLIS
from likewise_methods.solis.triplets import triplets_from_labels

Row = dict[str, object]


def numpy_ada(X: Any, triplets: Any, l1: float, eta: float, delta: float) -> Any:
    """ADA as one writes it with numpy over CSR: one scratch row, touched words only."""
    width = X.shape[1]
    S, G, scratch = np.zeros(width), np.zeros(width), np.zeros(width)
    ends, words, values = X.indptr, X.indices, X.data
    for t, (a, p, n) in enumerate(triplets.tolist()):
        nearer, farther = slice(ends[p], ends[p + 1]), slice(ends[n], ends[n + 1])
        scratch[words[nearer]] = values[nearer]
        scratch[words[farther]] -= values[farther]
        anchor = words[ends[a] : ends[a + 1]]
        gap = scratch[anchor]
        some = np.flatnonzero(gap)
        support, z = anchor[some], values[ends[a] : ends[a + 1]][some] * gap[some]
        scratch[words[nearer]] = 0
        scratch[words[farther]] = 0
        sums = S[support]
        shrunk = np.sign(sums) * np.maximum(np.abs(sums) - l1 * t, 0)
        w = eta * shrunk / (delta + np.sqrt(G[support]))
        if w @ z < 1:
            S[support] += z
            G[support] += z * z
    w = np.sign(S) * np.maximum(np.abs(S) - l1 * len(triplets), 0)
    return eta * w / (delta + np.sqrt(G))


def speed(seed: int, n_triplets: int) -> tuple[list[Row], list[Row]]:
    """100,000 words, about 290 a picture, one thread; every method in the same run."""
    X, labels = generated(50_000, 100_000, 290, seed)
    triplets = triplets_from_labels(labels, n_triplets, random_state=seed)
    rows = as_rows(X)
    per_picture = X.nnz / X.shape[0]
    some = triplets[:20_000]
    scales = SOLIS().fit(X, triplets[:100]).fit(X, some).scales_
    given = {name: scales[name] for name in ("l1", "eta", "delta")}
    loop, seconds = timed(lambda: numpy_ada(X, some, **given))
    loop_rate = len(some) / seconds
    agreement = float(np.abs(SOLIS(**given).fit(X, some).weights_ - loop).max())  # type: ignore[arg-type]
    made: list[Row] = [_rate("numpy CSR loop, ADA (20,000 triplets)", loop_rate, loop_rate)]
    rates = []
    for method in METHODS:
        SOLIS(method).fit(X, triplets[:100])
        own = SOLIS(method).fit(X, some).scales_
        own.pop("lambda_max")
        learner = SOLIS(method, **own)  # type: ignore[arg-type]
        best = min(timed(partial(learner.fit, X, triplets))[1] for _ in range(2))
        rates.append(n_triplets / best)
        made.append(_rate(f"SOLIS {method}", rates[-1], loop_rate))
    by_anchor = triplets[np.argsort(triplets[:, 0], kind="stable")]
    best = min(timed(lambda: learner.fit(X, by_anchor))[1] for _ in range(2))
    made.append(_rate("SOLIS ada, triplets sorted by anchor", n_triplets / best, loop_rate))
    wide = X.astype(np.float64)
    best = min(timed(lambda: learner.fit(wide, triplets))[1] for _ in range(2))
    made.append(_rate("SOLIS ada, float64 rows", n_triplets / best, loop_rate))
    small = triplets % 1000
    best = min(timed(lambda: learner.fit(X, small))[1] for _ in range(2))
    made.append(_rate("SOLIS ada, 1,000 pictures (in cache)", n_triplets / best, loop_rate))
    oasis = OASIS(1.0)
    oasis.fit(X, triplets[:100])
    made.append(_rate("OASIS", n_triplets / timed(lambda: oasis.fit(X, triplets))[1], loop_rate))
    lego = LEGO(0.1)
    lego.fit(X, triplets[:100])
    made.append(_rate("LEGO", len(some) / timed(lambda: lego.fit(X, some))[1], loop_rate))
    _, seconds = timed(lambda: (rows.words.sum(), rows.values.sum()))
    stream = 8 * X.nnz / seconds
    bound = stream / (3 * 8 * per_picture)
    read: Row = {
        "non-zeros a picture": round(per_picture),
        "MB of rows": round(8 * X.nnz / 1e6),
        "loop and kernel agree to": f"{agreement:.0e}",
        "GB/s of a plain sum over them": round(stream / 1e9, 1),
        "triplets/s if three rows were streamed once": round(bound),
        "reached by the kernels, %": f"{100 * min(rates) / bound:.0f} to "
        f"{100 * max(rates) / bound:.0f}",
    }
    return made, [read]


def _rate(name: str, rate: float, loop: float) -> Row:
    return {"learner": name, "triplets/s": round(rate), "against the loop": round(rate / loop, 1)}
