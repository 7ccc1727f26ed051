"""Find pictures by meaning: turn typed text into a row of a space, then its first answers.

The space that reads text (``Space.text_rank``) scores pictures by the row of the text.  Its first
ten answers are then the query in the space fitted to the collection, twice, and the text keeps a
fifth of the weight; liked pictures take the place of the ten (docs/methods/words.md, (5)).

The text model is opened when words are first typed.  Vectors of tag names and of judged texts are
kept in the catalog, so that a search embeds only what was typed just now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import word_index
from likewise.catalog.segments import comparable_rows, metric_of
from likewise.catalog.store import Store
from likewise.catalog.word_index import fold
from likewise.errors import LikewiseError
from likewise.search.dense_view import DenseView, IdsAndScores
from likewise.search.engine_views import EngineView
from likewise.search.rank import FUSION_RANK
from likewise.search.similarities import fusion_partner
from likewise.search.sparse_view import SparseView
from likewise.search.typed.evidence import NearTag
from likewise.search.typed.parse import TypedQuery
from likewise.search.views import Views
from likewise.spaces.base import Space, TextRow, ranked_spaces
from likewise.vision.text.feedback import FIRST, ROUNDS, interleave_rankings, mean_row
from likewise_methods.neighbours import Metric, row_scores

if TYPE_CHECKING:
    from likewise.vision.text import PictureWords

NEAR_NAME = 0.6
"""Cosine from which a tag name means the same as a typed word.  Of 24 pairs such as yard and garden
21 reach it, of 22 such as house and garden 4 (dog and cat, red and blue); at 0.7 it is 14 and 2."""
NEAR_TEXT = 0.8
"""Cosine from which judgements under one text count for another.  Of 13 pairs that mean the
same 7 reach it, of 13 that do not, such as black cat and white cat, 1; at 0.75 it is 11 and 3."""
MAX_TAGS = 1_000
"""Tag names that are compared, the most frequent ones."""
_KEPT = 256
"""Typed texts whose vectors stay in memory."""

ONLY_WRITTEN = "only tags, names and dates were searched"

MINUS = 0.5
"""Share of the row of unwanted words that is subtracted from the row of the wanted ones."""
INTERLEAVED = 200
"""Places among which a text's own answers are interleaved."""
SAMPLE = 2_048
"""Pictures that statistics are computed from, at most."""
_DIGITS = 4

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]


def open_words() -> PictureWords | None:
    """Open the text model with the class names of the network; None where no model can run.

    A damaged model is an error: without it words would mean something else.
    """
    from likewise.vision.deep.libraries import BrokenLibrary
    from likewise.vision.text import PictureWords, TextModel, TextModelMissing

    try:
        return PictureWords(TextModel.open())
    except (TextModelMissing, BrokenLibrary):
        return None


def missing_hint() -> str | None:
    """Say what is needed to find pictures by meaning; None where nothing is missing."""
    from likewise.vision.deep.libraries import broken_among
    from likewise.vision.text import text_model_status
    from likewise.vision.text.status import LIBRARIES

    status = text_model_status()
    if wrong := "; ".join(map(str, broken_among(LIBRARIES))):
        return f"{ONLY_WRITTEN}: {wrong}"
    if status.available or status.command is None:
        return None
    return f"{ONLY_WRITTEN}; to find pictures by meaning: {status.command}"


