"""cblearn in an interpreter of its own: it wants an older numpy than ours.

Run by path, not as a module: this file imports nothing of Likewise.

    python cblearn_child.py LOSS DIMENSIONS OBJECTS LIMIT TRAIN.npy OUT.npy

fits once, writes the points and prints {"seconds": CPU, "version": ...} as JSON.  After LIMIT CPU
seconds the system ends it (SIGXCPU).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"


def main() -> int:
    """One fit, timed after a tiny one."""
    import numpy as np

    loss, p, n, limit, source, target = sys.argv[1:]
    embedding = importlib.import_module("cblearn.embedding")
    maker = {
        "gnmds": embedding.GNMDS,
        "ste": embedding.STE,
        "tste": embedding.TSTE,
        "ckl": embedding.CKL,
    }[loss]
    maker(n_components=2, random_state=0).fit(np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]]))
    used = int(time.process_time()) + int(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
    rows = np.load(source)
    model = maker(n_components=int(p), random_state=0)
    start = time.process_time()
    model.fit(rows)
    seconds = time.process_time() - start
    points = np.asarray(model.embedding_, np.float64)
    assert len(points) == int(n), "every object must be named by some comparison"
    np.save(target, points)
    version = importlib.metadata.version("cblearn")
    sys.stdout.write(json.dumps({"seconds": seconds, "version": version}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
