"""Views: the spaces of a collection in memory, updated before each search.

A view belongs to one generation of one space.  Segments are mapped, fresh rows are indexed in
memory; when the revision of the catalog has changed, only what changed is read.  Views are
replaced, so searches in other threads keep the view they have.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from likewise.catalog.changes import RUNNING, backfill_of
from likewise.catalog.log_tables import compacted_segments
from likewise.catalog.segments import DENSE, SPARSE
from likewise.catalog.store import SPACES_DROPPED, Store
from likewise.errors import CollectionError
from likewise.search.dense_view import DenseView
from likewise.search.engine_views import EngineSearch, EngineView
from likewise.search.learned_models import ModelView, ModelViews, retry
from likewise.search.query import DecodePixels, decode_in_process
from likewise.search.sparse_view import SparseView
from likewise.spaces.base import Space
from likewise.spaces.registry import open_spaces

SpaceView = SparseView | DenseView
SearchView = SpaceView | EngineView
"""A view of a space, in this process or in an engine."""
View = SearchView | ModelView
_VIEWS: dict[str, type[SparseView] | type[DenseView]] = {
    SPARSE.name: SparseView,
    DENSE.name: DenseView,
}


class Views:
    """The views of all spaces, up to date with the catalog."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.models = ModelViews(store)
        self.engine = EngineSearch(store)
        """The engine that runs searches, where one was chosen."""
        self.decode_pixels: DecodePixels = decode_in_process
        """Decodes queries; a server replaces it by a function that uses its workers."""
        self._lock = threading.Lock()
        self._revision = -1
        self._dropped = 0
        self._spaces: dict[str, Space] = {}
        self._views: dict[tuple[str, str | None], SpaceView] = {}

    def view(self, name: str, profile: str | None = None) -> SpaceView:
        """Return the up-to-date view of a space, or its copy compacted for a profile."""

        def forget() -> None:
            self._views = {key: view for key, view in self._views.items() if key[0] != name}

        with self._lock:
            return retry(self.store, lambda: self._open_or_update(name, profile), forget)

    def _open_or_update(self, name: str, profile: str | None) -> SpaceView:
        """Return a view with the new rows of the catalog; open it again where its files changed."""
        store = self.store
        with store.snapshot():
            revision = store.revision
            if revision != self._revision:
                self._spaces = open_spaces(store)
                self._revision = revision
                dropped = store.setting(SPACES_DROPPED, 0)
                if dropped != self._dropped:
                    self._dropped = dropped
                    self._views.clear()
                self._stale = set(self._views)
            space = self._spaces.get(name)
            if space is None:
                raise CollectionError(
                    f"there is no space {name!r}; there are {', '.join(self._spaces)}"
                )
            if not space.generation:
                raise CollectionError(f"space {name!r} has no vectors yet; {_remedy(store, name)}")
            compacted: Mapping[str, tuple[str, int]] = {}
            opened = _VIEWS[space.row_format.name]
            if profile is not None and not opened.takes_compacted:
                profile = None
            if profile is not None:
                compacted = compacted_segments(store, profile)
                if not any(row.name in compacted for row in store.segments(name, space.generation)):
                    profile, compacted = None, {}
            key = (name, profile)
            view = self._views.get(key)
            if view is not None and key in self._stale:
                segments = [row.name for row in store.segments(name, space.generation)]
                same = (
                    view.space.generation == space.generation
                    and view.space.files == space.files
                    and view.segments == segments
                    and view.compacted == compacted
                )
                if same:
                    view.update(store)
                else:
                    view = None
                self._stale.discard(key)
            if view is None:
                view = self._views[key] = opened(store, space, compacted)
            return view

    def search_view(self, name: str, profile: str | None = None) -> SearchView:
        """Return the chosen engine's view where it has this generation, else :meth:`view`."""
        state = self.engine.state()
        if state is not None and name in state.spaces:
            local = self.view(name)
            if state.spaces[name] == local.space.generation:
                return EngineView(local, self.engine, state)
        return self.view(name, profile)

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def spaces(self) -> dict[str, Space]:
        """Return the spaces that the catalog has now."""
        return open_spaces(self.store)


def _remedy(store: Store, name: str) -> str:
    """Say how a space gets its first vectors."""
    lacks = backfill_of(store, name)
    if lacks is None or lacks.state != RUNNING:
        return "add pictures (or vectors) first"
    if (job := store.running_job()) is not None:
        return f"wait for them: {job}"
    return "making them was interrupted: likewise add, or the same command again, goes on with it"
