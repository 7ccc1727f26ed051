"""Answers that wait: what people compare has a profile of its own until the owner takes it in.

A comparison, a guest's above all, must not change how the owner's pictures are ranked before the
owner says so.  Each person's answers for a profile are lines of another profile, which can be
ranked by and looked at like any other.  Taking them in is one line of the owner's log, which says
whose they are, and which a roll-back takes out again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from likewise.catalog import log_tables
from likewise.catalog.changes import put_setting
from likewise.catalog.store import Store
from likewise.errors import CollectionError, LikewiseError
from likewise.learning import judge as judging
from likewise.learning.history import MERGE, Item
from likewise.learning.log import append_line, timestamp
from likewise.learning.profile_states import ProfileStates
from likewise.search.similarities import DEFAULT, check_new_name

_SETTING = "answer_profiles"
_LONGEST = 24
_TRIES = 1000


@dataclass(frozen=True)
class AnswerProfile:
    """The profile that holds a person's answers for another one; None: the owner's own."""

    profile: str
    into: str
    person: str | None


@dataclass(frozen=True)
class Waiting:
    """Answers of a person that a profile has not taken in."""

    profile: str
    person: str | None
    answers: int


def answer_profiles(store: Store, into: str | None = None) -> list[AnswerProfile]:
    """All of them, or those whose answers are meant for one profile."""
    found = [AnswerProfile(**one) for one in json.loads(store.setting(_SETTING) or "[]")]
    return [one for one in found if into is None or one.into == into]


def answers_of(store: Store, into: str, person: str | None) -> str:
    """The profile a person's answers go to, made when the first one comes.

    Answers for a profile that itself holds answers go straight there.
    """
    with store.write(durable=True) as c:
        found = answer_profiles(store)
        for one in found:
            if (one.into, one.person) == (into, person) or one.profile == into:
                return one.profile
        name = _free_name(store, into, person)
        base = log_tables.profiles(store)[into].base
        log_tables.put_profile(c, name, base, timestamp(), None, 0)
        found.append(AnswerProfile(name, into, person))
        put_setting(c, _SETTING, json.dumps([asdict(one) for one in found]))
    return name


def waiting_items(store: Store, states: ProfileStates, into: str) -> list[Item]:
    """Everything people answered for a profile that stands, taken in or not."""
    found: dict[int, Item] = {}
    with states.lock:
        for one in answer_profiles(store, into):
            found |= {item.number: item for item in states.history(one.profile).items}
    return [found[number] for number in sorted(found)]


def count_waiting(store: Store, states: ProfileStates, into: str) -> list[Waiting]:
    """Whose answers wait, and how many; people whose answers are all taken in are left out."""
    with states.lock:
        taken = {item.number for item in states.history(into).items}
        found = []
        for one in answer_profiles(store, into):
            items = states.history(one.profile).items
            left = sum(item.number not in taken for item in items)
            if left:
                found.append(Waiting(one.profile, one.person, left))
    return found


def take_in(
    store: Store, states: ProfileStates, into: str, answers: str | None = None
) -> list[Waiting]:
    """Have a profile learn the answers that wait for it, or those of one profile of answers."""
    # First the lock of the states, then the catalog's: everywhere in this order.
    with states.lock, store.write(durable=True) as c:
        found = [
            one
            for one in count_waiting(store, states, into)
            if answers is None or one.profile == answers
        ]
        if not found:
            whose = "" if answers is None else f" in {answers!r}"
            raise CollectionError(f"no answers wait for profile {into!r}{whose}")
        for one in found:
            body = {
                "profile": one.profile,
                "position": log_tables.last_entry(store, one.profile),
                "by": one.person,
                "answers": one.answers,
            }
            append_line(c, store, into, MERGE, body)
    states.fold_in_use(into)
    return found


def undo(store: Store, states: ProfileStates, profile: str, number: int) -> int:
    """Take a line back wherever it stands: in the profile, and where it waits or waited for it."""
    places = [profile, *(one.profile for one in answer_profiles(store, profile))]
    with states.lock:
        there = [one for one in places if states.history(one).stands(number)]
    for one in there or [profile]:
        judging.undo(store, states, one, number)
    return number


def _free_name(store: Store, into: str, person: str | None) -> str:
    """``answers``, ``anna-answers``, ``work-anna-answers``: a name nobody has."""
    plain = "".join(one if one.isalnum() else "-" for one in (person or "")).strip("-").lower()
    parts = [] if into == DEFAULT else [into[:8]]
    parts += [plain[:_LONGEST].strip("-")] if plain else []
    start = "-".join([*parts, "answers"])
    for number in range(1, _TRIES):
        name = start if number == 1 else f"{start}-{number}"
        try:
            check_new_name(store, name)
        except LikewiseError:
            continue
        return name
    raise CollectionError(f"there are {_TRIES} profiles called {start!r} already")
