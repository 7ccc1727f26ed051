"""Row formats: how rows are packed, put into segments, checked and prepared for comparing.

There are two.  Sparse rows are compared by an inverted index, after the frozen idf of their
generation where it has one; people's judgements give their columns weights.  Dense rows are
compared one by one or along a graph, by cosine, inner product or distance.  A space holds the
object of its format (``space.row_format``), and nobody else asks which of the two it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.errors import InvalidInput
from likewise_methods.coding import BagOfWords
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours import unit_length

if TYPE_CHECKING:
    from likewise.catalog.store import SpaceRow


class RowFormat(ABC):
    """What one kind of row can do; the objects below are the only two there are."""

    name: ClassVar[str]
    is_sparse: ClassVar[bool]
    """Whether a row is some columns and their values, and not one number a column."""
    learns_weights: ClassVar[bool]
    """Whether judgements give each column a weight (and views can be compacted by them)."""
    grows_graph: ClassVar[bool]
    """Whether many rows are searched along a graph."""
    ranks_zero: ClassVar[bool]
    """Whether a score of zero still is an order: rows without a common column are in none."""

    @abstractmethod
    def pack(self, row: Any) -> bytes:
        """One row as a blob of the catalog."""

    @abstractmethod
    def unpack(self, blobs: Sequence[bytes], width: int) -> Any:
        """The matrix of some blobs."""

    @abstractmethod
    def check_row(self, row: Any, width: int) -> Any:
        """A row somebody described, or a refusal that says what is wrong with it."""

    @abstractmethod
    def check_matrix(self, X: Any) -> Any:
        """A matrix somebody gave, one row a picture, or a refusal."""

    @abstractmethod
    def check_vector(self, vector: Any, width: int, space: str) -> Any:
        """A vector somebody searches with, as the view takes it, or a refusal."""

    @abstractmethod
    def values(self, rows: Any) -> NDArray[np.float32]:
        """The numbers of a matrix that are stored."""

    @abstractmethod
    def stack(self, parts: Sequence[Any]) -> Any:
        """One matrix of several."""

    @abstractmethod
    def row_at(self, rows: Any, at: int) -> Any:
        """One row of a matrix, as ``pack`` takes it."""

    @abstractmethod
    def read_segment(self, root: Path, name: str) -> Any:
        """(ids, raw rows) of a segment."""

    @abstractmethod
    def open_segment(self, root: Path, name: str) -> seg.SegmentOnDisk:
        """A segment whose rows stay on disk."""

    @abstractmethod
    def write_segment(
        self, root: Path, name: str, ids: NDArray[np.int64], raw: Any, idf: BagOfWords | None
    ) -> int:
        """Write a segment whole, synced; gives its size in bytes."""

    def write_parts(
        self, root: Path, name: str, ids: NDArray[np.int64], parts: Iterator[Any], width: int,
        idf: BagOfWords | None,
    ) -> int:  # fmt: skip
        """As ``write_segment``, of raw rows that come in parts."""
        return self.write_segment(root, name, ids, self.stack(list(parts)), idf)

    def is_current(self, root: Path, name: str) -> bool:
        """Whether a segment is of today's format: an older one is read, but more slowly."""
        return True

    @abstractmethod
    def verify_segment(self, root: Path, name: str) -> tuple[NDArray[np.int64], list[str]]:
        """Ids of a segment, and what is wrong with it beyond what reading it would say."""

    @abstractmethod
    def query_row(self, raw: Any, idf: BagOfWords | None) -> Any:
        """A raw row (as a matrix of one) as the view takes it for a query."""

    @abstractmethod
    def weighted_row(self, space: SpaceRow, row: Any) -> Any:
        """A query row exactly as it is compared, which is how the log keeps it."""

    def read_fresh(
        self, chunks: Iterator[list[tuple[int, int, bytes]]], width: int
    ) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """(ids, raw rows) of fresh rows, as the catalog gives them chunk by chunk."""
        for chunk in chunks:
            ids = np.array([image for _, image, _ in chunk], np.int64)
            yield ids, self.unpack([vector for _, _, vector in chunk], width)


