"""Inverted file of cells (Sivic and Zisserman 2003, Jegou et al. 2011), by faiss.

``build`` finds ``n_cells`` cells by k-means over (a sample of) the rows; a search visits the
``n_probes`` cells with the nearest centres.  Rows added later do not change the cells.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from likewise_methods.errors import InvalidInput
from likewise_methods.lazy_imports import faiss
from likewise_methods.neighbours._faiss import FaissIndex, faiss_metric, search_parameters, threads
from likewise_methods.neighbours.protocol import Metric, rows
from likewise_methods.validation import whole


class IVF(FaissIndex):
    """Approximate neighbours from the rows of the nearest cells.

    Parameters
    ----------
    metric : {"l2", "ip"}, default="l2"
        Squared Euclidean distance, where lower is better, or inner product, where higher is.
    n_cells : int, optional
        Number of cells; by default four times the square root of the number of rows.
    n_probes : int, default=16
        Cells that a search visits; can be changed at any time.
    random_state : int, default=0
        Seed of k-means.
    n_threads : int, default=1
        Threads.

    See Also
    --------
    Exact : compares all rows.
    HNSW : walks a graph.

    References
    ----------
    Sivic and Zisserman, 2003; Jegou et al., 2011.

    Examples
    --------
    >>> index = IVF(metric="l2", n_cells=2, n_probes=1).build([[0.0], [0.1], [9.0], [9.1]])
    >>> index.search([[9.2]], k=2)[0].tolist()
    [[3, 2]]
    """

    kind: ClassVar[str] = "neighbours.ivf"
    _PARAMETERS = ("metric", "n_cells", "n_probes", "random_state")
    _FAISS = "IndexIVFFlat"

    def __init__(
        self,
        metric: Metric = "l2",
        *,
        n_cells: int | None = None,
        n_probes: int = 16,
        random_state: int = 0,
        n_threads: int = 1,
    ) -> None:
        self.metric = metric
        self.n_cells = n_cells
        self.n_probes = n_probes
        self.random_state = random_state
        self.n_threads = n_threads

    def build(self, X: ArrayLike) -> Self:
        """Replace the content by the rows of ``X`` and find cells for them.

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
        if not len(X):
            raise InvalidInput("X has 0 rows; IVF needs at least 1 to place its cells")
        wanted = 4 * math.isqrt(len(X)) if self.n_cells is None else self.n_cells
        cells = min(whole(wanted, "n_cells"), len(X))
        centres = faiss.IndexFlat(X.shape[1], faiss_metric(self.metric))
        index = faiss.IndexIVFFlat(centres, X.shape[1], cells, faiss_metric(self.metric))
        index.cp.seed = whole(self.random_state, "random_state", 0)
        # No warning of faiss about few rows per cell.
        index.cp.min_points_per_centroid = 1
        with threads(self.n_threads):
            index.train(X)
        self._index, self._width = index, X.shape[1]
        return self._hold(X)

    def _parameters(self, k: int) -> Any:
        return search_parameters("SearchParametersIVF", nprobe=whole(self.n_probes, "n_probes"))
