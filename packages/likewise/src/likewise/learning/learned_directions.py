"""What judged pairs taught a dense space, in pictures: directions that count otherwise, and moves.

A metric has no words to show.  What it has are directions, the eigenvectors of what was learned on
the whole: a direction is shown by the pictures at its two ends, and its eigenvalue says how many
times it counts now.  And it has an effect: pictures whose place in a ranking is another one.
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
from likewise.learning.examples import Example
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
"""Newest judged queries whose answers are compared, and pictures near each that are asked too."""
PAGE = 20
"""A move is told of pictures that are among so many first ones, before or after it."""
DEPTH = EXACT_BEYOND
"""Places that are told apart.  With the query itself one more is asked for, so that all rows are
compared and no move is an accident of the graph."""


@dataclass(frozen=True)
class Direction:
    """A direction of a space that counts ``value`` times what it did, and who is at its ends.

    Pictures differ along it: those of ``one_end`` have most of it one way, those of ``other_end``
    the other way.
    """

    value: float
    one_end: tuple[Example, ...] = ()
    other_end: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Move:
    """A picture whose place among the answers to ``query`` is another one now.

    Places begin at 1; None is behind the first :data:`DEPTH`.  What was said about this very query
    is left out: this is what the profile learned for every query.
    """

    query: Example
    picture: Example
    before: int | None
    after: int | None

    @property
    def rose(self) -> bool:
        """Whether it came nearer to the first place."""
        return _place(self.after) < _place(self.before)

    @property
    def size(self) -> float:
        """How far, as a ratio of places: from 40 to 10 is as far as from 4 to 1."""
        return abs(math.log(_place(self.before) / _place(self.after)))


def find_directions(
    view: View, store: Store, metric: LocalMetric, top: int, n: int, report: Report
) -> tuple[Direction, ...]:
    """Up to ``top`` directions that count more and as many that count less, the farthest first."""
    values, vectors = np.linalg.eigh(metric.overall())
    chosen = [*_farthest(values - 1, top), *_farthest(1 - values, top)]
    chosen.sort(key=lambda at: (-abs(values[at] - 1), at))
    found = []
    for done, at in enumerate(chosen, 1):
        way = vectors[:, at]
        # An eigenvector has no sign of its own.
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
    """Up to ``top`` pictures that rose most and as many that fell most, the farthest first."""
    best: dict[int, Move] = {}
    queries = _queries(views, similarity, history) if top else []
    for done, query in enumerate(queries, 1):
        for move in _moves_of(views, states, similarity, query):
            image = move.picture.image
            # Each picture once, where it moved farthest.
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
    """The pictures whose rows have most of a direction; those whose files are gone are left out."""
    if not n:
        return ()
    # So many that all rows are compared: no graph was made for such a query.
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
    """The newest judged queries that are in the collection, and pictures near them."""
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
        # It has no row in the space, or has just been removed: there is nothing to compare.
        return []
    return ids


def _on_page(image: int, *rankings: dict[int, int]) -> bool:
    return any(image in places and places[image] <= PAGE for places in rankings)


def _is_there(move: Move) -> bool:
    return Path(move.picture.path).is_file() and Path(move.query.path).is_file()


def _place(place: int | None) -> int:
    return DEPTH + 1 if place is None else place
