"""The way to the private parts of a collection, for tests of what lies behind them.

A change of the private layout touches this file and no test.
"""

from __future__ import annotations

import sqlite3
import threading

from likewise.catalog.sqlite_catalog import SQLiteCatalog
from likewise.catalog.store import Store
from likewise.collection.collection import Collection
from likewise.learning.profile_states import ProfileStates
from likewise.search.views import Views
from likewise.tags.calibration import Calibration, CalibrationRun
from likewise.tags.evidence import Evidence
from likewise_methods.siso.annotator import SparseAnnotator
from likewise_methods.siso.linear import LinearAnnotator


def store_of(col: Collection) -> Store:
    """The directory and the catalog of a collection."""
    return col._store


def views_of(col: Collection) -> Views:
    """The spaces of a collection opened for searching."""
    return col._views


def states_of(col: Collection) -> ProfileStates:
    """What the profiles of a collection have learned, in memory."""
    return col._states


def connections_of(col: Collection) -> list[tuple[threading.Thread, sqlite3.Connection]]:
    """The open connections to the catalog, each with the thread it was made for."""
    catalog = col._store.catalog
    assert isinstance(catalog, SQLiteCatalog)
    return catalog._open


def curve_of(col: Collection, *names: str) -> Calibration:
    """The curve of confidence that serves suggestions from these spaces."""
    return col.tags.suggester._calibrations[names]


def runs_of(col: Collection) -> dict[tuple[str, ...], CalibrationRun]:
    """The curves that are being measured piece by piece, by the spaces they are for."""
    return col.tags.suggester._runs


def linear_of(evidence: Evidence) -> LinearAnnotator:
    """The linear machine over the tagged pictures."""
    model = evidence._model
    assert model is not None
    assert model.linear_ is not None
    return model.linear_


def sparse_of(evidence: Evidence) -> SparseAnnotator:
    """The annotator that reconstructs pictures from the tagged ones."""
    assert evidence._model is not None
    return evidence._model.sparse_
