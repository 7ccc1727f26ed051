"""The distance kernel of LSH and k-means."""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel


@kernel(fastmath=True)
def squared_distance(a, x):  # type: ignore[no-untyped-def]
    """Return the squared Euclidean distance of two float32 rows."""
    s = np.float32(0.0)
    for i in range(x.shape[0]):
        d = a[i] - x[i]
        s += d * d
    return s
