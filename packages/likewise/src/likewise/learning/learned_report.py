"""What a profile has learned, in a form that can be looked at.

The words whose weights moved most, each with pictures that have it and the place it has there; how
often the profile was right before it was told (the learning curve); and the lines of its log.  In a
space that learns from pairs instead: directions that count otherwise, and pictures that moved.
Nothing here is stored: words are located by describing a few pictures again, and the curve is the
fold over the log once more, with a look at the score after each judgement.
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
from likewise.learning.examples import Box, Example
from likewise.learning.fold import NOTICED, ProfileState
from likewise.learning.history import JUDGE, History
from likewise.learning.learned_directions import Direction, Move, find_directions, find_moves
from likewise.learning.log import Log, LogLine
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import Figures, Similarity, can_explain, taught_space
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces.base import DECODE_SIDE, Space
from likewise_methods.lazy_imports import sparse
from likewise_methods.validation import whole

_CANDIDATES = 3
"""Pictures the index is asked for, for each example wanted: some files may be gone."""
_CHUNK = 500
_NEWEST = 30
"""Newest lines of the log that come with their pictures."""


@dataclass(frozen=True)
class LearnedWord:
    """A word whose weight moved: by ``change`` from where all words start, to ``weight``."""

    word: int
    weight: float
    change: float
    pictures: int
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class CurvePoint:
    """After a judgement: of the triplets so far, the shares that were right before being learned.

    ``learned`` with the weights of that moment, ``plain`` with all words counting alike.
    """

    judgement: int
    asked: int
    learned: float
    plain: float


@dataclass(frozen=True)
class LearnedReport:
    """Everything there is to show about a profile.

    Attributes
    ----------
    profile : str
        Its name.
    spaces : tuple of str
        Those it ranks by.
    space, feature : str or None
        The one that is shown, and what it describes.
    width : int
        Its columns.
    pictures : int
        Pictures there are.
    start : float
        What weights start at.
    figures : Figures
        What it amounts to; ``units`` says whether words or directions are learned.
    gained, lost : tuple of LearnedWord
        The words that count more or less by most.
    n_gained, n_lost : int
        How many count noticeably more or less.
    curve : tuple of CurvePoint
        How often it was right before it was told.
    log : tuple of LogLine
        The newest lines.
    position : int
        How far in the log it is.
    parent : (str, int) or None
        The profile it was copied from, and where.
    directions : tuple of Direction
        Directions that count otherwise, in a space that learns from pairs.
    moved : tuple of Move
        Pictures that moved, likewise.
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
    """Of the pictures in the newest lines of the log, by id."""
    sketches: Mapping[int, bytes] = field(repr=False, default_factory=dict)
    """Queries of those lines that are not in the collection: line to small JPEG."""


def report_learned(
    views: Views,
    states: ProfileStates,
    similarity: Similarity,
    *,
    top: int,
    examples: int,
    report: Report,
) -> LearnedReport:
    """What a profile has learned: the ``top`` words or directions either way.

    With up to so many examples of each word, or of each end of a direction.
    """
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
    """Replay a history from its first item; a point for each judgement that could be asked."""
    state = ProfileState(space.width)
    points = []
    name, generation, items = space.name, space.generation, history.items
    for begin in range(0, len(items), _CHUNK):
        chunk = items[begin : begin + _CHUNK]
        subjects: set[int] = set().union(*(item.subjects() for item in chunk))
        codes = log_tables.codes(store, name, generation, subjects)
        for item in chunk:
            before = state.asked
            state.fold(
                item, codes, lambda n: log_tables.imported_weights(store, n, name, generation)
            )
            if state.asked > before:
                n = state.asked
                points.append(CurvePoint(item.number, n, state.agreed / n, state.agreed_plain / n))
        report(Progress("replaying judgements", begin + len(chunk), len(items)))
    return tuple(points)


def _largest(change: NDArray[np.float64], top: int) -> list[int]:
    """The words with the largest positive change, largest first, low numbers first in a tie."""
    up = np.flatnonzero(change > 0)
    order = np.lexsort((up, -change[up]))[:top]
    return [int(word) for word in up[order]]


def _count_pictures(views: Views, space: SpaceRow) -> NDArray[np.int64]:
    view = views.view(space.name)
    assert isinstance(view, SparseView)
    found = np.zeros(space.width, np.int64)
    # Of the pictures there are now; the idf was frozen over fewer.  An index is as wide as the
    # last word that occurs.
    counted = view.count_words()
    found[: len(counted)] = counted
    return found


# -- examples -------------------------------------------------------------------------------


def _find_examples(
    views: Views, space: SpaceRow, words: Sequence[int], n: int, report: Report
) -> dict[int, tuple[Example, ...]]:
    """Pictures for each word: those that have most of it, with a place where there are places.

    To locate a word its picture is described again, which takes a moment; so among those that have
    most of it, pictures that serve several words are taken first.
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
    """Pictures that have a word, most of it first: the answer to a query of that word alone."""
    one = sparse.csr_array(([np.float32(1)], ([0], [word])), shape=(1, width))
    ids, scores = view.search_row(one, k)
    return [int(image) for image in ids[scores > 0]]


def _locate_words(space: Space, path: str, words: Sequence[int]) -> dict[int, Box]:
    """Where words are in a picture: of each its clearest place, as shares of width and height."""
    found: dict[int, Box] = {}
    # A file that has gone since gives no examples; the next picture does.
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
    """The small JPEG the log keeps of queries that are not in the collection, by line."""
    outside = {line.number for line in lines if line.kind == JUDGE and line.query is None}
    found = {}
    for entry in history.log():
        if entry.number in outside:
            jpeg = log_tables.jpeg_of(store, entry.body["query"])
            if jpeg is not None:
                found[entry.number] = jpeg
    return found
