"""What a reader returns besides retrieval sets and labelled images, and where the data lies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import DatasetError


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
class CaptionedImages:
    """Pictures with sentences that people wrote about them: Flickr8k.

    Attributes
    ----------
    name : str
        Of the data set.
    paths : sequence of Path
        The files.
    captions : sequence of sequence of str
        What was written about each.
    split : sequence of str
        The part each picture belongs to.
    """

    name: str
    paths: Sequence[Path]
    captions: Sequence[Sequence[str]]
    split: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.paths)


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
    default = Path.cwd().parent / "shared" / "data"
    return default if default.is_dir() else None
