"""What is written about pictures as evidence for typed words, and the reasons shown for it.

Each word finds pictures in each field of the index; a picture gets for a word the most certain
evidence (``LEVELS``), and for the query the mean over its words (docs/methods/words.md, (6)).  So
accepted tags, names and dates come before suggested tags, and these before mere looks, which count
less than 1.  A search ``without`` the key of a reason runs as if that evidence did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import word_index
from likewise.catalog.store import Store
from likewise.catalog.word_index import (
    SEARCHED,
    Written,
    finds_beginnings,
    fold,
    other_numbers,
    spread,
)
from likewise.errors import InvalidInput
from likewise.search.typed.parse import DateSpan, Term

LIKED = 3.2
"""Score of a picture that was liked for this very query."""
LEVELS = {
    "tags": (3.0, 2.6),
    "folders": (2.8, 2.4),
    "files": (2.8, 2.4),
    "camera": (2.8, 2.4),
    "facts": (2.8, 2.4),
    "suggested": (2.0, 1.8),
}
"""Score of a word in a field: found whole (in singular or plural), and by its beginning."""
DATE = 3.0
NEAR_TAG, NEAR_SUGGESTED, NEAR_LEAST = 1.5, 1.2, 0.6
"""Score of a tag that means the same as a word, accepted and suggested; and of one that only just
does."""
KINDS = {
    "tags": "tag", "folders": "folder", "files": "file", "camera": "camera",
    "facts": "fact", "suggested": "suggested",
}  # fmt: skip
"""The kind of reason of each field."""

SENTENCES = {
    "liked": "liked for: {value}",
    "tag": "tagged {value}",
    "date": "date: {value}",
    "folder": "folder {value}",
    "file": "file name {value}",
    "camera": "camera {value}",
    "fact": "in the picture: {value}",
    "suggested": "suggested: {value}",
    "near": "tag by meaning: {value} (typed: {typed})",
    "looks": "looks like: {value}",
    "like": "like {value}",
}
"""The sentence of each kind of reason, the most certain first."""

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reason:
    """Why a picture matches typed words; ``typed`` is the word that it matches."""

    kind: str
    value: str
    typed: str = ""

    @property
    def key(self) -> str:
        """The key that a search ``without`` this reason names."""
        # What a picture looks like is one judgement of the network, whichever names it has.
        return self.kind if self.kind in ("looks", "like", "liked") else f"{self.kind}:{self.value}"

    def __str__(self) -> str:
        return SENTENCES[self.kind].format(value=self.value, typed=self.typed)


class IgnoredReasons:
    """Reasons that a search must not count: keys ``kind:value``, or ``kind`` for all of a kind."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise InvalidInput(f"without is {keys!r}; a list of keys of reasons expected")
        self.keys = frozenset(keys)
        for key in self.keys:
            if not isinstance(key, str) or key.partition(":")[0] not in SENTENCES:
                raise InvalidInput(
                    f"without has {key!r}; KIND or KIND:VALUE expected, KIND one of "
                    f"{', '.join(SENTENCES)}"
                )

    def has_kind(self, kind: str) -> bool:
        """Return whether all reasons of a kind are left out."""
        return kind in self.keys

    def has(self, kind: str, value: str) -> bool:
        """Return whether one reason is left out."""
        return kind in self.keys or f"{kind}:{value}" in self.keys

    def values_of(self, kind: str) -> frozenset[str]:
        """Return the values of a kind that are left out one by one."""
        return frozenset(key.partition(":")[2] for key in self.keys if key.startswith(f"{kind}:"))


class NearTag(NamedTuple):
    """A tag that means much the same as a term, or as the whole text (``term`` None).

    ``nearness`` is 1 for the very same meaning, 0 for the least that counts.
    """

    tag: str
    term: int | None
    typed: str
    nearness: float


class ScoredPictures(NamedTuple):
    """Ids of pictures, ascending, and the score of what is written about each."""

    ids: Ids
    values: Floats


def score_written(
    store: Store, terms: Sequence[Term], near: Sequence[NearTag], ignored: IgnoredReasons
) -> ScoredPictures:
    """Find every picture with written evidence, and score it by the mean over the words."""
    parts: list[tuple[int, float, Ids]] = []
    for number, term in enumerate(terms):
        parts += [(number, value, ids) for value, ids in _find_term(store, term, ignored)]
    for one in near:
        if _is_ignored(ignored, one.tag):
            continue
        tagged = word_index.find_tag(store, one.tag)
        numbers = range(len(terms)) if one.term is None else [one.term]
        for most, stands in ((NEAR_TAG, True), (NEAR_SUGGESTED, False)):
            value = NEAR_LEAST + (most - NEAR_LEAST) * one.nearness
            ids = np.array(sorted(i for i, s in tagged.items() if s is stands), np.int64)
            parts += [(number, value, ids) for number in numbers]
    every = [ids for _, _, ids in parts if len(ids)]
    ids = np.unique(np.concatenate(every)) if every else np.zeros(0, np.int64)
    values = np.zeros((max(len(terms), 1), len(ids)))
    for number, value, some in parts:
        at = np.searchsorted(ids, some)
        values[number, at] = np.maximum(values[number, at], value)
    return ScoredPictures(ids, values.mean(axis=0))


