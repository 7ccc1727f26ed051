"""Which pictures an answer may show: asked of the catalog when it is needed, or of an engine.

A set of all pictures that pass is what an embedded index needs.  An engine applies tags, folders
and dates itself, and the catalog is asked for the rest and for the few pictures it answers for.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from likewise.catalog.filters import find_folders
from likewise.catalog.moments import bound_of
from likewise.catalog.store import Store
from likewise.catalog.unshipped import passing_of
from likewise.engines.protocol import Where

_THEIRS = ("tag", "folder", "after", "before")
"""Conditions that engines apply."""


class Passing:
    """The pictures that pass a filter (as ``plain_where`` gives it), without hidden ones."""

    def __init__(self, store: Store, where: Mapping[str, Any] | None) -> None:
        self._store, self._where = store, where
        self._all: Container[int] | None = None
        self._looked = False
        self._there: Where | None = None

    def look(self) -> None:
        """Ask the catalog now: a condition that makes no sense is refused."""
        if not self._looked:
            self._all, self._looked = self._store.allowed(self._where), True

    def __contains__(self, image: object) -> bool:
        self.look()
        return self._all is None or image in self._all

    def of(self, images: Sequence[int]) -> set[int]:
        """Those of some pictures that pass."""
        return passing_of(self._store, self._where, images)

    @property
    def there(self) -> Where:
        """The filter as an engine takes it."""
        if self._there is None:
            self._there = where_of(self._store, self._where or {})
        return self._there


def where_of(store: Store, asked: Mapping[str, Any]) -> Where:
    """A filter of the collection (as ``plain_where`` gives it) as an engine takes it.

    Tags, folders and dates are the engine's to look up; what else there is (cameras, formats, own
    metadata) the catalog answers, as a list of pictures.  Hidden pictures are named.
    """
    rest = {key: value for key, value in asked.items() if key not in _THEIRS}
    # What the catalog lists has no hidden pictures in it.
    only = frozenset(store.matching(rest)) if rest else None
    but = frozenset() if rest else frozenset(store.hidden())
    folders: tuple[str, ...] = ()
    if "folder" in asked:
        folders = tuple(find_folders(store, asked["folder"]))
        if not folders:
            only = frozenset()
    after, before = (
        bound_of(key, asked[key]) if key in asked else None for key in ("after", "before")
    )
    return Where(tuple(asked.get("tag", ())), folders, after, before, only, but)
