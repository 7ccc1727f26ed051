"""What a data set is once it has been read: plain records, and where the data lies.

The readers (``evaluation.readers``) know file layouts; everything after them knows only these
records.  Rows are samples everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import DatasetError

if TYPE_CHECKING:
    from likewise.evaluation.readers.archive import Archive

Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Pictures with one class each: Caltech-101, CIFAR-10, Corel-1k.

    ``split`` names the part each picture belongs to ("train", "query" …); empty when the data
    set has no parts.  Pictures in a tar file have ``archive`` set; ``paths`` are then names
    inside it, and :meth:`pictures` is the way to their content in either case.
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

    Junk is neither right nor wrong: it leaves the ranking before ranks are counted.  ``box`` is
    (x1, y1, x2, y2) in pixels of the picture that is there; ``query`` may be a picture that is
    not (``present`` is then false), since partial copies of a data set are common.
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

    ``left_out`` counts ground-truth entries that name a picture which is not there.
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

    ``X`` is a dense array or a SciPy CSR matrix; ``Y`` likewise, one column a label, or a vector
    of class numbers when each row has exactly one.  ``X`` is None where there are only labels.
    ``blocks`` says which columns came from which feature file, where several were joined.
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

    ``votes`` holds (for, against) for each row where the data set counts them; ``paths`` the
    pictures behind the object numbers where there are any.
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
    """Where development data lies: ``LIKEWISE_DATA``, else ``../shared/data`` if it is there."""
    named = os.environ.get("LIKEWISE_DATA")
    if named:
        root = Path(named).expanduser()
        if not root.is_dir():
            raise DatasetError(f"LIKEWISE_DATA names {root}, which is not a folder")
        return root
    beside = Path.cwd().parent / "shared" / "data"
    return beside if beside.is_dir() else None
