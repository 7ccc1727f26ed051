"""What a data set is once it has been read: plain records, and where the data lies.

The readers (``evaluation.readers``) know file layouts; everything after them knows only these
records.  Rows are samples everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Archive(Protocol):
    """A file that holds many pictures, read forward once."""

    def read(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """Rows with the bytes of their pictures."""
        ...


Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Pictures with one class each: Caltech-101, CIFAR-10, Corel-1k.

    Attributes
    ----------
    name : str
        Of the data set.
    paths : sequence of Path
        The files; names inside ``archive`` where there is one.  :meth:`pictures` is the way to
        their content in either case.
    labels : int array of shape (n,)
        The class of each.
    classes : sequence of str
        Their names.
    split : sequence of str
        The part each picture belongs to ("train", "query" …); empty where there are no parts.
    archive : Archive or None
        The tar file that the pictures are in.

    See Also
    --------
    leave_one_out : queries from labels.
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
        """Row numbers of the pictures of one part."""
        return np.flatnonzero(np.asarray(self.split) == split)

    def pictures(self, split: str | None = None) -> Iterator[tuple[int, Path | bytes]]:
        """(row, file or content) of every picture, or of one part.

        Files come in the order of the rows.  An archive is read forward once, so its pictures
        come in *its* order: use the row number, not the position.
        """
        rows = np.arange(len(self)) if split is None else self.part(split)
        if self.archive is not None:
            yield from self.archive.read(rows)
            return
        for row in rows.tolist():
            yield row, self.paths[row]


@dataclass(frozen=True)
class RetrievalQuery:
    """One question of a retrieval benchmark, in picture names.

    Attributes
    ----------
    name : str
        Of the question.
    query : str
        The picture asked with.
    positives : frozenset of str
        What should be found.
    junk : frozenset of str
        Neither right nor wrong: it leaves the ranking before ranks are counted.
    box : (x1, y1, x2, y2) or None
        The part of the picture that is asked with, in pixels of the picture that is there.
    group : str
        The landmark it belongs to.
    present : bool
        False where the picture is not there, since partial copies of a data set are common.

    See Also
    --------
    evaluate : asks them.
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
    """Pictures by name and the queries over them: Oxford5K, Paris6K, Holidays.

    Attributes
    ----------
    name : str
        Of the data set.
    paths : mapping of str to Path
        The files by picture name.
    queries : sequence of RetrievalQuery
        The questions.
    left_out : int
        Ground-truth entries that name a picture which is not there.

    See Also
    --------
    evaluate : asks the queries.
    """

    name: str
    paths: Mapping[str, Path]
    queries: Sequence[RetrievalQuery]
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.paths)
