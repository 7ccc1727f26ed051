"""Learn a map from comparisons: embed some pictures, and place all others by their features.

Comparisons come from the log.  Where there are too few, more are generated from the space (a
neighbour is nearer than a picture drawn at random) or from labels, and counted separately. Pictures
beyond the anchors are placed by :class:`~likewise_methods.ordinal.kernel_map.KernelMap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import SpaceRow, Store
from likewise.learning.models.constraints import Comparison, label_pictures, subject_rows
from likewise.learning.models.rows import agreement, agreement_plain, sample_rows
from likewise.search.learned_models import Basis, Map
from likewise_methods.neighbours import Exact
from likewise_methods.ordinal import KernelMap

ANCHORS = 3_000
"""Pictures that are embedded: all that were compared, and others up to so many."""
DIRECTIONS = 64
NEIGHBOURS, FARTHER, RANDOM = 10, 4, 15
"""Generated comparisons per anchor: neighbours, each against pictures drawn at random; and pairs
drawn at random, which keep distant pictures distant."""
DIMENSIONS = (2, 5, 10)
"""Dimensions that are tried for ranking; a map is drawn in two."""
FEWEST = 20
"""Comparisons below which nothing is held out."""
FOLDS = 3
_WHILE_CHOOSING = 400
"""Pictures without comparisons that are used while source and dimension are chosen."""
_PEOPLE_WEIGHT = 0.5
"""Share of people's comparisons (each repeated) where generated ones count too."""

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MapData:
    """Rows of pictures that can be anchors, and comparisons of their row numbers.

    The first ``n_said`` rows are those that people compared (``said``); ``made`` was generated.
    ``ids`` is 0 for pictures that are not in the collection.
    """

    ids: NDArray[np.int64]
    X: NDArray[np.float32]
    n_said: int
    said: Triplets
    made: Triplets
    made_from: str


@dataclass(frozen=True)
class LearnedMap:
    """A map with its figures."""

    map: Map
    figures: dict[str, Any]


def gather_comparisons(
    store: Store,
    space: SpaceRow,
    said: Sequence[Comparison],
    row_of: Callable[[int], Any],
    *,
    anchors: int,
    labels: str | None,
    seed: int,
    others: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None,
) -> tuple[MapData, NDArray[np.bool_]]:
    """Return the data for a map, and a mask of the comparisons that could be used.

    Up to ``anchors`` pictures: those compared, and others drawn at random, or those of ``others``
    (ids and rows).
    """
    subjects = {s for one in said for s in (one.anchor, one.nearer, one.farther)}
    rows = subject_rows(store, space, subjects, row_of)
    place = {subject: at for at, subject in enumerate(rows)}
    used = np.array(
        [all(s in place for s in (one.anchor, one.nearer, one.farther)) for one in said], bool
    )
    triplets = np.array(
        [
            (place[one.anchor], place[one.nearer], place[one.farther])
            for one, fits in zip(said, used, strict=True)
            if fits
        ],
        np.int64,
    ).reshape(-1, 3)
    here = log_tables.subjects_in_collection(store, rows)
    own = np.array([here.get(subject, 0) for subject in rows], np.int64)
    if others is None:
        more = max(anchors - len(rows), 0)
        ids, further = sample_rows(store, space, more, seed, avoid=set(own.tolist()))
    else:
        new = ~np.isin(others[0], own)
        ids, further = others[0][new], others[1][new]
    whole = np.array(list(rows.values()), np.float32).reshape(len(rows), space.width)
    names = np.concatenate([own, ids])
    X = np.concatenate([whole, further])
    if labels is None:
        made, made_from = from_neighbours(X, seed), "space"
    else:
        known = dict(zip(*(part.tolist() for part in label_pictures(store, labels)), strict=True))
        made = from_labels(np.array([str(known.get(i, "")) for i in names.tolist()]), seed)
        made_from = labels
    return MapData(names, X, len(rows), triplets, made, made_from), used