class Texts:
    """Vectors of texts, for one collection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._words: list[PictureWords | None] = []
        self._typed: dict[str, Vectors] = {}
        self._names: dict[str, Vectors] = {}

    def picture_words(self) -> PictureWords | None:
        """Return the text model with the class names of the network; None where there is none."""
        with self._lock:
            if not self._words:
                self._words.append(open_words())
            return self._words[0]

    def embed_typed(self, texts: Sequence[str]) -> list[Vectors]:
        """Return vectors of typed texts; there must be a model."""
        model: Any = self._model()
        # Dictionaries are replaced and never changed: other threads may be reading them.
        kept = self._typed
        made = {text: kept[text] for text in texts if text in kept}
        lacking = [text for text in dict.fromkeys(texts) if text not in made]
        if lacking:
            new = dict(zip(lacking, model.embed(lacking), strict=True))
            made |= new
            self._typed = {**(kept if len(kept) < _KEPT else {}), **new}
        return [made[text] for text in texts]

    def embed_names(self, names: Sequence[str]) -> Vectors:
        """Return vectors of names; new ones are stored in the catalog."""
        model: Any = self._model()
        known = self._names
        lacking = [name for name in dict.fromkeys(names) if name not in known]
        if lacking:
            kept = word_index.vectors_of_texts(self._store, model.digest, lacking)
            made = {name: np.frombuffer(kept[name], np.float32) for name in kept}
            new = [name for name in lacking if name not in kept]
            if new:
                made |= dict(zip(new, model.embed(new), strict=True))
                blobs = {name: made[name].astype(np.float32).tobytes() for name in new}
                word_index.keep_text_vectors(self._store, model.digest, blobs)
            known = self._names = {**known, **made}
        return np.array([known[name] for name in names], np.float32)

    def _model(self) -> Any:
        words = self.picture_words()
        assert words is not None
        return words.model

    def near_tags(self, query: TypedQuery, *, unwanted: bool = False) -> list[NearTag]:
        """Find tags of similar meaning to a word of a query, or to all of it."""
        terms = query.minus if unwanted else query.terms
        whole = query.unwanted if unwanted else query.meaning
        tags = [tag for tag in word_index.tag_names(self._store, MAX_TAGS) if _is_word(tag)]
        # Without tags no model is opened.
        if not terms or not tags or self.picture_words() is None:
            return []
        # Numbers mean nothing: 2018 is very near to 2019.
        plain = [
            (n, term.typed)
            for n, term in enumerate(terms)
            if term.span is None and _is_word(term.typed)
        ]
        texts: list[tuple[int | None, str]] = [*plain]
        # Several words may mean together what none of them means alone.
        if len(plain) > 1:
            texts.append((None, whole))
        if not texts:
            return []
        try:
            rows = np.stack(self.embed_typed([text for _, text in texts]))
        except LikewiseError:
            return []  # the model cannot read any of it
        cosines = rows.astype(np.float64) @ self.embed_names(tags).astype(np.float64).T
        found: list[NearTag] = []
        for (number, typed), line in zip(texts, cosines, strict=True):
            near = np.flatnonzero(line >= NEAR_NAME)
            best = sorted(near.tolist(), key=lambda at: (-line[at], tags[at]))
            same = fold(typed)
            found += [
                NearTag(tags[at], number, typed, (line[at] - NEAR_NAME) / (1 - NEAR_NAME))
                for at in best
                if fold(tags[at]) != same
            ]
        return found

    def near_texts(self, text: str, known: dict[int, str]) -> list[int]:
        """Return the texts (by subject) of similar meaning to a text, the nearest first."""
        subjects = [subject for subject in sorted(known) if _is_word(known[subject])]
        if not text or not subjects or self.picture_words() is None:
            return []
        try:
            row = self.embed_typed([text])[0]
            rows = self.embed_names([known[subject] for subject in subjects])
        except LikewiseError:
            return []
        cosines = (rows.astype(np.float64) @ row.astype(np.float64)).tolist()
        near = sorted(
            (-cosine, known[subject], subject)
            for subject, cosine in zip(subjects, cosines, strict=True)
            if cosine >= NEAR_TEXT
        )
        return [subject for _, _, subject in near]


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text))


def text_space(spaces: Mapping[str, Space], texts: Texts) -> Space | None:
    """Return the space that reads typed words; None if there is none."""
    found = [
        (one.text_rank, place, one)
        for place, one in enumerate(spaces.values())
        if one.text_rank is not None and one.generation
    ]
    # The model is opened only for a collection that has rows to search.
    return next((one for _, _, one in sorted(found, key=lambda e: e[:2])
                 if one.can_read_text(texts.picture_words)), None)  # fmt: skip


def feedback_space(spaces: Mapping[str, Space], reader: Space | None) -> Space | None:
    """Return the space where first answers and liked pictures become a query."""
    dense = {n: one for n, one in spaces.items() if one.generation and not one.row_format.is_sparse}
    if reader is not None:
        fitted = [one for one in dense.values() if one.takes_rows_of == reader.name]
        best = ranked_spaces({one.name: one for one in fitted}, lambda one: one.default_rank)
        return best[0] if best else reader
    best = ranked_spaces(dense, lambda one: one.default_rank)
    return best[0] if best else dense.get(fusion_partner(spaces) or "")


class Statistics:
    """A sample of a collection's rows that scores of typed words are standardised by.

    It depends on the number of pictures, rounded down to four binary digits: every process has the
    same sample, and it is at most an eighth behind.
    """

    def __init__(self, views: Views) -> None:
        self._views, self._lock = views, threading.Lock()
        self._rows: dict[str, tuple[Any, NDArray[np.float32]]] = {}
        self._made: dict[str, tuple[Any, Any]] = {}
        self._sampled: tuple[int, int, list[int]] | None = None

    def rows(self, space: Space) -> NDArray[np.float32]:
        """Return a sample of the rows of a space, as they are compared."""
        with self._lock:
            return self._keyed(space)[1]

    def compute(self, space: Space, make: Callable[[Any], Any]) -> Any:
        """Return ``make`` of the sample of rows, cached."""
        with self._lock:
            key, rows = self._keyed(space)
            kept = self._made.get(space.name)
            if kept is None or kept[0] != key:
                kept = self._made[space.name] = (key, make(rows))
            return kept[1]

    def _keyed(self, space: Space) -> tuple[Any, NDArray[np.float32]]:
        ids = self._sample()
        key = (space.generation, tuple(ids))
        kept = self._rows.get(space.name)
        if kept is None or kept[0] != key:
            _, rows = dense_view(self._views, space).rows_of(ids)
            kept = self._rows[space.name] = (key, rows)
        return kept

    def _sample(self) -> list[int]:
        store = self._views.store
        n = store.n_images()
        zeros = max(n.bit_length() - _DIGITS, 0)
        rounded, revision = n >> zeros << zeros, store.revision
        kept = self._sampled
        if kept is None or kept[:2] != (revision, rounded):
            kept = self._sampled = revision, rounded, word_index.sample_ids(store, rounded, SAMPLE)
        return kept[2]


def dense_view(views: Views, space: Space) -> DenseView | EngineView:
    """Return the view that a search of a dense space uses."""
    view = views.search_view(space.name)
    assert not isinstance(view, SparseView)
    return view


def text_row(
    space: Space,
    texts: Texts,
    statistics: Statistics,
    wanted: str,
    unwanted: str,
    ignored: frozenset[str],
) -> TextRow | None:
    """Turn typed text into one row of a space; None where the space understands none of it."""
    words = texts.picture_words
    state = statistics.compute(space, lambda rows: space.text_state(words, rows))
    row = space.read_text(words, wanted, state, ignored) if wanted else None
    minus = space.read_text(words, unwanted, state, frozenset()) if unwanted else None
    if minus is None:
        return row
    if row is None:
        return TextRow(-minus.row, ())
    made = row.row - MINUS * minus.row
    return TextRow(
        np.asarray(made / (np.linalg.norm(made) or 1.0), np.float32), row.names, row.unsure
    )


class RowSearch(NamedTuple):
    """A search of one space by one row: the weight of its scores, and what it found."""

    space: Space
    row: NDArray[np.float32]
    share: float
    found: IdsAndScores


def search_by_row(
    views: Views, space: Space, row: NDArray[np.float32], share: float, depth: int
) -> RowSearch:
    """Search a space by a row."""
    return RowSearch(space, row, share, dense_view(views, space).search_row(row, depth))


def row_of_first_answers(
    views: Views, space: Space, first: Sequence[int], left_out: Set[int]
) -> NDArray[np.float32] | None:
    """Search by the mean of a text's first answers, repeatedly, and return the last mean row."""
    view, row = dense_view(views, space), None
    for _ in range(ROUNDS):
        _, rows = view.rows_of(first)
        if not len(rows):
            return row
        row = np.asarray(mean_row(rows), np.float32)
        ids, _ = view.search_row(row, FIRST + len(left_out))
        first = [image for image in ids.tolist() if image not in left_out][:FIRST]
    return row


