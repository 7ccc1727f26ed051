"""Who acts: the named key of the request that is being answered, for every line that it writes.

A server has one store and many callers.  Whose request a thread works for is a context variable,
which follows the request into threads; what writes the log and the list of actions asks here, so
that no way of writing can forget to say who it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple


class Actor(NamedTuple):
    """A named key; its ``id`` tells it from another one that has the same name later."""

    id: int
    name: str


_ACTING: ContextVar[Actor | None] = ContextVar("likewise_acting", default=None)


@contextmanager
def acting(actor: Actor | None) -> Iterator[None]:
    """What is written inside is this key's; None: the owner's."""
    before = _ACTING.set(actor)
    try:
        yield
    finally:
        _ACTING.reset(before)


def acting_now() -> Actor | None:
    """Whose request this is; None: the owner's."""
    return _ACTING.get()


def signature() -> dict[str, Any]:
    """What a line of the log says of who wrote it; nothing of the owner."""
    actor = acting_now()
    return {} if actor is None else {"who": actor.name, "key": actor.id}
