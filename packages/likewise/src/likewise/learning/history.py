"""What counts now: the log of a profile, folded to the judgements that still stand.

Undo and roll-back never erase; they are lines of the log.  :class:`History` reads them and gives
the items that stand, each as it stands: where a later judgement says the opposite of an earlier
one about the same query and picture, the earlier one loses that picture
(:mod:`~likewise.learning.pair_index` knows which).  ``digests[n]`` names the
first n items, so that a checkpoint fits exactly those histories that begin with what it folded.
"""

from __future__ import annotations

import datetime
import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from likewise.catalog.log_tables import Entry, ProfileRow, entries, profiles
from likewise.catalog.store import Store
from likewise.errors import CollectionError
from likewise.learning.pair_index import Contradiction, PairIndex, Verdicts
from likewise_methods.solis import JUDGEMENT_REACH, LIMIT, SESSION_REACH, profile_learner

JUDGE, COMPARE, WEIGHTS = "judge", "compare", "weights"
UNDO, ROLLBACK, MERGE = "undo", "rollback", "merge"
TAKE_BACK = "takeback"
"""Takes back all that a key taught, in one line; undoing that line lets it stand again."""
SESSION_GAP = 30 * 60.0
"""A pause of so many seconds between two judgements that stand ends a session."""
# Every digest begins with the rule of learning: a checkpoint of another rule never fits.
_RULE = hashlib.blake2b(
    repr((profile_learner().get_params(), JUDGEMENT_REACH, SESSION_REACH, LIMIT)).encode(),
    digest_size=16,
).digest()
LESSONS = (JUDGE, COMPARE, WEIGHTS)
"""Lines that teach; the others only say which of these still stand."""


@dataclass(frozen=True)
class Item:
    """A judgement, a comparison or weights that came in whole, as it stands.

    Pictures are subjects.  A comparison likes the nearer picture and dislikes the farther one.
    ``typed``: its query is words alone, which are in no picture's place.
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
        """Every picture its learning reads."""
        return {self.query, *self.liked, *self.disliked, *self.negatives} if self.query else set()

    def judged(self) -> tuple[int, ...]:
        """Pictures it is a verdict on.  "Closer than that one" is none on either."""
        return tuple(dict.fromkeys((*self.liked, *self.disliked))) if self.kind == JUDGE else ()

    def mark(self) -> bytes:
        """What the digest of a history is made of: equal exactly when learning would be equal."""
        said = (
            self.number, self.kind, self.session, self.query,
            self.liked, self.disliked, self.negatives, self.weight,
        )  # fmt: skip
        return repr(said).encode()


class History:
    """The items of one profile that stand, kept up to date as its log grows.

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
        """Read on in the log; what is judged or taken back costs the lines that speak of it."""
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
        """Everything from the first line."""
        known = profiles(self._store)

        def merged(entry: Entry) -> list[Item]:
            body = entry.body
            return _items_at(self._store, known, str(body["profile"]), int(body["position"]))

        self._restart(standing_items(self._inherited, self._own, merged=merged))

    def _restart(self, items: Iterable[Item]) -> None:
        self.items: list[Item] = []
        self._numbers: list[int] = []
        self._digests = [_RULE]
        self._pairs = PairIndex()
        # Items of which something does not count now, as they were said.
        self._whole: dict[int, Item] = {}
        for item in items:
            self._add_item(item)

    def _add_item(self, item: Item) -> None:
        """One more item; where it contradicts earlier ones, those change, and all digests on."""
        item = self._in_session(item)
        self.items.append(item)
        self._numbers.append(item.number)
        first_changed = len(self.items) - 1
        if judged := item.judged():
            pairs, query = self._pairs, item.query
            liked = {picture for picture in judged if pairs.likes(query, picture)}
            for picture in judged:
                likes = picture not in item.disliked
                for number in pairs.say(item.number, query, picture, likes=likes):
                    first_changed = min(first_changed, self._drop_word(number, picture))
            for picture in judged:
                if (picture in liked) != pairs.likes(query, picture):
                    first_changed = min(first_changed, self._pass_over_anew(query, picture))
            pairs.pass_over(item.number, query, dict.fromkeys(item.negatives))
            # What is liked, before or later, was never passed over.
            for picture in item.negatives:
                if pairs.likes(query, picture):
                    self._put_negative(item.number, picture, counts=False)
        del self._digests[first_changed + 1 :]

    def _remove_item(self, number: int) -> None:
        """Take back an item, if it stands: what it contradicted counts again.

        Everything else about the past is then as it was, but for the session of what follows.
        """
        at = self._place(number)
        if at == len(self.items) or self._numbers[at] != number:
            return
        item = self._whole.pop(number, self.items[at])
        del self.items[at], self._numbers[at]
        first_changed = at
        if judged := item.judged():
            pairs, query = self._pairs, item.query
            pairs.forget_passed_over(number, query, dict.fromkeys(item.negatives))
            for picture in judged:
                liked = pairs.likes(query, picture)
                for one in pairs.unsay(number, query, picture):
                    first_changed = min(first_changed, self._put_word_back(one, picture))
                if liked != pairs.likes(query, picture):
                    first_changed = min(first_changed, self._pass_over_anew(query, picture))
        del self._digests[first_changed + 1 :]
        for place in range(at, len(self.items)):
            now = self._session_of(self.items[place], place)
            if now == self.items[place].session:
                break
            self.items[place] = replace(self.items[place], session=now)

    def _place(self, number: int) -> int:
        """Where an item is, or would be: they are in the order of their numbers."""
        return bisect_left(self._numbers, number)

    def _in_session(self, item: Item) -> Item:
        """Its session, by the items that stand: a pause ends one, whatever was undone in it."""
        return replace(item, session=self._session_of(item, len(self.items)))

    def _session_of(self, item: Item, place: int) -> int:
        """The session of an item that stands behind ``place`` others."""
        last = self.items[place - 1] if place else None
        going_on = last is not None and item.at - last.at < SESSION_GAP
        return last.session if last and going_on else item.number

    def _drop_word(self, number: int, picture: int) -> int:
        """A later item says the opposite of what this one said about a picture; gives its place."""
        at = self._place(number)
        item = self.items[at]
        self._whole.setdefault(number, item)
        self.items[at] = replace(
            item,
            liked=tuple(p for p in item.liked if p != picture),
            disliked=tuple(p for p in item.disliked if p != picture),
        )
        return at

    def _put_word_back(self, number: int, picture: int) -> int:
        """Nothing later says the opposite any more; gives its place."""
        at = self._place(number)
        item, whole = self.items[at], self._whole[number]
        self.items[at] = replace(
            item,
            liked=tuple(p for p in whole.liked if p == picture or p in item.liked),
            disliked=tuple(p for p in whole.disliked if p == picture or p in item.disliked),
        )
        return at

    def _pass_over_anew(self, query: int, picture: int) -> int:
        """A picture is liked now, or no more: gives the first place of a line it changes."""
        counts = not self._pairs.likes(query, picture)
        numbers = self._pairs.passed_over(query, picture)
        places = [self._put_negative(number, picture, counts=counts) for number in numbers]
        return min(places, default=len(self.items))

    def _put_negative(self, number: int, picture: int, *, counts: bool) -> int:
        """Whether it counts that an item passed a picture over; gives its place."""
        at = self._place(number)
        item = self.items[at]
        whole = self._whole.setdefault(number, item)
        kept = {*item.negatives, picture} if counts else {*item.negatives} - {picture}
        left = tuple(p for p in whole.negatives if p in kept)
        self.items[at] = replace(item, negatives=left)
        return at

    @property
    def digests(self) -> list[bytes]:
        """One more than there are items: the names of all beginnings, the empty one first."""
        for at in range(len(self._digests) - 1, len(self.items)):
            whole = self._digests[at] + self.items[at].mark()
            self._digests.append(hashlib.blake2b(whole, digest_size=16).digest())
        return self._digests

    @property
    def contradictions(self) -> list[Contradiction]:
        """Every contradiction among the items that stand, in the order they were made."""
        return self._pairs.contradictions()

    def contradicted_by(self, number: int) -> list[int]:
        """Earlier items of which an item says the opposite, in part at least."""
        item = self._whole.get(number) or self._item(number)
        if item is None:
            return []
        found = (
            self._pairs.contradicted_by(number, item.query, picture) for picture in item.judged()
        )
        return sorted(set().union(*found))

    def verdicts(self, query: int) -> Verdicts:
        """What stands about a query."""
        return self._pairs.verdicts(query)

    def _item(self, number: int) -> Item | None:
        """An item that stands, as it stands."""
        at = self._place(number)
        return self.items[at] if self._numbers[at : at + 1] == [number] else None

    def last_judgement(self) -> int | None:
        """The newest judgement that stands."""
        return next((i.number for i in reversed(self.items) if i.kind == JUDGE), None)

    def stands(self, judgement: int) -> bool:
        item = self._item(judgement)
        return item is not None and item.kind in (JUDGE, COMPARE)

    def positions(self) -> list[int]:
        """Every position of the log this profile can be rolled back to, 0 (nothing) first."""
        return [0, *(entry.number for entry in self._own)]

    def log(self) -> list[Entry]:
        """Its own lines, oldest first."""
        return list(self._own)


