"""Write judgements to the log, with everything replay will need.

One durable transaction writes the line and the *codes* of its pictures: their vectors as ranked,
stored with the log under a *subject*, a picture identified by its content.  Learning follows and
can always be repeated from the catalog alone, so a crash in between loses nothing.  Negatives that
were only shown, or drawn at random, are chosen once, here, and logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.store import Store, Transaction
from likewise.errors import CollectionBusy, CollectionError, InvalidInput, LikewiseError
from likewise.images.decode import decode, small_jpeg
from likewise.learning.history import COMPARE, JUDGE, UNDO
from likewise.learning.log import append_line
from likewise.learning.profile_states import ProfileStates, refill_setting
from likewise.search.query import ResolvedQuery, query_row
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces
from likewise_methods.solis import N_RANDOM, RANDOM_WEIGHT
from likewise_methods.validation import whole

MAX_SHOWN = 50
"""Shown pictures that count as negatives, at most; 200 triplets a judgement need no more."""
JPEG_SIDE = 512
_TRIES = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Judgement:
    """A judgement as the log has it.

    Attributes
    ----------
    number : int
        Its line in the log.
    profile : str
        The profile that learns from it.
    made : str
        When.
    session : int
        Its session.
    query : int or None
        The id of the query's picture, None where it is not in the collection.
    liked, disliked : tuple of int
        Pictures that are like the query and that are not.
    negatives : tuple of int
        Pictures that count as not alike without being named: shown and not chosen, or drawn.
    contradicts : tuple of int
        Numbers of earlier judgements it contradicts.
    text : str or None
        The typed text, if any.

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
    """The pictures of a judgement, with its weight."""

    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    negatives: tuple[int, ...]
    weight: float


def judge(
    views: Views,
    states: ProfileStates,
    query: ResolvedQuery,
    liked: Sequence[int],
    disliked: Sequence[int],
    *,
    shown: Sequence[int] | None,
    profile: str,
) -> Judgement:
    """Log a judgement durably, then learn from it."""
    judged = resolve_judgement(views.store, query, liked, disliked, shown)
    queries: dict[int | None, ResolvedQuery] = {None: query}
    queries |= {i: ResolvedQuery(image=i) for i in (*liked, *disliked, *judged.negatives)}

    def write_line(
        c: Transaction, subjects: Mapping[int | None, int]
    ) -> tuple[log_tables.Entry, Mapping[int | None, int]]:
        body: dict[str, Any] = {
            "query": subjects[None],
            "liked": sorted(subjects[i] for i in judged.liked),
            "disliked": sorted(subjects[i] for i in judged.disliked),
            "negatives": sorted(subjects[i] for i in judged.negatives),
            "weight": judged.weight,
        }
        if query.text is not None:
            body |= {"text": query.text} | ({} if query.is_typed else {"beside": True})
        return append_line(c, views.store, profile, JUDGE, body), subjects

    only_negative = set(judged.negatives) - {*liked, *disliked}
    entry, subjects = write_with_subjects(views, queries, write_line, only_negative)
    states.fold_new_lines(profile)
    assert query.key is not None

    def by_subject(pictures: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(pictures, key=subjects.__getitem__))

    return Judgement(
        entry.number,
        profile,
        entry.made,
        entry.session,
        query.image or views.store.image_of_hash(query.key),
        by_subject(judged.liked),
        by_subject(judged.disliked),
        by_subject(judged.negatives),
        tuple(states.contradictions(profile, entry.number)),
        query.text,
    )


def undo(store: Store, states: ProfileStates, profile: str, judgement: int | None) -> int:
    """Take back a judgement (None: the newest in effect) and return its number."""
    # Lock order: the states first, then the catalog.
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
                f"judgement {number} is not in effect in profile {profile!r}; see the log"
            )
        append_line(c, store, profile, UNDO, {"judgement": number})
    states.fold_new_lines(profile)
    return number


def resolve_judgement(
    store: Store,
    query: ResolvedQuery,
    liked: Sequence[int],
    disliked: Sequence[int],
    shown: Sequence[int] | None,
) -> ResolvedJudgement:
    """Check a judgement and choose its negatives.

    Pictures liked before may be among the negatives: the fold decides which count, so they count
    again once the like is undone.
    """
    if query.several:
        raise InvalidInput("several pictures cannot be judged at once; search with one of them")
    if query.key is None:
        raise InvalidInput("a vector cannot be judged; the query must be a picture or words")
    if not liked and not disliked:
        raise InvalidInput("nothing was judged; give at least one liked or disliked picture")
    both = set(liked) & set(disliked)
    if both:
        raise InvalidInput(f"picture {min(both)} is both liked and disliked; choose one")
    # By content: the query may be a copy from outside the collection.
    own = query.image or store.image_of_hash(query.key)
    if own in {*liked, *disliked}:
        raise InvalidInput(f"picture {own} is the query itself; judge the others")
    if disliked:
        return ResolvedJudgement(tuple(liked), tuple(disliked), (), 1.0)
    # The query itself, and the picture of its region, are no negatives.
    near = {i for i in (own, query.part_of) if i is not None}
    skipped = [i for i in _shown_above(liked, shown or ()) if i not in near]
    if skipped:
        rng = np.random.default_rng(list(query.key))
        if len(skipped) > MAX_SHOWN:
            chosen = np.sort(rng.choice(len(skipped), MAX_SHOWN, replace=False))
            skipped = [skipped[i] for i in chosen]
        return ResolvedJudgement(tuple(liked), (), tuple(skipped), 1.0)
    drawn = _draw_pictures(store, [*query.key, *liked], {*liked, *near})
    return ResolvedJudgement(tuple(liked), (), drawn, RANDOM_WEIGHT)


