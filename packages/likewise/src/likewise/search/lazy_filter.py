"""A filter that is looked up as far as needed: as conditions for an engine, else as a set."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from likewise.catalog.filters import find_folders
from likewise.catalog.moments import bound_of
from likewise.catalog.store import Store
from likewise.engines.protocol import Where

_ENGINE_KEYS = ("tag", "folder", "after", "before")
"""Conditions that engines apply."""


class LazyFilter:
    """The pictures that pass a filter (as ``plain_where`` gives it), without hidden ones."""

    def __init__(self, store: Store, where: Mapping[str, Any] | None) -> None:
        self._store, self._where = store, where
        self._all: Container[int] | None = None
        self._is_read = False
        self._conditions: Where | None = None

    def __contains__(self, image: object) -> bool:
        if not self._is_read:
            self._all, self._is_read = self._store.allowed(self._where), True
        return self._all is None or image in self._all

    def of(self, images: Sequence[int]) -> set[int]:
        """Return those of some pictures that pass."""
        return self._store.passing(self._where, images)

    @property
    def there(self) -> Where:
        """The filter as an engine takes it."""
        if self._conditions is None:
            self._conditions = where_of(self._store, self._where or {})
        return self._conditions


def where_of(store: Store, where: Mapping[str, Any]) -> Where:
    """Translate a filter (as ``plain_where`` gives it) for an engine.

    The engine looks up tags, folders and dates.  The catalog answers the rest (cameras, formats,
    own metadata) as a list of pictures.  Hidden pictures are listed.
    """
    rest = {key: value for key, value in where.items() if key not in _ENGINE_KEYS}
    # What the catalog lists has no hidden pictures in it.
    only = frozenset(store.matching(rest)) if rest else None
    but = frozenset() if rest else frozenset(store.hidden())
    folders: tuple[str, ...] = ()
    if "folder" in where:
        folders = tuple(find_folders(store, where["folder"]))
        if not folders:
            only = frozenset()
    after, before = (
        bound_of(key, where[key]) if key in where else None for key in ("after", "before")
    )
    return Where(tuple(where.get("tag", ())), folders, after, before, only, but)
