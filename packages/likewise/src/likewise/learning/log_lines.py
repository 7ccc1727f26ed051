"""Lines of the log as they are written: when, and in which session."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from likewise.catalog import log_tables
from likewise.catalog.store import Store, Transaction
from likewise.learning.history import SESSION_GAP


def append_line(
    c: Transaction, store: Store, profile: str, kind: str, body: Mapping[str, Any]
) -> log_tables.Entry:
    """Inside a transaction: one more line, in the session that is going on or in a new one."""
    moment = now()
    session = _session(store, profile, moment)
    made = timestamp(moment)
    number = log_tables.append_entry(c, profile, kind, made, session, body)
    return log_tables.Entry(number, profile, kind, made, session or number, body)


def _session(store: Store, profile: str, now: datetime.datetime) -> int | None:
    """The session a judgement belongs to; None begins one."""
    last = log_tables.last_session(store, profile)
    if last is None:
        return None
    since = now - datetime.datetime.fromisoformat(last[1])
    return last[0] if since.total_seconds() < SESSION_GAP else None


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def timestamp(moment: datetime.datetime | None = None) -> str:
    """A moment as the log writes it."""
    moment = now() if moment is None else moment
    return moment.isoformat(timespec="milliseconds")
