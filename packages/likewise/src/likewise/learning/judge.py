"""Judging: what a person said becomes one line of the log, with all that replay will need.

The line is committed first and learned afterwards; what was learned can always be made again from
the line, so a crash in between loses nothing.  Negatives nobody named (from what was shown, or at
random) are chosen once, here, and written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.catalog.log_tables import Entry
from likewise.catalog.store import Store, Transaction
from likewise.errors import CollectionError, InvalidInput
from likewise.learning.history import COMPARE, JUDGE, UNDO
from likewise.learning.log import append_line
from likewise.learning.profile_states import ProfileStates
from likewise.learning.subjects import write_with_subjects
from likewise.search.query import ResolvedQuery
from likewise.search.views import Views
from likewise_methods.solis import N_RANDOM, RANDOM_WEIGHT
from likewise_methods.validation import whole

MAX_SHOWN = 50
"""Negatives taken from what was shown, at most; 200 triplets a judgement need no more."""


@dataclass(frozen=True)
class Judgement:
    """A judgement as the log has it.

    Attributes
    ----------
    number : int
        Its line in the log.
    profile : str
        Who learned.
    made : str
        When.
    session : int
        The sitting it belongs to.
    query : int or None
        The id of the query's picture, None where it is not in the collection.
    liked, disliked : tuple of int
        Pictures that are like the query and that are not.
    negatives : tuple of int
        Pictures nobody named that count as not alike: passed over, or drawn.
    contradicts : tuple of int
        Numbers of earlier judgements it says the opposite of.
    text : str or None
        What was typed, where something was.

    See Also
    --------
    Collection : ``judge`` gives it, ``undo`` takes it back.
    """

    number: int
    profile: str
    made: str
    session: int
    query: int | None
    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    negatives: tuple[int, ...]
    contradicts: tuple[int, ...]
    text: str | None = None


class ResolvedJudgement(NamedTuple):
    """A judgement, resolved to pictures of the collection."""

    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    negatives: tuple[int, ...]
    weight: float


def judge(
    views: Views,
    states: ProfileStates,
    question: ResolvedQuery,
    liked: Sequence[int],
    disliked: Sequence[int],
    *,
    shown: Sequence[int] | None,
    profile: str,
) -> Judgement:
    """Write a judgement to the log, durably, and learn from it."""
    said = resolve_judgement(views.store, question, liked, disliked, shown)
    entry, subjects = _commit(views, question, said, profile)
    states.fold_in_use(profile)
    assert question.key is not None

    def in_log_order(pictures: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(pictures, key=subjects.__getitem__))

    return Judgement(
        entry.number,
        profile,
        entry.made,
        entry.session,
        question.image or views.store.image_of_hash(question.key),
        in_log_order(said.liked),
        in_log_order(said.disliked),
        in_log_order(said.negatives),
        tuple(states.contradictions(profile, entry.number)),
        question.text,
    )


def undo(store: Store, states: ProfileStates, profile: str, judgement: int | None) -> int:
    """Take back a judgement (the last that stands, by default); gives its number."""
    # First the lock of the states, then the catalog's: everywhere in this order.
    with states.lock, store.write(durable=True) as c:
        history = states.history(profile)
        number = history.last_judgement() if judgement is None else whole(judgement, "judgement", 0)
        if number is None:
            raise CollectionError(
                f"profile {profile!r} has no judgement to take back; comparisons are taken back by "
                "their number, or all at once by a roll-back"
            )
        if not history.stands(number):
            raise CollectionError(
                f"judgement {number} does not stand in profile {profile!r}; see the log"
            )
        append_line(c, store, profile, UNDO, {"judgement": number})
    states.fold_in_use(profile)
    return number


def resolve_judgement(
    store: Store,
    question: ResolvedQuery,
    liked: Sequence[int],
    disliked: Sequence[int],
    shown: Sequence[int] | None,
) -> ResolvedJudgement:
    """Check a judgement and choose its negatives.

    Pictures liked before may be among them: what stands is decided by the fold, not here, so that
    undoing the like lets them count.
    """
    if question.several:
        raise InvalidInput("several pictures cannot be judged at once; search with one of them")
    if question.key is None:
        raise InvalidInput("a vector cannot be judged; the query must be a picture or words")
    if not liked and not disliked:
        raise InvalidInput("nothing was judged; name at least one liked or disliked picture")
    both = set(liked) & set(disliked)
    if both:
        raise InvalidInput(f"picture {min(both)} is both liked and disliked; choose one")
    # By content: the query may be a copy that lies outside the collection.
    own = question.image or store.image_of_hash(question.key)
    if own in {*liked, *disliked}:
        raise InvalidInput(f"picture {own} is the query itself; judge the others")
    if disliked:
        return ResolvedJudgement(tuple(liked), tuple(disliked), (), 1.0)
    # That a region is like the picture it was taken from goes without saying: nobody clicks there.
    near = {i for i in (own, question.part_of) if i is not None}
    passed_over = [i for i in _passed_over(liked, shown or ()) if i not in near]
    if passed_over:
        rng = np.random.default_rng(list(question.key))
        if len(passed_over) > MAX_SHOWN:
            chosen = np.sort(rng.choice(len(passed_over), MAX_SHOWN, replace=False))
            passed_over = [passed_over[i] for i in chosen]
        return ResolvedJudgement(tuple(liked), (), tuple(passed_over), 1.0)
    seed = [*question.key, *liked]
    drawn = _draw_pictures(store, seed, {*liked, *near})
    return ResolvedJudgement(tuple(liked), (), drawn, RANDOM_WEIGHT)


def _passed_over(liked: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Pictures shown above one that was chosen, and not chosen themselves."""
    chosen = set(liked)
    places = [place for place, image in enumerate(shown) if image in chosen]
    above = shown[: max(places)] if places else ()
    return [image for image in dict.fromkeys(above) if image not in chosen]


