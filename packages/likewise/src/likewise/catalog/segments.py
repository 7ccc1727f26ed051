"""Rows of spaces: packed as blobs in the catalog while fresh, sealed in immutable segment files.

Sparse rows are compared through an inverted index, dense rows one by one or along a graph; a space
holds the object of its format (``space.row_format``).  A segment is written and synced before the
catalog names it; files without a name in the catalog are deleted.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import DamagedCollection, InvalidInput
from likewise_methods.coding import BagOfWords
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
    unit_length,
)
from likewise_methods.sparse_rows import Rows

if TYPE_CHECKING:
    from likewise.catalog.store import SpaceRow

FOLDER = "segments"
SEAL_AT = 4096
"""Fresh rows of a space that make a segment."""
MERGE_AT = 8
"""Segments below the full size that are merged into one."""
FULL = 65_536
"""Pictures of a full segment: one block of the index."""
AT_ONCE = 2_048
"""Rows that a job holds in memory at a time."""

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
    """A segment whose rows are read in parts from disk; its digest is checked."""

    def __init__(
        self, ids: NDArray[np.int64], between: Callable[[int, int], Any], mapped: mmap.mmap
    ) -> None:
        self.ids = ids
        self._between, self._mapped = between, mapped

    def parts(self) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Yield (ids, raw rows), ``AT_ONCE`` at a time; they are valid until the next part."""
        for start in range(0, len(self.ids), AT_ONCE):
            end = min(start + AT_ONCE, len(self.ids))
            yield self.ids[start:end], self._between(start, end)
            release(self._mapped)


def pack_sparse(indices: Any, values: Any) -> bytes:
    """Return a sparse row as a blob: the columns (uint32), then the values (float32)."""
    words = np.asarray(indices, "<u4")
    return words.tobytes() + np.asarray(values, "<f4").tobytes()


def unpack_sparse(blobs: Sequence[bytes], width: int) -> Any:
    """Return the CSR matrix of some blobs."""
    rows = sparse_rows(blobs, width)
    return sparse.csr_array((rows.values, rows.words, rows.ends), shape=(len(blobs), width))


def sparse_rows(blobs: Sequence[bytes], width: int) -> Rows:
    """Return the rows of some blobs as arrays, without loading SciPy."""
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
    """Write a sparse segment and return its size; ``weighted`` are the rows for the index.

    The folder appears under its name only when it is complete.
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
    """Open a sparse segment whose rows stay on disk."""
    try:
        meta, arrays, mapped = map_arrays(root / name / _ROWS, _KIND_ROWS)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    starts = np.array(arrays["starts"])

    def between(first: int, last: int) -> Any:
        a, b = starts[first], starts[last]
        values, columns = np.array(arrays["values"][a:b]), np.array(arrays["indices"][a:b])
        # SciPy would make all indices int64.
        ends = (starts[first : last + 1] - a).astype(np.int32)
        return sparse.csr_array((values, columns, ends), shape=(last - first, meta["width"]))

    return SegmentOnDisk(np.array(arrays["ids"]), between, mapped)


def open_index(root: Path, name: str) -> InvertedIndex:
    """Open the index of a sparse segment."""
    return InvertedIndex.open(root / name / _INDEX)


def is_current(root: Path, name: str) -> bool:
    """Return whether the index of a sparse segment has the current format."""
    return index_is_current(root / name / _INDEX)


def write_dense(root: Path, name: str, data: DenseRows) -> int:
    return write_dense_parts(root, name, data.ids, data.rows.shape[1], [data.rows])


def write_dense_parts(
    root: Path, name: str, ids: NDArray[np.int64], width: int, parts: Iterable[NDArray[np.float32]]
) -> int:
    """Write a dense segment whose rows come in parts; return its size."""
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
    """Return the ids and mapped rows of a dense segment, and the mapping."""
    try:
        _, arrays, mapped = map_arrays(root / name, _KIND_MATRIX)
    except (DamagedFile, OSError) as error:
        raise DamagedCollection(f"segment {name}: {error}") from error
    return DenseRows(np.array(arrays["ids"]), arrays["rows"]), mapped


def open_dense(root: Path, name: str) -> SegmentOnDisk:
    """Open a dense segment whose rows stay on disk."""
    data, mapped = map_dense(root, name)
    return SegmentOnDisk(data.ids, lambda first, last: data.rows[first:last], mapped)


def size_of(path: Path, *, apart: str | None = None) -> int:
    """Return the bytes of a file, or of all files in a folder except one subfolder."""
    if path.is_file():
        return path.stat().st_size
    total = 0
    for child in path.iterdir() if path.is_dir() else ():
        if child.name != apart:
            total += size_of(child)
    return total


def sweep(root: Path, named: set[str]) -> list[str]:
    """Delete files that the catalog does not name; return their names.

    Only the job that holds the lease may do this.  A reader keeps a mapped file until it closes it.
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
                    # Windows cannot delete a mapped file: the next job does.
                    if os.name != "nt":
                        raise
                else:
                    gone.append(name)
    return gone


