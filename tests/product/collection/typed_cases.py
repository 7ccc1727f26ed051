"""Typed words without a model: a stand-in that knows a dozen words, and a collection to ask.

Sixty small pictures of two kinds, as in :mod:`tests.product.collection.pair_cases`; ``own`` holds
vectors in which the first number tells pictures with odd ids from those with even ones.  The
stand-in reads "odd" and "even" as the two ends of that number, and gives words of one meaning one
vector.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.catalog.word_index import fold
from likewise.search.typed import meaning, search
from likewise.spaces.base import TextRow, Words
from likewise.spaces.own import OwnSpace
from likewise.vision.text import EmptyText
from tests.product.collection import pair_cases

WIDTH = 64
SAME = {"yard": "garden", "uneven": "odd", "kids": "child", "seaside": "beach"}
"""Words that mean the same to the stand-in."""
ENDS = {"odd": -1.0, "uneven": -1.0, "even": 1.0}
"""Words that the stand-in sees in pictures: kinds of the collection."""


class StandInModel:
    """Texts as sums of a vector a word: texts of the same words are near, others are not."""

    digest = "stand-in"

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, given: Sequence[str]) -> np.ndarray:
        self.embedded += given
        made = np.zeros((len(given), WIDTH), np.float32)
        for row, text in zip(made, given, strict=True):
            words = fold(text).split()
            if not words:
                raise EmptyText(f"text is {text!r}; words expected")
            for word in words:
                plain = SAME.get(word, word)
                seed = int.from_bytes(hashlib.blake2b(plain.encode(), digest_size=8).digest())
                row += np.random.default_rng(seed).normal(size=WIDTH)
            row /= np.linalg.norm(row)
        return made


class StandInWords:
    """What the collection asks of ``features.text.PictureWords`` outside of its spaces."""

    def __init__(self) -> None:
        self.model = StandInModel()


def install(monkeypatch: pytest.MonkeyPatch) -> StandInWords:
    """From now on the stand-in is the model of this machine, and ``own`` reads text by it."""
    words = StandInWords()
    monkeypatch.setattr(meaning, "open_words", lambda: words)
    monkeypatch.setattr(OwnSpace, "text_rank", 0)
    monkeypatch.setattr(OwnSpace, "can_read_text", lambda self, words: words() is not None)
    monkeypatch.setattr(OwnSpace, "read_text", _read_text)
    return words


def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on there is no text model here."""
    monkeypatch.setattr(meaning, "open_words", lambda: None)
    hint = "only tags, names and dates were searched; to find pictures by meaning: pip install it"
    monkeypatch.setattr(search, "missing_hint", lambda: hint)


def _read_text(
    self: Any, words: Words, text: str, state: Any, struck: frozenset[str]
) -> TextRow | None:
    seen = [word for word in fold(text).split() if word in ENDS and word not in struck]
    if not seen:
        return None
    row = np.zeros(self.width, np.float32)
    row[0] = sum(ENDS[word] for word in seen)
    return TextRow(row, tuple(seen))


def make_collection(folder: Path) -> Path:
    """``c.lw`` in a folder: pictures 1 to 60 in the folders a (odd ids) and b (even ids)."""
    return pair_cases.make_collection(folder)
