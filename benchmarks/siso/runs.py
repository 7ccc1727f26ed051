"""One run of the SISO benchmark: a method, a share of the training pictures, a seed.

A run that was done is kept in the cache under what it depends on (the code of the methods, the
data, settings and seed), so that a benchmark that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import likewise_methods
from benchmarks import harness
from benchmarks.metrics import annotation_at, flat_cost, label_map
from benchmarks.siso.methods import METHODS, Method, Settings
from benchmarks.siso.sets import Task

Row = dict[str, Any]
SHARES = (0.1, 0.3, 0.5, 0.7, 1.0)
SEEDS = (0, 1, 2)
# Settings are chosen on draws of this seed, which no table shows.
TUNING_SEED = 1009
TUNING_ROWS, TUNING_QUERIES = 1_200, 300
TOP = 5
# Grows when a run would be measured in another way.
_VERSION = 1
_NEIGHBOURS = ("exact", "lsh", "_lsh_kernels", "_faiss", "_distances")


def rows_of(task: Task, share: float, seed: int) -> NDArray[np.int64]:
    """The training pictures of a share; those of a smaller share are among them."""
    n = len(task.X)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: max(1, round(share * n))])


def scored(task: Task, scores: Any, T: Any) -> Row:
    """Every figure a task's kind of truth allows."""
    made: Row = {"MAP": label_map(scores, T)}
    if task.one_class:
        made["top-5 flat cost"] = flat_cost(scores, T.argmax(axis=1), TOP)
        made["top-1 flat cost"] = flat_cost(scores, T.argmax(axis=1), 1)
    elif T.shape[1] > 2 * TOP:
        at = annotation_at(scores, T, TOP)
        made |= {"P@5": at.precision, "R@5": at.recall, "N+": at.n_plus}
    return made


def measured(method: Method, model: Any, X: Any, Y: Any, Q: Any) -> tuple[Any, Row, Any]:
    """Scores of Q, CPU times, and (for codes over pictures) the codes.

    Graph methods are given the queries with the training pictures, as in the papers: all their
    time is construction.
    """
    start = time.process_time()
    model.fit(X, Y, Q) if method.kind == "graph" else model.fit(X, Y)
    built = time.process_time()
    codes = None
    if method.kind == "graph":
        scores = model.unlabelled_scores_
    elif method.kind == "sparse":
        codes = model.transform(Q)
        scores = (codes @ Y).toarray()
    else:
        scores = model.predict_scores(Q)
    done = time.process_time()
    times = {"construction s": built - start, "prediction ms": 1e3 * (done - built) / len(Q)}
    return scores, times, codes


def run(task: Task, method: Method, share: float, seed: int, settings: Settings) -> Row:
    """One line of figures."""
    key = {
        "task": task.name, "about": task.about, "method": method.name, "share": share,
        "seed": seed, "settings": dict(settings),
    }  # fmt: skip
    return _kept(key, lambda: _run(task, method, share, seed, settings))


def _run(task: Task, method: Method, share: float, seed: int, settings: Settings) -> Row:
    rows = rows_of(task, share, seed)
    Y = task.Y[rows]
    model = method.make(settings, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores, made, codes = measured(method, model, task.X[rows], Y, task.Q)
    made |= {"rows": len(rows), **scored(task, scores, task.T)}
    if codes is not None:
        made |= {
            "MAP positive": label_map((codes.maximum(0) @ Y).toarray(), task.T),
            "MAP by length": label_map(scores / _lengths(codes), task.T),
            "non-zeros": float(codes.nnz / len(task.Q)),
            "gap": float(np.max(model.gap_)),
        }
    return made


def _lengths(codes: Any) -> Any:
    """The l1 norm of each code, 1 for an empty one."""
    lengths = np.asarray(abs(codes).sum(axis=1)).reshape(-1, 1)
    return np.where(lengths > 0, lengths, 1)


def induction(task: Task, method: Method, settings: Settings) -> Row:
    """A graph method over all training pictures, queries joined later: ``predict_scores``."""
    key = {"task": task.name, "about": task.about, "method": method.name, "joined": dict(settings)}

    def work() -> Row:
        model = method.make(settings, 0)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, task.Y)
            built = time.process_time()
            scores = model.predict_scores(task.Q)
        done = time.process_time()
        return {
            "MAP": label_map(scores, task.T),
            "construction s": built - start,
            "prediction ms": 1e3 * (done - built) / len(task.Q),
        }

    return _kept(key, work)


def tuning_size(task: Task, share: float) -> int:
    """How many pictures settings are tried on: those of the share, but not above a bound."""
    free = len(task.X) - _validation(task)
    return int(min(round(share * len(task.X)), free, TUNING_ROWS))


def _validation(task: Task) -> int:
    return min(TUNING_QUERIES, max(1, len(task.X) // 5))


def tune(task: Task, method: Method, size: int) -> list[Row]:
    """MAP of every setting on a validation part of the training pictures."""
    order = np.random.default_rng(TUNING_SEED).permutation(len(task.X))
    asked, rows = order[: _validation(task)], np.sort(order[_validation(task) :][:size])
    T = task.Y[asked].toarray()

    def work(settings: Settings) -> Row:
        model = method.make(settings, TUNING_SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores, _, _ = measured(method, model, task.X[rows], task.Y[rows], task.X[asked])
        return {"MAP": label_map(scores, T)}

    made = []
    for settings in method.grid:
        key = {
            "task": task.name, "about": task.about, "method": method.name,
            "tuning": dict(settings), "size": size,
        }  # fmt: skip
        made.append({"settings": dict(settings), **_kept(key, lambda s=settings: work(s))})
    return made


def chosen(tried: list[Row]) -> Settings:
    """The setting with the highest MAP; of equals the first."""
    best: Settings = max(tried, key=lambda row: row["MAP"])["settings"]
    return best


# -- runs that were done ------------------------------------------------------------------------


def folder() -> Path:
    """Where runs are kept."""
    return harness.cache_dir() / "siso-quality"


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Of the code a run depends on: another code, another run."""
    root = Path(likewise_methods.__file__).parent
    files = [
        *sorted((root / "siso").glob("[a-z]*.py")),
        *sorted(Path(__file__).with_name("baselines").glob("[a-z]*.py")),
        *sorted((root / "siso" / "solver").rglob("*.py")),
        *(root / "neighbours" / f"{name}.py" for name in _NEIGHBOURS),
    ]
    digest = hashlib.sha256(f"{_VERSION} {sys.version}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _kept(key: Row, work: Any) -> Row:
    text = json.dumps(key, sort_keys=True)
    name = hashlib.sha256((fingerprint() + text).encode()).hexdigest()[:32]
    path = folder() / f"{name}.json"
    if path.exists():
        made: Row = json.loads(path.read_text())["row"]
        return made
    row: Row = work()
    folder().mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"key": key, "row": row}))
    print(text, {k: round(v, 4) for k, v in row.items()}, flush=True)
    return row


def warm_up() -> None:
    """Kernels compiled and libraries loaded on a toy, so that no run pays for it."""
    rng = np.random.default_rng(0)
    X, Q = (rng.standard_normal((n, 16)).astype(np.float32) for n in (200, 20))
    Y = np.eye(4)[np.arange(200) % 4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in METHODS:
            settings = method.grid[0] if method.grid else METHODS[0].grid[0]
            method.make(settings, 0).fit(X, Y).predict_scores(Q)
