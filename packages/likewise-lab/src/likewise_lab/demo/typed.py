"""Typed words in the demo: what they find before and after three likes.

No word is part of a file's name, so that only what pictures show can match.  The texts were chosen
as examples: right at once, corrected by three likes, corrected in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from likewise.collection.collection import Collection
from likewise.search.rank import Hit
from likewise.search.typed.evidence import Reason
from likewise_lab.demo.themes import scene_of

WORDS: Mapping[str, Sequence[str]] = {
    "a cat": ("chelsea",),
    "temple": ("china",),
    "stars": ("hubble_deep_field",),
    "money": ("coins",),
    "wall": ("brick",),
    "spaceship": ("rocket",),
    "document": ("page", "text"),
}
"""Texts, each with the planted scenes that are right."""
PROFILE = "demo-words"
LIKES = 3


@dataclass(frozen=True)
class TypedQuery:
    """One text with its answers before and after three likes.

    ``found`` is the share of right ones before and after, among as many answers as there are right
    pictures that were not liked.
    """

    text: str
    why: str
    hits: Sequence[Hit]
    right: frozenset[int]
    liked: Sequence[int]
    after: Sequence[Hit]
    found: tuple[float, float]


def type_words(col: Collection, names: Mapping[str, int]) -> tuple[list[TypedQuery], str]:
    """Search for each text of ``WORDS`` before and after likes; also return a hint.

    ``names`` maps names of planted views to pictures.  The hint says what to install where words
    cannot be matched with what pictures show.
    """
    if PROFILE in col.profiles:
        col.profiles.roll_back(0, profile=PROFILE)
    else:
        col.profiles.create(PROFILE)
    made: list[TypedQuery] = []
    for text, scenes in WORDS.items():
        right = frozenset(image for name, image in names.items() if scene_of(name) in scenes)
        hits = col.search(text=text, k=len(col), by=PROFILE)
        if hits.hint is not None and not any(one.kind == "looks" for one in _reasons(hits)):
            return [], hits.hint
        liked = [hit.id for hit in hits[:20] if hit.id in right][:LIKES]
        after: Sequence[Hit] = hits
        if liked:
            col.judge(text=text, liked=liked, profile=PROFILE)
            after = col.search(text=text, k=len(col), by=PROFILE)
        rest = right - set(liked)
        shares = [
            sum(hit.id in rest for hit in [h for h in some if h.id not in liked][: len(rest)])
            / max(len(rest), 1)
            for some in (hits, after)
        ]
        why = next((str(one) for one in _reasons(hits) if one.kind == "looks"), "")
        made.append(TypedQuery(text, why, hits, right, liked, after, (shares[0], shares[1])))
    return made, ""


def _reasons(hits: Sequence[Hit]) -> list[Reason]:
    return [one for hit in hits[:1] for one in hit.reasons]
