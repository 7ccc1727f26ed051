"""The text model of this machine, and what it makes of names and of texts that were judged.

A model is opened when something typed first needs it.  Vectors of tags' names and of judged texts
are kept in the catalog, so that a search embeds nothing but what was typed just now.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import word_index
from likewise.catalog.store import Store
from likewise.catalog.word_index import fold
from likewise.errors import LikewiseError
from likewise.search.typed.evidence import NearTag
from likewise.search.typed.parse import TypedQuery

if TYPE_CHECKING:
    from likewise.vision.text import PictureWords

NEAR_NAME = 0.6
"""Cosine from which on a tag's name means what was typed.  Of 24 pairs such as yard and garden 21
reach it, of 22 such as house and garden 4 (dog and cat, red and blue, …); at 0.7 it is 14 and 2."""
NEAR_TEXT = 0.8
"""Cosine from which on what was said under one text counts for another.  Of 13 pairs that mean the
same 7 reach it, of 13 that do not, such as black cat and white cat, 1; at 0.75 it is 11 and 3."""
MOST_TAGS = 1_000
"""Tags whose names are compared, the most frequent ones."""
_KEPT = 256
"""Typed texts whose vectors are kept in memory."""

ONLY_WRITTEN = "only tags, names and dates were searched"

Vectors = NDArray[np.float32]


def open_words() -> PictureWords | None:
    """The words of the pictures' network under the text model; None: there is none that runs here.

    A model that is there and damaged is an error: words would mean something else without it.
    """
    from likewise.vision.deep.errors import BrokenLibrary
    from likewise.vision.text import PictureWords, TextModel, TextModelMissing

    try:
        return PictureWords(TextModel.open())
    except (TextModelMissing, BrokenLibrary):
        return None


def missing_hint() -> str | None:
    """What would let pictures be found by meaning here; None where nothing is missing."""
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
    """Texts as vectors, for one collection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._words: list[PictureWords | None] = []
        self._typed: dict[str, Vectors] = {}
        self._names: dict[str, Vectors] = {}

    def words(self) -> PictureWords | None:
        """The words of the pictures' network; None where there is no text model."""
        with self._lock:
            if not self._words:
                self._words.append(open_words())
            return self._words[0]

    def typed(self, texts: Sequence[str]) -> list[Vectors]:
        """Vectors of texts that somebody types; there must be a model."""
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

    def names(self, names: Sequence[str]) -> Vectors:
        """Vectors of names that come again; those that are new are kept in the catalog."""
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
        words = self.words()
        assert words is not None
        return words.model

    def near_tags(self, query: TypedQuery, *, unwanted: bool = False) -> list[NearTag]:
        """Tags that mean much the same as a word of a query, or as all of it."""
        terms = query.minus if unwanted else query.terms
        whole = query.unwanted if unwanted else query.meaning
        tags = [tag for tag in word_index.tag_names(self._store, MOST_TAGS) if _is_word(tag)]
        # Whoever has no tags need not wait for a model.
        if not terms or not tags or self.words() is None:
            return []
        # Numbers mean nothing: 2018 is very near to 2019.
        plain = [
            (n, term.typed)
            for n, term in enumerate(terms)
            if term.span is None and _is_word(term.typed)
        ]
        asked: list[tuple[int | None, str]] = [*plain]
        # Two words and more may mean together what none of them does alone.
        if len(plain) > 1:
            asked.append((None, whole))
        if not asked:
            return []
        try:
            rows = np.stack(self.typed([text for _, text in asked]))
        except LikewiseError:
            return []  # nothing in it that a model could read
        cosines = rows.astype(np.float64) @ self.names(tags).astype(np.float64).T
        found: list[NearTag] = []
        for (number, typed), line in zip(asked, cosines, strict=True):
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
        """Those of the texts (by subject) that mean much the same as a text, the nearest first."""
        subjects = [subject for subject in sorted(known) if _is_word(known[subject])]
        if not text or not subjects or self.words() is None:
            return []
        try:
            asked = self.typed([text])[0]
            rows = self.names([known[subject] for subject in subjects])
        except LikewiseError:
            return []
        cosines = (rows.astype(np.float64) @ asked.astype(np.float64)).tolist()
        near = sorted(
            (-cosine, known[subject], subject)
            for subject, cosine in zip(subjects, cosines, strict=True)
            if cosine >= NEAR_TEXT
        )
        return [subject for _, _, subject in near]


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text))
