"""What every nearest-neighbour index of this room offers, and the checks at its door.

``search`` gives ``(ids, values)``, best first.  For metric ``"ip"`` a value is the inner product
and **higher is better**; for ``"l2"`` it is the *squared* Euclidean distance and **lower is
better**.  Where k exceeds what was found, ids are padded with -1 and values with the worst there
is (-inf for ip, +inf for l2).  Ids are row numbers in order of arrival; equal values are ordered
by id.
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
    """An index was asked or added to before ``build`` gave it its width."""


@runtime_checkable
class Neighbours(Protocol):
    """Nearest rows of a growing float32 matrix, exactly or nearly: what every index offers.

    See Also
    --------
    Exact : all rows compared.
    HNSW : a graph.
    IVF : cells.
    LSH : hashing.
    """

    metric: Metric
    n_threads: int

    def build(self, X: ArrayLike) -> Self:
        """Forget what was there and hold the rows of ``X``."""

    def add(self, X: ArrayLike) -> Self:
        """Hold more rows; their ids go on from ``len(self)``."""

    def search(self, Q: ArrayLike, k: int) -> Found:
        """Ids and values, both (rows of Q, k), best first."""

    def save(self, path: str | Path) -> None:
        """One checksummed file."""

    @classmethod
    def open(cls, path: str | Path, *, n_threads: int = 1) -> Self:
        """What ``save`` wrote; :class:`DamagedFile` when it is not that any more."""

    def __len__(self) -> int: ...


def rows(X: ArrayLike, name: str, width: int | None = None) -> NDArray[np.float32]:
    """``X`` as finite C-ordered float32 rows of the expected width, or a clear refusal."""
    made: NDArray[np.float32] = finite_rows(X, name, width, dtype=np.float32)
    return made


def best_first(ids: NDArray[np.int64], values: NDArray[np.float32], metric: Metric) -> Found:
    """Missing results as -1 and the worst value; equal values in the order of their ids."""
    ids = ids.astype(np.int64, copy=False)
    values[ids < 0] = np.inf if metric == "l2" else -np.inf
    if ids.shape[1] > 1:
        key = values if metric == "l2" else -values
        # -1 must stay behind a real row whose value is as bad.
        order = np.lexsort((np.where(ids < 0, np.iinfo(np.int64).max, ids), key))
        ids, values = np.take_along_axis(ids, order, 1), np.take_along_axis(values, order, 1)
    return ids, values


class StoredIndex:
    """Saving, opening, copying and validation shared by the indexes of this room.

    A subclass says what it consists of (``_pack``: plain values and arrays) and how to be that
    again (``_unpack``).  Constructors only store; ``build`` validates.
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
        """One checksummed file (see ``container``)."""
        self._check_built("save")
        meta, arrays = self._pack()
        save_arrays(path, self.kind, meta, arrays)

    @classmethod
    def open(cls, path: str | Path, *, n_threads: int = 1) -> Self:
        """What ``save`` wrote.  The thread count belongs to this process, not to the file."""
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