def _remove(path: Path) -> None:
    if path.is_dir():
        # Rename it first, so that no backup copies half of the folder.
        away = path.with_name(f"gone-{secrets.token_hex(4)}")
        os.replace(path, away)
        shutil.rmtree(away)
    else:
        path.unlink()


class _Format:
    """What both formats have in common."""

    unpack: Callable[[Sequence[bytes], int], Any]

    def read_fresh(
        self, chunks: Iterator[list[tuple[int, int, bytes]]], width: int
    ) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Yield (ids, raw rows) of fresh rows, given in chunks."""
        for chunk in chunks:
            ids = np.array([image for _, image, _ in chunk], np.int64)
            yield ids, self.unpack([vector for _, _, vector in chunk], width)


class SparseFormat(_Format):
    """Rows are (columns, values), or CSR matrices of one row."""

    name = "sparse"
    is_sparse = True
    """Whether a row is some columns and their values, and not one number per column."""
    learns_weights = True
    """Whether judgements give each column a weight, by which views can be compacted."""
    grows_graph = False
    """Whether many rows are searched along a graph."""
    ranks_zero = False
    """Whether a score of zero is a rank: sparse rows without a common column have none."""

    def pack(self, row: Any) -> bytes:
        """Return one row as a blob."""
        if hasattr(row, "tocsr"):
            row = row.tocsr()
            return pack_sparse(row.indices, row.data)
        columns, values = row
        return pack_sparse(columns, values)

    def unpack(self, blobs: Sequence[bytes], width: int) -> Any:
        """Return the matrix of some blobs."""
        return unpack_sparse(blobs, width)

    def check_row(self, row: Any, width: int) -> Any:
        """Check a row that was described."""
        if hasattr(row, "tocsr"):
            row = row.tocsr()
            row = (row.indices, row.data)
        columns, values = np.asarray(row[0], np.int64), np.asarray(row[1], np.float32)
        if columns.shape != values.shape or columns.ndim != 1:
            raise InvalidInput(
                f"a sparse row has {columns.shape} columns and {values.shape} values; two lists "
                "of one length expected"
            )
        if len(columns) and (int(columns.min()) < 0 or int(columns.max()) >= width):
            raise InvalidInput(f"a sparse row names a column outside of its {width}")
        # Most are ascending already and need no sorting.
        if (columns[1:] <= columns[:-1]).any() and len(np.unique(columns)) != len(columns):
            raise InvalidInput("a sparse row names a column twice")
        if not np.isfinite(values).all():
            raise InvalidInput("a row has NaN or infinite values")
        return columns, values

    def check_matrix(self, X: Any) -> Any:
        """Check a matrix that was given, one row per picture."""
        _refuse_complex(X, "X")
        try:
            rows = sparse.csr_array(X, dtype=np.float32, copy=True)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"X is no matrix of numbers: {error}") from error
        if rows.ndim != 2:
            raise InvalidInput(f"X has {rows.ndim} dimensions; (pictures, columns) expected")
        rows.sum_duplicates()
        rows.eliminate_zeros()
        if not np.isfinite(rows.data).all():
            raise InvalidInput("X has NaN or infinite values")
        _check_range(abs(rows).max(axis=1).toarray() if rows.nnz else [], "X")
        return rows

    def check_vector(self, vector: Any, width: int, space: str) -> Any:
        """Check a vector to search with."""
        _refuse_complex(vector, "vector")
        row = sparse.csr_array(vector) if not hasattr(vector, "tocsr") else vector.tocsr()
        row = row.reshape((1, -1)) if row.ndim == 1 else row
        _check_shape(row, vector, width, space)
        return row

    def values(self, rows: Any) -> NDArray[np.float32]:
        """Return the stored numbers of a matrix."""
        return np.asarray(rows.data)

    def stack(self, parts: Sequence[Any]) -> Any:
        """Stack matrices."""
        return sparse.vstack(parts, format="csr")

    def row_at(self, rows: Any, at: int) -> Any:
        """Return one row of a matrix, as ``pack`` takes it."""
        start, end = rows.indptr[at], rows.indptr[at + 1]
        return rows.indices[start:end], rows.data[start:end]

    def read_segment(self, root: Path, name: str) -> Any:
        """Return (ids, raw rows) of a segment."""
        return read_sparse(root, name)

    def open_segment(self, root: Path, name: str) -> SegmentOnDisk:
        """Open a segment whose rows stay on disk."""
        return open_sparse(root, name)

    def write_segment(
        self, root: Path, name: str, ids: NDArray[np.int64], raw: Any, idf: BagOfWords | None
    ) -> int:
        """Write a segment and return its size."""
        return write_sparse(root, name, SparseRows(ids, raw), apply_idf(idf, raw))

    def write_parts(
        self, root: Path, name: str, ids: NDArray[np.int64], parts: Iterator[Any], width: int,
        idf: BagOfWords | None,
    ) -> int:  # fmt: skip
        """Write a segment of raw rows that come in parts; return its size."""
        return self.write_segment(root, name, ids, self.stack(list(parts)), idf)

    def is_current(self, root: Path, name: str) -> bool:
        """Return whether a segment has the current format."""
        return is_current(root, name)

    def verify_segment(self, root: Path, name: str) -> tuple[NDArray[np.int64], list[str]]:
        """Return the ids of a segment, and what is wrong with it."""
        ids = read_sparse(root, name).ids
        index = open_index(root, name)
        index.verify()
        if np.array_equal(np.sort(ids), index.ids):
            return ids, []
        return ids, [f"segment {name}: rows and index hold other pictures"]

    def query_row(self, raw: Any, idf: BagOfWords | None) -> Any:
        """Return a raw row (as a matrix) as the view takes it for a query."""
        return apply_idf(idf, raw)

    def weighted_row(self, space: SpaceRow, row: Any) -> Any:
        """Return a query row exactly as it is compared, for the log."""
        return row


class DenseFormat(_Format):
    """Rows are arrays of numbers."""

    name = "dense"
    is_sparse = False
    learns_weights = False
    grows_graph = True
    ranks_zero = True

    def pack(self, row: Any) -> bytes:
        return pack_dense(row)

    def unpack(self, blobs: Sequence[bytes], width: int) -> Any:
        return unpack_dense(blobs, width)

    def check_row(self, row: Any, width: int) -> Any:
        made = np.asarray(row, np.float32)
        if made.shape != (width,):
            raise InvalidInput(f"a row has shape {made.shape}; ({width},) expected")
        if not np.isfinite(made).all():
            raise InvalidInput("a row has NaN or infinite values")
        return made

    def check_matrix(self, X: Any) -> Any:
        _refuse_complex(X, "X")
        try:
            rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"X is no matrix of numbers: {error}") from error
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise InvalidInput(f"X has shape {rows.shape}; (pictures, columns) expected")
        if not np.isfinite(rows).all():
            raise InvalidInput("X has NaN or infinite values")
        _check_range(np.abs(rows).max(axis=1, initial=0), "X")
        return rows

    def check_vector(self, vector: Any, width: int, space: str) -> Any:
        _refuse_complex(vector, "vector")
        row = np.asarray(vector, np.float32).reshape(1, -1)
        _check_shape(row, vector, width, space)
        _check_range(np.abs(row).max(axis=1, initial=0), "vector")
        return row[0]

    def values(self, rows: Any) -> NDArray[np.float32]:
        return np.asarray(rows)

    def stack(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts)

    def row_at(self, rows: Any, at: int) -> Any:
        return rows[at]

    def read_segment(self, root: Path, name: str) -> Any:
        return read_dense(root, name)

    def open_segment(self, root: Path, name: str) -> SegmentOnDisk:
        return open_dense(root, name)

    def write_segment(
        self, root: Path, name: str, ids: NDArray[np.int64], raw: Any, idf: BagOfWords | None
    ) -> int:
        return write_dense(root, name, DenseRows(ids, raw))

    def write_parts(
        self, root: Path, name: str, ids: NDArray[np.int64], parts: Iterator[Any], width: int,
        idf: BagOfWords | None,
    ) -> int:  # fmt: skip
        return write_dense_parts(root, name, ids, width, parts)

    def is_current(self, root: Path, name: str) -> bool:
        return True

    def verify_segment(self, root: Path, name: str) -> tuple[NDArray[np.int64], list[str]]:
        return read_dense(root, name).ids, []

    def query_row(self, raw: Any, idf: BagOfWords | None) -> Any:
        # The view normalises the row if its metric needs that.
        return raw[0]

    def weighted_row(self, space: SpaceRow, row: Any) -> Any:
        return comparable_rows(space, row[None])[0]


RowFormat = SparseFormat | DenseFormat
SPARSE, DENSE = SparseFormat(), DenseFormat()
FORMATS: dict[str, RowFormat] = {one.name: one for one in (SPARSE, DENSE)}


def metric_of(space: SpaceRow) -> str:
    """Return how dense rows of a space are compared: cosine, ip or l2."""
    return str(space.recipe.get("metric", "cosine"))


def comparable_rows(space: SpaceRow, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return dense rows as they are compared: of unit length for the cosine."""
    if metric_of(space) != "cosine":
        return np.asarray(rows, np.float32)
    return unit_length(rows)


