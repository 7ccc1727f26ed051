"""Judging: what a person said becomes one line of the log, with all that replay will need.

The line is committed first and learned afterwards; what was learned can always be made again from
the line, so a crash in between loses nothing.  Negatives nobody named (from what was shown, or at
random) are chosen once, here, and written down.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from likewise.collection.errors import CollectionBusy, CollectionError
from likewise.collection.feedback.history import COMPARE, JUDGE, SESSION_GAP
from likewise.collection.feedback.learning import filled
from likewise.collection.search.query import ResolvedQuery, query_row
from likewise.collection.search.views import Views
from likewise.collection.store import log as feedback
from likewise.collection.store.changes import put_setting
from likewise.collection.store.store import Store
from likewise.errors import InvalidInput, LikewiseError
from likewise.images import decode, small_jpeg
from likewise.similarity.judging import N_RANDOM, RANDOM_WEIGHT

MAX_SHOWN = 50
"""Negatives taken from what was shown, at most; 200 triplets a judgement need no more."""
JPEG_SIDE = 512
_TRIES = 5
T = TypeVar("T")


class Said(NamedTuple):
    """A judgement, resolved to pictures of the collection."""

    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    negatives: tuple[int, ...]
    weight: float


def resolve(
    store: Store,
    question: ResolvedQuery,
    liked: Sequence[int],
    disliked: Sequence[int],
    shown: Sequence[int] | None,
) -> Said:
    """Check a judgement and choose its negatives.

    Pictures liked before may be among them: what stands is decided by the fold, not here, so that
    undoing the like lets them count.
    """
    if question.key is None:
        raise InvalidInput("a vector cannot be judged; the query must be a picture")
    if not liked and not disliked:
        raise InvalidInput("nothing was judged; name at least one liked or disliked picture")
    both = set(liked) & set(disliked)
    if both:
        raise InvalidInput(f"picture {min(both)} is both liked and disliked; choose one")
    # By content: the query may be a copy that lies outside the collection.
    own = store.image_of_hash(question.key)
    if own in {*liked, *disliked}:
        raise InvalidInput(f"picture {own} is the query itself; judge the others")
    if disliked:
        return Said(tuple(liked), tuple(disliked), (), 1.0)
    # That a region is like the picture it was taken from goes without saying: nobody clicks there.
    near = {i for i in (own, question.part_of) if i is not None}
    passed_over = [i for i in _passed_over(liked, shown or ()) if i not in near]
    if passed_over:
        rng = np.random.default_rng(list(question.key))
        if len(passed_over) > MAX_SHOWN:
            chosen = np.sort(rng.choice(len(passed_over), MAX_SHOWN, replace=False))
            passed_over = [passed_over[i] for i in chosen]
        return Said(tuple(liked), (), tuple(passed_over), 1.0)
    seed = [*question.key, *liked]
    drawn = _random_pictures(store, seed, {*liked, *near})
    return Said(tuple(liked), (), drawn, RANDOM_WEIGHT)


def _passed_over(liked: Sequence[int], shown: Sequence[int]) -> list[int]:
    """Pictures shown above one that was chosen, and not chosen themselves."""
    chosen = set(liked)
    places = [place for place, image in enumerate(shown) if image in chosen]
    above = shown[: max(places)] if places else ()
    return [image for image in dict.fromkeys(above) if image not in chosen]


def _random_pictures(store: Store, seed: Iterable[int], avoid: set[int]) -> tuple[int, ...]:
    """A few pictures by chance: by id, without a list of all."""
    highest = store.highest_id()
    rng = np.random.default_rng(list(seed))
    drawn = dict.fromkeys((rng.integers(1, highest + 1, 20 * N_RANDOM)).tolist())
    there = store.images([i for i in drawn if i not in avoid])
    return tuple(i for i in drawn if i in there)[:N_RANDOM]


def codes_of(
    views: Views,
    asked: Mapping[int | None, ResolvedQuery],
    taught_only: Set[int | None] = frozenset(),
) -> tuple[dict[str, int], dict[int | None, dict[str, bytes]]]:
    """(space to generation, picture to its vectors as ranked).

    Pictures that only teach (negatives nobody named) need no code where nothing is folded.
    """
    generations: dict[str, int] = {}
    found: dict[int | None, dict[str, bytes]] = {image: {} for image in asked}
    for name, space in views.store.spaces().items():
        if not space.generation:
            continue
        view = views.view(name)
        generations[name] = view.space.generation
        for image, question in asked.items():
            if image in taught_only and not space.row_format.learns_weights:
                continue
            # A picture from outside has no code in spaces that cannot describe it here.
            if question.image is None and not view.space.is_available():
                continue
            if question.image is not None and view.row_of(question.image) is None:
                continue
            row = space.row_format.weighted_row(space, query_row(view, question))
            found[image][name] = space.row_format.pack(row)
    return generations, found


def commit(views: Views, question: ResolvedQuery, said: Said, profile: str) -> int:
    """Write a judgement to the log, durably; gives its number."""
    asked: dict[int | None, ResolvedQuery] = {None: question}
    asked |= {i: ResolvedQuery(image=i) for i in (*said.liked, *said.disliked, *said.negatives)}

    def write(c: Any, subjects: Mapping[int | None, int]) -> int:
        body = {
            "query": subjects[None],
            "liked": sorted(subjects[i] for i in said.liked),
            "disliked": sorted(subjects[i] for i in said.disliked),
            "negatives": sorted(subjects[i] for i in said.negatives),
            "weight": said.weight,
        }
        return append(c, views.store, profile, JUDGE, body)

    taught_only = set(said.negatives) - {*said.liked, *said.disliked}
    return _with_subjects(views, asked, write, taught_only)


def commit_comparisons(
    views: Views,
    comparisons: Sequence[tuple[int, int, int]],
    profile: str,
    source: str,
    by: str | None = None,
) -> list[int]:
    """Write comparisons (anchor, nearer, farther) to the log in one transaction.

    ``by`` names who made them, where that is known.
    """
    named = {} if by is None else {"by": by}
    asked: dict[int | None, ResolvedQuery] = {
        image: ResolvedQuery(image=image) for row in comparisons for image in row
    }

    def write(c: Any, subjects: Mapping[int | None, int]) -> list[int]:
        numbers = []
        for anchor, nearer, farther in comparisons:
            body = {
                "query": subjects[anchor],
                "liked": [subjects[nearer]],
                "disliked": [subjects[farther]],
                "source": source,
                **named,
            }
            numbers.append(append(c, views.store, profile, COMPARE, body))
        return numbers

    return _with_subjects(views, asked, write)


def append(c: Any, store: Store, profile: str, kind: str, body: Mapping[str, Any]) -> int:
    """Inside a transaction: one more line, in the session that is going on or in a new one."""
    moment = now()
    session = _session(store, profile, moment)
    return feedback.append(c, profile, kind, stamp(moment), session, body)


def _with_subjects(
    views: Views,
    asked: Mapping[int | None, ResolvedQuery],
    write: Callable[[Any, Mapping[int | None, int]], T],
    taught_only: Set[int | None] = frozenset(),
) -> T:
    """One durable transaction: the pictures with their codes, then what ``write`` adds."""
    jpeg, keys = None, {}
    for image, question in asked.items():
        keys[image] = question.key if image is None else views.store.hash_of(image)
        if keys[image] is None:
            raise CollectionError(f"picture {image} left the collection; search again")
        if question.pixels is not None:
            jpeg = small_jpeg(question.pixels, JPEG_SIDE)
    for _ in range(_TRIES):
        generations, codes = codes_of(views, asked, taught_only)
        with views.store.write(durable=True) as c:
            now = {
                name: row.generation for name, row in views.store.spaces().items() if row.generation
            }
            if now != generations:
                continue  # new words came in between: read the codes of the new generation
            subjects: dict[int | None, int] = {}
            late: set[str] = set()
            for image, key in keys.items():
                assert key is not None
                known = feedback.subject_of(views.store, key) is not None
                outside = jpeg if image is None else None
                subjects[image] = feedback.put_subject(c, key, outside)
                for space, vector in codes[image].items():
                    first = feedback.put_code(c, subjects[image], space, generations[space], vector)
                    if first and known:
                        late.add(space)
            for space in late:
                fold_again(c, views.store, space)
            return write(c, subjects)
    raise CollectionBusy("new words are being learned; try again in a moment")


def _session(store: Store, profile: str, now: datetime.datetime) -> int | None:
    """The session a judgement belongs to; None begins one."""
    last = feedback.last_session(store, profile)
    if last is None:
        return None
    since = now - datetime.datetime.fromisoformat(last[1])
    return last[0] if since.total_seconds() < SESSION_GAP else None


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def stamp(moment: datetime.datetime | None = None) -> str:
    """A moment as the log writes it."""
    moment = now() if moment is None else moment
    return moment.isoformat(timespec="milliseconds")


def fill(views: Views, name: str) -> None:
    """Codes in a space that came after the judgements, for all pictures they speak of."""
    lacking = feedback.subjects_without_code(
        views.store, name, 0, views.store.spaces()[name].generation
    )
    if not lacking:
        return
    view = views.view(name)
    space = view.space
    here = feedback.subjects_in_collection(views.store, [subject for subject, _ in lacking])
    made: dict[int, bytes] = {}
    for subject, _ in lacking:
        row = view.row_of(here[subject]) if subject in here else None
        jpeg = None
        if row is None and space.is_available():
            jpeg = feedback.jpeg_of(views.store, subject)
        if jpeg is not None:
            with suppress(LikewiseError):
                row = query_row(view, ResolvedQuery(pixels=decode(jpeg).pixels))
        if row is not None:
            made[subject] = space.row_format.pack(space.row_format.weighted_row(space, row))
    if not made:
        return
    with views.store.write() as c:
        for subject, code in made.items():
            feedback.put_code(c, subject, name, space.generation, code)
        fold_again(c, views.store, name)


def fold_again(c: Any, store: Store, space: str) -> None:
    """Inside a transaction: codes came after judgements that were folded without them."""
    feedback.drop_every_checkpoint(c, space)
    put_setting(c, filled(space), store.setting(filled(space), 0) + 1)
