"""What a data set is once it has been read: plain records, and where the data lies.

The readers (``evaluation.readers``) know file layouts; everything after them knows only these
records.  Rows are samples everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import DatasetError


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


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Vectors with labels: Mulan, NUS-WIDE, ILSVRC2010 bags of words, UCI Car.

    Attributes
    ----------
    name : str
        Of the data set.
    X : array or CSR matrix of shape (n, columns), or None
        The vectors; None where there are only labels.
    Y : array or CSR matrix of shape (n, labels), or int array of shape (n,)
        One column a label, or class numbers where each row has exactly one.
    features, labels : sequence of str
        Names of the columns of X and Y.
    split : sequence of str
        The part each row belongs to; empty where there are no parts.
    ids : sequence of str
        Names of the rows.
    blocks : mapping of str to slice
        Which columns came from which feature file, where several were joined.

    See Also
    --------
    label_map : scores of tags.
    """

    name: str
    X: Any
    Y: Any
    features: Sequence[str] = ()
    labels: Sequence[str] = ()
    split: Sequence[str] = ()
    ids: Sequence[str] = ()
    blocks: Mapping[str, slice] = field(default_factory=dict)

    def __len__(self) -> int:
        return int((self.X if self.X is not None else self.Y).shape[0])

    def part(self, split: str) -> NDArray[np.int64]:
        """Row numbers of one part."""
        return np.flatnonzero(np.asarray(self.split) == split)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """What people said: row (i, j, k) means "j is closer to i than k is".

    Attributes
    ----------
    name : str
        Of the data set.
    triplets : int64 array of shape (m, 3)
        The comparisons.
    n_objects : int
        Objects that are compared.
    split : sequence of str
        The part each comparison belongs to; empty where there are no parts.
    votes : int64 array of shape (m, 2) or None
        (for, against) of each row where the data set counts them.
    names : sequence of str
        Of the objects.
    paths : sequence of Path
        The pictures behind the object numbers where there are any.
    extra : mapping of str to object
        What else a data set brings.

    See Also
    --------
    triplet_error : how well a map agrees.
    likewise_methods.ordinal.OrdinalEmbedding : makes a map of them.
    """

    name: str
    triplets: NDArray[np.int64]
    n_objects: int
    split: Sequence[str] = ()
    votes: NDArray[np.int64] | None = None
    names: Sequence[str] = ()
    paths: Sequence[Path] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.triplets)


def data_root() -> Path | None:
    """Where development data lies: ``LIKEWISE_DATA``, else ``../shared/data`` if it is there.

    Returns
    -------
    Path or None
        None where there is none.

    See Also
    --------
    evaluate : scores any search.
    """
    named = os.environ.get("LIKEWISE_DATA")
    if named:
        root = Path(named).expanduser()
        if not root.is_dir():
            raise DatasetError(f"LIKEWISE_DATA names {root}, which is not a folder")
        return root
    beside = Path.cwd().parent / "shared" / "data"
    return beside if beside.is_dir() else None
