"""Vectors on disk: fresh ones as blobs in the catalog, sealed ones in immutable segments.

A sparse segment is a folder with the raw rows (term counts, say) and an inverted index of the
rows as they are compared; a dense one is a file with a matrix.  A segment is written and synced
first and named in the catalog afterwards; what no row names is garbage and is swept away.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import DamagedCollection
from likewise_methods.durable_files import private_folder, rename_whole
from likewise_methods.index import InvertedIndex
from likewise_methods.index import is_current as index_is_current
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours import (
    DamagedFile,
    Streamed,
    map_arrays,
    open_arrays,
    release,
    save_arrays,
)
from likewise_methods.sparse_rows import Rows

FOLDER = "segments"
SEAL_AT = 4096
"""Fresh rows of a space that are sealed into a segment."""
MERGE_AT = 8
"""Segments below the full size that are merged into one."""
FULL = 65_536
"""Pictures of a full segment: one block of the index."""
AT_ONCE = 2_048
"""Rows that a job looks at together: however many there are, it holds so many."""

_ROWS = "rows.lwa"
_INDEX = "index"
_KIND_ROWS, _KIND_MATRIX = "segment rows", "segment matrix"


class SparseRows(NamedTuple):
    """Ids and raw rows, one a picture."""

    ids: NDArray[np.int64]
    rows: Any  # csr_array


class DenseRows(NamedTuple):
    ids: NDArray[np.int64]
    rows: NDArray[np.float32]


class SegmentOnDisk:
    """A segment that stays on disk: its digest is proved, its ids are here, and rows are read some
    at a time."""

    def __init__(
        self, ids: NDArray[np.int64], between: Callable[[int, int], Any], mapped: mmap.mmap
    ) -> None:
        self.ids = ids
        self._between, self._mapped = between, mapped

    def parts(self) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """(ids, raw rows), ``AT_ONCE`` of them; whoever wants to keep rows copies them."""
        for start in range(0, len(self.ids), AT_ONCE):
            end = min(start + AT_ONCE, len(self.ids))
            yield self.ids[start:end], self._between(start, end)
            release(self._mapped)


def pack_sparse(indices: Any, values: Any) -> bytes:
    """A sparse row as a blob: the words (uint32), then the values (float32)."""
    words = np.asarray(indices, "<u4")
    return words.tobytes() + np.asarray(values, "<f4").tobytes()


def unpack_sparse(blobs: Sequence[bytes], width: int) -> Any:
    """Rows of a CSR matrix from their blobs."""
    rows = sparse_rows(blobs, width)
    return sparse.csr_array((rows.values, rows.words, rows.ends), shape=(len(blobs), width))


def sparse_rows(blobs: Sequence[bytes], width: int) -> Rows:
    """Rows from their blobs, as arrays: nobody need load what knows matrices."""
    lengths = [len(blob) // 8 for blob in blobs]
    starts = np.zeros(len(blobs) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    indices = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    for blob, n, at in zip(blobs, lengths, starts[:-1], strict=True):
        if len(blob) != 8 * n:
            raise DamagedCollection(f"a vector in the catalog has {len(blob)} bytes")
        indices[at : at + n] = np.frombuffer(blob, "<u4", n)
        values[at : at + n] = np.frombuffer(blob, "<f4", n, 4 * n)
    if len(indices) and int(indices.max()) >= width:
        raise DamagedCollection(f"a vector in the catalog has word {indices.max()} of {width}")
    return Rows(starts, indices, values, width)


def pack_dense(vector: Any) -> bytes:
    return np.asarray(vector, "<f4").tobytes()


def unpack_dense(blobs: Sequence[bytes], width: int) -> NDArray[np.float32]:
    for blob in blobs:
        if len(blob) != 4 * width:
            raise DamagedCollection(
                f"a vector in the catalog has {len(blob)} bytes; {4 * width} expected"
            )
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), width)


def write_sparse(root: Path, name: str, raw: SparseRows, weighted: Any) -> int:
    """Write a sparse segment; ``weighted`` are the rows as the index shall hold them.

    Gives its size in bytes.  The folder appears under its name complete or not at all.
    """
    target = root / name
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    private_folder(target.parent)
    private_folder(part)
    arrays: dict[str, NDArray[Any]] = {
        "ids": raw.ids.astype(np.int64),
        "starts": raw.rows.indptr.astype(np.int64),
        "indices": raw.rows.indices.astype(np.int32, copy=False),
        "values": raw.rows.data.astype(np.float32, copy=False),
    }
    save_arrays(part / _ROWS, _KIND_ROWS, {"width": int(raw.rows.shape[1])}, arrays)
    InvertedIndex.build(weighted, raw.ids).save(part / _INDEX)
    rename_whole(part, target)
    return size_of(target)


def read_sparse(root: Path, name: str) -> SparseRows:
    try:
        meta, arrays = open_arrays(root / name / _ROWS, _KIND_ROWS)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    shape = (len(arrays["ids"]), meta["width"])
    matrix = sparse.csr_array((arrays["values"], arrays["indices"], arrays["starts"]), shape=shape)
    return SparseRows(arrays["ids"], matrix)


def open_sparse(root: Path, name: str) -> SegmentOnDisk:
    """As ``read_sparse``, with rows that stay on disk."""
    try:
        meta, arrays, mapped = map_arrays(root / name / _ROWS, _KIND_ROWS)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    starts = np.array(arrays["starts"])

    def between(first: int, last: int) -> Any:
        a, b = starts[first], starts[last]
        values, columns = np.array(arrays["values"][a:b]), np.array(arrays["indices"][a:b])
        # Of one type, and a small one: scipy would make all of them int64.
        ends = (starts[first : last + 1] - a).astype(np.int32)
        return sparse.csr_array((values, columns, ends), shape=(last - first, meta["width"]))

    return SegmentOnDisk(np.array(arrays["ids"]), between, mapped)


def open_index(root: Path, name: str) -> InvertedIndex:
    """The mapped index of a sparse segment."""
    return InvertedIndex.open(root / name / _INDEX)


def is_current(root: Path, name: str) -> bool:
    """Whether the index of a sparse segment is of today's format."""
    return index_is_current(root / name / _INDEX)


