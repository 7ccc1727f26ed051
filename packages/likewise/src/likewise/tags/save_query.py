"""A typed query becomes a tag: what was liked under it is tagged, what else it finds suggested.

One line of the log says both, so that one undo takes both back.
"""

from __future__ import annotations

from typing import NamedTuple

from likewise.catalog import action_tables, tag_tables
from likewise.catalog.store import Store
from likewise.catalog.tag_tables import ACCEPT, ACCEPTED, clean_all
from likewise.errors import CollectionError
from likewise.learning.log import Log
from likewise.learning.searcher import Searcher
from likewise.tags import tag_log
from likewise_methods.validation import whole

MOST = 50
"""Pictures that a tag is suggested for where nothing else is said."""


class SavedQuery(NamedTuple):
    """What came of it; ``line`` is for undo, None where all of it had been said before."""

    tag: str
    line: int | None
    tagged: tuple[int, ...]
    suggested: tuple[int, ...]
    action: int | None = None


def save_query(
    store: Store,
    searcher: Searcher,
    log: Log,
    text: str,
    tag: str,
    *,
    k: int = MOST,
    above: float | None = None,
    profile: str = "default",
) -> SavedQuery:
    """Tag the pictures liked under a text, and suggest the tag for its k best other answers."""
    (name,) = clean_all([tag])
    liked, disliked = log.verdicts(text=text, profile=profile)
    if not liked:
        raise CollectionError(
            f"nothing was liked under {text[:60]!r} yet; like the pictures that it means first"
        )
    k = whole(k, "k", 0)
    apart = {*liked, *disliked}
    answer = searcher.ask(text, k + len(apart), by=profile, above=above) if k else None
    best = [] if answer is None else [i for i in answer.ids if i not in apart][:k]
    with store.write(durable=True) as c:
        known = tag_tables.tags_of_many(store, best)
        refused = tag_tables.refused_of_many(store, best)
        here = store.present(best)
        further = [
            image
            for image in best
            if image in here
            and name not in refused.get(image, ())
            and all(name != one for one, _ in known.get(image, ()))
        ]
        images = [image for image in liked if image in store.present(liked)]
        number = tag_log.write_line_within(
            c, store, images, [name], ACCEPT, ACCEPTED, suggested=further
        )
        action = None
        if number is not None:
            body = {"tags": [name], "lines": [number], "text": text}
            n_pictures = len({*images, *further})
            action = action_tables.put_action(c, store, action_tables.SAVE, n_pictures, body)
    return SavedQuery(name, number, tuple(images), tuple(further), action)
