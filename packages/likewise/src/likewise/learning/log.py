"""The log of a profile: append a line, list the lines, and return the judgements of a query."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog import log_tables
from likewise.catalog.store import Store, Transaction
from likewise.errors import InvalidInput
from likewise.learning.history import COMPARE, JUDGE, LEARNED_KINDS, SESSION_GAP, TAKE_BACK, UNDO
from likewise.search.similarities import DEFAULT, resolve_profile

if TYPE_CHECKING:
    from likewise.learning.profile_states import ProfileStates
    from likewise.search.query import Query, Region

_LONGEST_PERSON = 200


def append_line(
    c: Transaction, store: Store, profile: str, kind: str, body: Mapping[str, Any]
) -> log_tables.Entry:
    """Append a line inside a transaction, in the current session or in a new one."""
    moment, session = now(), None
    last = log_tables.last_session(store, profile)
    if last is not None:
        pause = moment - datetime.datetime.fromisoformat(last[1])
        session = last[0] if pause.total_seconds() < SESSION_GAP else None
    made = timestamp(moment)
    number = log_tables.append_entry(c, profile, kind, made, session, body)
    return log_tables.Entry(number, profile, kind, made, session or number, body)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def timestamp(moment: datetime.datetime | None = None) -> str:
    """Return a time (None: now) in the format of the log."""
    return (moment or now()).isoformat(timespec="milliseconds")


def check_person(person: str | None) -> str | None:
    """Return the name of a person as the log stores it, or refuse it."""
    if person is None:
        return None
    if not isinstance(person, str) or not person.strip() or len(person) > _LONGEST_PERSON:
        raise InvalidInput(
            f"person is {person!r}; a name of at most {_LONGEST_PERSON} letters expected"
        )
    return person.strip()


class LogLine(NamedTuple):
    """One line of the log.

    Attributes
    ----------
    number : int
        Its number, counted over all profiles and tags.
    profile : str
        The profile.
    kind : str
        A judgement, a comparison, a roll-back and so on.
    made : str
        When.
    session : int
        Its session.
    stands : bool
        Whether it is in effect.
    query : int or None
        The query's picture, where it is in the collection.
    liked, disliked : tuple of int
        Pictures that are like it and that are not.
    about : int or None
        The line that is withdrawn, or the position that is rolled back to.
    contradicts : tuple of int
        Earlier lines it contradicts.
    text : str or None
        The typed text.
    person : str or None
        The name of who compared, or whose ``answers`` were applied or withdrawn; None: the owner.
    answers : int
        How many answers.
    version : int
        Counts this profile's lines.
    who : str or None
        The named key it was written with; None: the owner.

    See Also
    --------
    Judgement : a line as it was made.
    """

    number: int
    profile: str
    kind: str
    made: str
    session: int
    stands: bool
    query: int | None
    liked: tuple[int, ...]
    disliked: tuple[int, ...]
    about: int | None
    contradicts: tuple[int, ...]
    text: str | None = None
    person: str | None = None
    answers: int = 0
    version: int = 0
    who: str | None = None


class Log:
    """The log of a collection; lines are never deleted."""

    def __init__(self, store: Store, states: ProfileStates) -> None:
        self._store, self._states = store, states

    def entries(self, profile: str = DEFAULT, *, newest: int | None = None) -> list[LogLine]:
        """Return the lines of a profile, oldest first; undone lines are marked.

        ``newest`` is how many lines are returned, counted from the end; None: all.
        """
        history = self._states.history(resolve_profile(self._store, profile))
        active = {item.number for item in history.items}
        log = history.log()
        undone = {one.body["judgement"] for one in log if one.kind == UNDO}
        contradicts: dict[int, list[int]] = {}
        for found in history.contradictions:
            contradicts.setdefault(found.judgement, []).append(found.earlier)
        lines = log if newest is None else log[-newest:]
        subjects: set[int] = set()
        for entry in lines:
            if entry.kind in (JUDGE, COMPARE):
                subjects |= {entry.body["query"], *entry.body["liked"], *entry.body["disliked"]}
        here = log_tables.subjects_in_collection(self._store, subjects)
        made = []
        for version, entry in enumerate(lines, len(log) - len(lines) + 1):
            body, judged, taken = (
                entry.body, entry.kind in (JUDGE, COMPARE), entry.kind == TAKE_BACK,
            )  # fmt: skip
            stands = not (taken and entry.number in undone)
            made.append(
                LogLine(
                    entry.number, entry.profile, entry.kind, entry.made, entry.session,
                    entry.number in active if entry.kind in LEARNED_KINDS else stands,
                    here.get(body["query"]) if judged else None,
                    tuple(here[s] for s in body.get("liked", ()) if s in here),
                    tuple(here[s] for s in body.get("disliked", ()) if s in here),
                    body.get("judgement", body.get("position")),
                    tuple(dict.fromkeys(contradicts.get(entry.number, ()))),
                    body.get("text") if judged else None,
                    body.get("of" if taken else "by"),
                    len(body["judgements"]) if taken else int(body.get("answers", 0)),
                    version,
                    body.get("who"),
                )
            )  # fmt: skip
        return made

    def verdicts(
        self,
        query: Query | None = None,
        *,
        text: str | None = None,
        region: Region | None = None,
        profile: str = DEFAULT,
    ) -> tuple[list[int], list[int]]:
        """Return the pictures liked and disliked for a query, a text or both."""
        from likewise.search.query import query_key
        from likewise.search.typed.parse import clean_text, text_key

        key = None if query is None else query_key(self._store, query, region)
        if text is not None:
            key = text_key(clean_text(text), key or b"")
        subject = None if key is None else log_tables.subject_of(self._store, key)
        if subject is None:
            return [], []
        found = self._states.verdicts(resolve_profile(self._store, profile), subject)
        liked, disliked = (
            sorted(log_tables.subjects_in_collection(self._store, some).values())
            for some in (found.liked, found.disliked)
        )
        return liked, disliked

    def contradictions(self, judgement: int, *, profile: str = DEFAULT) -> list[int]:
        """Return the earlier judgements that a judgement contradicts, at least in part."""
        return self._states.contradictions(resolve_profile(self._store, profile), judgement)