def score_by_meaning(
    views: Views, statistics: Statistics, searches: Sequence[RowSearch]
) -> tuple[Ids, Floats]:
    """Score pictures by meaning: ids, ascending, and values between 0 and 1.

    Every search nominates what it finds and scores what the others found.  Scores are
    standardised by a sample of the collection, so that those of two spaces can be added.
    """
    if not searches or not any(len(search.found[0]) for search in searches):
        return np.zeros(0, np.int64), np.zeros(0)
    ids = np.unique(np.concatenate([search.found[0] for search in searches]))
    total = np.zeros(len(ids))
    for search in searches:
        some, values = search.found
        mine = np.full(len(ids), np.nan)
        mine[np.searchsorted(ids, some)] = values
        lacking = ids[np.isnan(mine)]
        if len(lacking):
            have, rows = dense_view(views, search.space).rows_of(lacking.tolist())
            mine[np.searchsorted(ids, np.array(have, np.int64))] = _scores(search, rows)
        sample = _scores(search, statistics.rows(search.space))
        mean, deviation = (float(sample.mean()), float(sample.std())) if len(sample) else (0.0, 0.0)
        standard = (mine - mean) / (deviation if deviation > 0 else 1.0)
        # A picture without a row in this space scores as low as any.
        total += search.share * np.where(np.isnan(standard), np.nanmin(standard), standard)
    return ids, 1 / (1 + np.exp(-total / sum(search.share for search in searches)))


