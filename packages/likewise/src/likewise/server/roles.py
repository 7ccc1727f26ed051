"""The caller of a request and what each role may do, in one table.

``look`` searches and views, ``judge`` also judges, tags, rates and keeps albums, ``manage`` may do
everything.  The guard checks the role before a request reaches its route.  A route that is not in
the table needs ``manage``; a test compares the table with all routes.  A guest with a link to
answer questions may see a bounded number of pictures.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request
from starlette.routing import compile_path

from likewise.collection.keys import JUDGE, LOOK, MANAGE, ROLES, AccessKey
from likewise.errors import CollectionBusy, NotYours
from likewise.learning.shares import Share

GUEST_PICTURES = 150
"""Pictures a guest may see before the first answer: about fifty skipped questions."""
PICTURES_PER_ANSWER = 9
"""Further pictures for each answer: three questions."""
GUEST_QUESTIONS = 8
"""The most questions a guest gets at a time."""


class ShownPictures:
    """Pictures that each guest was asked about since the server started.

    Without this bound a guest could request questions until every picture had been in one.
    """

    def __init__(self) -> None:
        self._shown: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def show(self, guest: Share, images: Iterable[int], answers: int) -> None:
        """Allow these pictures; refuse more than this number of answers permits."""
        with self._lock:
            known = self._shown.setdefault(guest.digest, set())
            wanted = known | set(images)
            if len(wanted) > max(GUEST_PICTURES + PICTURES_PER_ANSWER * answers, len(known)):
                raise CollectionBusy("you skipped many questions; answer some, then go on")
            known |= wanted

    def may_see(self, guest: Share, image: int) -> bool:
        with self._lock:
            return image in self._shown.get(guest.digest, ())


CALLER = "likewise.caller"
"""The key of the caller in a request's scope."""
MAY = {
    "look": "look at the pictures",
    "judge": "judge and tag",
    "manage": "manage the collection",
}
"""What each role may do, in words."""


@dataclass(frozen=True)
class Caller:
    """A signed-in caller; ``key`` None: the owner, or a program with the server's own key."""

    role: str = MANAGE
    key: AccessKey | None = None

    @property
    def name(self) -> str:
        return "" if self.key is None else self.key.name

    @property
    def manages(self) -> bool:
        """Return whether the caller may undo the work of others."""
        return self.role == MANAGE

    def may(self, least: str) -> bool:
        """Return whether the role is sufficient."""
        return ROLES.index(self.role) >= ROLES.index(least)

    def check_own(self, key: int | None) -> None:
        """Refuse access to the work of another key, unless the caller may manage."""
        if not self.manages and (self.key is None or key != self.key.id):
            raise NotYours("that was not done with your key; the owner can undo it")


OWNER = Caller()


async def _caller_of(request: Request) -> Caller:
    found: Caller = request.scope.get(CALLER, OWNER)
    return found


Calling = Annotated[Caller, Depends(_caller_of)]


