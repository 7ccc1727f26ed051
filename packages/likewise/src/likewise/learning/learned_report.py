"""Report what a profile has learned.

In a sparse space: the words whose weights changed most, each with example pictures and places, and
the learning curve (how often the profile was right before it learned a judgement).  In a dense one:
directions and pictures that moved.  Nothing is stored: a few pictures are described again to locate
words, and the log is folded again for the curve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.jobs import Progress, Report, silent
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import ImageError
from likewise.images.decode import decode
from likewise.learning.fold import CHUNK, NOTICED, ProfileState, item_codes
from likewise.learning.history import JUDGE, History
from likewise.learning.learned_directions import (
    Box,
    Direction,
    Example,
    Move,
    find_directions,
    find_moves,
)
from likewise.learning.log import Log, LogLine
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import Figures, Similarity, can_explain, taught_space
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces.base import DECODE_SIDE, Space
from likewise_methods.lazy_imports import sparse
from likewise_methods.validation import whole

_CANDIDATES = 3
"""Candidates per example wanted, since files may be gone."""
_NEWEST = 30
"""Newest lines of the log that get paths and thumbnails."""


@dataclass(frozen=True)
class LearnedWord:
    """A word whose weight changed by ``change`` to ``weight``."""

    word: int
    weight: float
    change: float
    pictures: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class CurvePoint:
    """The share of the first ``asked`` triplets that were right before they were learned.

    ``learned`` is with the weights of that moment, ``plain`` with all words weighing the same.
    """

    judgement: int
    asked: int
    learned: float
    plain: float


@dataclass(frozen=True)
class LearnedReport:
    """What a profile has learned.

    Attributes
    ----------
    profile : str
        Its name.
    spaces : tuple of str
        The spaces it ranks by.
    space, feature : str or None
        The reported space, and what it describes.
    width : int
        Its columns.
    pictures : int
        The number of pictures.
    start : float
        The weight of a word at the beginning.
    figures : Figures
        How good it is; ``units`` says whether words or directions are learned.
    gained, lost : tuple of LearnedWord
        The words whose weight rose or fell most.
    n_gained, n_lost : int
        How many words have a noticeably higher or lower weight.
    curve : tuple of CurvePoint
        How often it was right before it learned each judgement.
    log : tuple of LogLine
        The newest lines.
    position : int
        Its position in the log.
    parent : (str, int) or None
        The profile it was copied from, and where.
    directions : tuple of Direction
        Directions whose weight changed, in a space that learns from pairs.
    moved : tuple of Move
        Pictures that moved, in such a space.
    paths : mapping of int to str
        Of the pictures in the newest lines of the log, by id.
    sketches : mapping of int to bytes
        Queries of those lines that are not in the collection: line to small JPEG.

    See Also
    --------
    Figures : how good it is.
    """

    profile: str
    spaces: tuple[str, ...]
    space: str | None
    feature: str | None
    width: int
    pictures: int
    start: float
    figures: Figures
    gained: tuple[LearnedWord, ...]
    lost: tuple[LearnedWord, ...]
    n_gained: int
    n_lost: int
    curve: tuple[CurvePoint, ...]
    log: tuple[LogLine, ...]
    position: int
    parent: tuple[str, int] | None
    directions: tuple[Direction, ...] = ()
    moved: tuple[Move, ...] = ()
    paths: Mapping[int, str] = field(repr=False, default_factory=dict)
    sketches: Mapping[int, bytes] = field(repr=False, default_factory=dict)


def report_learned(
    views: Views,
    states: ProfileStates,
    similarity: Similarity,
    *,
    top: int,
    examples: int,
    report: Report,
) -> LearnedReport:
    """Report the ``top`` words or directions either way, with so many examples of each."""
    top, examples = whole(top, "top", 0), whole(examples, "examples", 0)
    assert similarity.profile is not None
    store, profile, spaces = views.store, similarity.profile, views.spaces()
    space = taught_space(similarity, spaces)
    history = states.history(profile)
    row = log_tables.profiles(store)[profile]
    log = tuple(Log(store, states).entries(profile))
    gained: tuple[LearnedWord, ...] = ()
    lost: tuple[LearnedWord, ...] = ()
    n_gained = n_lost = 0
    start = 1.0
    curve: tuple[CurvePoint, ...] = ()
    directions: tuple[Direction, ...] = ()
    moved: tuple[Move, ...] = ()
    metric = None if space is None else states.metric(profile, space)
    if space is not None and metric is not None:
        values = np.linalg.eigvalsh(metric.overall())
        n_gained, n_lost = int(np.sum(values > 1 + NOTICED)), int(np.sum(values < 1 - NOTICED))
        view = views.view(space.name)
        directions = find_directions(view, store, metric, top, examples, report)
        moved = find_moves(views, states, similarity, history, top, report)
    elif space is not None and space.row_format.learns_weights and history.items:
        state = states.state_now(profile, space).state
        start = state.start_weight
        change = state.weights - start
        n_gained, n_lost = int(np.sum(change > 0)), int(np.sum(change < 0))
        up, down = _largest(change, top), _largest(-change, top)
        found = _find_examples(views, space, [*up, *down], examples, report)
        counts = _count_pictures(views, space)

        def describe(words: Iterable[int]) -> tuple[LearnedWord, ...]:
            return tuple(
                LearnedWord(w, float(state.weights[w]), float(change[w]), int(counts[w]), found[w])
                for w in words
            )

        gained, lost = describe(up), describe(down)
        curve = learning_curve(store, space, history, report)
    return LearnedReport(
        profile=profile,
        spaces=tuple(similarity.spaces),
        space=None if space is None else space.name,
        feature=None if space is None else str(space.recipe["feature"]),
        width=0 if space is None else space.width,
        pictures=store.n_images(),
        start=start,
        figures=states.figures(profile, space),
        gained=gained,
        lost=lost,
        n_gained=n_gained,
        n_lost=n_lost,
        curve=curve,
        log=log,
        position=history.position,
        parent=None if row.parent is None else (row.parent, row.parent_position),
        directions=directions,
        moved=moved,
        paths=_paths(store, log[-_NEWEST:]),
        sketches=_small_queries(store, history, log[-_NEWEST:]),
    )


def learning_curve(
    store: Store, space: SpaceRow, history: History, report: Report = silent
) -> tuple[CurvePoint, ...]:
    """Fold a history from its first item, with a point for each judgement that has triplets."""
    state = ProfileState(space.width)
    points = []
    name, generation, items = space.name, space.generation, history.items
    for begin in range(0, len(items), CHUNK):
        chunk = items[begin : begin + CHUNK]
        codes = item_codes(store, space, chunk)
        for item in chunk:
            before = state.tested
            state.fold(
                item, codes, lambda n: log_tables.imported_weights(store, n, name, generation)
            )
            if state.tested > before:
                n = state.tested
                points.append(CurvePoint(item.number, n, state.agreed / n, state.agreed_plain / n))
        report(Progress("replaying judgements", begin + len(chunk), len(items)))
    return tuple(points)


def _largest(change: NDArray[np.float64], top: int) -> list[int]:
    """Return the words with the largest positive change, ties by number."""
    up = np.flatnonzero(change > 0)
    order = np.lexsort((up, -change[up]))[:top]
    return [int(word) for word in up[order]]


def _count_pictures(views: Views, space: SpaceRow) -> NDArray[np.int64]:
    view = views.view(space.name)
    assert isinstance(view, SparseView)
    found = np.zeros(space.width, np.int64)
    # The width of an index ends with the last word that occurs.
    counted = view.count_words()
    found[: len(counted)] = counted
    return found


# -- examples -------------------------------------------------------------------------------


def _find_examples(
    views: Views, space: SpaceRow, words: Sequence[int], n: int, report: Report
) -> dict[int, tuple[Example, ...]]:
    """Find pictures for each word: those that have most of it, with its place in them.

    Locating words describes the picture again, so pictures that serve several words come first.
    """
    if not n or not words:
        return dict.fromkeys(words, ())
    view = views.view(space.name)
    having = {word: _pictures_with(view, word, space.width, _CANDIDATES * n) for word in words}
    serves = Counter(image for images in having.values() for image in images)
    rows = views.store.images(serves)
    located: dict[int, dict[int, Box]] = {}
    with_places = can_explain(view.space) and view.space.is_available()
    found: dict[int, tuple[Example, ...]] = {}
    for done, (word, images) in enumerate(having.items(), 1):
        chosen: list[Example] = []
        if with_places:
            images.sort(key=lambda i: -serves[i])
        for image in images:
            if len(chosen) == n:
                break
            if image not in rows:
                continue
            path = rows[image].path
            if not with_places:
                chosen.append(Example(image, path))
                continue
            if image not in located:
                located[image] = _locate_words(view.space, path, words)
            if word in located[image]:
                chosen.append(Example(image, path, located[image][word]))
        found[word] = tuple(chosen)
        report(Progress("looking for the words", done, len(having)))
    return found


def _pictures_with(view: Any, word: int, width: int, k: int) -> list[int]:
    """Return the pictures that have a word, most of it first."""
    one = sparse.csr_array(([np.float32(1)], ([0], [word])), shape=(1, width))
    ids, scores = view.search_row(one, k)
    return [int(image) for image in ids[scores > 0]]


def _locate_words(space: Space, path: str, words: Sequence[int]) -> dict[int, Box]:
    """Locate words in a picture: the best place of each, as shares of width and height."""
    found: dict[int, Box] = {}
    # An unreadable file gives no examples.
    with suppress(ImageError):
        pixels = decode(path, max_side=DECODE_SIDE).pixels
        places = space.find_places(pixels)
        shares = places.shares
        height, width = pixels.shape[:2]
        for word in words:
            at, column = np.nonzero(places.columns == word)
            if len(at):
                best = at[np.lexsort((-places.strengths[at], -shares[at, column]))[0]]
                x, y = places.positions[best].tolist()
                side = float(places.sides[best])
                found[word] = ((x - side / 2) / width, (y - side / 2) / height,
                               side / width, side / height)  # fmt: skip
    return found


def _paths(store: Store, lines: Sequence[LogLine]) -> dict[int, str]:
    named = {image for line in lines for image in (*line.liked, *line.disliked)}
    named |= {line.query for line in lines if line.query is not None}
    return {image: row.path for image, row in store.images(named).items()}


def _small_queries(store: Store, history: History, lines: Sequence[LogLine]) -> dict[int, bytes]:
    """Return the logged JPEGs of queries that are not in the collection, by line."""
    outside = {line.number for line in lines if line.kind == JUDGE and line.query is None}
    found = {}
    for entry in history.log():
        if entry.number in outside:
            jpeg = log_tables.jpeg_of(store, entry.body["query"])
            if jpeg is not None:
                found[entry.number] = jpeg
    return found