def _shown_above(liked: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Return the pictures shown above a liked one and not liked themselves."""
    chosen = set(liked)
    places = [place for place, image in enumerate(shown) if image in chosen]
    above = shown[: max(places)] if places else ()
    return [image for image in dict.fromkeys(above) if image not in chosen]


def _draw_pictures(store: Store, seed: Iterable[int], avoid: set[int]) -> tuple[int, ...]:
    """Draw a few pictures by random ids, without reading all ids."""
    rng = np.random.default_rng(list(seed))
    drawn = dict.fromkeys(rng.integers(1, store.highest_id() + 1, 20 * N_RANDOM).tolist())
    there = store.images([i for i in drawn if i not in avoid])
    return tuple(i for i in drawn if i in there)[:N_RANDOM]


def commit_comparisons(
    views: Views,
    comparisons: Sequence[tuple[int, int, int]],
    profile: str,
    source: str,
    person: str | None = None,
) -> list[int]:
    """Log comparisons (anchor, nearer, farther) in one transaction; return their numbers.

    ``person`` is the name of who made them, if known.
    """
    named = {} if person is None else {"by": person}
    queries: dict[int | None, ResolvedQuery] = {
        image: ResolvedQuery(image=image) for row in comparisons for image in row
    }

    def write_lines(c: Transaction, subjects: Mapping[int | None, int]) -> list[int]:
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

    return write_with_subjects(views, queries, write_lines)


# -- subjects and their codes ---------------------------------------------------------------


def write_with_subjects(
    views: Views,
    queries: Mapping[int | None, ResolvedQuery],
    write_lines: Callable[[Transaction, Mapping[int | None, int]], T],
    only_negative: Set[int | None] = frozenset(),
) -> T:
    """Write subjects, their codes, and what ``write_lines`` adds, in one durable transaction."""
    store = views.store
    jpeg, keys = None, {}
    for image, query in queries.items():
        keys[image] = query.key if image is None else store.hash_of(image)
        if keys[image] is None:
            raise CollectionError(f"picture {image} was removed from the collection; search again")
        if query.pixels is not None:
            jpeg = small_jpeg(query.pixels, JPEG_SIDE)
    for _ in range(_TRIES):
        generations, codes = read_codes(views, queries, only_negative)
        with store.write(durable=True) as c:
            now = {name: row.generation for name, row in store.spaces().items() if row.generation}
            if now != generations:
                continue  # a generation was switched meanwhile: read the codes again
            subjects: dict[int | None, int] = {}
            late: set[str] = set()
            for image, key in keys.items():
                assert key is not None
                known = log_tables.subject_of(store, key) is not None
                subjects[image] = log_tables.put_subject(c, key, jpeg if image is None else None)
                query = queries[image]
                if query.text is not None and query.is_typed:
                    log_tables.put_subject_text(c, subjects[image], query.text)
                for space, vector in codes[image].items():
                    first = log_tables.put_code(
                        c, subjects[image], space, generations[space], vector
                    )
                    if first and known:
                        late.add(space)
            for space in late:
                invalidate_states(c, store, space)
            return write_lines(c, subjects)
    raise CollectionBusy("new words are being learned; try again in a moment")


def read_codes(
    views: Views,
    queries: Mapping[int | None, ResolvedQuery],
    only_negative: Set[int | None],
) -> tuple[dict[str, int], dict[int | None, dict[str, bytes]]]:
    """Read the codes of pictures: (space to generation, picture to its codes by space).

    Pictures in ``only_negative`` need codes only in spaces that learn from them.
    """
    generations: dict[str, int] = {}
    spaces = open_spaces(views.store).values()
    # A fitted space exports its training pairs as rows of the space it is fitted to.
    taught = {space.name for space in spaces if space.is_taught}
    taught |= {str(space.takes_rows_of) for space in spaces if space.takes_rows_of}
    found: dict[int | None, dict[str, bytes]] = {image: {} for image in queries}
    for name, space in views.store.spaces().items():
        if not space.generation:
            continue
        view = views.view(name)
        generations[name] = view.space.generation
        for image, query in queries.items():
            if query.is_typed or (image in only_negative and name not in taught):
                continue
            if query.image is not None:
                code = view.packed_row(query.image)
                if code is not None:
                    found[image][name] = code
            elif view.space.is_available():
                row = space.row_format.weighted_row(space, query_row(view, query))
                found[image][name] = space.row_format.pack(row)
    return generations, found


def fill_codes(views: Views, name: str) -> None:
    """Add the missing codes of all subjects in a space that is newer than the judgements."""
    store = views.store
    lacking = log_tables.subjects_without_code(store, name, 0, store.spaces()[name].generation)
    if not lacking:
        return
    view = views.view(name)
    space = view.space
    here = log_tables.subjects_in_collection(store, [subject for subject, _ in lacking])
    made: dict[int, bytes] = {}
    for subject, _ in lacking:
        row = view.row_of(here[subject]) if subject in here else None
        jpeg = None
        if row is None and space.is_available():
            jpeg = log_tables.jpeg_of(store, subject)
        if jpeg is not None:
            with suppress(LikewiseError):
                row = query_row(view, ResolvedQuery(pixels=decode(jpeg).pixels))
        if row is not None:
            made[subject] = space.row_format.pack(space.row_format.weighted_row(space, row))
    if made:
        with store.write() as c:
            for subject, code in made.items():
                log_tables.put_code(c, subject, name, space.generation, code)
            invalidate_states(c, store, name)


def invalidate_states(c: Transaction, store: Store, space: str) -> None:
    """Drop checkpoints that were folded without codes which were added since."""
    log_tables.drop_every_checkpoint(c, space)
    put_setting(c, refill_setting(space), store.setting(refill_setting(space), 0) + 1)
