"""Peers of S3ML in an environment of their own: LMNN, ITML, SDML of metric-learn, and NCA.

metric-learn's release needs an older scikit-learn, so it runs in a child process of another
interpreter: ``LIKEWISE_METRIC_PEERS``, else ``metric-peers/bin/python`` in the benchmarks' cache
(``python -m venv``, then ``pip install metric-learn==0.7.0 "scikit-learn<1.5"``).  This file is
that child's script, too, and then imports nothing of Likewise.  Answers are kept: peers do not
change from run to run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Job(NamedTuple):
    """One thing to learn from: labelled rows ("labels"), or rows, pairs and +-1 ("pairs")."""

    kind: str
    X: Any
    y: Any
    same: Any


class Answer(NamedTuple):
    """L with M = L'L or None; CPU seconds; ``why`` its default settings failed, if they did."""

    components: Any
    seconds: float
    why: str


def interpreter() -> Path | None:
    """The other Python; None where there is none."""
    from benchmarks.harness import cache_dir

    named = os.environ.get("LIKEWISE_METRIC_PEERS")
    path = Path(named) if named else cache_dir() / "metric-peers" / "bin" / "python"
    return path if path.exists() else None


def ask_peers(method: str, jobs: list[Job], key: str) -> list[Answer] | None:
    """What the peer makes of each job; None where it is not installed."""
    from benchmarks.harness import cache_dir

    digest = hashlib.sha256()
    for job in jobs:
        for part in (job.X, job.y, job.same):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    stem = hashlib.sha256(
        f"{method} {key} {digest.hexdigest()} {SETTINGS[method]}".encode()
    ).hexdigest()
    folder = cache_dir() / "s3ml-peers"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{method}-{stem[:20]}.npz"
    if not kept.exists():
        python = interpreter()
        if python is None:
            return None
        given = folder / f"{method}-{stem[:20]}-{os.getpid()}-in.npz"
        made = given.with_name(f"{given.stem}-out.npz")
        np.savez(given, **_packed(jobs))
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        command = [str(python), str(Path(__file__)), method, str(given), str(made)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        given.unlink()
        if done.returncode:
            raise RuntimeError(f"the peer {method} ended with {done.returncode}:\n{done.stderr}")
        made.replace(kept)
    with np.load(kept) as data:
        said = json.loads(str(data["said"]))
        return [
            Answer(data[f"L{i}"] if f"L{i}" in data.files else None, s["seconds"], s["why"])
            for i, s in enumerate(said)
        ]


def _packed(jobs: list[Job]) -> dict[str, Any]:
    parts: dict[str, Any] = {"kinds": np.array([job.kind for job in jobs])}
    for i, job in enumerate(jobs):
        parts |= {f"X{i}": job.X, f"y{i}": job.y}
        if job.same is not None:
            parts[f"same{i}"] = job.same
    return parts


# -- the child ------------------------------------------------------------------------------

# Part of the name under which answers are kept.
SETTINGS = {
    "NCA": "scikit-learn's defaults",
    "LMNN": "3 target neighbours, fewer in small classes",
    "ITML": "at most 100 rounds",
    "SDML": "prior identity; balance 0.5, where that fails 0.05, 0.005, 0.0005",
}
BALANCES = (0.5, 0.05, 0.005, 0.0005)


def learner(method: str, kind: str, y: Any, balance: float) -> Any:
    """The peer with its own defaults, where they can work."""
    if method == "NCA":
        return importlib.import_module("sklearn.neighbors").NeighborhoodComponentsAnalysis(
            random_state=0
        )
    library = importlib.import_module("metric_learn")
    if method == "LMNN":
        smallest = int(np.unique(y, return_counts=True)[1].min())
        return library.LMNN(n_neighbors=max(1, min(3, smallest - 1)), random_state=0)
    if method == "ITML":
        settings: dict[str, Any] = {"max_iter": 100, "random_state": 0}
        return library.ITML(**settings) if kind == "pairs" else library.ITML_Supervised(**settings)
    settings = {"prior": "identity", "random_state": 0, "balance_param": balance}
    return library.SDML(**settings) if kind == "pairs" else library.SDML_Supervised(**settings)


def learned(method: str, kind: str, X: Any, y: Any, same: Any) -> tuple[Any, str]:
    """Components and what went wrong first: SDML gets more chances with weaker pairs."""
    why = ""
    for balance in BALANCES if method == "SDML" else BALANCES[:1]:
        try:
            model = learner(method, kind, y, balance)
            if kind == "pairs":
                model.fit(X[y], np.where(same, 1, -1))
            else:
                model.fit(X, y)
            components = np.asarray(model.components_)
            if not np.isfinite(components).all():
                raise ValueError("components are not finite")
            return components, why
        except Exception as error:  # whatever a peer raises is its answer
            why = why or f"{type(error).__name__}: {str(error)[:200]}"
    return None, why


def main() -> None:
    method, given, made = sys.argv[1:4]
    warnings.simplefilter("ignore")
    out: dict[str, Any] = {}
    said = []
    with np.load(given) as data:
        kinds = data["kinds"].tolist()
        for i, kind in enumerate(kinds):
            same = data[f"same{i}"] if f"same{i}" in data.files else None
            start = time.process_time()
            components, why = learned(method, kind, data[f"X{i}"], data[f"y{i}"], same)
            said.append({"seconds": time.process_time() - start, "why": why})
            if components is not None:
                out[f"L{i}"] = components
    np.savez(made, said=np.array(json.dumps(said)), **out)


if __name__ == "__main__":
    main()
