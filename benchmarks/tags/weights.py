"""The lasso's weight and sign in suggestions: top answers, pictures behind them, time."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks import harness
from benchmarks.tags.collection import balanced
from benchmarks.tags.quality import Row, Setting
from likewise_methods.siso.annotator import SparseAnnotator

ALPHAS = (0.002, 0.01, 0.05, 0.3)


def weight_rows(settings: list[Setting], n_queries: int, seed: int) -> list[Row]:
    """A row for every set and space, sign and weight."""
    return [
        _measured(setting, alpha, nonnegative, n_queries, seed)
        for setting in settings
        for nonnegative in (True, False)
        for alpha in ALPHAS
    ]


def _measured(setting: Setting, alpha: float, nonnegative: bool, n_queries: int, seed: int) -> Row:
    tagged, held_out = balanced(setting.labels, setting.each, seed)
    here = np.array(tagged) - 1
    asked = np.random.default_rng(seed).permutation(np.array(held_out) - 1)[:n_queries]
    model = SparseAnnotator(alpha=alpha, nonnegative=nonnegative)
    model.fit(setting.rows[here], np.eye(setting.labels.max() + 1)[setting.labels[here]])
    found: list[tuple[bool, int]] = []

    def ask(at: int) -> None:
        best = int(model.predict(setting.rows[at : at + 1], k=1)[0, 0])
        found.append((best == setting.labels[at], int(model.codes_.x.nnz)))

    with warnings.catch_warnings():
        # As in the product: a code that stopped early is still a fair guess.
        warnings.simplefilter("ignore")
        timing = harness.cpu_times(ask, asked.tolist(), warm_up=0)
    return {
        "pictures": setting.data,
        "space": setting.space,
        "shares": "none negative" if nonnegative else "any sign",
        "alpha": alpha,
        "top right %": round(100 * float(np.mean([right for right, _ in found])), 1),
        "pictures behind": round(float(np.mean([behind for _, behind in found])), 1),
        "ms": 1e3 * timing.median,
    }
