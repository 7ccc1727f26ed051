"""Turn texts into token numbers by a model's own tokenizer.json.

Texts are tidied first, so that any input is accepted: blanks and control characters become one
blank, symbols and emoji become their Unicode names (🐶 is "dog face"; few models know the sign),
and long texts are cut.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.libraries import (
    BrokenLibrary,
    DeepMissing,
    UnusableModel,
    import_library,
)
from likewise.vision.text.status import COMMAND, EmptyText, TextModelMissing

MAX_CHARACTERS = 10_000
MAX_BYTES = 64 << 20
_MIN_LETTERS = 3
"""A word whose pieces have fewer letters on average was spelt out: the model was not taught it."""
_UNKNOWN = ("[UNK]", "<unk>", "<|endoftext|>")

Ints = NDArray[np.int64]


class Tokens(NamedTuple):
    """Rows of token numbers, padded at the end.

    ``known`` is the share of each text's words that the model was taught: neither unknown nor spelt
    out in pieces of a few letters.
    """

    ids: Ints
    mask: Ints
    known: NDArray[np.float64]


def tidy(text: str) -> str:
    """Return a text as models can read it; raise :class:`EmptyText` if nothing is left.

    >>> tidy("  snowy\\tmountains \\x00 ")
    'snowy mountains'
    >>> tidy("🐶 on a beach")
    'dog face on a beach'
    """
    if not isinstance(text, str):
        raise EmptyText(f"text is {text!r}; words expected")
    # Half a character (a lone surrogate) has no encoding.
    sound = text[: 4 * MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    made = " ".join("".join(map(_plain, sound)).split())[:MAX_CHARACTERS]
    if not any(map(str.isalnum, made)):
        raise EmptyText(f"text is {text[:40]!r}; words expected")
    return made


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "So":
        return f" {unicodedata.name(character, '').lower()} "
    # Joiners and direction marks (Cf), variation selectors (Mn) and skin tones (Sk) have no meaning
    # here; accents are Mn too, and stay.
    if kind in ("Cf", "Sk") or "\ufe00" <= character <= "\ufe0f":
        return ""
    return " " if kind in ("Cc", "Co", "Cn") else character


class Tokenizer:
    """A tokenizer.json, run by the library ``tokenizers``, which executes no code from it."""

    def __init__(
        self, content: bytes, name: str, *, length: int, pad_token: str | None = None
    ) -> None:
        self.name, self.length = name, length
        self._made = _opened(content, name)
        try:
            self._made.no_padding()
            self._made.enable_truncation(length)
        except BaseException as error:
            raise _refusal(error, f"{name} cannot cut texts to {length} tokens") from error
        declared = _declared_unknown(content)
        unknown = (self._made.token_to_id(token) for token in (declared, *_UNKNOWN) if token)
        self.unknown: int | None = next((one for one in unknown if one is not None), None)
        self._pad: int = (pad_token and self._made.token_to_id(pad_token)) or 0

    def __call__(self, texts: Sequence[str], *, width: int | None = None) -> Tokens:
        """Return the tokens of texts, in rows of ``width`` or as long as the longest."""
        try:
            # One by one: the library's own threads warn about every fork.
            read = [self._made.encode(tidy(text)) for text in texts]
        except EmptyText:
            raise
        except BaseException as error:
            raise _refusal(error, f"{self.name} cannot read a text") from error
        rows = [np.asarray(one.ids, np.int64) for one in read]
        if any(not len(row) for row in rows):
            raise UnusableModel(f"{self.name} makes no tokens of a text")
        n_tokens = max(map(len, rows)) if width is None else width
        ids = np.full((len(rows), n_tokens), self._pad, np.int64)
        mask = np.zeros((len(rows), n_tokens), np.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)], mask[i, : len(row)] = row, 1
        return Tokens(ids, mask, np.array([self._known(one) for one in read]))

    def _known(self, read: Any) -> float:
        words: dict[int, list[int]] = {}
        for word, (start, end), token in zip(read.word_ids, read.offsets, read.ids, strict=True):
            if word is not None:
                words.setdefault(word, []).append(0 if token == self.unknown else end - start)
        taught = [
            min(pieces) > 0 and (len(pieces) == 1 or sum(pieces) >= _MIN_LETTERS * len(pieces))
            for pieces in words.values()
        ]
        return sum(taught) / len(taught) if taught else 0.0


def _opened(content: bytes, name: str) -> Any:
    try:
        tokenizers = import_library("tokenizers")
    except BrokenLibrary:
        raise
    except DeepMissing as error:
        raise TextModelMissing(f"words need the package tokenizers: {COMMAND}") from error
    try:
        return tokenizers.Tokenizer.from_buffer(content)
    except BaseException as error:
        raise _refusal(error, f"{name} is no tokenizer that can be used") from error


def _refusal(error: BaseException, said: str) -> UnusableModel:
    # The library is written in Rust: its panics are no Exception.  Ctrl-C is passed on.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return UnusableModel(f"{said}: {error}")


def _declared_unknown(content: bytes) -> str | None:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        return None  # the library could read it
    model = read.get("model") if isinstance(read, dict) else None
    token = model.get("unk_token") if isinstance(model, dict) else None
    return token if isinstance(token, str) else None
