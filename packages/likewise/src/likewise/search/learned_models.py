"""Learned models: a metric is a matrix, a map is a ``KernelMap``; their files and their views.

Both turn rows of one dense space into rows whose Euclidean distance is the similarity.  A model is
stored as plain arrays with a checksum; a second file holds the transformed rows of the pictures it
was learned with.  A view reads these and transforms later pictures once.  A search compares all
rows; they are short (128 numbers at most), and the best of a million takes tens of milliseconds.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import segments as seg
from likewise.catalog.log_tables import Model, last_tombstone, last_vector, model
from likewise.catalog.read_write_lock import ReadWriteLock
from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError, DamagedCollection, InvalidInput, UnknownName
from likewise.spaces.base import Space
from likewise.spaces.graphs import dense_rows
from likewise.spaces.registry import open_spaces
from likewise_methods.durable_files import private_folder
from likewise_methods.index import DamagedIndex
from likewise_methods.lazy_imports import linalg
from likewise_methods.neighbours import DamagedFile, Flat, open_arrays, save_arrays
from likewise_methods.ordinal import KernelMap

_TRIES = 3
T = TypeVar("T")
FOLDER = "learned"
_KIND, _ROWS = "learned model", "learned rows"
_CHUNK = 8_192

Floats32 = NDArray[np.float32]
Ids = NDArray[np.int64]
S = TypeVar("S", bound=SpaceRow)


class Basis:
    """The directions in which rows differ most.

    ``matrix`` (directions x width) has orthonormal rows; ``mean`` is the mean of the rows.
    """

    def __init__(self, mean: Any, matrix: Any) -> None:
        self.mean = np.asarray(mean, np.float64)
        self.matrix = np.asarray(matrix, np.float64)

    @classmethod
    def fit(cls, rows: Any, most: int) -> Basis:
        """Compute at most ``most`` directions; those in which nothing differs are left out."""
        X = np.asarray(rows, np.float64)
        mean = X.mean(axis=0)
        width = X.shape[1]
        first = max(width - min(most, len(X)), 0)
        scatter = np.cov(X.T, bias=True).reshape(width, width)
        values, vectors = linalg.eigh(scatter, subset_by_index=[first, width - 1])
        order = np.argsort(values)[::-1]
        kept = order[values[order] > 1e-12 * max(values.max(initial=0.0), 1e-300)]
        kept = kept if len(kept) else order[:1]
        # Each direction's largest entry is positive, so that the same rows give the same signs.
        turned = vectors[:, kept].T
        signs = np.sign(turned[np.arange(len(turned)), np.abs(turned).argmax(axis=1)])
        return cls(mean, turned * signs[:, None])

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        made: NDArray[np.float64] = (np.asarray(rows, np.float64) - self.mean) @ self.matrix.T
        return made


class Metric:
    """Maps x to L B (x - mean): the learned metric is L'L in the directions B.

    Without directions x stays as it is (``plain``).
    """

    kind = "metric"

    def __init__(self, basis: Basis, components: Any, metric: Any) -> None:
        self.basis = basis
        self.components = np.asarray(components, np.float64)
        self.metric = np.asarray(metric, np.float64)
        self._whole = (self.components @ basis.matrix).T

    @classmethod
    def plain(cls, width: int) -> Metric:
        """Return the metric that changes nothing, without a matrix of width squared."""
        none = np.zeros((0, 0))
        return cls(Basis(np.zeros(width), np.zeros((0, width))), none, none)

    @property
    def width(self) -> int:
        return len(self.basis.mean)

    @property
    def n_ranked(self) -> int:
        """The number of columns to rank by."""
        return len(self.components) or self.width

    def transform(self, rows: Any) -> Floats32:
        if not len(self.components):
            return np.array(rows, np.float32).reshape(len(rows), self.width)
        parts = [
            (np.asarray(rows[start : start + _CHUNK], np.float64) - self.basis.mean) @ self._whole
            for start in range(0, len(rows), _CHUNK)
        ]
        return np.concatenate([np.zeros((0, self.n_ranked)), *parts]).astype(np.float32)

    def arrays(self) -> dict[str, Any]:
        return {
            "mean": self.basis.mean,
            "directions": self.basis.matrix,
            "components": self.components,
            "metric": self.metric,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_ranked: int) -> Metric:
        basis = Basis(arrays["mean"], arrays["directions"])
        made = cls(basis, arrays["components"], arrays["metric"])
        fits = (
            basis.matrix.shape[1:] == basis.mean.shape
            and made.components.shape == (len(made.components), len(basis.matrix))
            and made.n_ranked == n_ranked
        )
        if not fits or made.metric.shape != (len(basis.matrix),) * 2:
            raise ValueError("its arrays do not fit each other")
        return made


class Map:
    """Maps x to its place: ``n_ranked`` columns to rank by, then two to draw if they differ.

    Pictures whose place was learned from comparisons keep it (``anchors`` and ``places``).
    """

    kind = "map"

    def __init__(
        self, basis: Basis, kernel: KernelMap, n_ranked: int, anchors: Any, places: Any
    ) -> None:
        self.basis, self.kernel, self.n_ranked = basis, kernel, n_ranked
        self.anchors = np.asarray(anchors, np.int64)
        self.places = np.asarray(places, np.float32)

    @property
    def width(self) -> int:
        return len(self.basis.mean)

    def transform(self, rows: Any) -> Floats32:
        parts = [
            self.kernel.transform(self.basis(rows[start : start + _CHUNK]))
            for start in range(0, len(rows), _CHUNK)
        ]
        made: Floats32 = np.concatenate(
            [np.zeros((0, len(self.kernel.mean_))), *parts]
        ).astype(np.float32)  # fmt: skip
        return made

    def drawing_columns(self, rows: Floats32) -> Floats32:
        """Return the two columns to draw."""
        return rows[:, self.n_ranked :] if rows.shape[1] > self.n_ranked else rows[:, :2]

    def arrays(self) -> dict[str, Any]:
        kernel = {f"kernel/{name}": array for name, array in self.kernel.state().items()}
        return {
            "mean": self.basis.mean, "directions": self.basis.matrix, "anchors": self.anchors,
            "places": self.places, **kernel,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_ranked: int) -> Map:
        basis = Basis(arrays["mean"], arrays["directions"])
        head = "kernel/"
        state = {key[len(head) :]: a for key, a in arrays.items() if key.startswith(head)}
        made = cls(
            basis, KernelMap.from_state(state), n_ranked, arrays["anchors"], arrays["places"]
        )
        columns = len(made.kernel.mean_)
        fits = (
            basis.matrix.shape == (made.kernel.n_features_in_, len(basis.mean))
            and made.places.shape == (len(made.anchors), columns)
            and columns in (n_ranked, n_ranked + 2)
            and columns >= 2
        )
        if not fits:
            raise ValueError("its arrays do not fit each other")
        return made


LearnedModel = Metric | Map
_KINDS: dict[str, type[Metric] | type[Map]] = {"metric": Metric, "map": Map}


class PlacedRow(NamedTuple):
    """A row that the model has already transformed."""

    row: Floats32


def place_rows(fitted: LearnedModel, ids: Ids, rows: Any) -> Floats32:
    """Transform rows of pictures; those with a learned place keep it."""
    made = fitted.transform(rows)
    if isinstance(fitted, Map) and len(fitted.anchors):
        order = np.argsort(fitted.anchors)
        at = np.searchsorted(fitted.anchors, ids, sorter=order).clip(max=len(order) - 1)
        known = fitted.anchors[order[at]] == ids
        made[known] = fitted.places[order[at[known]]]
    return made


def save_model(root: Path, fitted: LearnedModel, ids: Ids, rows: Floats32) -> dict[str, str]:
    """Write both files, synced; return their names for the catalog."""
    private_folder(root / FOLDER)
    stem = f"{FOLDER}/{fitted.kind}-{secrets.token_hex(8)}"
    files = {"model": f"{stem}.lwm", "rows": f"{stem}.rows"}
    meta = {"kind": fitted.kind, "n_ranked": fitted.n_ranked}
    save_arrays(root / files["model"], _KIND, meta, fitted.arrays())
    save_arrays(root / files["rows"], _ROWS, {}, {"ids": ids, "rows": rows.astype(np.float32)})
    return files


def open_model(root: Path, model: Model) -> LearnedModel:
    """Read and check a model."""
    try:
        meta, arrays = open_arrays(root / model.files["model"], _KIND)
        if meta["kind"] != model.kind:
            raise ValueError(f"it holds a {meta['kind']}")
        if not all(np.isfinite(a).all() for a in arrays.values() if a.dtype.kind == "f"):
            raise ValueError("it has NaN or infinite values")
        return _KINDS[model.kind].from_arrays(arrays, int(meta["n_ranked"]))
    except (DamagedFile, OSError, KeyError, TypeError, ValueError, InvalidInput) as error:
        raise DamagedCollection(
            f"the {model.kind} {model.name!r} cannot be read ({error}); learn it again, or "
            "restore a backup"
        ) from error


def open_model_rows(root: Path, model: Model) -> tuple[Ids, Floats32]:
    """Read ids and rows of the pictures that a model was learned with."""
    try:
        _, arrays = open_arrays(root / model.files["rows"], _ROWS)
        ids, rows = arrays["ids"], arrays["rows"]
        if ids.ndim != 1 or rows.ndim != 2 or len(ids) != len(rows):
            raise ValueError("its arrays do not fit each other")
    except (DamagedFile, OSError, KeyError, ValueError) as error:
        raise DamagedCollection(
            f"the rows of {model.kind} {model.name!r} cannot be read ({error}); learn it again, "
            "or restore a backup"
        ) from error
    return ids, rows


def check_fits(model: Model, space: S | None) -> S:
    """Return the space of a model; refuse one of another generation than the model's."""
    if space is None:
        raise CollectionError(f"{model.kind} {model.name!r} lacks its space {model.space!r}")
    if space.generation != model.generation:
        raise CollectionError(
            f"{model.kind} {model.name!r} was learned with generation {model.generation} of space "
            f"{model.space!r}, which is at {space.generation} now; learn it again: "
            f"likewise models learn --{model.kind} --space {model.space} --name {model.name}"
        )
    return space


