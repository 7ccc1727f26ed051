"""Who takes part in the SISO benchmark, and the six settings each may choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.siso.baselines.egssc import EGSSC
from benchmarks.siso.baselines.knn import KNNAnnotator
from benchmarks.siso.baselines.lnp import LNP
from benchmarks.siso.baselines.lsmp import LSMPLike
from benchmarks.siso.baselines.ridge import RidgeAnnotator
from benchmarks.siso.baselines.svm import SVMAnnotator
from likewise_methods.siso.annotator import SparseAnnotator

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """``make(settings, seed)`` gives an unfitted model; ``chance``: the seed changes its answers.

    ``kind`` is "sparse" (codes over pictures), "graph" (queries belong to the graph) or "plain".
    A method without a ``grid`` of its own takes what ``like`` chose.
    """

    name: str
    make: Callable[[Settings, int], Any]
    grid: tuple[Settings, ...]
    kind: str = "plain"
    chance: bool = False
    like: str = ""


def _grid(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


METHODS: tuple[Method, ...] = (
    Method(
        "SISO",
        lambda s, seed: SparseAnnotator("exact", **s),
        _grid(alpha=(0.002, 0.01, 0.03, 0.1, 0.2, 0.4)),
        "sparse",
    ),
    Method(
        "hash-SISO",
        lambda s, seed: SparseAnnotator("lsh", certify=False, random_state=seed, **s),
        (),
        "sparse",
        chance=True,
        like="SISO",
    ),
    Method(
        "KNN",
        lambda s, seed: KNNAnnotator(**s),
        _grid(n_neighbours=(10, 20, 50, 100, 200, 500)),
    ),
    Method(
        "ridge (RRML)",
        lambda s, seed: RidgeAnnotator(**s),
        _grid(penalty=(0.1, 0.5, 2.0, 8.0, 20.0, 50.0)),
    ),
    Method(
        "SVM",
        lambda s, seed: SVMAnnotator(random_state=seed, **s),
        _grid(gamma=(0.6, 2.0, 6.0), penalty=(1.0, 4.0)),
    ),
    Method(
        "LNP",
        lambda s, seed: LNP(**s),
        _grid(n_neighbours=(10, 20), share=(0.1, 0.5, 0.95)),
        "graph",
    ),
    Method(
        "EGSSC",
        lambda s, seed: EGSSC(**s),
        tuple(
            {"n_neighbours": k, "mu": mu, "nu": nu, "beta": beta}
            for k in (10, 20, 50)
            for mu, nu, beta in ((0.1, 1.0, 2.0), (0.5, 1.0, 1.0))
        ),
        "graph",
    ),
    Method(
        "LSMP-like",
        lambda s, seed: LSMPLike(random_state=seed, **s),
        _grid(n_neighbours=(20, 50), alpha=(0.03, 0.1, 0.3)),
        "graph",
        chance=True,
    ),
)
N_SETTINGS = 6


def said(settings: Settings) -> str:
    """Settings in a few words."""
    return ", ".join(f"{key} {value:g}" for key, value in settings.items())