def write_dense(root: Path, name: str, data: DenseRows) -> int:
    return write_dense_parts(root, name, data.ids, data.rows.shape[1], [data.rows])


def write_dense_parts(
    root: Path, name: str, ids: NDArray[np.int64], width: int, parts: Iterable[NDArray[np.float32]]
) -> int:
    """Write a dense segment whose rows come in parts."""
    target = root / name
    private_folder(target.parent)

    def fill(put: Callable[[Any], object]) -> None:
        for part in parts:
            put(part)

    rows = Streamed(np.float32, (len(ids), width), fill)
    save_arrays(target, _KIND_MATRIX, {}, {"ids": ids.astype(np.int64), "rows": rows})
    return size_of(target)


def read_dense(root: Path, name: str) -> DenseRows:
    try:
        _, arrays = open_arrays(root / name, _KIND_MATRIX)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    return DenseRows(arrays["ids"], arrays["rows"])


def map_dense(root: Path, name: str) -> tuple[DenseRows, mmap.mmap]:
    """As ``read_dense``, with rows that stay on disk, and the mapping they are a view of."""
    try:
        _, arrays, mapped = map_arrays(root / name, _KIND_MATRIX)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    return DenseRows(np.array(arrays["ids"]), arrays["rows"]), mapped


def open_dense(root: Path, name: str) -> SegmentOnDisk:
    """As ``read_dense``, with rows that stay on disk."""
    data, mapped = map_dense(root, name)
    return SegmentOnDisk(data.ids, lambda first, last: data.rows[first:last], mapped)


def size_of(path: Path, *, apart: str | None = None) -> int:
    """Bytes of a file, or of all files below a folder but for one of its folders."""
    if path.is_file():
        return path.stat().st_size
    total = 0
    for child in path.iterdir() if path.is_dir() else ():
        if child.name != apart:
            total += size_of(child)
    return total


def sweep(root: Path, named: set[str]) -> list[str]:
    """Remove files of the collection that the catalog does not name; gives their names.

    Only the job that holds the lease may do this.  A reader that still has a swept file mapped
    keeps reading it; the space comes back when it lets go.
    """
    gone = []
    for folder in (root / name for name in (FOLDER, "words", "models", "learned")):
        if not folder.is_dir():
            continue
        for path in folder.iterdir():
            name = path.relative_to(root).as_posix()
            if name not in named:
                try:
                    _remove(path)
                except PermissionError:
                    # Windows removes nothing that somebody has mapped: the next job does.
                    if os.name != "nt":
                        raise
                else:
                    gone.append(name)
    return gone


def _remove(path: Path) -> None:
    if path.is_dir():
        # Gone at once: whoever copies it must not take half a folder for a whole one.
        away = path.with_name(f"gone-{secrets.token_hex(4)}")
        os.replace(path, away)
        shutil.rmtree(away)
    else:
        path.unlink()
