"""Keep comparisons pending until the owner of a profile applies them.

A comparison, in particular by a guest, must not change the owner's ranking without consent. So each
person's answers for a profile are lines of a separate profile, which can be used and inspected like
any other.  Applying them is one line of the owner's log, with the name of the person, and a
roll-back removes it.
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
class PendingAnswers:
    """The answers of a person that a profile has not applied."""

    profile: str
    person: str | None
    answers: int


def answer_profiles(store: Store, into: str | None = None) -> list[AnswerProfile]:
    """Return the profiles that hold answers, all or those for one profile."""
    found = [AnswerProfile(**one) for one in json.loads(store.setting(_SETTING) or "[]")]
    return [one for one in found if into is None or one.into == into]


def answers_of(store: Store, into: str, person: str | None) -> str:
    """Return the profile of a person's answers; create it if necessary.

    Answers for a profile that itself holds answers go directly into it.
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


def all_answers(store: Store, states: ProfileStates, into: str) -> list[Item]:
    """Return every answer in effect for a profile, applied or pending."""
    found: dict[int, Item] = {}
    with states.lock:
        for one in answer_profiles(store, into):
            found |= {item.number: item for item in states.history(one.profile).items}
    return [found[number] for number in sorted(found)]


def count_pending(store: Store, states: ProfileStates, into: str) -> list[PendingAnswers]:
    """Count the pending answers of each person who has some."""
    with states.lock:
        applied = {item.number for item in states.history(into).items}
        found = []
        for one in answer_profiles(store, into):
            items = states.history(one.profile).items
            left = sum(item.number not in applied for item in items)
            if left:
                found.append(PendingAnswers(one.profile, one.person, left))
    return found


def apply_pending(
    store: Store, states: ProfileStates, into: str, answers: str | None = None
) -> list[PendingAnswers]:
    """Apply pending answers to a profile: all, or those of one profile of answers."""
    # Lock order: the states first, then the catalog.
    with states.lock, store.write(durable=True) as c:
        found = [
            one
            for one in count_pending(store, states, into)
            if answers is None or one.profile == answers
        ]
        if not found:
            whose = "" if answers is None else f" in {answers!r}"
            raise CollectionError(f"profile {into!r} has no pending answers{whose}")
        for one in found:
            body = {
                "profile": one.profile,
                "position": log_tables.last_entry(store, one.profile),
                "by": one.person,
                "answers": one.answers,
            }
            append_line(c, store, into, MERGE, body)
    states.fold_new_lines(into)
    return found


def undo(store: Store, states: ProfileStates, profile: str, number: int) -> int:
    """Withdraw a line in a profile, and in the profiles of its answers."""
    places = [profile, *(one.profile for one in answer_profiles(store, profile))]
    with states.lock:
        there = [one for one in places if states.history(one).stands(number)]
    for one in there or [profile]:
        judging.undo(store, states, one, number)
    return number


def _free_name(store: Store, into: str, person: str | None) -> str:
    """Return an unused name such as ``answers``, ``anna-answers`` or ``work-anna-answers``."""
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
