"""Records of data sets of pictures: with classes, or with retrieval queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Archive(Protocol):
    """A file with many pictures that is read once, from start to end."""

    def read(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """Yield rows with the bytes of their pictures."""
        ...


Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Pictures with one class each, such as Caltech-101, CIFAR-10 or Corel-1k.

    Attributes
    ----------
    name : str
        Name of the data set.
    paths : sequence of Path
        The files, or names inside ``archive``; :meth:`pictures` reads both.
    labels : int array of shape (n,)
        The class of each.
    classes : sequence of str
        Their names.
    split : sequence of str
        The part of each picture ("train", "query" …); empty without parts.
    archive : Archive or None
        The tar file with the pictures.

    See Also
    --------
    leave_one_out : makes queries from labels.
    """

    name: str
    paths: Sequence[Path]
    labels: NDArray[np.int64]
    classes: Sequence[str]
    split: Sequence[str] = ()
    archive: Archive | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def part(self, split: str) -> NDArray[np.int64]:
        """Return the row numbers of one part."""
        return np.flatnonzero(np.asarray(self.split) == split)

    def pictures(self, split: str | None = None) -> Iterator[tuple[int, Path | bytes]]:
        """Yield (row, file or content) of every picture, or of one part.

        Files come in the order of rows, pictures of an archive in its own order.
        """
        rows = np.arange(len(self)) if split is None else self.part(split)
        if self.archive is not None:
            yield from self.archive.read(rows)
            return
        for row in rows.tolist():
            yield row, self.paths[row]


@dataclass(frozen=True)
class RetrievalQuery:
    """One query of a retrieval benchmark, in picture names.

    Attributes
    ----------
    name : str
        Name of the query.
    query : str
        The query picture.
    positives : frozenset of str
        Pictures to find.
    junk : frozenset of str
        Pictures that are removed before ranks are counted.
    box : (x1, y1, x2, y2) or None
        The queried part of the picture, in pixels.
    group : str
        Its landmark.
    present : bool
        False if the picture is missing, as in partial copies of a data set.

    See Also
    --------
    evaluate : runs queries.
    """

    name: str
    query: str
    positives: frozenset[str]
    junk: frozenset[str] = frozenset()
    box: Box | None = None
    group: str = ""
    present: bool = True


@dataclass(frozen=True)
class RetrievalSet:
    """Pictures by name and queries, such as Oxford5K, Paris6K or Holidays.

    Attributes
    ----------
    name : str
        Name of the data set.
    paths : mapping of str to Path
        The files by picture name.
    queries : sequence of RetrievalQuery
        The queries.
    left_out : int
        Number of ground-truth entries whose picture is missing.

    See Also
    --------
    evaluate : runs the queries.
    """

    name: str
    paths: Mapping[str, Path]
    queries: Sequence[RetrievalQuery]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.paths)
