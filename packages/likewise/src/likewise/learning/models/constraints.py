"""Collect training data for metrics and maps: pairs, triplets and labels, over rows of pictures.

A judgement makes the query similar to the liked pictures and dissimilar to the disliked ones; where
no picture was disliked, pictures shown above a liked one count as dissimilar.  A comparison makes a
triplet, and two pairs: the nearer picture similar, the farther one dissimilar.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.log_tables import bodies
from likewise.catalog.segments import unpack_dense
from likewise.catalog.store import SpaceRow, Store
from likewise.errors import CollectionError, InvalidInput
from likewise.learning.history import COMPARE, JUDGE, Item
from likewise.learning.pending_answers import all_answers, answer_profiles
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import resolve_profile

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Constraints:
    """Rows of the pictures in judgements and comparisons, and pairs and triplets of row numbers.

    ``same`` says whether a pair is similar.  ``said_in`` and ``asked_in`` are the query of each
    pair and of each triplet, so that those of one query can be held out together.  ``compared``
    marks triplets from comparisons, ``explicit`` those whose far picture was named (disliked, or
    the farther one of a comparison).  ``opposed`` counts pairs left out because of equal votes.
    """

    subjects: tuple[int, ...]
    X: NDArray[np.float32]
    pairs: Numbers
    same: NDArray[np.bool_]
    said_in: Numbers
    triplets: Numbers
    asked_in: Numbers
    compared: NDArray[np.bool_]
    explicit: NDArray[np.bool_]
    opposed: int

    def without(
        self, queries: Any, asked: Numbers | None = None
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return (pairs, same) without those of some queries and of their triplets.

        A pair may have been judged from either end, so the triplets count too.  ``asked`` are
        further triplets to hold out; their rows may lie beyond ``X``.
        """
        own = self.triplets[np.isin(self.asked_in, queries)]
        out = own if asked is None else np.concatenate([own, asked])
        held = np.sort(np.concatenate([out[:, [0, 1]], out[:, [0, 2]]]), axis=1)
        size = max(len(self.X), int(out.max(initial=0)) + 1)
        known = np.isin(_number_pairs(self.pairs, size), _number_pairs(held, size))
        kept = ~(known | np.isin(self.said_in, queries))
        return self.pairs[kept], self.same[kept]


def gather_constraints(
    store: Store,
    items: Iterable[Item],
    space: SpaceRow,
    row_of: Callable[[int], Any],
) -> Constraints:
    """Return the constraints of some items in a dense space; ``row_of`` takes picture ids.

    Pictures without a row are left out, with their pairs and triplets.
    """
    kept = [item for item in items if item.kind in (JUDGE, COMPARE)]
    subjects: set[int] = set().union(*(item.subjects() for item in kept))
    rows = subject_rows(store, space, subjects, row_of)
    place = {subject: at for at, subject in enumerate(rows)}
    votes: dict[tuple[int, int], list[float]] = {}
    first: dict[tuple[int, int], int] = {}
    triplets: list[tuple[int, int, int, bool, bool]] = []
    for item in kept:
        if item.query not in place:
            continue
        query = place[item.query]
        near = [place[s] for s in item.liked if s in place]
        far = [place[s] for s in item.disliked if s in place]
        named = bool(far)
        if not far and item.weight >= 1.0:
            far = [place[s] for s in item.negatives if s in place]
        # A verdict on a pair outweighs any number of comparisons it is part of.
        vote = 1.0 if item.kind == COMPARE else 1e6
        for others, sign in ((near, vote), (far, -vote)):
            for other in others:
                pair = (min(query, other), max(query, other))
                if pair[0] != pair[1]:
                    votes.setdefault(pair, []).append(sign)
                    first.setdefault(pair, query)
        compared = item.kind == COMPARE
        triplets += [(query, a, b, compared, named) for a in near for b in far if a != b]
    totals = {pair: sum(signs) for pair, signs in votes.items()}
    clear = [pair for pair, total in totals.items() if total != 0]
    made = np.array([row[:3] for row in triplets], np.int64).reshape(-1, 3)
    return Constraints(
        tuple(rows),
        _matrix(list(rows.values()), space.width),
        np.array(clear, np.int64).reshape(-1, 2),
        np.array([totals[pair] > 0 for pair in clear], bool),
        np.array([first[pair] for pair in clear], np.int64),
        made,
        made[:, 0].copy(),
        np.array([row[3] for row in triplets], bool),
        np.array([row[4] for row in triplets], bool),
        len(totals) - len(clear),
    )


