"""SISO against the number of tagged pictures: exact scan, LSH, HNSW; time and what it costs."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import figures, harness
from benchmarks.siso.data import Tagged, enlarged
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.solver.lasso import lasso

Row = dict[str, object]
NEXT = 100
# Times closer than this share are not told apart.


def objectives(model: SparseAnnotator, Q: Any) -> Any:
    """P of the codes of the last call."""
    D, codes = model._pictures.dictionary, model.codes_
    R = residuals(D, Q, codes.x)
    l1 = np.asarray(abs(codes.x).sum(axis=1)).ravel()
    return 0.5 * np.einsum("ij,ij->i", R, R) + codes.gamma * l1


def residuals(D: Any, Q: Any, x: Any) -> Any:
    """y - A x of every query."""
    used = np.unique(x.indices)
    return Q - x[:, used] @ D.rows(used)


def recall(model: SparseAnnotator, Q: Any, alpha: float) -> float:
    """Share of the next 100 violators of the exact residual at ``alpha`` the index finds."""
    D = model._pictures.dictionary
    codes = lasso(D, Q, alpha=alpha)
    R = residuals(D, Q, codes.x)
    search = model._searcher()
    assert search is not None
    shares = []
    for r, inside in zip(R, np.split(codes.x.indices, codes.x.indptr[1:-1]), strict=True):
        ids, _ = D.scan_precisely(r, NEXT + len(inside), False)
        wanted = np.setdiff1d(ids, inside)[:NEXT]
        unit = (r / np.linalg.norm(r))[None]
        found = np.concatenate([search(s * unit, NEXT + len(inside))[0] for s in (1, -1)])
        shares.append(np.isin(wanted, found).mean())
    return float(np.mean(shares))


def _measure(model: SparseAnnotator, Q: Any) -> tuple[float, Any]:
    model.predict_scores(Q[:2])
    start = time.process_time()
    scores = model.predict_scores(Q)
    return 1e3 * (time.process_time() - start) / len(Q), scores


def at_size(data: Tagged, n_queries: int, alpha: float, searches: tuple[str, ...]) -> list[Row]:
    """All modes on one set of pictures; the exact one first, as it is what others differ from."""
    Q = data.Q[:n_queries].astype(np.float64)
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    labels = sp.csr_array(np.eye(data.n_classes)[data.labels])
    made: list[Row] = []
    exact: Any = None
    for search in searches:
        start = time.process_time()
        model = SparseAnnotator(search, alpha, random_state=0).fit(data.X, labels)
        built = time.process_time() - start
        recalls: Row = {}
        if search != "exact":
            recalls = {
                "recall, alpha .1": round(recall(model, Q[:16], 0.1), 2),
                "recall, alpha .004": round(recall(model, Q[:16], 0.004), 2),
            }
        for certify in (True, False) if search != "exact" else (True,):
            model.set_params(certify=certify)
            ms, scores = _measure(model, Q)
            P = objectives(model, Q)
            exact = (P, scores) if exact is None else exact
            codes = model.codes_
            made.append(
                {
                    "pictures": len(data.X),
                    "search": search + ("" if certify else ", not certified"),
                    "construction s": built,
                    "ms a query": ms,
                    "scans": float(codes.scans.mean()),
                    "rounds": float(codes.rounds.mean()),
                    "relative gap": float(f"{model.gap_.max():.1e}"),
                    "objective excess %": percent(float((P / exact[0] - 1).mean()), 3),
                    "top 5 changed %": percent(changed(scores, exact[1], 5), 1),
                    "top 1 changed %": percent(changed(scores, exact[1], 1), 1),
                    **recalls,
                }
            )
            print(made[-1], flush=True)
    return made


def percent(share: float, digits: int) -> float:
    """A share in percent, rounded, and 0 rather than -0."""
    return round(100 * share, digits) + 0.0


def changed(scores: Any, reference: Any, k: int) -> float:
    """Share of the k best labels that are not among the k best of the exact codes."""
    mine, theirs = (np.argsort(-s, axis=1, kind="stable")[:, :k] for s in (scores, reference))
    return float(np.mean([1 - len(set(a) & set(b)) / k for a, b in zip(mine, theirs, strict=True)]))


def growth(
    real: Tagged, sizes: tuple[int, ...], alpha: float, hnsw_up_to: int, n_queries: int, seed: int
) -> list[Row]:
    """Rows of ``at_size`` for every size; large sets lie in a memory-mapped file."""
    made: list[Row] = []
    for n in sizes:
        modes = ("exact", "lsh", "hnsw") if n <= hnsw_up_to else ("exact", "lsh")
        with TemporaryDirectory(dir=harness.cache_dir()) as folder:
            path = Path(folder) / "rows.npy" if n > 200_000 else None
            made += at_size(enlarged(real, n, seed, path), n_queries, alpha, modes)
    return made


def draw(rows: list[Row]) -> None:
    """Query time against the number of pictures; left as SVG and PNG in docs/results."""
    drawn, axis = figures.pyplot().subplots(figsize=(6, 4))
    styles = {
        "exact": ("#0072b2", "o-"),
        "lsh": ("#d55e00", "s-"),
        "lsh, not certified": ("#d55e00", "s:"),
        "hnsw": ("#009e73", "^-"),
        "hnsw, not certified": ("#009e73", "^:"),
    }
    for search, (colour, style) in styles.items():
        here = [r for r in rows if r["search"] == search]
        axis.loglog(
            [r["pictures"] for r in here],
            [r["ms a query"] for r in here],
            style,
            color=colour,
            label=search,
            markersize=4,
        )
    axis.set(xlabel="tagged pictures", ylabel="CPU ms a query, one thread")
    axis.legend(fontsize=8)
    drawn.tight_layout()
    figures.save(drawn, "siso-speed.svg")
