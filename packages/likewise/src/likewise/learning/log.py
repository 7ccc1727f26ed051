"""The log for people: what was said in a profile, and what stands of it about a query."""

from __future__ import annotations

from typing import NamedTuple

from likewise.catalog import log_tables
from likewise.catalog.store import Store
from likewise.learning.history import COMPARE, JUDGE, LESSONS, TAKE_BACK, UNDO
from likewise.learning.profile_names import DEFAULT, resolve_profile
from likewise.learning.profile_states import ProfileStates
from likewise.search.query import Query, Region, query_key
from likewise.search.typed.parse import clean_text, text_key


class LogLine(NamedTuple):
    """One line of the log for people.

    Attributes
    ----------
    number : int
        Counts what was said in all profiles and of tags.
    profile : str
        Who learned.
    kind : str
        What it says: a judgement, a comparison, a roll-back and so on.
    made : str
        When.
    session : int
        The sitting it belongs to.
    stands : bool
        Whether it still counts.
    query : int or None
        The picture asked with, where it is in the collection.
    liked, disliked : tuple of int
        Pictures that are like it and that are not.
    about : int or None
        The line that is taken back, or the position that is rolled back to.
    contradicts : tuple of int
        Earlier lines it says the opposite of.
    text : str or None
        What was typed.
    person : str or None
        Who compared, or whose ``answers`` were taken in or back; None: the owner.
    answers : int
        How many of them.
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
    """What was said, line by line; nothing is ever erased."""

    def __init__(self, store: Store, states: ProfileStates) -> None:
        self._store, self._states = store, states

    def entries(self, profile: str = DEFAULT, *, newest: int | None = None) -> list[LogLine]:
        """What was said in a profile, oldest first; undone lines are marked, never gone.

        ``newest`` is how many lines are wanted, counted from the end; None: all.
        """
        history = self._states.history(resolve_profile(self._store, profile))
        standing = {item.number for item in history.items}
        undone = {one.body["judgement"] for one in history.log() if one.kind == UNDO}
        contradicts: dict[int, list[int]] = {}
        for found in history.contradictions:
            contradicts.setdefault(found.judgement, []).append(found.earlier)
        log = history.log()
        lines = log if newest is None else log[-newest:]
        subjects: set[int] = set()
        for entry in lines:
            if entry.kind in (JUDGE, COMPARE):
                subjects |= {entry.body["query"], *entry.body["liked"], *entry.body["disliked"]}
        here = log_tables.subjects_in_collection(self._store, subjects)
        made = []
        for version, entry in enumerate(lines, len(log) - len(lines) + 1):
            body = entry.body
            judged = entry.kind in (JUDGE, COMPARE)
            made.append(
                LogLine(
                    entry.number, entry.profile, entry.kind, entry.made, entry.session,
                    entry.number in standing
                    if entry.kind in LESSONS
                    else not (entry.kind == TAKE_BACK and entry.number in undone),
                    here.get(body["query"]) if judged else None,
                    tuple(here[s] for s in body.get("liked", ()) if s in here),
                    tuple(here[s] for s in body.get("disliked", ()) if s in here),
                    body.get("judgement", body.get("position")),
                    tuple(dict.fromkeys(contradicts.get(entry.number, ()))),
                    body.get("text") if judged else None,
                    body.get("of") if entry.kind == TAKE_BACK else body.get("by"),
                    len(body["judgements"])
                    if entry.kind == TAKE_BACK
                    else int(body.get("answers", 0)),
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
        """Pictures liked and disliked for a query, a text or both, as it stands now."""
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
        """Earlier judgements of which a judgement says the opposite, in part at least."""
        return self._states.contradictions(resolve_profile(self._store, profile), judgement)
