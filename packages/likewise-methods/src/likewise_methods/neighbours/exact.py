"""Exhaustive search by matrix products (faiss ``IndexFlat``).

For l2 and twenty or more queries faiss expands ``|q - x|^2``, so distances have an error of about
1e-7 times the squared norms.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from likewise_methods.lazy_imports import faiss
from likewise_methods.neighbours._faiss import WholeRows, faiss_metric
from likewise_methods.neighbours.protocol import Metric, rows


class Exact(WholeRows):
    """Exact neighbours: compares all rows with every query.

    Parameters
    ----------
    metric : {"l2", "ip"}, default="l2"
        Squared Euclidean distance, where lower is better, or inner product, where higher is.
    n_threads : int, default=1
        Threads of a search.

    See Also
    --------
    HNSW : approximate, much faster for many rows.
    likewise_methods.index.InvertedIndex : exact search over sparse rows.

    Examples
    --------
    >>> index = Exact(metric="l2").build([[0.0, 0.0], [3.0, 4.0]])
    >>> ids, distances = index.search([[3.0, 3.0]], k=3)
    >>> ids.tolist(), distances.tolist()
    ([[1, 0, -1]], [[1.0, 18.0, inf]])
    """

    kind: ClassVar[str] = "neighbours.exact"

    def __init__(self, metric: Metric = "l2", *, n_threads: int = 1) -> None:
        self.metric = metric
        self.n_threads = n_threads

    def build(self, X: ArrayLike) -> Self:
        """Replace the content by the rows of ``X``.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows, converted to float32.

        Returns
        -------
        self
        """
        self._common()
        X = rows(X, "X")
        self._index = faiss.IndexFlat(X.shape[1], faiss_metric(self.metric))
        self._width = X.shape[1]
        return self._hold(X)

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"metric": self.metric}, {"X": self.vectors()}

    def _unpack(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.metric = meta["metric"]
        self.build(arrays["X"])
