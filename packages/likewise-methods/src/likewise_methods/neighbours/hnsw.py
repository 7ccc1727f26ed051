"""Hierarchical navigable small worlds (Malkov and Yashunin 2018), by faiss.

One thread builds the graph: with several, faiss would give different graphs for the same input.
``n_threads`` is for searching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.lazy_imports import faiss
from likewise_methods.neighbours._faiss import (
    WholeRows,
    faiss_metric,
    save_index,
    search_parameters,
    threads,
)
from likewise_methods.neighbours.protocol import Metric, rows
from likewise_methods.validation import truth, whole


class HNSW(WholeRows):
    """Approximate neighbours by walking a graph.

    Parameters
    ----------
    metric : {"l2", "ip"}, default="l2"
        Squared Euclidean distance, where lower is better, or inner product, where higher is.
    links : int, default=16
        Edges of a row per level (twice as many on the lowest); at least 2.
    ef_build, ef_search : int, default=64
        Length of the queue while building and while searching; larger is better and slower.
        ``ef_search`` can be changed at any time; a search uses at least twice k.
    compact : bool, default=False
        Store one byte per number, scaled to the range of each column in the first rows; values and
        ``vectors`` are then approximate.
    n_threads : int, default=1
        Threads of a search.

    See Also
    --------
    Exact : compares all rows.
    IVF : searches the nearest cells.

    References
    ----------
    Malkov and Yashunin, 2018.

    Examples
    --------
    >>> index = HNSW(metric="ip").build([[1.0, 0.0], [0.0, 1.0]])
    >>> index.search([[0.1, 2.0]], k=1)[0].tolist()
    [[1]]
    """

    kind: ClassVar[str] = "neighbours.hnsw"
    _PARAMETERS = ("metric", "links", "ef_build", "ef_search", "compact")
    _FAISS = "IndexHNSW"

    def __init__(
        self,
        metric: Metric = "l2",
        *,
        links: int = 16,
        ef_build: int = 64,
        ef_search: int = 64,
        compact: bool = False,
        n_threads: int = 1,
    ) -> None:
        self.metric = metric
        self.links = links
        self.ef_build = ef_build
        self.ef_search = ef_search
        self.compact = compact
        self.n_threads = n_threads

    def build(self, X: ArrayLike) -> Self:
        """Replace the content by a graph over the rows of ``X``.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows, converted to float32.

        Returns
        -------
        self
        """
        X = rows(X, "X")
        self._begin(X.shape[1])
        return self._hold(X)

    def build_in_parts(self, width: int, parts: Callable[[], Iterable[ArrayLike]]) -> Self:
        """Build the graph from rows that do not fit into memory.

        Each part should be a sample of all rows: similar rows in succession give a worse graph.

        Parameters
        ----------
        width : int
            Number of columns.
        parts : callable
            Yields the rows, part by part; called twice if ``compact``.

        Returns
        -------
        self
        """
        self._begin(whole(width, "width"))
        if not self._index.is_trained:
            least, most = np.full(width, np.inf, np.float32), np.full(width, -np.inf, np.float32)
            for part in parts():
                X = rows(part, "a part", width)
                np.minimum(least, X.min(axis=0, initial=np.inf), out=least)
                np.maximum(most, X.max(axis=0, initial=-np.inf), out=most)
            if (least <= most).all():
                # Training only finds the range of each column.
                self._index.train(np.stack([least, most]))
        for part in parts():
            self.add(part)
        return self

    def _begin(self, width: int) -> None:
        """Create a graph without rows."""
        self._common()
        links, metric = whole(self.links, "links", 2), faiss_metric(self.metric)
        if truth(self.compact, "compact"):
            a_byte: Any = faiss.ScalarQuantizer.QT_8bit  # wrong type in the stubs
            self._index = faiss.IndexHNSWSQ(width, a_byte, links, metric)
        else:
            self._index = faiss.IndexHNSWFlat(width, links, metric)
        self._index.hnsw.efConstruction = whole(self.ef_build, "ef_build")
        self._width = width

    def save(self, path: str | Path) -> None:
        """Write one checksummed file, without a second graph in memory."""
        self._check_built("save")
        save_index(path, self.kind, self._meta(), self._index)

    def _hold(self, X: NDArray[np.float32]) -> Self:
        with threads(1):
            if len(X) and not self._index.is_trained:
                self._index.train(X)
            if self._index.is_trained:
                self._index.add(X)
        return self

    def _unpack(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        # Files of earlier versions are not compact.
        super()._unpack({"compact": False, **meta}, arrays)
        if isinstance(self._index, faiss.IndexHNSWSQ) is not self.compact:
            raise ValueError(f"holds {type(self._index).__name__}; compact is {self.compact}")

    def _parameters(self, k: int) -> Any:
        # More results need a longer queue.
        queue = max(whole(self.ef_search, "ef_search"), 2 * k)
        return search_parameters("SearchParametersHNSW", efSearch=queue)
