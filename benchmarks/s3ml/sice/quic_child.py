"""QUIC as skggm builds it, run by the Python it was built for: a file of its own on purpose.

skggm 0.2.8 imports modules scikit-learn no longer has, so only its compiled part is loaded.  Usage:
``python quic_child.py IN.npz OUT.npz``; IN has S, l1 and tolerances, OUT the precision and the
CPU seconds for each tolerance.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def compiled() -> Any:
    """The extension module of skggm, wherever this Python keeps it."""
    folders = [Path(p) / "inverse_covariance" / "pyquic" for p in sys.path]
    found = [f for folder in folders if folder.is_dir() for f in folder.glob("pyquic*.so")]
    spec = importlib.util.spec_from_file_location("pyquic", found[0])
    if spec is None or spec.loader is None:
        raise ImportError("skggm's compiled part is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solve(quic: Any, S: Any, l1: float, tol: float) -> tuple[Any, float]:
    """One run from the diagonal start, penalty off the diagonal; (precision, CPU seconds)."""
    m = len(S)
    L = np.full((m, m), l1)
    np.fill_diagonal(L, 0.0)
    theta, sigma = np.eye(m), np.eye(m)
    opt, cpu, gap, iters = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, np.uint32)
    start = time.process_time()
    quic(b"default", m, S, L, 1, np.empty(1), tol, 0, 1000, theta, sigma, opt, cpu, iters, gap)
    return theta, time.process_time() - start


def main() -> None:
    given = np.load(sys.argv[1])
    quic = compiled().quic
    made = {}
    for k, tol in enumerate(given["tolerances"]):
        made[f"precision{k}"], made[f"seconds{k}"] = solve(
            quic, np.ascontiguousarray(given["S"]), float(given["l1"]), float(tol)
        )
    np.savez(sys.argv[2], **made)


if __name__ == "__main__":
    main()
