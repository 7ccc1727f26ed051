"""Benchmarks: one folder a method, run from the repository's root and no part of the package.

``python -m benchmarks.NAME`` (``make bench-NAME``) measures and writes its tables into
``docs/results/``.  Importing anything from here pins the numerical libraries to one thread, which
only works before they are loaded: hence in this file, which Python runs first.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