def subject_rows(
    store: Store, space: SpaceRow, subjects: set[int], row_of: Callable[[int], Any]
) -> dict[int, NDArray[np.float32]]:
    """Return the rows of subjects: their codes, else their rows in the collection."""
    codes = log_tables.codes(store, space.name, space.generation, subjects)
    found = {s: unpack_dense([blob], space.width)[0] for s, blob in codes.items()}
    here = log_tables.subjects_in_collection(store, subjects - set(found))
    for subject, image in here.items():
        row = row_of(image)
        if row is not None:
            found[subject] = np.asarray(row, np.float32)
    return {subject: found[subject] for subject in sorted(found)}


def _number_pairs(pairs: Numbers, size: int) -> Numbers:
    """Return one number for each ordered pair of rows."""
    return np.asarray(pairs[:, 0] * size + pairs[:, 1], np.int64)


def _matrix(rows: Sequence[Any], width: int) -> NDArray[np.float32]:
    return np.array(rows, np.float32).reshape(len(rows), width)


@dataclass(frozen=True)
class Comparison:
    """A comparison in effect, with the person who made it and its source."""

    number: int
    anchor: int
    nearer: int
    farther: int
    person: str | None
    source: str
    at: float = 0.0


def active_comparisons(store: Store, items: Iterable[Item]) -> list[Comparison]:
    """Return the comparisons among items, in the order of the log; pictures are subjects."""
    kept = [item for item in items if item.kind == COMPARE and item.liked and item.disliked]
    said = bodies(store, [item.number for item in kept])
    return [
        Comparison(
            item.number, item.query, item.liked[0], item.disliked[0],
            said.get(item.number, {}).get("by"),
            str(said.get(item.number, {}).get("source", "compare")), item.at,
        )
        for item in kept
    ]  # fmt: skip


def profile_items(store: Store, states: ProfileStates, profile: str) -> tuple[str, list[Item], int]:
    """Return (profile, its items, the last line that was read), with its pending answers.

    Pending answers count, because a map or metric is used only on request.
    """
    used = resolve_profile(store, profile)
    with states.lock:
        history = states.history(used)
        found = {item.number: item for item in history.items}
        for item in all_answers(store, states, used):
            found.setdefault(item.number, item)
        read = [history.position]
        read += [states.history(one.profile).position for one in answer_profiles(store, used)]
        return used, [found[number] for number in sorted(found)], max(read)


def label_pictures(store: Store, labels: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return (ids, labels) of the pictures that have one: their folder's name, or their one tag."""
    found: dict[int, str] = {}
    if labels == "folders":
        for row in store.every_image():
            if row.path:
                found[row.id] = os.path.basename(os.path.dirname(row.path))
    elif labels == "tags":
        for row in store.every_image():
            tags = store.tags_of(row.id)
            if len(tags) == 1:
                found[row.id] = tags[0][0]
    else:
        raise InvalidInput(f'labels is {labels!r}; "folders" or "tags" expected')
    names, counts = np.unique(list(found.values()), return_counts=True)
    if len(names) < 2 or counts.max(initial=0) < 2:
        raise CollectionError(
            f"by their {labels} there are {len(names)} kind(s) of pictures; two are needed, and "
            "two pictures of one of them"
        )
    return np.array(list(found), np.int64), np.array(list(found.values()))
