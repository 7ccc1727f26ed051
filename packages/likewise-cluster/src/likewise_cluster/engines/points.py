"""The common interface of a Qdrant server and of Qdrant's engine in this process.

Two libraries have different classes for the same things; an adapter for each (``server``, ``edge``)
translates.  A point is a picture, each generation of a space a named vector of it, and its facts
are the payload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.engines.protocol import FirstStage, RowKind, Where, moment_of

TAGS, FOLDERS, INSIDE, DATE, MOMENT, OWNER = "tags", "folders", "inside", "date", "moment", "owner"
"""Fields of a payload; ``inside`` are the folders and all above them, ``moment`` is the date."""

Payload = Mapping[str, Any]


class SparseNumbers(NamedTuple):
    """A sparse vector."""

    words: NDArray[np.int64]
    values: NDArray[np.float32]


Numbers = SparseNumbers | NDArray[np.float32]


class Point(NamedTuple):
    """A picture with its requested vectors by name, and its payload."""

    id: int
    vectors: Mapping[str, Numbers]
    payload: Payload


class Candidate(NamedTuple):
    """A picture that the engine found, with the engine's own float32 score."""

    id: int
    score: float
    vector: Numbers | None


@dataclass(frozen=True)
class FieldIs:
    """A field that equals a value, or a list that contains it."""

    field: str
    value: str


@dataclass(frozen=True)
class FieldIn:
    """A field that equals one of some values, or a list that contains one."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class FieldRange:
    """A number from ``low`` on and below ``high``."""

    field: str
    low: int | None
    high: int | None


@dataclass(frozen=True)
class IdIn:
    """A picture that is one of these."""

    ids: frozenset[int]


@dataclass(frozen=True)
class HasVector:
    """A picture that has this named vector."""

    vector: str


Condition = FieldIs | FieldIn | FieldRange | IdIn | HasVector


@dataclass(frozen=True)
class PointFilter:
    """Conditions that must all hold, and conditions that must not."""

    all_of: tuple[Condition, ...] = ()
    none_of: tuple[Condition, ...] = ()

    def having(self, vector: str) -> PointFilter:
        """Return the same filter for pictures that have a vector."""
        return PointFilter((HasVector(vector), *self.all_of), self.none_of)


def point_filter(where: Where | None) -> PointFilter:
    """Translate a ``where``."""
    found: list[Condition] = []
    if where is not None:
        found += [FieldIs(TAGS, tag) for tag in where.tags]
        if where.folders:
            found.append(FieldIn(INSIDE, where.folders))
        if where.after is not None or where.before is not None:
            low = None if where.after is None else moment_of(where.after)
            high = None if where.before is None else moment_of(where.before)
            found.append(FieldRange(MOMENT, low, high))
        if where.only is not None:
            found.append(IdIn(where.only))
        if where.but:
            return PointFilter(tuple(found), (IdIn(where.but),))
    return PointFilter(tuple(found))


@dataclass(frozen=True)
class SearchOptions:
    """How to search dense rows: one by one (``exact``), or along the graph with ``breadth``
    candidates; in two stages with ``first``."""

    exact: bool = False
    breadth: int | None = None
    first: FirstStage | None = None
    with_vectors: bool = True


class Points(Protocol):
    """A collection of points.  A call that returned has written its changes."""

    address: str

    def names(self) -> dict[str, RowKind]:
        """Return the named vectors; a sparse one has width 0."""

    def create(self, name: str, kind: RowKind, number_field: str) -> None:
        """Create a named vector, with an index of ``number_field`` for :meth:`largest`."""

    def drop(self, name: str, fields: Sequence[str]) -> None:
        """Delete a named vector and fields of the payload from every picture."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, replacing those with their ids."""

    def delete_vector(self, ids: Sequence[int], name: str) -> None:
        """Delete one vector of pictures."""

    def delete(self, passing: PointFilter) -> None:
        """Delete points that pass."""

    def set_payload(self, ids: Sequence[int], payload: Payload) -> None:
        """Set fields of pictures."""

    def nearest(
        self,
        name: str,
        query: Numbers,
        limit: int,
        passing: PointFilter,
        how: SearchOptions,
    ) -> list[Candidate]:
        """Return the best by the engine's own score, with their vectors if wanted."""

    def scroll(
        self, passing: PointFilter, first: int, limit: int, vector: str | None, payload: bool
    ) -> list[Point]:
        """Return points from an id on, by id."""

    def retrieve(self, ids: Sequence[int], vectors: Sequence[str], payload: bool) -> list[Point]:
        """Return those of the points that exist."""

    def count(self, passing: PointFilter) -> int:
        """Count the points that pass, exactly."""

    def largest(self, field: str) -> float:
        """Return the largest value of a field; 0 if no picture has it."""

    def close(self) -> None: ...
