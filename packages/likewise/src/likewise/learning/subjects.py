"""Pictures the log speaks of, kept with their codes: all that replay will ever need of them.

A line of the log and the codes of its pictures are written in one transaction, so that what was
learned can be made again from the catalog alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import TypeVar

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.store import Store, Transaction
from likewise.errors import CollectionBusy, CollectionError, LikewiseError
from likewise.images.decode import decode, small_jpeg
from likewise.learning.profile_states import refill_setting
from likewise.search.query import ResolvedQuery, query_row
from likewise.search.views import Views
from likewise.spaces.registry import open_spaces

JPEG_SIDE = 512
_TRIES = 5
T = TypeVar("T")


def codes_of(
    views: Views,
    asked: Mapping[int | None, ResolvedQuery],
    only_negative: Set[int | None] = frozenset(),
) -> tuple[dict[str, int], dict[int | None, dict[str, bytes]]]:
    """(space to generation, picture to its vectors as ranked).

    Pictures that only teach (negatives nobody named) need no code where nothing is folded.
    """
    generations: dict[str, int] = {}
    spaces = open_spaces(views.store).values()
    # A space that is taught, and the one it is fitted to: a file of the profile speaks in its rows.
    taught = {space.name for space in spaces if space.is_taught}
    taught |= {str(space.takes_rows_of) for space in spaces if space.takes_rows_of}
    found: dict[int | None, dict[str, bytes]] = {image: {} for image in asked}
    for name, space in views.store.spaces().items():
        if not space.generation:
            continue
        view = views.view(name)
        generations[name] = view.space.generation
        for image, question in asked.items():
            if image in only_negative and name not in taught:
                continue
            if question.is_typed:
                continue
            # A picture from outside has no code in spaces that cannot describe it here.
            if question.image is None and not view.space.is_available():
                continue
            if question.image is not None:
                code = view.packed_row(question.image)
                if code is not None:
                    found[image][name] = code
                continue
            row = space.row_format.weighted_row(space, query_row(view, question))
            found[image][name] = space.row_format.pack(row)
    return generations, found


def write_with_subjects(
    views: Views,
    asked: Mapping[int | None, ResolvedQuery],
    write: Callable[[Transaction, Mapping[int | None, int]], T],
    only_negative: Set[int | None] = frozenset(),
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
        generations, codes = codes_of(views, asked, only_negative)
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
                known = log_tables.subject_of(views.store, key) is not None
                outside = jpeg if image is None else None
                subjects[image] = log_tables.put_subject(c, key, outside)
                question = asked[image]
                if question.text is not None and question.is_typed:
                    log_tables.put_subject_text(c, subjects[image], question.text)
                for space, vector in codes[image].items():
                    first = log_tables.put_code(
                        c, subjects[image], space, generations[space], vector
                    )
                    if first and known:
                        late.add(space)
            for space in late:
                invalidate_states(c, views.store, space)
            return write(c, subjects)
    raise CollectionBusy("new words are being learned; try again in a moment")


def fill_codes(views: Views, name: str) -> None:
    """Codes in a space that came after the judgements, for all pictures they speak of."""
    lacking = log_tables.subjects_without_code(
        views.store, name, 0, views.store.spaces()[name].generation
    )
    if not lacking:
        return
    view = views.view(name)
    space = view.space
    here = log_tables.subjects_in_collection(views.store, [subject for subject, _ in lacking])
    made: dict[int, bytes] = {}
    for subject, _ in lacking:
        row = view.row_of(here[subject]) if subject in here else None
        jpeg = None
        if row is None and space.is_available():
            jpeg = log_tables.jpeg_of(views.store, subject)
        if jpeg is not None:
            with suppress(LikewiseError):
                row = query_row(view, ResolvedQuery(pixels=decode(jpeg).pixels))
        if row is not None:
            made[subject] = space.row_format.pack(space.row_format.weighted_row(space, row))
    if not made:
        return
    with views.store.write() as c:
        for subject, code in made.items():
            log_tables.put_code(c, subject, name, space.generation, code)
        invalidate_states(c, views.store, name)


def invalidate_states(c: Transaction, store: Store, space: str) -> None:
    """Inside a transaction: codes came after judgements that were folded without them."""
    log_tables.drop_every_checkpoint(c, space)
    put_setting(c, refill_setting(space), store.setting(refill_setting(space), 0) + 1)