def learn_map(given: MapData, space: SpaceRow, seed: int, report: Report) -> LearnedMap:
    """Embed the anchors for ranking and drawing, and learn to place the others."""
    choice = _choose(given, space, seed, report)
    source, n_ranked = choice["source"], choice["dimensions"]
    report(Progress("drawing the map", 0, 0))
    rows, triplets = combine_comparisons(given, source, given.said)
    # A picture in no comparison is placed by its features.
    known = np.unique(triplets)
    if 3 <= len(known) < len(rows):
        rows, triplets = rows[known], np.searchsorted(known, triplets)
        n_ranked = min(n_ranked, max(len(rows) - 2, 2))
    ranked = embed(triplets, len(rows), n_ranked, seed)
    drawn = upright(ranked if n_ranked == 2 else embed(triplets, len(rows), 2, seed))
    ranked = drawn if n_ranked == 2 else ranked
    size = np.sqrt((ranked**2).sum(axis=1).mean()) or 1.0
    drawn = drawn * (size / (np.sqrt((drawn**2).sum(axis=1).mean()) or 1.0))
    places = ranked if n_ranked == 2 else np.hstack([ranked, drawn])
    basis = Basis.fit(given.X[rows], DIRECTIONS)
    kernel = KernelMap("cv", "cv", random_state=seed).fit(basis(given.X[rows]), places)
    here = given.ids[rows] > 0
    made = Map(basis, kernel, n_ranked, given.ids[rows][here], places[here])
    figures = {
        **choice,
        "comparisons": len(given.said),
        "made_comparisons": 0 if source == "people" else len(given.made),
        "made_from": None if source == "people" else given.made_from,
        "anchors": len(rows),
        "satisfied": float(agreement(ranked, triplets).mean()) if len(triplets) else None,
        "placing_error": float(kernel.loo_error_ / (np.sqrt(places.var(axis=0).sum()) or 1.0)),
    }
    return LearnedMap(made, figures)


def embed(triplets: Triplets, n: int, dimensions: int, seed: int, starts: int = 2) -> Floats:
    """Embed n pictures from comparisons of their numbers, centred."""
    from likewise_methods.ordinal import OrdinalEmbedding

    if n == 0 or not len(triplets):
        return np.zeros((n, dimensions))
    made = OrdinalEmbedding(dimensions, loss="tste", n_init=starts, random_state=seed)
    found = made.fit(triplets, n_objects=n).embedding_
    return np.asarray(found - found.mean(axis=0))


def upright(places: Floats) -> Floats:
    """Rotate centred points so that their largest spread is horizontal."""
    if len(places) < 2:
        return places
    values, axes = np.linalg.eigh(places.T @ places)
    axes = axes[:, np.argsort(values)[::-1]]
    return np.asarray(places @ (axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])))


def from_neighbours(X: NDArray[np.float32], seed: int) -> Triplets:
    """Generate comparisons from distances in a space."""
    n = len(X)
    if n < 3:
        return np.zeros((0, 3), np.int64)
    rng = np.random.default_rng(seed)
    k = min(NEIGHBOURS, n - 2)
    near, _ = Exact("l2").build(X).search(X, k + 1)
    anchors = np.arange(n)
    # Copies of a picture may precede it among its own neighbours.
    own = near == anchors[:, None]
    own[~own.any(axis=1), -1] = True
    near = near[~own].reshape(n, k)
    a = np.repeat(anchors, k * FARTHER)
    b = np.repeat(near.ravel(), FARTHER)
    c = rng.integers(0, n, len(a))
    fits = (c != a) & ~(near[a] == c[:, None]).any(axis=1)
    first = np.column_stack([a, b, c])[fits]
    a = np.repeat(anchors, RANDOM)
    b, c = rng.integers(0, n, (2, len(a)))
    loose = np.column_stack([a, b, c])[(a != b) & (a != c) & (b != c)]
    right = agreement(X, loose)
    loose[~right] = loose[~right][:, [0, 2, 1]]
    return np.concatenate([first, loose]).astype(np.int64)


def from_labels(labels: NDArray[Any], seed: int) -> Triplets:
    """Generate comparisons from labels: the same label is nearer than another."""
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(labels != "")
    codes = np.unique(labels[known], return_inverse=True)[1]
    parts = [np.zeros((0, 3), np.int64)]
    for code in range(codes.max(initial=-1) + 1):
        own, others = known[codes == code], known[codes != code]
        if len(own) < 2 or not len(others):
            continue
        a = np.repeat(own, NEIGHBOURS * FARTHER)
        b, c = rng.choice(own, len(a)), rng.choice(others, len(a))
        parts.append(np.column_stack([a, b, c])[a != b])
    return np.concatenate(parts)


