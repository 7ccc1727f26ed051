"""What is written about pictures as evidence for typed words.

Each word finds pictures in each field of the index; a picture gets for a word the most certain
thing that speaks for it (``LEVELS``), and for the query the mean over its words
(docs/methods/words.md, (6)).  So whatever accepted tags, names and dates say of the whole query
comes before suggested tags, and these before mere looks, which count less than 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from likewise.search.typed.dates import DateSpan
from likewise.search.typed.parse import Term
from likewise.search.typed.reasons import Reason, Struck

LIKED = 3.2
"""A person liked the picture for this very query."""
LEVELS = {
    "tags": (3.0, 2.6),
    "folders": (2.8, 2.4),
    "files": (2.8, 2.4),
    "camera": (2.8, 2.4),
    "facts": (2.8, 2.4),
    "suggested": (2.0, 1.8),
}
"""What a field counts for a word: found whole (or in another number), and by its beginning."""
DATE = 3.0
NEAR_TAG, NEAR_SUGGESTED, NEAR_LEAST = 1.5, 1.2, 0.6
"""What a tag that means the same as a word counts, accepted and suggested; and one that hardly
means it any more."""
KINDS = {
    "tags": "tag", "folders": "folder", "files": "file", "camera": "camera",
    "facts": "fact", "suggested": "suggested",
}  # fmt: skip
"""The kind of reason that each field gives."""

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class NearTag(NamedTuple):
    """A tag that means much the same as a term, or as the whole text (``term`` None).

    ``nearness`` is 1 for the very same meaning, 0 for the least that counts.
    """

    tag: str
    term: int | None
    typed: str
    nearness: float


class Found(NamedTuple):
    """Pictures by id, ascending, and what is written about each counts."""

    ids: Ids
    values: Floats


def gather(store: Store, terms: Sequence[Term], near: Sequence[NearTag], struck: Struck) -> Found:
    """Every picture that something written speaks for, and how much of the query it covers."""
    parts: list[tuple[int, float, Ids]] = []
    for number, term in enumerate(terms):
        parts += [(number, value, ids) for value, ids in _of_term(store, term, struck)]
    for one in near:
        if _is_struck(struck, one.tag):
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
    return Found(ids, values.mean(axis=0))


def _is_struck(struck: Struck, tag: str) -> bool:
    """Whether a tag is not to count by its meaning: because of that, or not at all."""
    return struck.value("near", tag) or tag in struck.values("tag") | struck.values("suggested")


def _of_term(store: Store, term: Term, struck: Struck) -> list[tuple[float, Ids]]:
    found: list[tuple[float, Ids]] = []
    if term.span is not None and not struck.value("date", term.typed):
        found.append((DATE, dated(store, term.span)))
    if not _can_be_written(term):
        return found
    for field in SEARCHED:
        if struck.kind(KINDS[field]):
            continue
        whole, beginning = LEVELS[field]
        ids = find_whole(store, field, term)
        apart = struck.values(KINDS[field])
        found.append((whole, _recheck(store, field, term, ids, apart) if apart else ids))
        if finds_beginnings(term.folded):
            ids = word_index.find_word(store, field, [term.typed, term.folded], beginnings=True)
            found.append((beginning, _recheck(store, field, term, ids, apart) if apart else ids))
    return found


def find_whole(store: Store, field: str, term: Term) -> Ids:
    """Pictures that have a word, or it in another number, in a field."""
    words = dict.fromkeys([term.typed, term.folded, *other_numbers(term.folded)])
    return word_index.find_word(store, field, list(words), beginnings=False)


def dated(store: Store, span: DateSpan) -> Ids:
    """Pictures of a span of days."""
    if span.month is not None:
        return word_index.find_month(store, span.month)
    assert span.first is not None
    assert span.end is not None
    return word_index.find_dates(store, [(span.first.isoformat(), span.end.isoformat())])


def _can_be_written(term: Term) -> bool:
    """Whether names may hold it: "2019-07" is one, "last week" is no part of a name."""
    return term.span is None or any(one.isdigit() for one in term.typed)


def _recheck(store: Store, field: str, term: Term, ids: Ids, struck: frozenset[str]) -> Ids:
    """Those that a field still speaks for without the values that were struck out."""
    said = word_index.written_about(store, ids.tolist())
    place = SEARCHED.index(field)
    kept = [
        image
        for image in ids.tolist()
        if image in said
        and any(matches(term, name) for name in said[image][place] if name not in struck)
    ]
    return np.array(kept, np.int64)


def matches(term: Term, name: str) -> bool:
    """Whether a name holds a typed word: whole, in another number, or as a beginning."""
    held = _held(name)
    if any(f" {form} " in held for form in (term.folded, *other_numbers(term.folded))):
        return True
    return finds_beginnings(term.folded) and f" {term.folded}" in held


@lru_cache(maxsize=4096)
def _held(name: str) -> str:
    """The words of a name, folded, with a space before and behind each."""
    return f" {fold(spread(name))} "


def reasons_written(
    said: Written,
    terms: Sequence[Term],
    near: Sequence[NearTag],
    dates: Mapping[str, bool],
    struck: Struck,
) -> list[Reason]:
    """Everything written about a picture that speaks for the words; each value once.

    ``dates`` says of typed dates whether the picture was taken then.
    """
    found: dict[str, Reason] = {}

    def add(reason: Reason) -> None:
        if not struck.value(reason.kind, reason.value):
            found.setdefault(reason.key, reason)

    for term in terms:
        if dates.get(term.typed):
            add(Reason("date", term.typed, term.typed))
        if not _can_be_written(term):
            continue
        for field, names in zip(SEARCHED, said, strict=True):
            for name in names:
                if matches(term, name):
                    add(Reason(KINDS[field], name, term.typed))
    literal = {one.value for one in found.values() if one.kind in ("tag", "suggested")}
    for one in near:
        tagged = one.tag in (*said.tags, *said.suggested)
        if tagged and one.tag not in literal and not _is_struck(struck, one.tag):
            add(Reason("near", one.tag, one.typed))
    return list(found.values())


class Unwanted(NamedTuple):
    """Pictures that words with a minus speak of: surely, and likely (with what that costs)."""

    surely: Ids
    likely: Found


def gather_unwanted(store: Store, terms: Sequence[Term], near: Sequence[NearTag]) -> Unwanted:
    """Pictures to leave out, and pictures to put back.

    Left out is what somebody wrote in full: an accepted tag, a name, a date.  A suggested tag, or
    one that means the like, costs what it would have been worth.
    """
    out: list[Ids] = [np.zeros(0, np.int64)]
    for term in terms:
        if term.span is not None:
            out.append(dated(store, term.span))
        if _can_be_written(term):
            out += [find_whole(store, field, term) for field in SEARCHED if field != "suggested"]
    only = Struck(("tag", "folder", "file", "camera", "fact", "date"))
    return Unwanted(np.unique(np.concatenate(out)), gather(store, terms, near, only))
