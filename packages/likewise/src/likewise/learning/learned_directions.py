"""Show what a dense space learned from judged pairs: directions, and pictures that moved.

A metric has no words to show, but directions: the eigenvectors of what was learned on average.  The
pictures at its two ends show a direction, and its eigenvalue is its new weight.  Pictures whose
rank changed show the effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.jobs import Progress, Report
from likewise.catalog.store import Store
from likewise.errors import UnknownPicture
from likewise.learning.fold import NOTICED
from likewise.learning.history import History
from likewise.learning.profile_states import ProfileStates
from likewise.search.dense_view import EXACT_BEYOND
from likewise.search.query import SearchRequest, resolve_query
from likewise.search.rank import rank
from likewise.search.reranker import ProfileReranker
from likewise.search.similarities import Similarity
from likewise.search.views import View, Views
from likewise_methods.spaces import LocalMetric

JUDGED, NEAR = 8, 2
"""Newest judged queries whose results are compared, and pictures near each that are used too."""
PAGE = 20
"""A move is reported if the picture is among so many first ones, before or after it."""
DEPTH = EXACT_BEYOND
"""Places that are compared.  With the query itself all rows are searched, without a graph."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Example:
    """A picture, and the place in it: ``box`` (x, y, width, height) as shares of its sides.

    None: the whole picture, because the space has no places.
    """

    image: int
    path: str
    box: Box | None = None


@dataclass(frozen=True)
class Direction:
    """A direction of a space with its new weight, and the pictures at its two ends."""

    value: float
    one_end: tuple[Example, ...] = ()
    other_end: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Move:
    """A picture whose rank among the results of ``query`` changed.

    Ranks begin at 1; None is beyond the first :data:`DEPTH`.  Judgements of this very query are
    left out, so the change is what the profile learned for every query.
    """

    query: Example
    picture: Example
    before: int | None
    after: int | None

    @property
    def rose(self) -> bool:
        """Whether it moved up."""
        return _place(self.after) < _place(self.before)

    @property
    def size(self) -> float:
        """The ratio of the ranks: from 40 to 10 is as far as from 4 to 1."""
        return abs(math.log(_place(self.before) / _place(self.after)))


def find_directions(
    view: View, store: Store, metric: LocalMetric, top: int, n: int, report: Report
) -> tuple[Direction, ...]:
    """Return up to ``top`` directions that count more and as many that count less."""
    values, vectors = np.linalg.eigh(metric.overall())
    chosen = [*_farthest(values - 1, top), *_farthest(1 - values, top)]
    chosen.sort(key=lambda at: (-abs(values[at] - 1), at))
    found = []
    for done, at in enumerate(chosen, 1):
        way = vectors[:, at]
        # The sign of an eigenvector is arbitrary.
        way = way if way[np.argmax(np.abs(way))] > 0 else -way
        ends = (_pictures_along(view, store, sign * way, n) for sign in (1, -1))
        found.append(Direction(float(values[at]), *ends))
        report(Progress("looking along directions", done, len(chosen)))
    return tuple(found)


def find_moves(
    views: Views,
    states: ProfileStates,
    similarity: Similarity,
    history: History,
    top: int,
    report: Report,
) -> tuple[Move, ...]:
    """Return the ``top`` pictures that rose most and as many that fell most."""
    best: dict[int, Move] = {}
    queries = _queries(views, similarity, history) if top else []
    for done, query in enumerate(queries, 1):
        for move in _moves_of(views, states, similarity, query):
            image = move.picture.image
            if image not in best or move.size > best[image].size:
                best[image] = move
        report(Progress("comparing answers", done, len(queries)))
    ordered = sorted(best.values(), key=lambda move: (-move.size, move.picture.image))
    found: list[Move] = []
    for rose in (True, False):
        there = (move for move in ordered if move.rose is rose and _is_there(move))
        found += [move for move, _ in zip(there, range(top), strict=False)]
    return tuple(found)


def _farthest(above: NDArray[np.float64], top: int) -> list[int]:
    order = np.lexsort((np.arange(len(above)), -above))[:top]
    return [int(at) for at in order if above[at] > NOTICED]


def _pictures_along(
    view: View, store: Store, way: NDArray[np.float64], n: int
) -> tuple[Example, ...]:
    """Return the pictures with existing files that are farthest along a direction."""
    if not n:
        return ()
    # Request so many that all rows are compared, because graphs do not suit such queries.
    ids, scores = view.search_row(way.astype(np.float32), EXACT_BEYOND + 1)
    images = [int(image) for image in ids[scores > 0]]
    return tuple(_examples(store, images, n))


def _examples(store: Store, images: Sequence[int], n: int) -> Iterable[Example]:
    rows = store.images(images)
    for image in images:
        if n and image in rows and Path(rows[image].path).is_file():
            n -= 1
            yield Example(image, rows[image].path)


def _queries(views: Views, similarity: Similarity, history: History) -> list[int]:
    """Return the newest judged queries in the collection, and pictures near them."""
    newest = list(dict.fromkeys(item.query for item in reversed(history.items) if item.query))
    images = log_tables.subjects_in_collection(views.store, newest)
    judged = [images[subject] for subject in newest if subject in images][:JUDGED]
    found = dict.fromkeys(judged)
    for query in judged:
        answers = _answers(views, similarity, query, JUDGED + NEAR, None)
        found |= dict.fromkeys([image for image in answers if image not in judged][:NEAR])
    return list(found)


def _moves_of(
    views: Views, states: ProfileStates, similarity: Similarity, query: int
) -> Iterable[Move]:
    assert similarity.profile is not None
    reranker = ProfileReranker(views.store, states, similarity.profile, None, {"profile"})
    plain, learned = (
        {image: place for place, image in enumerate(images, 1)}
        for images in (
            _answers(views, similarity, query, DEPTH, None),
            _answers(views, similarity, query, DEPTH, reranker),
        )
    )
    seen = [image for image in {**plain, **learned} if _on_page(image, plain, learned)]
    rows = views.store.images([query, *seen])
    if query not in rows:
        return
    asked = Example(query, rows[query].path)
    for image in seen:
        move = (plain.get(image), learned.get(image))
        if image in rows and move[0] != move[1]:
            yield Move(asked, Example(image, rows[image].path), *move)


def _answers(
    views: Views, similarity: Similarity, query: int, k: int, reranker: ProfileReranker | None
) -> list[int]:
    try:
        question = resolve_query(views.store, query, None)
        ids, _ = rank(views, SearchRequest(question, similarity, k), reranker=reranker)
    except UnknownPicture:
        # It has no row in the space, or was just removed.
        return []
    return ids


def _on_page(image: int, *rankings: dict[int, int]) -> bool:
    return any(image in places and places[image] <= PAGE for places in rankings)


def _is_there(move: Move) -> bool:
    return Path(move.picture.path).is_file() and Path(move.query.path).is_file()


def _place(place: int | None) -> int:
    return DEPTH + 1 if place is None else place
