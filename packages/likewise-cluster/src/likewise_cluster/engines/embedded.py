"""The embedded store: rows in this process, searched by our own index, kept in a folder.

Every change is a file of its own, written whole; opening reads them one after another.  When they
are many, one file takes their place.  One process at a time may write to a folder.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.engines.exact import best_of, dense_query, sparse_query, sparse_scores
from likewise.engines.protocol import (
    Facts,
    Found,
    Ids,
    Listed,
    RowKind,
    Where,
    check_put,
    marks_of,
    no_rows,
)
from likewise.errors import InvalidInput
from likewise_cluster.engines.facts import FactTable
from likewise_methods.durable_files import private_folder
from likewise_methods.index import InvertedIndex, id_vector
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours import Flat, open_arrays, row_scores, save_arrays
from likewise_methods.validation import whole

MOST_FILES = 64
"""Files of changes up to which they are left as they are."""
_KIND = "engines.rows"
_PART = 1024
_FEW = 2048
"""Pictures that pass a filter up to which just these are compared."""
_FEW_SPARSE = 256
"""The same of sparse rows, each of which is looked up."""


class EmbeddedRows:
    """A store of rows in this process; with a folder, one that is there again after a restart.

    Parameters
    ----------
    kind : RowKind
        What rows it takes.
    folder : path, optional
        Where they are kept; one process at a time may write to it.

    See Also
    --------
    RowStore : what every store offers.
    QdrantRows : the same in Qdrant.

    Examples
    --------
    >>> store = EmbeddedRows(RowKind(is_sparse=True, width=3))
    >>> store.put([7, 9], [[1, 0, 2], [0, 3, 0]], [Facts(tags=("cat",)), Facts()])
    >>> ids, scores = store.search([[1, 0, 1]], k=5)
    >>> ids.tolist(), scores.tolist()
    ([7, 9], [3.0, 0.0])
    >>> store.search([[1, 1, 1]], k=5, where=Where(tags=("cat",)))[0].tolist()
    [7]
    """

    def __init__(self, kind: RowKind, folder: str | Path | None = None) -> None:
        self.kind = kind
        self._folder = None if folder is None else Path(folder)
        self._facts = FactTable()
        self._rows: _Rows = _SparseRows(kind) if kind.is_sparse else _DenseRows(kind)
        self._lock = threading.RLock()
        self._serial = 0
        if self._folder is not None:
            private_folder(self._folder)
            self._replay(self._folder)

    # -- changes ----------------------------------------------------------------------------

    def put(self, ids: Any, rows: Any, facts: Sequence[Facts] | None = None) -> None:
        names, made, said = check_put(self.kind, ids, rows, facts)
        if len(names):
            with self._lock:
                self._write("put", names, made, said)
                self._put(names, made, said)

    def remove(self, ids: Any) -> None:
        with self._lock:
            asked = np.unique(id_vector(ids, None)).tolist()
            here = np.array([one for one in asked if one in self._facts], np.int64)
            if len(here):
                self._write("remove", here, no_rows(self.kind), ())
                self._remove(here)

    def retag(self, tags: Mapping[int, Sequence[str]]) -> None:
        with self._lock:
            here = {int(one): tuple(said) for one, said in tags.items() if int(one) in self._facts}
            if here:
                names = np.array(list(here), np.int64)
                said = [Facts(one) for one in here.values()]
                self._write("retag", names, no_rows(self.kind), said)
                self._retag(names, said)

    def _put(self, names: Ids, rows: Any, facts: Sequence[Facts]) -> None:
        self._rows.put(names, rows)
        for image, said in zip(names.tolist(), facts, strict=True):
            self._facts.put(image, said)

    def _remove(self, names: Ids) -> None:
        self._rows.remove(names)
        for image in names.tolist():
            self._facts.remove(image)

    def _retag(self, names: Ids, facts: Sequence[Facts]) -> None:
        for image, said in zip(names.tolist(), facts, strict=True):
            old = self._facts[image]
            self._facts.put(image, Facts(said.tags, old.folders, old.date))

    # -- questions --------------------------------------------------------------------------

    def search(self, row: Any, k: int, where: Where | None = None) -> Found:
        k = whole(k, "k")
        with self._lock:
            return self._rows.search(row, k, self._facts.passing(where))

    def rows(self, ids: Any) -> tuple[Ids, Any]:
        with self._lock:
            asked = id_vector(ids, None)
            here = asked[np.array([one in self._facts for one in asked.tolist()], bool)]
            return here, self._rows.of(here)

    def count(self, where: Where | None = None) -> int:
        with self._lock:
            passing = self._facts.passing(where)
            return len(self._facts) if passing is None else len(passing)

    def listed(self) -> Iterator[list[Listed]]:
        with self._lock:
            ids = np.fromiter(self._facts.ids(), np.int64)
        for start in range(0, len(ids), _PART):
            yield self.listed_of(ids[start : start + _PART])

    def listed_of(self, ids: Any) -> list[Listed]:
        with self._lock:
            here, rows = self.rows(ids)
            marks = marks_of(self.kind, rows)
            return [
                Listed(image, mark, self._facts[image])
                for image, mark in zip(here.tolist(), marks, strict=True)
            ]

    def close(self) -> None:
        """Nothing is held open: every change is on the disk when it returns."""

    # -- files ------------------------------------------------------------------------------

    def _write(self, change: str, ids: Ids, rows: Any, facts: Sequence[Facts]) -> None:
        """The file of a change, durable when this returns."""
        if self._folder is None:
            return
        meta = {
            "change": change,
            "kind": [self.kind.is_sparse, self.kind.width, self.kind.metric],
            "facts": [[one.tags, one.folders, one.date] for one in facts],
        }
        if self.kind.is_sparse:
            arrays = {"ends": rows.indptr.astype(np.int64), "words": rows.indices.astype("<u4")}
            arrays["values"] = rows.data
        else:
            arrays = {"rows": rows}
        path = self._folder / f"{self._serial + 1:010d}-{change}.rows"
        save_arrays(path, _KIND, meta, {"ids": ids, **arrays})
        self._serial += 1

    def _replay(self, folder: Path) -> None:
        paths = sorted(folder.glob("*.rows"))
        # What came before a file that holds everything was left by a process that was killed.
        whole_at = [i for i, path in enumerate(paths) if path.name.endswith("-all.rows")]
        stale, paths = paths[: max(whole_at, default=0)], paths[max(whole_at, default=0) :]
        for path in paths:
            meta, arrays = open_arrays(path, _KIND)
            if RowKind(*meta["kind"]) != self.kind:
                raise InvalidInput(f"{folder} holds rows of {meta['kind']}; {self.kind} expected")
            facts = [Facts(tuple(t), tuple(f), date) for t, f, date in meta["facts"]]
            ids = arrays["ids"]
            if meta["change"] == "remove":
                self._remove(ids)
            elif meta["change"] == "retag":
                self._retag(ids, facts)
            elif len(ids):
                self._put(ids, self._rows_of(arrays), facts)
            self._serial = int(path.name.split("-")[0])
        if len(paths) > MOST_FILES:
            ids = np.fromiter(self._facts.ids(), np.int64)
            facts = [self._facts[image] for image in ids.tolist()]
            self._write("all", ids, self._rows.of(ids), facts)
            stale += paths
        for path in stale:
            path.unlink()

    def _rows_of(self, arrays: Mapping[str, Any]) -> Any:
        if not self.kind.is_sparse:
            return arrays["rows"]
        shape = (len(arrays["ends"]) - 1, self.kind.width)
        words = arrays["words"].astype(np.int64)
        return sparse.csr_array((arrays["values"], words, arrays["ends"]), shape=shape)


class _Rows(Protocol):
    """Rows of one kind; ids that are named are there, except for ``put``."""

    def put(self, ids: Ids, rows: Any) -> None: ...

    def remove(self, ids: Ids) -> None: ...

    def of(self, ids: Ids) -> Any: ...

    def search(self, row: Any, k: int, passing: Ids | None) -> Found: ...


class _SparseRows:
    def __init__(self, kind: RowKind) -> None:
        self.kind = kind
        self._index = InvertedIndex()

    def put(self, ids: Ids, rows: Any) -> None:
        again = ids[self._index.contains(ids)]
        if len(again):
            self._index.remove(again)
        self._index.add(rows, ids)

    def remove(self, ids: Ids) -> None:
        self._index.remove(ids)

    def of(self, ids: Ids) -> Any:
        found = self._index.rows(ids)
        shape = (len(ids), self.kind.width)
        return sparse.csr_array((found.data, found.indices, found.indptr), shape=shape)

    def search(self, row: Any, k: int, passing: Ids | None) -> Found:
        query = sparse_query(self.kind, row)
        if passing is not None and len(passing) <= max(_FEW_SPARSE, 4 * k):
            return best_of(passing, sparse_scores(self.of(passing), query), k)
        words = (query.values, query.words.astype(np.int64), query.ends)
        asked = sparse.csr_array(words, shape=(1, self.kind.width))
        size = len(self._index)
        wanted = min(k, size) if passing is None else min(4 * k, size)
        while size:
            ids, values = self._index.search(asked, wanted)
            keep = np.ones(wanted, bool) if passing is None else np.isin(ids[0], passing)
            if keep.sum() >= min(k, size) or wanted == size:
                return ids[0][keep][:k], values[0][keep][:k]
            wanted = min(size, 8 * wanted)
        return np.zeros(0, np.int64), np.zeros(0, np.float32)


class _DenseRows:
    def __init__(self, kind: RowKind) -> None:
        self.kind = kind
        self._ids = np.zeros(0, np.int64)
        self._rows = np.zeros((0, kind.width), np.float32)
        self._alive = np.zeros(0, bool)
        self._place: dict[int, int] = {}
        self._flat: Flat | None = None

    def put(self, ids: Ids, rows: Any) -> None:
        here = np.array([one for one in ids.tolist() if one in self._place], np.int64)
        self.remove(here)
        first = len(self._ids)
        self._place |= {one: first + i for i, one in enumerate(ids.tolist())}
        self._ids = np.concatenate([self._ids, ids])
        self._rows = np.concatenate([self._rows, rows])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), bool)])
        if self._flat is not None:
            self._flat.add(rows)
        if len(self._ids) > 2 * max(len(self._place), 1024):
            self._forget_dead()

    def remove(self, ids: Ids) -> None:
        self._alive[[self._place.pop(one) for one in ids.tolist()]] = False

    def _forget_dead(self) -> None:
        self._ids, self._rows = self._ids[self._alive], self._rows[self._alive]
        self._alive = np.ones(len(self._ids), bool)
        self._place = {one: i for i, one in enumerate(self._ids.tolist())}
        self._flat = None

    def of(self, ids: Ids) -> NDArray[np.float32]:
        return self._rows[[self._place[one] for one in ids.tolist()]]

    def search(self, row: Any, k: int, passing: Ids | None) -> Found:
        query = dense_query(self.kind, row)
        alive = self._alive
        if passing is not None:
            alive = np.zeros(len(self._ids), bool)
            alive[[self._place[one] for one in passing.tolist()]] = True
        n = int(alive.sum())
        if n <= _FEW or 2 * n < len(alive):
            places = np.flatnonzero(alive)
            return best_of(
                self._ids[places], row_scores(self._rows, places, query, self.kind.metric), k
            )
        if self._flat is None:
            self._flat = Flat(self.kind.metric, self._rows)
        places, values = self._flat.best(self._rows, alive, query, k)
        return best_of(self._ids[places], values, k)