LEAST: dict[str, dict[str, str]] = {
    # The page and its caller.
    "/": {"GET": LOOK},
    "/page/{name:path}": {"GET": LOOK},
    "/api/openapi.json": {"GET": LOOK, "HEAD": LOOK},
    "/api/me": {"GET": LOOK},
    "/api/health": {"GET": LOOK},
    "/api/metrics": {"GET": LOOK},
    "/api/events": {"GET": LOOK},
    # Pictures.  Uploads are queries and do not enter the collection.
    "/api/pictures": {"GET": LOOK},
    "/api/pictures/{picture}": {"GET": LOOK},
    "/api/pictures/{picture}/thumbnail": {"GET": LOOK},
    "/api/pictures/{picture}/image": {"GET": LOOK},
    "/api/pictures/{picture}/original": {"GET": LOOK},
    "/api/pictures/{picture}/download": {"GET": LOOK},
    "/api/pictures/{picture}/facts": {"GET": LOOK},
    "/api/pictures/{picture}/tags": {"GET": LOOK},
    "/api/pictures/{picture}/reveal": {"POST": MANAGE},
    "/api/pictures/remove": {"POST": MANAGE},
    "/api/uploads": {"POST": LOOK},
    "/api/uploads/{name}/image": {"GET": LOOK},
    "/api/search": {"POST": LOOK},
    "/api/explain": {"POST": LOOK},
    # Judgements and what is learned from them.
    "/api/judge": {"POST": JUDGE},
    "/api/undo": {"POST": JUDGE},
    "/api/similarities": {"GET": LOOK},
    "/api/similarities/use": {"POST": MANAGE},
    "/api/profiles": {"POST": JUDGE},
    "/api/profiles/{name}/log": {"GET": LOOK},
    "/api/profiles/{name}/learned": {"GET": LOOK},
    "/api/profiles/{name}/rollback": {"POST": MANAGE},
    "/api/compare/questions": {"GET": LOOK},
    "/api/compare/answers": {"POST": JUDGE},
    "/api/compare/undo": {"POST": JUDGE},
    "/api/compare/report": {"GET": LOOK},
    "/api/compare/waiting": {"GET": LOOK},
    "/api/compare/take-in": {"POST": MANAGE},
    "/api/compare/shares": {"GET": MANAGE, "POST": MANAGE},
    "/api/compare/unshare": {"POST": MANAGE},
    "/api/models": {"GET": LOOK, "POST": MANAGE},
    "/api/models/{name}": {"DELETE": MANAGE},
    "/api/models/{name}/rename": {"POST": MANAGE},
    "/api/maps/{name}": {"GET": LOOK},
    "/api/maps/{name}/sheets/{number}": {"GET": LOOK},
    "/api/maps/{name}/likeness": {"POST": LOOK},
    "/api/maps/{name}/tags": {"GET": LOOK},
    # Tags.
    "/api/tags": {"GET": LOOK},
    "/api/tags/untagged": {"GET": LOOK},
    "/api/tags/suggested": {"GET": LOOK},
    "/api/tags/set": {"POST": JUDGE},
    "/api/tags/accept": {"POST": JUDGE},
    "/api/tags/reject": {"POST": JUDGE},
    "/api/tags/save": {"POST": JUDGE},
    "/api/tags/settle": {"POST": JUDGE},
    "/api/tags/undo": {"POST": JUDGE},
    "/api/tags/all": {"POST": MANAGE},
    "/api/tags/export": {"POST": MANAGE},
    "/api/tags/export/plan": {"POST": MANAGE},
    "/api/actions": {"GET": LOOK},
    "/api/actions/undo": {"POST": JUDGE},
    # The library.
    "/api/library/months": {"GET": LOOK},
    "/api/library/months/{month}": {"GET": LOOK},
    "/api/library/folders": {"GET": LOOK},
    "/api/library/cameras": {"GET": LOOK},
    "/api/library/places": {"GET": LOOK},
    "/api/library/pictures/{picture}": {"GET": LOOK},
    "/api/library/duplicates": {"GET": LOOK, "POST": MANAGE},
    "/api/library/marks": {"POST": JUDGE},
    "/api/library/marks/restore": {"POST": JUDGE},
    "/api/library/albums": {"GET": LOOK},
    "/api/library/albums/add": {"POST": JUDGE},
    "/api/library/albums/take": {"POST": JUDGE},
    "/api/library/albums/rename": {"POST": JUDGE},
    "/api/library/albums/delete": {"POST": JUDGE},
    # The collection as a whole.  Problems show paths of files that are not pictures.
    "/api/collection": {"GET": LOOK},
    "/api/collection/problems": {"GET": MANAGE},
    "/api/collection/add": {"POST": MANAGE},
    "/api/collection/sync": {"POST": MANAGE},
    "/api/collection/describe": {"POST": MANAGE},
    "/api/collection/stop": {"POST": MANAGE},
    "/api/collection/verify": {"POST": MANAGE},
    "/api/keys": {"GET": MANAGE, "POST": MANAGE},
    "/api/keys/{key}/revoke": {"POST": MANAGE},
    "/api/keys/{key}/take-back": {"POST": MANAGE},
}
"""The least role by route pattern and method."""


@lru_cache(1)
def _patterns() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    return [(compile_path(path)[0], methods) for path, methods in LEAST.items()]


def least_role(method: str, path: str) -> str:
    """Return the least role that a request needs.

    Where several patterns match, the strictest counts; where none does, ``manage`` is needed.

    >>> least_role("POST", "/api/judge"), least_role("GET", "/api/unheard/of")
    ('judge', 'manage')
    """
    fits = [
        methods[method]
        for pattern, methods in _patterns()
        if method in methods and pattern.match(path)
    ]
    return max(fits, key=ROLES.index, default=MANAGE)