def _draw_pictures(store: Store, seed: Iterable[int], avoid: set[int]) -> tuple[int, ...]:
    """A few pictures by chance: by id, without a list of all."""
    highest = store.highest_id()
    rng = np.random.default_rng(list(seed))
    drawn = dict.fromkeys((rng.integers(1, highest + 1, 20 * N_RANDOM)).tolist())
    there = store.images([i for i in drawn if i not in avoid])
    return tuple(i for i in drawn if i in there)[:N_RANDOM]


def _commit(
    views: Views, question: ResolvedQuery, said: ResolvedJudgement, profile: str
) -> tuple[Entry, Mapping[int | None, int]]:
    """Write a judgement to the log, durably; gives the line and the subjects of its pictures."""
    asked: dict[int | None, ResolvedQuery] = {None: question}
    asked |= {i: ResolvedQuery(image=i) for i in (*said.liked, *said.disliked, *said.negatives)}

    def write(
        c: Transaction, subjects: Mapping[int | None, int]
    ) -> tuple[Entry, Mapping[int | None, int]]:
        body: dict[str, Any] = {
            "query": subjects[None],
            "liked": sorted(subjects[i] for i in said.liked),
            "disliked": sorted(subjects[i] for i in said.disliked),
            "negatives": sorted(subjects[i] for i in said.negatives),
            "weight": said.weight,
        }
        if question.text is not None:
            body |= {"text": question.text} | ({} if question.is_typed else {"beside": True})
        return append_line(c, views.store, profile, JUDGE, body), subjects

    only_negative = set(said.negatives) - {*said.liked, *said.disliked}
    return write_with_subjects(views, asked, write, only_negative)


def commit_comparisons(
    views: Views,
    comparisons: Sequence[tuple[int, int, int]],
    profile: str,
    source: str,
    person: str | None = None,
) -> list[int]:
    """Write comparisons (anchor, nearer, farther) to the log in one transaction.

    ``person`` names who made them, where that is known.
    """
    named = {} if person is None else {"by": person}
    asked: dict[int | None, ResolvedQuery] = {
        image: ResolvedQuery(image=image) for row in comparisons for image in row
    }

    def write(c: Transaction, subjects: Mapping[int | None, int]) -> list[int]:
        numbers = []
        for anchor, nearer, farther in comparisons:
            body = {
                "query": subjects[anchor],
                "liked": [subjects[nearer]],
                "disliked": [subjects[farther]],
                "source": source,
                **named,
            }
            numbers.append(append_line(c, views.store, profile, COMPARE, body).number)
        return numbers

    return write_with_subjects(views, asked, write)
