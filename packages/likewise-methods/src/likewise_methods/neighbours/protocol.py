"""The protocol of the nearest-neighbour indexes, and what they share: validation and saving.

``search`` returns ``(ids, values)``, best first.  For metric ``"ip"`` a value is the inner product
and **higher is better**; for ``"l2"`` it is the *squared* Euclidean distance and **lower is
better**.  Ids are row numbers; equal values are ordered by id.  If fewer than k rows are found, ids
are padded with -1 and values with -inf (ip) or +inf (l2).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.errors import LikewiseError
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.validation import finite_rows, one_of, whole

Metric = Literal["ip", "l2"]
Found = tuple[NDArray[np.int64], NDArray[np.float32]]


class NotBuilt(LikewiseError):
    """An index was searched or added to before ``build``."""


@runtime_checkable
class Neighbours(Protocol):
    """An index of the nearest rows of a growing float32 matrix, exact or approximate.

    See Also
    --------
    Exact : compares all rows.
    HNSW : walks a graph.
    IVF : searches the nearest cells.
    LSH : hashes.
    """

    metric: Metric
    n_threads: int

    def build(self, X: ArrayLike) -> Self:
        """Replace the content by the rows of ``X``."""

    def add(self, X: ArrayLike) -> Self:
        """Add rows; their ids start at ``len(self)``."""

    def search(self, Q: ArrayLike, k: int) -> Found:
        """Return ids and values, both of shape (rows of Q, k), best first."""

    def save(self, path: str | Path) -> None:
        """Write one checksummed file."""

    @classmethod
    def open(cls, path: str | Path, *, n_threads: int = 1) -> Self:
        """Open a saved file; raise :class:`DamagedFile` if it was altered."""

    def __len__(self) -> int: ...


def rows(X: ArrayLike, name: str, width: int | None = None) -> NDArray[np.float32]:
    """Return ``X`` as finite C-ordered float32 rows of the expected width."""
    made: NDArray[np.float32] = finite_rows(X, name, width, dtype=np.float32)
    return made


def best_first(ids: NDArray[np.int64], values: NDArray[np.float32], metric: Metric) -> Found:
    """Sort results by value, then id; pad missing ones with -1 and the worst value."""
    ids = ids.astype(np.int64, copy=False)
    values[ids < 0] = np.inf if metric == "l2" else -np.inf
    if ids.shape[1] > 1:
        key = values if metric == "l2" else -values
        # -1 sorts after a real row with the same value.
        order = np.lexsort((np.where(ids < 0, np.iinfo(np.int64).max, ids), key))
        ids, values = np.take_along_axis(ids, order, 1), np.take_along_axis(values, order, 1)
    return ids, values


class StoredIndex:
    """Saving, opening, copying and validation of an index.

    A subclass defines ``_pack`` (returns plain values and arrays) and ``_unpack``.  Constructors
    only store parameters; ``build`` validates them.
    """

    kind: ClassVar[str]
    metric: Metric
    n_threads: int
    _width: int | None = None

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        raise NotImplementedError

    def _unpack(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        raise NotImplementedError

    def _common(self) -> None:
        one_of(self.metric, "metric", ("ip", "l2"))
        whole(self.n_threads, "n_threads")

    def _check_built(self, doing: str) -> int:
        if self._width is None:
            raise NotBuilt(f"{doing} before build: call build(X) first")
        return self._width

    @property
    def width(self) -> int:
        """Columns of a row."""
        return self._check_built("width")

    def save(self, path: str | Path) -> None:
        """Write one checksummed file (see ``container``)."""
        self._check_built("save")
        meta, arrays = self._pack()
        save_arrays(path, self.kind, meta, arrays)

    @classmethod
    def open(cls, path: str | Path, *, n_threads: int = 1) -> Self:
        """Open a saved file.  The thread count is not part of the file."""
        meta, arrays = open_arrays(path, cls.kind)
        index = cls.__new__(cls)
        index.n_threads = whole(n_threads, "n_threads")
        try:
            index._unpack(meta, arrays)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DamagedFile(f"{path}: not a usable {cls.kind} ({error})") from error
        return index

    def __getstate__(self) -> dict[str, Any]:
        if self._width is None:
            return dict(vars(self))
        meta, arrays = self._pack()
        return {"packed": (meta, arrays), "n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "packed" not in state:
            vars(self).update(state)
            return
        self.n_threads = state["n_threads"]
        self._unpack(*state["packed"])
