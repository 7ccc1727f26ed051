"""A map from comparisons: an ordinal embedding of some pictures, and a place for all the others.

What people compared comes from the log.  Where they compared nothing, or too little to place
pictures by, comparisons are made from the space itself (a near neighbour is nearer than a picture
drawn at random), or from labels; what was made and what was said is counted apart.  Pictures
beyond the anchors are placed by :class:`~likewise_methods.ordinal.kernel_map.KernelMap`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import SpaceRow
from likewise.search.learned_models import Basis, Map
from likewise.search.model_rows import agreement, agreement_plain
from likewise_methods.neighbours import Exact
from likewise_methods.ordinal import KernelMap

ANCHORS = 3_000
"""Pictures that are embedded: all that were compared, and others up to so many.  The rest is
placed by its features."""
DIRECTIONS = 64
NEIGHBOURS, FARTHER, RANDOM = 10, 4, 15
"""Made comparisons of each anchor: so many neighbours, each against so many drawn at random; and
so many of two drawn at random, which keep what is far apart far apart."""
DIMENSIONS = (2, 5, 10)
"""Dimensions to rank in that are tried; a map is drawn in two."""
FEWEST = 20
"""Comparisons below which nothing is held out and the space helps."""
FOLDS = 3
_WHILE_CHOOSING = 400
"""Pictures nobody compared that take part while source and dimension are chosen."""
_PEOPLE_WEIGHT = 0.5
"""Where both count, what people said has this share of all comparisons (each repeated)."""

Triplets = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MapData:
    """Pictures that can be anchors, and what is said about them by row number.

    The first ``n_said`` rows are those that people compared.  ``ids`` is 0 for pictures that are
    not in the collection (any more).
    """

    ids: NDArray[np.int64]
    X: NDArray[np.float32]
    n_said: int
    said: Triplets
    made: Triplets
    made_from: str


@dataclass(frozen=True)
class LearnedMap:
    """A map and what it amounts to."""

    map: Map
    figures: dict[str, Any]


def learn_map(given: MapData, space: SpaceRow, seed: int, report: Report) -> LearnedMap:
    """Embed the anchors, to rank and to draw, and learn to place the others."""
    choice = _choose(given, space, seed, report)
    source, n_ranked = choice["source"], choice["dimensions"]
    report(Progress("drawing the map", 0, 0))
    rows, triplets = combine_comparisons(given, source, given.said)
    # A picture that no comparison names has no place to learn from: it is placed like all others.
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
    """Places of n pictures from comparisons of their numbers, centred."""
    from likewise_methods.ordinal import OrdinalEmbedding

    if n == 0 or not len(triplets):
        return np.zeros((n, dimensions))
    made = OrdinalEmbedding(dimensions, loss="tste", n_init=starts, random_state=seed)
    found = made.fit(triplets, n_objects=n).embedding_
    return np.asarray(found - found.mean(axis=0))


def upright(places: Floats) -> Floats:
    """Centred places turned so that most of their spread runs from left to right."""
    if len(places) < 2:
        return places
    values, axes = np.linalg.eigh(places.T @ places)
    axes = axes[:, np.argsort(values)[::-1]]
    return np.asarray(places @ (axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])))


def from_neighbours(X: NDArray[np.float32], seed: int) -> Triplets:
    """Comparisons that say what a space says: neighbours first, and far from farther."""
    n = len(X)
    if n < 3:
        return np.zeros((0, 3), np.int64)
    rng = np.random.default_rng(seed)
    k = min(NEIGHBOURS, n - 2)
    near, _ = Exact("l2").build(X).search(X, k + 1)
    anchors = np.arange(n)
    # Copies of a picture may push it off the first place of its own list.
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
    """Comparisons by labels: one's own kind is nearer than another; no label, no comparison."""
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
    """(rows that are embedded, comparisons by their place among these) for a source."""
    if source == "people":
        return np.arange(given.n_said), said
    if not len(said):
        return np.arange(len(given.X)), given.made
    # So often that people outweigh what was made up, and still with every comparison whole.
    times = max(1, round(_PEOPLE_WEIGHT / (1 - _PEOPLE_WEIGHT) * len(given.made) / len(said)))
    return np.arange(len(given.X)), np.concatenate([given.made, np.repeat(said, times, axis=0)])


def _choose(given: MapData, space: SpaceRow, seed: int, report: Report) -> dict[str, Any]:
    """The source of comparisons and the dimension that agree most with people, held out."""
    none: dict[str, Any] = {"agreement": None, "agreement_plain": None, "held_out": 0}
    if len(given.said) < FEWEST:
        source = "both" if len(given.said) else given.made_from
        # Ten dimensions keep what a space says about as well as it can be kept.
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
    """For each comparison whether a map learned without it (and its like) agrees."""
    right = np.zeros(len(given.said), bool)
    for fold in folds:
        places = _embed_without(given, features, source, dimensions, ~fold, seed)
        right[fold] = agreement(places, given.said[fold])
    return right


def _with_fewer_pictures(given: MapData) -> MapData:
    """All that was compared, beside some of the others only."""
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
    """Places of all rows, learned without the comparisons held out."""
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
    """Comparisons in parts; the same question, however it was answered, is in one part."""
    pair = np.sort(said[:, 1:], axis=1)
    _, question = np.unique(np.column_stack([said[:, :1], pair]), axis=0, return_inverse=True)
    question = question.ravel()
    n = int(question.max(initial=-1)) + 1
    part = np.random.default_rng(seed).permutation(n) % max(min(most, n), 1)
    return [part[question] == i for i in range(min(most, n))]
