"""QUIC as skggm builds it, in this process: its compiled part alone.

skggm 0.2.8 imports modules scikit-learn no longer has, so the extension module is loaded from where
it was built (``LIKEWISE_SKGGM``, the folder of an environment, else ``skggm-venv`` in the cache).
It must have been built for this Python, and is best linked with the BLAS that SciPy brings: both
sides then factorise with the same code.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness


def extension() -> Path | None:
    """The file of the extension module; None where there is none for this Python."""
    named = os.environ.get("LIKEWISE_SKGGM")
    root = Path(named) if named else harness.cache_dir() / "skggm-venv"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return next(root.glob(f"**/inverse_covariance/pyquic/pyquic{suffix}"), None)


@cache
def _module() -> Any:
    # What it is linked with is there once SciPy has loaded it.
    importlib.import_module("scipy.linalg")
    path = extension()
    spec = None if path is None else importlib.util.spec_from_file_location("pyquic", path)
    if spec is None or spec.loader is None:
        raise ImportError("skggm's compiled part is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solve(S: Any, l1: float, tol: float) -> tuple[Any, float]:
    """One run from the identity, penalty off the diagonal; (precision, CPU seconds)."""
    quic, S = _module().quic, np.ascontiguousarray(S)
    m = len(S)
    L = np.full((m, m), l1)
    np.fill_diagonal(L, 0.0)
    theta, sigma = np.eye(m), np.eye(m)
    opt, cpu, gap, iters = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, np.uint32)
    start = time.process_time()
    quic(b"default", m, S, L, 1, np.empty(1), tol, 0, 1000, theta, sigma, opt, cpu, iters, gap)
    return theta, time.process_time() - start
