"""What the three faiss indexes share: adding, searching, saving, and the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.lazy_imports import faiss
from likewise_methods.neighbours.container import Streamed, save_arrays
from likewise_methods.neighbours.protocol import Found, Metric, StoredIndex, best_first, rows
from likewise_methods.validation import whole


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Set the number of faiss threads, which is global, inside a block."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def faiss_metric(metric: Metric) -> int:
    """Return the number of a metric in faiss."""
    return int(faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT)


def search_parameters(name: str, **values: int) -> Any:
    """Create search parameters of faiss by name (its type stubs lack them)."""
    return getattr(faiss, name)(**values)


def to_bytes(index: Any) -> NDArray[np.uint8]:
    """Return a faiss index as bytes."""
    data: NDArray[np.uint8] = faiss.serialize_index(index)
    return data


def _write(index: Any, put: Callable[[Any], object]) -> None:
    """Write the bytes of a faiss index in parts."""
    callback: Any = faiss.PyCallbackIOWriter  # type: ignore[attr-defined, unused-ignore]
    faiss.write_index(index, callback(lambda piece: put(np.frombuffer(piece, np.uint8))))


def save_index(path: str | Path, kind: str, meta: dict[str, Any], index: Any) -> None:
    """Save a faiss index without a second copy in memory."""
    n_bytes = 0

    def count(piece: NDArray[np.uint8]) -> None:
        nonlocal n_bytes
        n_bytes += len(piece)

    _write(index, count)
    data = Streamed(np.uint8, (n_bytes,), lambda put: _write(index, put))
    save_arrays(path, kind, meta, {"faiss": data})


def from_bytes(data: NDArray[np.uint8], kind: type, width: int, n: int, metric: Metric) -> Any:
    """Read a faiss index from bytes with a valid checksum; check its type and shape."""
    index = faiss.deserialize_index(np.array(data))
    if not isinstance(index, kind) or (index.d, index.ntotal) != (width, n):
        raise ValueError(f"holds {type(index).__name__} of {index.ntotal} rows x {index.d}")
    if index.metric_type != faiss_metric(metric):
        raise ValueError("was built for another metric")
    return index


class FaissIndex(StoredIndex):
    """An index that wraps a faiss index, ``self._index``."""

    _PARAMETERS: ClassVar[tuple[str, ...]]
    """Parameters that are saved with faiss's bytes."""
    _FAISS: ClassVar[str]
    """The class in faiss."""
    _index: Any = None

    def __len__(self) -> int:
        return 0 if self._index is None else int(self._index.ntotal)

    def add(self, X: ArrayLike) -> Self:
        """Add rows; their ids start at ``len(self)``.

        Parameters
        ----------
        X : array of shape (n, columns)
            Rows.

        Returns
        -------
        self
        """
        return self._hold(rows(X, "X", self._check_built("add")))

    def _hold(self, X: NDArray[np.float32]) -> Self:
        with threads(self.n_threads):
            self._index.add(X)
        return self

    def _parameters(self, k: int) -> Any:
        return None

    def _meta(self) -> dict[str, Any]:
        meta = {name: getattr(self, name) for name in self._PARAMETERS}
        return {**meta, "width": self.width, "n": len(self)}

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return self._meta(), {"faiss": to_bytes(self._index)}

    def _unpack(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        for name in self._PARAMETERS:
            setattr(self, name, meta[name])
        self._index = from_bytes(
            arrays["faiss"], getattr(faiss, self._FAISS), meta["width"], meta["n"], self.metric
        )
        self._width = meta["width"]

    def search(self, Q: ArrayLike, k: int) -> Found:
        """Return the k best rows of every query, best first.

        Parameters
        ----------
        Q : array of shape (q, columns)
            Queries.
        k : int
            Number of rows.

        Returns
        -------
        ids : int array of shape (q, k)
            Row numbers; -1 if fewer were found.
        values : float32 array of shape (q, k)
            Squared distances or inner products.
        """
        Q = rows(Q, "Q", self._check_built("search"))
        k = whole(k, "k")
        ids = np.full((len(Q), k), -1, np.int64)
        values = np.empty((len(Q), k), np.float32)
        if len(Q) and len(self):
            some = min(k, len(self))
            with threads(self.n_threads):
                near, at = self._index.search(Q, some, params=self._parameters(some))
            ids[:, :some], values[:, :some] = at, near
        return best_first(ids, values, self.metric)


class WholeRows(FaissIndex):
    """An index that keeps its rows, in order."""

    def vectors(self) -> NDArray[np.float32]:
        """Return a copy of the rows."""
        width = self._check_built("vectors")
        held: NDArray[np.float32] = self._index.reconstruct_n(0, len(self))
        return held.reshape(-1, width)
