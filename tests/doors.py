"""The way to the private parts of a collection, for tests of what lies behind them.

A change of the private layout touches this file and no test.
"""

from __future__ import annotations

from likewise.collection.collection import Collection
from likewise.collection.feedback.profile_states import ProfileStates
from likewise.collection.search.views import Views
from likewise.collection.store.store import Store


def store_of(col: Collection) -> Store:
    """The directory and the catalog of a collection."""
    return col._store


def views_of(col: Collection) -> Views:
    """The spaces of a collection opened for searching."""
    return col._views


def states_of(col: Collection) -> ProfileStates:
    """What the profiles of a collection have learned, in memory."""
    return col._states
