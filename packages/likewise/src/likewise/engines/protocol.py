"""What an engine offers: a store of rows outside the collection for each generation of a space.

Calls are idempotent by picture id: ``put`` replaces, ``remove`` and ``retag`` ignore missing
pictures, so an interrupted caller starts again.  A call that returned survives the death of the
process.

There is one score: the float64 sum of ``query * value`` over the words in ascending order, rounded
once to float32 (dense rows: ``likewise_methods.neighbours.row_scores``).  Higher is better, ties
are ordered by id, and a picture that shares no word scores 0.  The query already contains weights
and metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise_methods.index import picture_rows
from likewise_methods.lazy_imports import sparse
from likewise_methods.neighbours import Metric
from likewise_methods.neighbours import rows as dense_rows
from likewise_methods.validation import refuse

Ids = NDArray[np.int64]
Found = tuple[Ids, NDArray[np.float32]]

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?)?")


@dataclass(frozen=True)
class RowKind:
    """What rows a store takes: sparse (compared by inner product) or dense, and how wide.

    Parameters
    ----------
    is_sparse : bool
        Whether rows are sparse.
    width : int
        Columns of a row.
    metric : {"ip", "l2"}, default="ip"
        How dense rows are compared.

    See Also
    --------
    RowStore : a store of such rows.
    """

    is_sparse: bool
    width: int
    metric: Metric = "ip"

    def __post_init__(self) -> None:
        if self.is_sparse and self.metric != "ip":
            raise InvalidInput("sparse rows are compared by inner product; metric 'ip' expected")


@dataclass(frozen=True)
class Facts:
    """What filters read of a picture: its tags, the folders of its files, and its date.

    Parameters
    ----------
    tags : tuple of str, default=()
        Its tags.
    folders : tuple of str, default=()
        The folders of its files.
    date : str, optional
        As in ``2024-05-31T10:30:00``.

    See Also
    --------
    Where : conditions on them.
    """

    tags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    date: str | None = None

    def all_folders(self) -> list[str]:
        """Return its folders and their parents: a picture belongs to each."""
        found: dict[str, None] = {}
        for folder in self.folders:
            path = PurePath(folder)
            found |= dict.fromkeys(str(one) for one in (path, *path.parents))
        return list(found)

    @property
    def moment(self) -> int | None:
        """The date as a number in the order of dates; None without a readable date."""
        return None if self.date is None or not _DATE.match(self.date) else moment_of(self.date)


@dataclass(frozen=True)
class Where:
    """Conditions that must all hold; without any, every picture matches.

    Parameters
    ----------
    tags : tuple of str, default=()
        Must all be there.
    folders : tuple of str, default=()
        One of them must hold the picture, or be a parent of its folder.
    after, before : str, optional
        The date is from ``after`` on and earlier than ``before`` (a picture without a date has
        neither).
    only : frozenset of int, optional
        The pictures to search.
    but : frozenset of int, default=frozenset()
        Pictures to leave out.

    See Also
    --------
    Facts : what they are compared with.
    """

    tags: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    only: frozenset[int] | None = None
    but: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for text in (self.after, self.before):
            if text is not None and not _DATE.match(text):
                raise refuse("a date of where", text, "a date like 2024, 2024-05 or 2024-05-31")


def moment_of(text: str) -> int:
    """Return a date as a number: 2024-05 is 20240500000000, below every day of that month.

    >>> moment_of("2024-05") < moment_of("2024-05-01T10:30:00")
    True
    """
    found = _DATE.match(text)
    if found is None:
        raise refuse("a date", text, "a date like 2024, 2024-05 or 2024-05-31T10:30:00")
    year, *rest = found.groups()
    number = int(year)
    for part in rest:
        number = number * 100 + int(part or 0)
    return number


class Listed(NamedTuple):
    """A picture of a store: a fingerprint of its row, and its facts."""

    id: int
    mark: str
    facts: Facts


@dataclass(frozen=True)
class FirstStage:
    """The first of two stages: search only the ``limit`` nearest by another store's rows.

    Parameters
    ----------
    store : str
        Name of that store.
    query : array
        The query in it.
    limit : int
        Pictures to search among.

    See Also
    --------
    RowStore : searches in one stage or two.
    """

    store: str
    query: NDArray[np.float32]
    limit: int


@runtime_checkable
class RowStore(Protocol):
    """Rows of pictures that can be searched: the interface of every store of an engine.

    See Also
    --------
    likewise.engines.open_engine : opens the engine of an address.
    """

    kind: RowKind
    name: str

    def put(self, ids: Any, rows: Any, facts: Sequence[Facts] | None = None) -> None:
        """Store rows, replacing what these pictures had.

        Parameters
        ----------
        ids : sequence of n ints
            Pictures.
        rows : array or sparse matrix of shape (n, width)
            One a picture.
        facts : sequence of n Facts, optional
            What filters read of them.
        """

    def remove(self, ids: Any) -> None:
        """Delete pictures."""

    def retag(self, tags: Mapping[int, Sequence[str]]) -> None:
        """Replace the tags of pictures; rows and other facts stay.

        Parameters
        ----------
        tags : mapping of int to sequence of str
            By picture.
        """

    def search(
        self, row: Any, k: int, where: Where | None = None, *, first: FirstStage | None = None
    ) -> Found:
        """Return the k best matching pictures, or all if there are fewer, best first.

        Parameters
        ----------
        row : array or sparse matrix of shape (1, width)
            The query, weights folded in.
        k : int
            Pictures wanted.
        where : Where, optional
            Which may be found.
        first : FirstStage, optional
            For sparse rows: search among the nearest by dense rows only.

        Returns
        -------
        ids : int64 array
            Pictures.
        scores : float32 array
            Their scores.
        """

    def count(self, where: Where | None = None) -> int:
        """Return how many pictures match."""

    def listed(self, ids: Any = None) -> Iterator[list[Listed]]:
        """List pictures by id, page by page: all, or those of ``ids`` that exist."""


class Engine(Protocol):
    """A server or library that holds the stores of a collection under one address.

    See Also
    --------
    open_engine : opens one.
    """

    address: str

    def names(self) -> Mapping[str, RowKind]:
        """Return the stores; a sparse one may have width 0."""

    def store(
        self,
        name: str,
        kind: RowKind,
        *,
        owner: str = "",
        exact: bool = False,
        create: bool = True,
    ) -> RowStore:
        """Open a store.

        Parameters
        ----------
        name : str
            Of the store.
        kind : RowKind
            What rows it takes.
        owner : str, default=""
            Marks the pictures of this collection; a store with those of another is refused when
            it is opened to be filled.
        exact : bool, default=False
            Compare dense rows one by one, not along an approximate index.
        create : bool, default=True
            Create the store if it is missing; else that is an error.

        Returns
        -------
        RowStore
        """

    def drop(self, name: str) -> None:
        """Delete a store."""

    def close(self) -> None:
        """Close files and connections."""


def plain_rows(kind: RowKind, rows: Any) -> Any:
    """Return rows of this kind as float32: a canonical CSR array, or a C-ordered array."""
    if not kind.is_sparse:
        return dense_rows(rows, "rows", kind.width)
    found = picture_rows(rows)
    if found.width > kind.width:
        raise InvalidInput(f"rows has {found.width} columns; at most {kind.width} expected")
    shape = (len(found.ends) - 1, kind.width)
    return sparse.csr_array((found.values, found.words.astype(np.int64), found.ends), shape=shape)
