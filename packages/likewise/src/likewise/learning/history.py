"""Fold the log of a profile to the judgements that still count.

Undo and roll-back never erase; they are lines of the log.  :class:`History` reads them and keeps
the items in effect: where a later judgement says the opposite of an earlier one about the same
query and picture, the earlier one loses that picture.  A line that comes or goes changes only the
lines about its own pairs, which :class:`PairIndex` finds, so an undo in a log of a hundred thousand
lines reads a handful.  ``digests[n]`` names the first n items, so that a checkpoint fits exactly
the histories that begin with what it folded.
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
LESSONS = (JUDGE, COMPARE, WEIGHTS)
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
        """Return the pictures it is a verdict on; a comparison is none on either picture."""
        return tuple(dict.fromkeys((*self.liked, *self.disliked))) if self.kind == JUDGE else ()

    def mark(self) -> bytes:
        """Return the bytes a digest is made of: equal exactly when learning would be equal."""
        fields = (
            self.number, self.kind, self.session, self.query,
            self.liked, self.disliked, self.negatives, self.weight,
        )  # fmt: skip
        return repr(fields).encode()


class History:
    """The items of one profile that count, kept up to date as its log grows.

    ``upto`` is the last line of the log it ever reads; None: all there are and will be.
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
        for entry in new:
            if entry.kind in LESSONS:
                self._add_item(item_of(entry))
            elif entry.kind == UNDO and entry.body["judgement"] not in self._take_backs:
                self._remove_item(entry.body["judgement"])
            elif entry.kind == TAKE_BACK:
                for number in entry.body["judgements"]:
                    self._remove_item(number)
            else:
                self._read_again()
                return

    def _read_again(self) -> None:
        """Rebuild the items from the first line."""
        merged = _merged_items(self._store, profiles(self._store))
        self._restart(active_items(self._inherited, self._own, merged=merged))

    def _restart(self, items: Iterable[Item]) -> None:
        self.items: list[Item] = []
        self._numbers: list[int] = []
        self._digests = [_RULE]
        self._pairs = PairIndex()
        # Items of which a part does not count now, as they were logged.
        self._whole: dict[int, Item] = {}
        for item in items:
            self._add_item(item)

    def _add_item(self, item: Item) -> None:
        """Append an item; earlier ones that it contradicts lose a picture."""
        item = replace(item, session=self._session_of(item, len(self.items)))
        self.items.append(item)
        self._numbers.append(item.number)
        first_changed = len(self.items) - 1
        if judged := item.judged():
            pairs, query = self._pairs, item.query
            liked = {picture for picture in judged if pairs.likes(query, picture)}
            for picture in judged:
                likes = picture not in item.disliked
                for number in pairs.add(item.number, query, picture, likes=likes):
                    first_changed = min(first_changed, self._drop_picture(number, picture))
            for picture in judged:
                if (picture in liked) != pairs.likes(query, picture):
                    first_changed = min(first_changed, self._update_negatives(query, picture))
            pairs.add_negatives(item.number, query, dict.fromkeys(item.negatives))
            # A picture that is liked, before or later, is no negative.
            for picture in item.negatives:
                if pairs.likes(query, picture):
                    self._set_negative(item.number, picture, counts=False)
        del self._digests[first_changed + 1 :]

    def _remove_item(self, number: int) -> None:
        """Take back an item, if it counts; what it contradicted counts again.

        Sessions of later items change if it joined two.
        """
        at = self._place(number)
        if at == len(self.items) or self._numbers[at] != number:
            return
        item = self._whole.pop(number, self.items[at])
        del self.items[at], self._numbers[at]
        first_changed = at
        if judged := item.judged():
            pairs, query = self._pairs, item.query
            pairs.remove_negatives(number, query, dict.fromkeys(item.negatives))
            for picture in judged:
                liked = pairs.likes(query, picture)
                for one in pairs.remove(number, query, picture):
                    first_changed = min(first_changed, self._restore_picture(one, picture))
                if liked != pairs.likes(query, picture):
                    first_changed = min(first_changed, self._update_negatives(query, picture))
        del self._digests[first_changed + 1 :]
        for place in range(at, len(self.items)):
            session = self._session_of(self.items[place], place)
            if session == self.items[place].session:
                break
            self.items[place] = replace(self.items[place], session=session)

    def _place(self, number: int) -> int:
        """Return the index of an item, or where it would be inserted."""
        return bisect_left(self._numbers, number)

    def _session_of(self, item: Item, place: int) -> int:
        """Return the session of an item at a place; a pause between items in effect ends one."""
        last = self.items[place - 1] if place else None
        return last.session if last and item.at - last.at < SESSION_GAP else item.number

    def _drop_picture(self, number: int, picture: int) -> int:
        """Drop a picture from an item, because a later one contradicts it; return its place."""
        at = self._place(number)
        item = self.items[at]
        self._whole.setdefault(number, item)
        self.items[at] = replace(
            item,
            liked=tuple(p for p in item.liked if p != picture),
            disliked=tuple(p for p in item.disliked if p != picture),
        )
        return at

    def _restore_picture(self, number: int, picture: int) -> int:
        """Restore a picture that nothing contradicts any more; return the item's place."""
        at = self._place(number)
        item, whole = self.items[at], self._whole[number]
        self.items[at] = replace(
            item,
            liked=tuple(p for p in whole.liked if p == picture or p in item.liked),
            disliked=tuple(p for p in whole.disliked if p == picture or p in item.disliked),
        )
        return at

    def _update_negatives(self, query: int, picture: int) -> int:
        """Drop or restore a negative whose like changed; return the first place it changes."""
        counts = not self._pairs.likes(query, picture)
        numbers = self._pairs.negatives(query, picture)
        places = [self._set_negative(number, picture, counts=counts) for number in numbers]
        return min(places, default=len(self.items))

    def _set_negative(self, number: int, picture: int, *, counts: bool) -> int:
        """Set whether a negative of an item counts; return the item's place."""
        at = self._place(number)
        item = self.items[at]
        whole = self._whole.setdefault(number, item)
        kept = {*item.negatives, picture} if counts else {*item.negatives} - {picture}
        left = tuple(p for p in whole.negatives if p in kept)
        self.items[at] = replace(item, negatives=left)
        return at

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
        return self._pairs.contradictions()

    def contradicted_by(self, number: int) -> list[int]:
        """Return the earlier items that an item contradicts, at least in part."""
        item = self._whole.get(number) or self._item(number)
        if item is None:
            return []
        found = (
            self._pairs.contradicted_by(number, item.query, picture) for picture in item.judged()
        )
        return sorted(set().union(*found))

    def verdicts(self, query: int) -> Verdicts:
        """Return the pictures liked and disliked for a query."""
        return self._pairs.verdicts(query)

    def _item(self, number: int) -> Item | None:
        at = self._place(number)
        return self.items[at] if self._numbers[at : at + 1] == [number] else None

    def last_judgement(self) -> int | None:
        """Return the newest judgement that counts."""
        return next((i.number for i in reversed(self.items) if i.kind == JUDGE), None)

    def stands(self, judgement: int) -> bool:
        """Return whether a judgement or comparison counts."""
        item = self._item(judgement)
        return item is not None and item.kind in (JUDGE, COMPARE)

    def positions(self) -> list[int]:
        """Return every position of the log it can be rolled back to, 0 (nothing) first."""
        return [0, *(entry.number for entry in self._own)]

    def log(self) -> list[Entry]:
        """Return its own lines, oldest first."""
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
        if entry.kind in LESSONS:
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


