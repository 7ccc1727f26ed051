"""Fold the log of a profile to the judgements in effect.

Undo and roll-back are lines of the log; nothing is deleted.  :class:`History` reads the lines and
keeps the items in effect: where a later judgement contradicts an earlier one about the same query
and picture, the earlier one loses that picture.  A new or undone line changes only judgements of
its own query, so an undo in a log of a hundred thousand lines reads a handful. ``digests[n]``
identifies the first n items, so that a checkpoint fits exactly the histories that begin with the
same items.
"""

from __future__ import annotations

import datetime
import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from likewise.catalog.log_tables import Entry, ProfileRow, entries, profiles
from likewise.catalog.store import Store
from likewise.errors import CollectionError
from likewise_methods.solis import JUDGEMENT_REACH, LIMIT, SESSION_REACH, profile_learner

JUDGE, COMPARE, WEIGHTS = "judge", "compare", "weights"
UNDO, ROLLBACK, MERGE = "undo", "rollback", "merge"
TAKE_BACK = "takeback"
"""Takes back everything a key judged, in one line; undoing that line restores it."""
SESSION_GAP = 30 * 60.0
"""A pause of so many seconds between two judgements ends a session."""
# Every digest begins with the learning rule: a checkpoint of another rule never fits.
_RULE = hashlib.blake2b(
    repr((profile_learner().get_params(), JUDGEMENT_REACH, SESSION_REACH, LIMIT)).encode(),
    digest_size=16,
).digest()
LEARNED_KINDS = (JUDGE, COMPARE, WEIGHTS)
"""Kinds of lines that are learned from; the others change which of these count."""


@dataclass(frozen=True)
class Item:
    """A judgement, a comparison or imported weights, as far as it counts.

    Pictures are subjects.  A comparison likes the nearer picture and dislikes the farther one.
    ``typed``: its query is text without a picture.
    """

    number: int
    kind: str
    session: int = 0
    query: int = 0
    liked: tuple[int, ...] = ()
    disliked: tuple[int, ...] = ()
    negatives: tuple[int, ...] = ()
    weight: float = 1.0
    at: float = 0.0
    typed: bool = False

    def subjects(self) -> set[int]:
        """Return every subject that learning from it reads."""
        return {self.query, *self.liked, *self.disliked, *self.negatives} if self.query else set()

    def judged(self) -> tuple[int, ...]:
        """Return the judged pictures; a comparison judges none."""
        return tuple(dict.fromkeys((*self.liked, *self.disliked))) if self.kind == JUDGE else ()

    def mark(self) -> bytes:
        """Return the bytes for a digest: equal exactly when the learning is equal."""
        fields = (
            self.number, self.kind, self.session, self.query,
            self.liked, self.disliked, self.negatives, self.weight,
        )  # fmt: skip
        return repr(fields).encode()


@dataclass(frozen=True, order=True)
class Contradiction:
    """A judgement that contradicts an earlier one about a query and a picture."""

    judgement: int
    earlier: int
    picture: int


@dataclass
class Verdicts:
    """The pictures liked and disliked for one query."""

    liked: set[int] = field(default_factory=set)
    disliked: set[int] = field(default_factory=set)