def check_model_files(root: Path, model: Model, space: SpaceRow | None) -> list[str]:
    """Return what is wrong with a model on disk; empty if nothing is."""
    try:
        fitted = open_model(root, model)
        # A model of another generation is outdated, not damaged.
        current = space is not None and space.generation == model.generation
        if space is not None and current and fitted.width != space.width:
            return [
                f"takes vectors of {fitted.width} numbers; space {space.name} has {space.width}"
            ]
        ids, rows = open_model_rows(root, model)
    except CollectionError as error:
        return [str(error)]
    columns = fitted.transform(np.zeros((1, fitted.width), np.float32)).shape[1]
    wrong = []
    if rows.shape[1] != columns:
        wrong.append(f"its rows have {rows.shape[1]} columns; {columns} expected")
    if not np.isfinite(rows).all():
        wrong.append("a row has NaN or infinite values")
    if len(np.unique(ids)) != len(ids):
        wrong.append("a picture has two rows")
    return wrong


class ModelView:
    """One model over the present pictures; scores are minus the distance."""

    idf = None

    def __init__(self, store: Store, row: Model, space: Space) -> None:
        self.row, self.space = row, space
        self.remembered: dict[bytes, Any] = {}
        self.root = store.root
        self.fitted: LearnedModel = open_model(store.root, row)
        self._lock = ReadWriteLock()
        self._flat: Flat | None = None
        self._ids: Ids = np.zeros(0, np.int64)
        self._rows: Floats32 = np.zeros((0, 0), np.float32)
        self._alive: NDArray[np.bool_] = np.zeros(0, bool)
        self._place: dict[int, int] = {}
        self._segments: list[str] = []
        self._begin(store)

    def _begin(self, store: Store) -> None:
        space = self.space
        self._last_vector = last_vector(store, space.name, space.generation)
        self._last_tombstone = last_tombstone(store)
        self._segments = self._names(store)
        if self._replaceable:
            # The user may have replaced vectors: stored rows may be outdated.
            ids, rows = dense_rows(store, space)
            self._take(ids, place_rows(self.fitted, ids, rows))
            return
        ids, rows = open_model_rows(self.root, self.row)
        here = np.isin(ids, np.fromiter(store.ids(), np.int64))
        self._take(ids[here], rows[here])
        self._fill(store, self._segments)

    @property
    def _replaceable(self) -> bool:
        return not self.space.describes_pictures

    def _names(self, store: Store) -> list[str]:
        return [row.name for row in store.segments(self.space.name, self.space.generation)]

    def _take(self, ids: Ids, rows: Floats32) -> None:
        self._ids, self._rows = ids, np.ascontiguousarray(rows, np.float32)
        self._alive = np.ones(len(ids), bool)
        self._place = {int(image): i for i, image in enumerate(ids)}
        self._flat = None

    def _fill(self, store: Store, segments: list[str]) -> None:
        """Add rows of pictures that are newer than the model's file."""
        missing = store.ids() - set(self._place)
        if missing:
            fresh = store.vectors(self.space.name, self.space.generation)
            self._add([(image, blob) for _, image, blob in fresh if image in missing])
            missing -= set(self._place)
        for name in segments if missing else ():
            part = seg.read_dense(self.root, name)
            here = np.isin(part.ids, np.fromiter(missing, np.int64))
            if here.any():
                self._append(part.ids[here], comparable_rows(self.space, part.rows[here]))
                missing -= set(part.ids[here].tolist())

    def update(self, store: Store) -> None:
        """Read rows and removals since the last time."""
        with self._lock.writing():
            segments = self._names(store)
            if segments != self._segments and self._replaceable:
                self._begin(store)
                return
            space = self.space
            new = store.vectors(space.name, space.generation, self._last_vector)
            if new:
                self._add([(image, blob) for _, image, blob in new])
                self._last_vector = new[-1][0]
            dead = store.tombstones(self._last_tombstone)
            for _, image in dead:
                if image in self._place:
                    self._alive[self._place.pop(image)] = False
            if dead:
                self._last_tombstone = dead[-1][0]
            if segments != self._segments:
                # A row may have been added and sealed between two updates.
                self._fill(store, [name for name in segments if name not in self._segments])
                self._segments = segments

    def _add(self, found: list[tuple[int, bytes]]) -> None:
        if found:
            raw = seg.unpack_dense([blob for _, blob in found], self.space.width)
            ids = np.array([image for image, _ in found], np.int64)
            self._append(ids, comparable_rows(self.space, raw))

    def _append(self, ids: Ids, rows: Any) -> None:
        made = place_rows(self.fitted, ids, rows)
        for image in ids.tolist():
            if image in self._place:
                self._alive[self._place[image]] = False
        start = len(self._ids)
        self._ids = np.concatenate([self._ids, ids])
        self._rows = np.concatenate([self._rows.reshape(start, made.shape[1]), made])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), bool)])
        self._place |= {int(image): start + i for i, image in enumerate(ids)}
        if self._flat is not None:
            self._flat.add(made[:, : self.fitted.n_ranked])

    def __len__(self) -> int:
        return len(self._place)

    def row_of(self, image: int) -> PlacedRow | None:
        """Return a picture's row of the model; None if none."""
        with self._lock.reading():
            at = self._place.get(image)
            return None if at is None else PlacedRow(self._rows[at, : self.fitted.n_ranked])

    def map_points(self) -> tuple[Ids, Floats32]:
        """Return the ids of all pictures, ascending, and where a map draws them."""
        assert isinstance(self.fitted, Map)
        with self._lock.reading():
            at = np.flatnonzero(self._alive)
            at = at[np.argsort(self._ids[at])]
            return self._ids[at], self.fitted.drawing_columns(self._rows[at])

    def search_row(self, row: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids and scores of the k nearest; ``row`` is of the space, or a PlacedRow."""
        if isinstance(row, PlacedRow):
            asked = row.row
        else:
            given = comparable_rows(self.space, np.asarray(row, np.float32).reshape(1, -1))
            asked = self.fitted.transform(given)[0, : self.fitted.n_ranked]
        with self._lock.reading():
            if not self._place:
                return np.zeros(0, np.int64), np.zeros(0, np.float32)
            if self._flat is None:
                self._flat = Flat("l2", self._rows[:, : self.fitted.n_ranked])
            places, scores = self._flat.best(self._rows, self._alive, asked, k)
            ids = self._ids[places]
        order = np.lexsort((ids, -scores))[:k]
        return ids[order], scores[order]


class ModelViews:
    """The views of all models, opened at their first use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._views: dict[str, tuple[int, ModelView]] = {}

    def view(self, name: str) -> ModelView:
        """Return the up-to-date view of a model; refuse one learned with another generation."""

        def forget() -> None:
            self._views.pop(name, None)

        with self._lock:
            return retry(self._store, lambda: self._current(name), forget)

    def _current(self, name: str) -> ModelView:
        store = self._store
        with store.snapshot():
            revision = store.revision
            seen, view = self._views.get(name, (-1, None))
            if view is not None and seen == revision:
                return view
            row = model(store, name)
            if row is None:
                self._views.pop(name, None)
                raise UnknownName(f"there is no learned metric or map {name!r}")
            space = check_fits(row, open_spaces(store).get(row.space))
            if view is not None and view.row == row and view.space.recipe == space.recipe:
                view.update(store)
            else:
                view = ModelView(store, row, space)
            self._views[name] = (revision, view)
            return view


def retry(store: Store, read: Callable[[], T], forget: Callable[[], None]) -> T:
    """Read files that a job may replace between reading the catalog and opening them.

    If the catalog has not changed since, the damage is real.
    """
    for _ in range(_TRIES):
        revision = store.revision
        try:
            return read()
        except (DamagedCollection, DamagedIndex, FileNotFoundError):
            forget()
            if store.revision == revision:
                raise
    return read()