def standing_items(
    inherited: Sequence[Item],
    log: Iterable[Entry],
    upto: int | None = None,
    *,
    merged: Callable[[Entry], Sequence[Item]] = lambda entry: (),
) -> list[Item]:
    """The items that stand after a log: judgements less those taken back (before verdicts).

    ``merged`` gives the items that a line takes in from another profile.  What several profiles
    share, from a common past, counts once; items stand in the order they were said in.

    Read backwards first, since a roll-back makes the lines between it and its position void: each
    line is looked at once, however roll-backs are nested.
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
    body: Mapping[str, Any] = entry.body
    if entry.kind == WEIGHTS:
        return Item(entry.number, WEIGHTS, at=_seconds(entry.made))
    return Item(
        entry.number,
        entry.kind,
        0,
        body["query"],
        tuple(sorted(body["liked"])),
        tuple(sorted(body["disliked"])),
        tuple(sorted(body.get("negatives", ()))),
        float(body.get("weight", 1.0)),
        _seconds(entry.made),
        "text" in body and not body.get("beside", False),
    )


def _seconds(made: str) -> float:
    return datetime.datetime.fromisoformat(made).timestamp()


def _inherited_items(store: Store, known: Mapping[str, ProfileRow], profile: str) -> list[Item]:
    """What a copied profile begins with: its parent's items at the moment of the copy."""
    row = known.get(profile)
    if row is None:
        raise CollectionError(f"there is no profile {profile!r}; there are {', '.join(known)}")
    if row.parent is None:
        return []
    return _items_at(store, known, row.parent, row.parent_position)


def _items_at(
    store: Store, known: Mapping[str, ProfileRow], profile: str, position: int
) -> list[Item]:
    """The items of a profile that stood at a position of its log."""
    before = _inherited_items(store, known, profile)

    def merged(entry: Entry) -> list[Item]:
        return _items_at(store, known, str(entry.body["profile"]), int(entry.body["position"]))

    return standing_items(before, entries(store, profile), position, merged=merged)
