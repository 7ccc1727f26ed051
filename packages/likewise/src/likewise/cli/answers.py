"""What a search was and what it found, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.catalog.store import ImageRow
    from likewise.search.explain import Explanation
    from likewise.search.rank import Hit


@dataclass(frozen=True)
class PageQuery:
    """The query: its file, what of it was searched for, and how."""

    path: str
    by: str
    pictures: int
    collection: str
    region: tuple[float, float, float, float] | None
    where: Mapping[str, Any]
    frame: tuple[int, int]
    """Width and height of the picture that places and region are measured in."""


@dataclass(frozen=True)
class Answer:
    """A hit with what the catalog knows of it, and why it was found if that was asked."""

    hit: Hit
    row: ImageRow
    why: Explanation | None = None
