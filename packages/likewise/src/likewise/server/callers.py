"""The caller of a request: the owner or a named key, and what each may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from likewise.collection.keys import MANAGE, ROLES, AccessKey
from likewise.errors import NotYours

CALLER = "likewise.caller"
"""Where the routes find who asks, in a request's scope."""
MAY = {
    "look": "look at the pictures",
    "judge": "judge and tag",
    "manage": "manage the collection",
}
"""What each role may, in words."""


@dataclass(frozen=True)
class Caller:
    """Who is let in; ``key`` None: the owner, or a program with the server's own key."""

    role: str = MANAGE
    key: AccessKey | None = None

    @property
    def name(self) -> str:
        return "" if self.key is None else self.key.name

    @property
    def manages(self) -> bool:
        """Whether they may take back what others said."""
        return self.role == MANAGE

    def may(self, least: str) -> bool:
        """Whether their role is enough."""
        return ROLES.index(self.role) >= ROLES.index(least)

    def check_own(self, key: int | None) -> None:
        """Refuse what was done with another key, unless they manage."""
        if not self.manages and (self.key is None or key != self.key.id):
            raise NotYours("that was not done with your key; the owner can undo it")


OWNER = Caller()


async def _caller_of(request: Request) -> Caller:
    found: Caller = request.scope.get(CALLER, OWNER)
    return found


Calling = Annotated[Caller, Depends(_caller_of)]
