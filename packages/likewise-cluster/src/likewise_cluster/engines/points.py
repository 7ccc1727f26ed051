"""What Qdrant's server and its engine in this process have in common, in our own words.

Two libraries say the same things with classes of their own; an adapter of each (``server``,
``edge``) turns these into theirs.  A point is a picture; each generation of each space is a named
vector of it; what filters ask is its payload.
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
    """A picture with its vectors by name (those that were asked for) and its payload."""

    id: int
    vectors: Mapping[str, Numbers]
    payload: Payload


class Candidate(NamedTuple):
    """A picture that the engine found; its score is the engine's, in float32."""

    id: int
    score: float
    vector: Numbers | None


@dataclass(frozen=True)
class FieldIs:
    """A field that is this, or a list that has it."""

    field: str
    value: str


@dataclass(frozen=True)
class FieldIn:
    """A field that is one of these, or a list that has one."""

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
    """Conditions that must all hold, and those of which none may."""

    all_of: tuple[Condition, ...] = ()
    none_of: tuple[Condition, ...] = ()

    def having(self, vector: str) -> PointFilter:
        """The same over the pictures that have a vector."""
        return PointFilter((HasVector(vector), *self.all_of), self.none_of)


def point_filter(where: Where | None) -> PointFilter:
    """A ``where`` over all pictures."""
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
    """How the best are looked for: dense rows one by one (``exact``) or along the graph, where
    ``breadth`` candidates are passing on the way; in two stages with ``first``."""

    exact: bool = False
    breadth: int | None = None
    first: FirstStage | None = None
    with_vectors: bool = True


class Points(Protocol):
    """A collection of points, wherever it is.  Calls that write have written when they return."""

    address: str

    def names(self) -> dict[str, RowKind]:
        """The named vectors; a sparse one does not know its width, which is 0 here."""

    def create(self, name: str, kind: RowKind, number_field: str) -> None:
        """A new named vector; ``number_field`` is a number whose largest will be asked for."""

    def drop(self, name: str, fields: Sequence[str]) -> None:
        """A named vector and fields of the payload, gone from every picture."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Points in the place of those with their ids."""

    def delete_vector(self, ids: Sequence[int], name: str) -> None:
        """One vector of pictures; those that are not there do not matter."""

    def delete(self, passing: PointFilter) -> None:
        """Points that pass."""

    def set_payload(self, ids: Sequence[int], payload: Payload) -> None:
        """Fields of pictures; those that are not there do not matter."""

    def nearest(
        self,
        name: str,
        query: Numbers,
        limit: int,
        passing: PointFilter,
        how: SearchOptions,
    ) -> list[Candidate]:
        """The best by the engine's own score, best first, with their vectors if wanted."""

    def scroll(
        self, passing: PointFilter, first: int, limit: int, vector: str | None, payload: bool
    ) -> list[Point]:
        """Points from an id on, by id."""

    def retrieve(self, ids: Sequence[int], vectors: Sequence[str], payload: bool) -> list[Point]:
        """Those of the points that are there."""

    def count(self, passing: PointFilter) -> int:
        """How many pass, exactly."""

    def largest(self, field: str) -> float:
        """The largest number of a field; 0 where no picture has it."""

    def close(self) -> None: ...
