"""Lloyd's k-means with exhaustive assignment, by faiss: the yardstick for approximate ones."""

from __future__ import annotations

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InvalidInput
from likewise_methods.neighbours._faiss import threads
from likewise_methods.neighbours.protocol import rows
from likewise_methods.validation import whole


def exact_kmeans(
    X: ArrayLike, n_centres: int, *, n_iter: int = 20, random_state: int = 0, n_threads: int = 1
) -> NDArray[np.float32]:
    """Centres after ``n_iter`` rounds in which every row met every centre; all rows are used.

    >>> sorted(exact_kmeans([[0.0], [1.0], [9.0]], 2).ravel().tolist())
    [0.5, 9.0]
    """
    X = rows(X, "X")
    if len(X) < whole(n_centres, "n_centres"):
        raise InvalidInput(f"X has {len(X)} rows; at least n_centres = {n_centres} expected")
    kmeans = faiss.Kmeans(
        X.shape[1],
        n_centres,
        niter=whole(n_iter, "n_iter"),
        # faiss reads a negative seed as "none" and 0 as one like any other.
        seed=whole(random_state, "random_state", 0),
        max_points_per_centroid=len(X),
        min_points_per_centroid=1,
    )
    with threads(whole(n_threads, "n_threads")):
        kmeans.train(X)
    return np.asarray(kmeans.centroids)