def _is_ignored(ignored: IgnoredReasons, tag: str) -> bool:
    """Return whether a tag must not count by its meaning."""
    return ignored.has("near", tag) or tag in ignored.values_of("tag") | ignored.values_of(
        "suggested"
    )


def _find_term(store: Store, term: Term, ignored: IgnoredReasons) -> list[tuple[float, Ids]]:
    found: list[tuple[float, Ids]] = []
    if term.span is not None and not ignored.has("date", term.typed):
        found.append((DATE, find_dated(store, term.span)))
    if not _can_be_written(term):
        return found
    for field in SEARCHED:
        if ignored.has_kind(KINDS[field]):
            continue
        whole, beginning = LEVELS[field]
        ids = find_whole_word(store, field, term)
        values = ignored.values_of(KINDS[field])
        found.append((whole, _recheck(store, field, term, ids, values) if values else ids))
        if finds_beginnings(term.folded):
            ids = word_index.find_word(store, field, [term.typed, term.folded], beginnings=True)
            found.append((beginning, _recheck(store, field, term, ids, values) if values else ids))
    return found


def find_whole_word(store: Store, field: str, term: Term) -> Ids:
    """Find pictures that have a word, in singular or plural, in a field."""
    words = dict.fromkeys([term.typed, term.folded, *other_numbers(term.folded)])
    return word_index.find_word(store, field, list(words), beginnings=False)


def find_dated(store: Store, span: DateSpan) -> Ids:
    """Find pictures of a span of days."""
    if span.month is not None:
        return word_index.find_month(store, span.month)
    assert span.first is not None
    assert span.end is not None
    return word_index.find_dates(store, [(span.first.isoformat(), span.end.isoformat())])


def _can_be_written(term: Term) -> bool:
    """Return whether names may contain a term: "2019-07" can be in one, "last week" cannot."""
    return term.span is None or any(one.isdigit() for one in term.typed)


def _recheck(store: Store, field: str, term: Term, ids: Ids, ignored: frozenset[str]) -> Ids:
    """Keep the pictures that a field still finds without the values that are left out."""
    texts = word_index.written_about(store, ids.tolist())
    place = SEARCHED.index(field)
    kept = [
        image
        for image in ids.tolist()
        if image in texts
        and any(matches(term, name) for name in texts[image][place] if name not in ignored)
    ]
    return np.array(kept, np.int64)


def matches(term: Term, name: str) -> bool:
    """Return whether a name contains a typed word, its singular or plural, or it as a beginning."""
    held = _padded_words(name)
    if any(f" {form} " in held for form in (term.folded, *other_numbers(term.folded))):
        return True
    return finds_beginnings(term.folded) and f" {term.folded}" in held


@lru_cache(maxsize=4096)
def _padded_words(name: str) -> str:
    """Return the words of a name, folded, with a space on both sides."""
    return f" {fold(spread(name))} "


def reasons_written(
    texts: Written,
    terms: Sequence[Term],
    near: Sequence[NearTag],
    dates: Mapping[str, bool],
    ignored: IgnoredReasons,
) -> list[Reason]:
    """Collect everything written about a picture that matches the words, each value once.

    ``dates`` says of typed dates whether the picture was taken then.
    """
    found: dict[str, Reason] = {}

    def add(reason: Reason) -> None:
        if not ignored.has(reason.kind, reason.value):
            found.setdefault(reason.key, reason)

    for term in terms:
        if dates.get(term.typed):
            add(Reason("date", term.typed, term.typed))
        if not _can_be_written(term):
            continue
        for field, names in zip(SEARCHED, texts, strict=True):
            for name in names:
                if matches(term, name):
                    add(Reason(KINDS[field], name, term.typed))
    literal = {one.value for one in found.values() if one.kind in ("tag", "suggested")}
    for one in near:
        tagged = one.tag in (*texts.tags, *texts.suggested)
        if tagged and one.tag not in literal and not _is_ignored(ignored, one.tag):
            add(Reason("near", one.tag, one.typed))
    return list(found.values())


class Unwanted(NamedTuple):
    """Pictures that unwanted words describe: surely, and likely (with the score that costs)."""

    surely: Ids
    likely: ScoredPictures


def find_unwanted(store: Store, terms: Sequence[Term], near: Sequence[NearTag]) -> Unwanted:
    """Find the pictures that unwanted words describe.

    An accepted tag, a name or a date leaves a picture out.  A suggested tag, or one of similar
    meaning, costs the score it would have added.
    """
    out: list[Ids] = [np.zeros(0, np.int64)]
    for term in terms:
        if term.span is not None:
            out.append(find_dated(store, term.span))
        if _can_be_written(term):
            out += [
                find_whole_word(store, field, term) for field in SEARCHED if field != "suggested"
            ]
    only = IgnoredReasons(("tag", "folder", "file", "camera", "fact", "date"))
    return Unwanted(np.unique(np.concatenate(out)), score_written(store, terms, near, only))