class History:
    """The items of one profile that count, kept up to date as its log grows.

    ``upto`` is the last line of the log it reads; None: all lines, including future ones.
    """

    def __init__(self, store: Store, profile: str, upto: int | None = None) -> None:
        self._store = store
        self.profile = profile
        self._upto = upto
        self._own: list[Entry] = []
        self._take_backs: set[int] = set()
        self._inherited = _inherited_items(store, profiles(store), profile)
        self._restart(self._inherited)

    @property
    def position(self) -> int:
        """The last line of the log that was read."""
        return self._own[-1].number if self._own else 0

    def update(self) -> None:
        """Read new lines of the log and apply them."""
        new = entries(self._store, self.profile, self.position, self._upto)
        self._own += new
        self._take_backs |= {entry.number for entry in new if entry.kind == TAKE_BACK}
        queries: set[int] = set()
        for entry in new:
            if entry.kind in LEARNED_KINDS:
                queries.add(self._add_item(item_of(entry)))
            elif entry.kind == UNDO and entry.body["judgement"] not in self._take_backs:
                queries.add(self._remove_item(entry.body["judgement"]))
            elif entry.kind == TAKE_BACK:
                queries |= {self._remove_item(number) for number in entry.body["judgements"]}
            else:
                self._read_again()
                return
        self._update_queries(queries)

    def _read_again(self) -> None:
        """Rebuild the items from the first line."""
        merged = _merged_items(self._store, profiles(self._store))
        self._restart(active_items(self._inherited, self._own, merged=merged))

    def _restart(self, items: Iterable[Item]) -> None:
        self.items: list[Item] = []
        self._numbers: list[int] = []
        self._digests = [_RULE]
        # Judgements as they were logged, by query and number, oldest first.
        self._judged: dict[int, dict[int, Item]] = {}
        self._verdicts: dict[int, Verdicts] = {}
        self._update_queries({self._add_item(item) for item in items})

    def _add_item(self, item: Item) -> int:
        """Append an item and return its query, which is to be updated."""
        item = replace(item, session=self._session_of(item, len(self.items)))
        self.items.append(item)
        self._numbers.append(item.number)
        if item.judged():
            self._judged.setdefault(item.query, {})[item.number] = item
        return item.query

    def _remove_item(self, number: int) -> int:
        """Remove an item and return its query, which is to be updated (0: it did not count).

        Sessions of later items change if it joined two.
        """
        at = self._place(number)
        if self._numbers[at : at + 1] != [number]:
            return 0
        item = self.items.pop(at)
        del self._numbers[at], self._digests[at + 1 :]
        self._judged.get(item.query, {}).pop(number, None)
        for place in range(at, len(self.items)):
            session = self._session_of(self.items[place], place)
            if session == self.items[place].session:
                break
            self.items[place] = replace(self.items[place], session=session)
        return item.query

    def _place(self, number: int) -> int:
        """Return the index of an item, or where to insert it."""
        return bisect_left(self._numbers, number)

    def _session_of(self, item: Item, place: int) -> int:
        """Return the session of the item at an index; a pause between items in effect ends one."""
        last = self.items[place - 1] if place else None
        return last.session if last and item.at - last.at < SESSION_GAP else item.number

    def _update_queries(self, queries: Iterable[int]) -> None:
        """Recompute which parts of the judgements of some queries count.

        The newest judgements of a picture that agree count, and none before them.  A picture that
        is liked at any time is no negative.
        """
        for query in queries:
            judged = self._judged.get(query, {})
            newest: dict[int, bool] = {}
            contradicted: set[int] = set()
            dropped: dict[int, set[int]] = {}
            for number, item in reversed(judged.items()):
                for picture in item.judged():
                    likes = picture not in item.disliked
                    if newest.setdefault(picture, likes) != likes:
                        contradicted.add(picture)
                    if picture in contradicted:
                        dropped.setdefault(number, set()).add(picture)
            liked = {picture for picture, likes in newest.items() if likes}
            self._verdicts[query] = Verdicts(liked, newest.keys() - liked)
            for number, item in judged.items():
                gone, at = dropped.get(number, set()), self._place(number)
                counts = replace(
                    item,
                    session=self.items[at].session,
                    liked=tuple(p for p in item.liked if p not in gone),
                    disliked=tuple(p for p in item.disliked if p not in gone),
                    negatives=tuple(p for p in item.negatives if p not in liked),
                )
                if counts != self.items[at]:
                    self.items[at] = counts
                    del self._digests[at + 1 :]

    @property
    def digests(self) -> list[bytes]:
        """The digests of all beginnings of the items, the empty one first."""
        for at in range(len(self._digests) - 1, len(self.items)):
            whole = self._digests[at] + self.items[at].mark()
            self._digests.append(hashlib.blake2b(whole, digest_size=16).digest())
        return self._digests

    @property
    def contradictions(self) -> list[Contradiction]:
        """Every contradiction among the items, in the order they were made."""
        return sorted(one for query in self._judged for one in self._contradictions_of(query))

    def contradicted_by(self, number: int) -> list[int]:
        """Return the earlier items that an item contradicts, at least in part."""
        item = self._item(number)
        found = () if item is None else self._contradictions_of(item.query)
        return sorted({one.earlier for one in found if one.judgement == number})

    def _contradictions_of(self, query: int) -> Iterator[Contradiction]:
        agreeing: dict[int, list[tuple[int, bool]]] = {}
        for number, item in self._judged.get(query, {}).items():
            for picture in item.judged():
                likes = picture not in item.disliked
                run = agreeing.setdefault(picture, [])
                if run and run[-1][1] != likes:
                    yield from (Contradiction(number, earlier, picture) for earlier, _ in run)
                    run.clear()
                run.append((number, likes))

    def verdicts(self, query: int) -> Verdicts:
        """Return a copy of the pictures liked and disliked for a query."""
        found = self._verdicts.get(query, Verdicts())
        return Verdicts(set(found.liked), set(found.disliked))

    def _item(self, number: int) -> Item | None:
        at = self._place(number)
        return self.items[at] if self._numbers[at : at + 1] == [number] else None

    def last_judgement(self) -> int | None:
        """Return the newest judgement that counts."""
        return next((i.number for i in reversed(self.items) if i.kind == JUDGE), None)

    def stands(self, judgement: int) -> bool:
        """Return whether a judgement or comparison is in effect."""
        item = self._item(judgement)
        return item is not None and item.kind in (JUDGE, COMPARE)

    def positions(self) -> list[int]:
        """Return every position of the log it can be rolled back to, from 0 (empty)."""
        return [0, *(entry.number for entry in self._own)]

    def log(self) -> list[Entry]:
        """Return the lines of its own log, oldest first."""
        return list(self._own)