def _scores(search: RowSearch, rows: NDArray[np.float32]) -> Floats:
    """Score rows exactly as the view does."""
    metric: Metric = "l2" if metric_of(search.space) == "l2" else "ip"
    row = comparable_rows(search.space, search.row[None])[0]
    return row_scores(rows, np.arange(len(rows)), row, metric).astype(np.float64)


def interleave(ids: Ids, values: Floats, own: Sequence[int]) -> Floats:
    """Reorder values so that every fourth picture is the text's own next one.

    Where the first answers are wrong, all that look like them are wrong too; liking one of the
    text's own answers corrects that.
    """
    order = np.lexsort((ids, -values))
    best, there = ids[order], set(ids.tolist())
    first = interleave_rankings(
        best[:INTERLEAVED].tolist(), [image for image in own[:INTERLEAVED] if image in there]
    )
    head = np.array(first[:INTERLEAVED], np.int64)
    mixed = np.concatenate([head, best[~np.isin(best, head)]])
    made = np.empty(len(ids))
    made[np.searchsorted(ids, mixed)] = values[order]
    return made


def reciprocal(ids: Sequence[int]) -> tuple[Ids, Floats]:
    """Turn a ranking into values of at most 1 by reciprocal ranks; ids ascending."""
    some = np.array(ids, np.int64)
    order = np.argsort(some)
    values = (FUSION_RANK + 1) / (FUSION_RANK + 1 + np.arange(len(some), dtype=np.float64))
    return some[order], np.asarray(values[order], np.float64)


def mix(one: tuple[Ids, Floats], other: tuple[Ids, Floats], share: float) -> tuple[Ids, Floats]:
    """Mix two lists of values, the first with this share."""
    ids = np.union1d(one[0], other[0])
    values = np.zeros(len(ids))
    values[np.searchsorted(ids, one[0])] += share * one[1]
    values[np.searchsorted(ids, other[0])] += (1 - share) * other[1]
    return ids, values