# -- verdicts about pairs of a query and a picture ------------------------------------------


@dataclass(frozen=True, order=True)
class Contradiction:
    """A judgement that says the opposite of an earlier one about a query and a picture."""

    judgement: int
    earlier: int
    picture: int


@dataclass
class Verdicts:
    """The pictures liked and disliked for one query."""

    liked: set[int] = field(default_factory=set)
    disliked: set[int] = field(default_factory=set)


class PairIndex:
    """The verdicts about each (query, picture), with the lines they come from.

    The newest verdicts that agree count.  The first of them contradicts the run of agreeing ones
    before it, and so on back to the first.
    """

    def __init__(self) -> None:
        # Lines with a verdict on a pair, oldest first; a dislike is a negative number.
        self._lines: dict[tuple[int, int], list[int]] = {}
        self._negatives: dict[tuple[int, int], list[int]] = {}
        self._verdicts: dict[int, Verdicts] = {}

    def add(self, number: int, query: int, picture: int, *, likes: bool) -> list[int]:
        """Add the verdict of the newest line; return the lines it contradicts."""
        lines = self._lines.setdefault((query, picture), [])
        line = number if likes else -number
        contradicted = _last_agreeing(lines) if lines and not _agree(lines[-1], line) else []
        lines.append(line)
        self._update_verdicts(query, picture, lines)
        return [abs(one) for one in contradicted]

    def remove(self, number: int, query: int, picture: int) -> list[int]:
        """Remove the verdict of a line; return the lines whose verdict counts again."""
        lines = self._lines[query, picture]
        before = set(_last_agreeing(lines))
        lines.remove(number if number in lines else -number)
        now = _last_agreeing(lines)
        self._update_verdicts(query, picture, lines)
        if not lines:
            del self._lines[query, picture]
        return [abs(one) for one in now if one not in before]

    def _update_verdicts(self, query: int, picture: int, lines: Sequence[int]) -> None:
        verdicts = self._verdicts.setdefault(query, Verdicts())
        verdicts.liked.discard(picture)
        verdicts.disliked.discard(picture)
        if lines:
            (verdicts.liked if lines[-1] > 0 else verdicts.disliked).add(picture)
        elif not (verdicts.liked or verdicts.disliked):
            del self._verdicts[query]

    def add_negatives(self, number: int, query: int, pictures: Iterable[int]) -> None:
        """Add the negatives of a line."""
        for picture in pictures:
            self._negatives.setdefault((query, picture), []).append(number)

    def remove_negatives(self, number: int, query: int, pictures: Iterable[int]) -> None:
        """Remove the negatives of a line."""
        for picture in pictures:
            left = self._negatives[query, picture]
            left.remove(number)
            if not left:
                del self._negatives[query, picture]

    def negatives(self, query: int, picture: int) -> Sequence[int]:
        """Return the lines that have a picture as a negative, whether or not it counts."""
        return self._negatives.get((query, picture), ())

    def likes(self, query: int, picture: int) -> bool:
        """Return whether the newest verdict about a pair is a like."""
        verdicts = self._verdicts.get(query)
        return verdicts is not None and picture in verdicts.liked

    def verdicts(self, query: int) -> Verdicts:
        """Return a copy of the verdicts about a query."""
        found = self._verdicts.get(query, Verdicts())
        return Verdicts(set(found.liked), set(found.disliked))

    def contradicted_by(self, number: int, query: int, picture: int) -> list[int]:
        """Return the earlier lines that a line contradicts about a pair."""
        lines = self._lines[query, picture]
        at = lines.index(number if number in lines else -number)
        if not at or _agree(lines[at - 1], lines[at]):
            return []
        return [abs(one) for one in _last_agreeing(lines[:at])]

    def contradictions(self) -> list[Contradiction]:
        """Return every contradiction, in the order they were made."""
        return sorted(
            Contradiction(line, earlier, picture)
            for (_, picture), lines in self._lines.items()
            for line, earlier in _disagreements(lines)
        )


def _agree(one: int, other: int) -> bool:
    return (one > 0) == (other > 0)


def _last_agreeing(lines: Sequence[int]) -> list[int]:
    """Return the newest lines with the same verdict, oldest first."""
    start = len(lines)
    while start and _agree(lines[start - 1], lines[-1]):
        start -= 1
    return list(lines[start:])


def _disagreements(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (line, earlier line it contradicts)."""
    agreeing: list[int] = []
    for line in lines:
        if agreeing and not _agree(agreeing[-1], line):
            yield from ((abs(line), abs(earlier)) for earlier in agreeing)
            agreeing = []
        agreeing.append(line)