def active_items(
    inherited: Sequence[Item],
    log: Iterable[Entry],
    upto: int | None = None,
    *,
    merged: Callable[[Entry], Sequence[Item]] = lambda entry: (),
) -> list[Item]:
    """Return the items that a log leaves in effect (before contradictions), by number.

    ``merged`` returns the items that a line takes from another profile; an item that several
    profiles share counts once.  The log is read backwards first, since a roll-back voids the lines
    between it and its position: each line is read once, however roll-backs are nested.
    """
    lines = [entry for entry in log if upto is None or entry.number <= upto]
    numbers = [entry.number for entry in lines]
    valid: list[Entry] = []
    at = len(lines)
    while at:
        entry = lines[at - 1]
        if entry.kind == ROLLBACK:
            at = bisect_right(numbers, entry.body["position"])
        else:
            valid.append(entry)
            at -= 1
    undone = {entry.body["judgement"] for entry in valid if entry.kind == UNDO}
    found = {item.number: item for item in inherited}
    for entry in reversed(valid):
        if entry.kind in LEARNED_KINDS:
            found[entry.number] = item_of(entry)
        elif entry.kind == UNDO:
            found.pop(entry.body["judgement"], None)
        elif entry.kind == TAKE_BACK and entry.number not in undone:
            for number in entry.body["judgements"]:
                found.pop(number, None)
        elif entry.kind == MERGE:
            found |= {item.number: item for item in merged(entry)}
    return [found[number] for number in sorted(found)]


def item_of(entry: Entry) -> Item:
    """Return the item that a line logs."""
    body: Mapping[str, Any] = entry.body
    at = datetime.datetime.fromisoformat(entry.made).timestamp()
    if entry.kind == WEIGHTS:
        return Item(entry.number, WEIGHTS, at=at)
    return Item(
        entry.number,
        entry.kind,
        0,
        body["query"],
        tuple(sorted(body["liked"])),
        tuple(sorted(body["disliked"])),
        tuple(sorted(body.get("negatives", ()))),
        float(body.get("weight", 1.0)),
        at,
        "text" in body and not body.get("beside", False),
    )


def _inherited_items(store: Store, known: Mapping[str, ProfileRow], profile: str) -> list[Item]:
    """Return what a copied profile begins with: its parent's items at the moment of the copy."""
    row = known.get(profile)
    if row is None:
        raise CollectionError(f"there is no profile {profile!r}; there are {', '.join(known)}")
    if row.parent is None:
        return []
    return _items_at(store, known, row.parent, row.parent_position)


def _items_at(
    store: Store, known: Mapping[str, ProfileRow], profile: str, position: int
) -> list[Item]:
    """Return the items of a profile that counted at a position of its log."""
    before = _inherited_items(store, known, profile)
    log = entries(store, profile)
    return active_items(before, log, position, merged=_merged_items(store, known))


def _merged_items(
    store: Store, known: Mapping[str, ProfileRow]
) -> Callable[[Entry], Sequence[Item]]:
    """Return a function from a merge line to the items it takes from another profile."""
    return lambda entry: _items_at(
        store, known, str(entry.body["profile"]), int(entry.body["position"])
    )
