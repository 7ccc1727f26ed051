"""The little of faiss that its three indexes share: the thread count, and bytes in and out.

faiss keeps one OpenMP thread count per process; :func:`threads` sets it for one call and puts
the old one back, so that two objects with different counts do not disturb each other.
"""

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
    """``n`` faiss threads inside, as many as before outside."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def faiss_metric(metric: Metric) -> int:
    """faiss's number for a metric."""
    return int(faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT)


def search_parameters(name: str, **values: int) -> Any:
    """faiss's per-call parameters, by name: its type stubs lag behind the library."""
    return getattr(faiss, name)(**values)


def to_bytes(index: Any) -> NDArray[np.uint8]:
    """A faiss index as bytes."""
    data: NDArray[np.uint8] = faiss.serialize_index(index)
    return data


def _say(index: Any, put: Callable[[Any], object]) -> None:
    """The bytes of a faiss index, some at a time."""
    # The stubs lag behind the library.
    callback: Any = faiss.PyCallbackIOWriter  # type: ignore[attr-defined, unused-ignore]
    faiss.write_index(index, callback(lambda piece: put(np.frombuffer(piece, np.uint8))))


def save_index(path: str | Path, kind: str, meta: dict[str, Any], index: Any) -> None:
    """Save a faiss index as it says its bytes: a copy of them all would be as large as it is."""
    n_bytes = 0

    def count(piece: NDArray[np.uint8]) -> None:
        nonlocal n_bytes
        n_bytes += len(piece)

    _say(index, count)
    said = Streamed(np.uint8, (n_bytes,), lambda put: _say(index, put))
    save_arrays(path, kind, meta, {"faiss": said})


def from_bytes(data: NDArray[np.uint8], kind: type, width: int, n: int, metric: Metric) -> Any:
    """A faiss index from bytes whose checksum was verified; ValueError if it is not the one."""
    index = faiss.deserialize_index(np.array(data))
    if not isinstance(index, kind) or (index.d, index.ntotal) != (width, n):
        raise ValueError(f"holds {type(index).__name__} of {index.ntotal} rows x {index.d}")
    if index.metric_type != faiss_metric(metric):
        raise ValueError("was built for another metric")
    return index


class FaissIndex(StoredIndex):
    """Adding, searching and saving over ``self._index``."""

    _PARAMETERS: ClassVar[tuple[str, ...]]
    """What is saved beside faiss's own bytes."""
    _FAISS: ClassVar[str]
    """The name of its class in faiss."""
    _index: Any = None

    def __len__(self) -> int:
        return 0 if self._index is None else int(self._index.ntotal)

    def add(self, X: ArrayLike) -> Self:
        """Hold more rows; their ids go on from ``len(self)``.

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
        """The k best rows of every query, best first; see ``protocol`` for the sense of values.

        Parameters
        ----------
        Q : array of shape (q, columns)
            Queries.
        k : int
            Rows wanted.

        Returns
        -------
        ids : int array of shape (q, k)
            Row numbers, -1 where fewer were found.
        values : float32 array of shape (q, k)
            Squared distances or inner products.
        """
        Q = rows(Q, "Q", self._check_built("search"))
        k = whole(k, "k")
        ids = np.full((len(Q), k), -1, np.int64)
        values = np.empty((len(Q), k), np.float32)
        if len(Q) and len(self):
            # faiss refuses nothing here, but a heap longer than the index is only cost.
            some = min(k, len(self))
            with threads(self.n_threads):
                near, at = self._index.search(Q, some, params=self._parameters(some))
            ids[:, :some], values[:, :some] = at, near
        return best_first(ids, values, self.metric)


class WholeRows(FaissIndex):
    """An index that keeps its rows in order of arrival, and can give them back."""

    def vectors(self) -> NDArray[np.float32]:
        """A copy of the rows held."""
        width = self._check_built("vectors")
        held: NDArray[np.float32] = self._index.reconstruct_n(0, len(self))
        return held.reshape(-1, width)