def open_idf(root: Path, space: SpaceRow) -> BagOfWords | None:
    """Open the frozen idf of a generation; None if it is compared by raw rows."""
    file = space.files.get("bag")
    return BagOfWords.open(root / file) if file else None


def apply_idf(idf: BagOfWords | None, raw: Any) -> Any:
    """Return raw sparse rows as the index holds them."""
    return raw if idf is None else idf.transform(raw)


_SMALLEST, _LARGEST = 1e-18, 1e18
"""Between these, squares of float32 numbers and their sums are float32 numbers too."""


def _refuse_complex(given: Any, name: str) -> None:
    if np.iscomplexobj(given):
        raise InvalidInput(f"{name} has complex numbers; real ones expected")


def _check_range(largest: Any, name: str) -> None:
    """Refuse rows so large or small that their products overflow or vanish."""
    sizes = np.abs(np.asarray(largest, np.float64))
    odd = sizes[(sizes > 0) & ((sizes < _SMALLEST) | (sizes > _LARGEST))]
    if len(odd):
        raise InvalidInput(
            f"{name} has a row of numbers like {odd[0]:.0e}; between {_SMALLEST:.0e} and "
            f"{_LARGEST:.0e} expected: divide it by its length"
        )


def _check_shape(row: Any, given: Any, width: int, space: str) -> None:
    if row.shape[0] != 1 or row.shape[1] != width:
        raise InvalidInput(
            f"the vector has shape {np.shape(given)}; {width} numbers expected for space {space!r}"
        )