def combine_comparisons(
    given: MapData, source: str, said: Triplets
) -> tuple[NDArray[np.int64], Triplets]:
    """Return (rows to embed, comparisons of their indices) for a source."""
    if source == "people":
        return np.arange(given.n_said), said
    if not len(said):
        return np.arange(len(given.X)), given.made
    times = max(1, round(_PEOPLE_WEIGHT / (1 - _PEOPLE_WEIGHT) * len(given.made) / len(said)))
    return np.arange(len(given.X)), np.concatenate([given.made, np.repeat(said, times, axis=0)])


def _choose(given: MapData, space: SpaceRow, seed: int, report: Report) -> dict[str, Any]:
    """Choose the source and the dimension that agree most with held-out comparisons."""
    none: dict[str, Any] = {"agreement": None, "agreement_plain": None, "held_out": 0}
    if len(given.said) < FEWEST:
        source = "both" if len(given.said) else given.made_from
        return {"source": source, "dimensions": _dimensions(len(given.X))[-1], **none}
    given = _with_fewer_pictures(given)
    folds = split_folds(given.said, FOLDS, seed)
    features = Basis.fit(given.X, DIRECTIONS)(given.X)
    options = [
        (source, dimensions)
        for source in ("people", "both")
        for dimensions in _dimensions(given.n_said if source == "people" else len(given.X))
    ]
    shares = []
    for number, (source, dimensions) in enumerate(options):
        report(Progress("trying maps", number, len(options)))
        right = agree_held_out(given, features, folds, source, dimensions, seed)
        shares.append(float(right.mean()))
    best = int(np.argmax(shares))
    return {
        "source": options[best][0],
        "dimensions": options[best][1],
        "agreement": shares[best],
        "agreement_plain": float(agreement_plain(space, given.X, given.said).mean()),
        "held_out": len(given.said),
    }


def agree_held_out(
    given: MapData,
    features: Floats,
    folds: list[NDArray[np.bool_]],
    source: str,
    dimensions: int,
    seed: int,
) -> NDArray[np.bool_]:
    """Return, for each comparison, whether a map learned without its fold agrees."""
    right = np.zeros(len(given.said), bool)
    for fold in folds:
        places = _embed_without(given, features, source, dimensions, ~fold, seed)
        right[fold] = agreement(places, given.said[fold])
    return right


def _with_fewer_pictures(given: MapData) -> MapData:
    """Keep the compared pictures and some of the others."""
    n = given.n_said + _WHILE_CHOOSING
    made = given.made[(given.made < n).all(axis=1)]
    return replace(given, ids=given.ids[:n], X=given.X[:n], made=made)


def _dimensions(n: int) -> list[int]:
    return [d for d in DIMENSIONS if d == 2 or d < n - 1]


def _embed_without(
    given: MapData,
    features: Floats,
    source: str,
    dimensions: int,
    kept: NDArray[np.bool_],
    seed: int,
) -> Floats:
    """Embed all rows without the comparisons held out."""
    rows, triplets = combine_comparisons(given, source, given.said[kept])
    places = np.zeros((len(given.X), dimensions))
    known = np.unique(triplets)
    if not len(known):
        return places
    places[rows] = embed(triplets, len(rows), dimensions, seed, starts=1)
    lost = np.setdiff1d(np.arange(given.n_said), known)
    if len(lost):
        kernel = KernelMap(n_landmarks=500, random_state=seed).fit(features[known], places[known])
        places[lost] = kernel.transform(features[lost])
    return places


def split_folds(said: Triplets, most: int, seed: int) -> list[NDArray[np.bool_]]:
    """Return masks of comparisons by fold; answers to the same question share a fold."""
    pair = np.sort(said[:, 1:], axis=1)
    _, question = np.unique(np.column_stack([said[:, :1], pair]), axis=0, return_inverse=True)
    question = question.ravel()
    n = int(question.max(initial=-1)) + 1
    part = np.random.default_rng(seed).permutation(n) % max(min(most, n), 1)
    return [part[question] == i for i in range(min(most, n))]