class SparseFormat(RowFormat):
    """A row is (columns, values), or a CSR matrix of one row."""

    name = "sparse"
    is_sparse = True
    learns_weights = True
    grows_graph = False
    ranks_zero = False

    def pack(self, row: Any) -> bytes:
        if hasattr(row, "tocsr"):
            row = row.tocsr()
            return seg.pack_sparse(row.indices, row.data)
        columns, values = row
        return seg.pack_sparse(columns, values)

    def unpack(self, blobs: Sequence[bytes], width: int) -> Any:
        return seg.unpack_sparse(blobs, width)

    def check_row(self, row: Any, width: int) -> Any:
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
        # Ascending ones, as most are, need not be sorted to see it.
        if (columns[1:] <= columns[:-1]).any() and len(np.unique(columns)) != len(columns):
            raise InvalidInput("a sparse row names a column twice")
        if not np.isfinite(values).all():
            raise InvalidInput("a row has NaN or infinite values")
        return columns, values

    def check_matrix(self, X: Any) -> Any:
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
        _refuse_complex(vector, "vector")
        row = sparse.csr_array(vector) if not hasattr(vector, "tocsr") else vector.tocsr()
        row = row.reshape((1, -1)) if row.ndim == 1 else row
        _check_shape(row, vector, width, space)
        return row

    def values(self, rows: Any) -> NDArray[np.float32]:
        return np.asarray(rows.data)

    def stack(self, parts: Sequence[Any]) -> Any:
        return sparse.vstack(parts, format="csr")

    def row_at(self, rows: Any, at: int) -> Any:
        start, end = rows.indptr[at], rows.indptr[at + 1]
        return rows.indices[start:end], rows.data[start:end]

    def read_segment(self, root: Path, name: str) -> Any:
        return seg.read_sparse(root, name)

    def open_segment(self, root: Path, name: str) -> seg.SegmentOnDisk:
        return seg.open_sparse(root, name)

    def write_segment(
        self, root: Path, name: str, ids: NDArray[np.int64], raw: Any, idf: BagOfWords | None
    ) -> int:
        return seg.write_sparse(root, name, seg.SparseRows(ids, raw), apply_idf(idf, raw))

    def is_current(self, root: Path, name: str) -> bool:
        return seg.is_current(root, name)

    def verify_segment(self, root: Path, name: str) -> tuple[NDArray[np.int64], list[str]]:
        ids = seg.read_sparse(root, name).ids
        index = seg.open_index(root, name)
        index.verify()
        if np.array_equal(np.sort(ids), index.ids):
            return ids, []
        return ids, [f"segment {name}: rows and index hold other pictures"]

    def query_row(self, raw: Any, idf: BagOfWords | None) -> Any:
        return apply_idf(idf, raw)

    def weighted_row(self, space: SpaceRow, row: Any) -> Any:
        return row


class DenseFormat(RowFormat):
    """A row is an array of numbers."""

    name = "dense"
    is_sparse = False
    learns_weights = False
    grows_graph = True
    ranks_zero = True

    def pack(self, row: Any) -> bytes:
        return seg.pack_dense(row)

    def unpack(self, blobs: Sequence[bytes], width: int) -> Any:
        return seg.unpack_dense(blobs, width)

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
        return seg.read_dense(root, name)

    def open_segment(self, root: Path, name: str) -> seg.SegmentOnDisk:
        return seg.open_dense(root, name)

    def write_segment(
        self, root: Path, name: str, ids: NDArray[np.int64], raw: Any, idf: BagOfWords | None
    ) -> int:
        return seg.write_dense(root, name, seg.DenseRows(ids, raw))

    def write_parts(
        self, root: Path, name: str, ids: NDArray[np.int64], parts: Iterator[Any], width: int,
        idf: BagOfWords | None,
    ) -> int:  # fmt: skip
        return seg.write_dense_parts(root, name, ids, width, parts)

    def verify_segment(self, root: Path, name: str) -> tuple[NDArray[np.int64], list[str]]:
        return seg.read_dense(root, name).ids, []

    def query_row(self, raw: Any, idf: BagOfWords | None) -> Any:
        # The view brings it to unit length where that is how it compares.
        return raw[0]

    def weighted_row(self, space: SpaceRow, row: Any) -> Any:
        return comparable_rows(space, row[None])[0]


SPARSE, DENSE = SparseFormat(), DenseFormat()
FORMATS: dict[str, RowFormat] = {one.name: one for one in (SPARSE, DENSE)}


def metric_of(space: SpaceRow) -> str:
    """How dense rows of a space are compared: cosine, ip or l2."""
    return str(space.recipe.get("metric", "cosine"))


def comparable_rows(space: SpaceRow, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dense rows as they are compared: of unit length where the cosine counts."""
    if metric_of(space) != "cosine":
        return np.asarray(rows, np.float32)
    return unit_length(rows)


def open_idf(root: Path, space: SpaceRow) -> BagOfWords | None:
    """The frozen idf of a generation; None for spaces compared by their raw rows."""
    file = space.files.get("bag")
    return BagOfWords.open(root / file) if file else None


def apply_idf(idf: BagOfWords | None, raw: Any) -> Any:
    """Raw sparse rows as the index holds them."""
    return raw if idf is None else idf.transform(raw)


_SMALLEST, _LARGEST = 1e-18, 1e18
"""Between these the squares of float32 numbers, and sums of many, are float32 numbers too."""


def _refuse_complex(given: Any, name: str) -> None:
    if np.iscomplexobj(given):
        raise InvalidInput(f"{name} has complex numbers; real ones expected")


def _check_range(largest: Any, name: str) -> None:
    """Refuse rows whose largest number is so large or small that products of them are lost."""
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
