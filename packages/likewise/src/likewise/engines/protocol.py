"""What every store of rows offers: one row a picture, what filters ask of it, exact search.

A store holds the rows of one generation of one space.  Everything is idempotent by picture id:
``put`` replaces, ``remove`` and ``retag`` pass over pictures that are not there, so that whoever
was interrupted simply does it again.  When a call returns, what it wrote survives the death of
the process.

One score, whatever the engine: the float64 sum of ``query * value`` over the words in ascending
order, rounded once to float32 (dense rows: as :func:`likewise_methods.neighbours.scores.scores`
defines it).  Higher is better, ties go to the smaller id, and a picture that shares no word scores
0 and is ranked as such.  Weights and metrics are folded into the query before it comes here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise_methods.index import id_vector, picture_rows
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
    """What filters ask of a picture: its tags, the folders of its files, and its date.

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
        """Its folders and all above them: a picture belongs to each."""
        found: dict[str, None] = {}
        for folder in self.folders:
            path = PurePath(folder)
            found |= dict.fromkeys(str(one) for one in (path, *path.parents))
        return list(found)

    @property
    def moment(self) -> int | None:
        """The date as a number that orders as dates do; None where there is no readable date."""
        return None if self.date is None or not _DATE.match(self.date) else moment_of(self.date)


@dataclass(frozen=True)
class Where:
    """Conditions that must all hold; the empty one lets every picture through.

    Parameters
    ----------
    tags : tuple of str, default=()
        Must all be there.
    folders : tuple of str, default=()
        One of them must hold the picture, or lie above it.
    after, before : str, optional
        The date is from ``after`` on and earlier than ``before`` (a picture without a date has
        neither).
    only : frozenset of int, optional
        The pictures to look at.
    but : frozenset of int, default=frozenset()
        Pictures to pass over.

    See Also
    --------
    Facts : what they are asked of.
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

    @property
    def is_everything(self) -> bool:
        return self == Where()


def moment_of(text: str) -> int:
    """A date as a number: 2024-05 is 20240500000000, below everything that is in that month.

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
    """A picture of a store: which row it has (a fingerprint), and its facts."""

    id: int
    mark: str
    facts: Facts


@runtime_checkable
class RowStore(Protocol):
    """Rows of pictures that can be searched, wherever they are: what every store offers.

    See Also
    --------
    likewise.engines.open_engine : opens the store of an address.
    """

    kind: RowKind

    def put(self, ids: Any, rows: Any, facts: Sequence[Facts] | None = None) -> None:
        """Hold these rows, in the place of what these pictures had.

        Parameters
        ----------
        ids : sequence of n ints
            Pictures.
        rows : array or sparse matrix of shape (n, width)
            One a picture.
        facts : sequence of n Facts, optional
            What filters ask of them.
        """

    def remove(self, ids: Any) -> None:
        """Let go of pictures; those that are not there do not matter."""

    def retag(self, tags: Mapping[int, Sequence[str]]) -> None:
        """Other tags for pictures; rows and everything else stay.

        Parameters
        ----------
        tags : mapping of int to sequence of str
            By picture; those that are not there do not matter.
        """

    def search(self, row: Any, k: int, where: Where | None = None) -> Found:
        """The k best that pass, or all where fewer do; best first.

        Parameters
        ----------
        row : array or sparse matrix of shape (1, width)
            The query, weights folded in.
        k : int
            Pictures wanted.
        where : Where, optional
            Which may be found.

        Returns
        -------
        ids : int64 array
            Pictures.
        scores : float32 array
            Their scores.
        """

    def rows(self, ids: Any) -> tuple[Ids, Any]:
        """Those of the pictures that are there, in the order asked for, and their rows."""

    def count(self, where: Where | None = None) -> int:
        """How many pictures pass."""

    def listed(self) -> Iterator[list[Listed]]:
        """Every picture, by id, part by part."""

    def listed_of(self, ids: Any) -> list[Listed]:
        """Those of the pictures that are there."""

    def close(self) -> None:
        """Let go of files and connections."""


def check_put(
    kind: RowKind, ids: Any, rows: Any, facts: Sequence[Facts] | None
) -> tuple[Ids, Any, Sequence[Facts]]:
    """The arguments of ``put`` as ids, float32 rows (CSR or array) and facts, or a refusal."""
    made = plain_rows(kind, rows)
    names = id_vector(ids, made.shape[0])
    if facts is None:
        facts = [Facts()] * len(names)
    if len(facts) != len(names):
        raise InvalidInput(f"facts has {len(facts)} entries; {len(names)} expected, one per row")
    return names, made, facts


def plain_rows(kind: RowKind, rows: Any) -> Any:
    """Rows of this kind, as float32: a canonical CSR array, or a C-ordered one."""
    if not kind.is_sparse:
        return dense_rows(rows, "rows", kind.width)
    found = picture_rows(rows)
    if found.width > kind.width:
        raise InvalidInput(f"rows has {found.width} columns; at most {kind.width} expected")
    shape = (len(found.ends) - 1, kind.width)
    return sparse.csr_array((found.values, found.words.astype(np.int64), found.ends), shape=shape)


def no_rows(kind: RowKind) -> Any:
    """A matrix of this kind without a row."""
    if kind.is_sparse:
        return sparse.csr_array((0, kind.width), dtype=np.float32)
    return np.zeros((0, kind.width), np.float32)


def marks_of(kind: RowKind, rows: Any) -> list[str]:
    """Fingerprints of rows as :func:`plain_rows` gives them: equal for equal bits, else not."""
    return [
        hashlib.blake2b(b"".join(_bytes_of(kind, rows, at)), digest_size=12).hexdigest()
        for at in range(rows.shape[0])
    ]


def _bytes_of(kind: RowKind, rows: Any, at: int) -> Iterable[bytes]:
    if not kind.is_sparse:
        yield rows[at].astype("<f4").tobytes()
        return
    start, end = rows.indptr[at], rows.indptr[at + 1]
    yield rows.indices[start:end].astype("<u4").tobytes()
    yield rows.data[start:end].astype("<f4").tobytes()
