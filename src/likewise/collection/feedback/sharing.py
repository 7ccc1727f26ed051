"""Links for other people's answers: a name, a token, and nothing of the token kept but its hash."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass

from likewise.collection.errors import CollectionError, UnknownName
from likewise.collection.feedback.judge import stamp
from likewise.collection.store import changes as catalog_changes
from likewise.collection.store.store import Store
from likewise.errors import InvalidInput

_SHARES = "shares"
_LONGEST = 40
MOST_SHARES = 100


@dataclass(frozen=True)
class Share:
    """Who may answer questions, and for which profile."""

    name: str
    profile: str
    made: str
    digest: str


class Sharing:
    """The part of a collection that lets others in to answer."""

    _store: Store

    def shares(self) -> list[Share]:
        """Links that work now, oldest first."""
        found = json.loads(self._store.setting(_SHARES) or "[]")
        return [Share(**one) for one in found]

    def share(self, name: str, profile: str = "default") -> str:
        """A token for somebody's answers; it cannot be shown again."""
        name = name.strip()
        if not name or len(name) > _LONGEST or not name.isprintable():
            raise InvalidInput(f"{name!r} is no name; 1 to {_LONGEST} letters expected")
        token = secrets.token_urlsafe(24)
        with self._store.write() as c:
            kept = self.shares()
            if any(one.name == name for one in kept):
                raise CollectionError(f"{name} has a link already; close it first, or another name")
            if len(kept) >= MOST_SHARES:
                raise CollectionError(f"there are {len(kept)} links; close some first")
            kept.append(Share(name, profile, stamp(), _digest(token)))
            catalog_changes.put_setting(c, _SHARES, _written(kept))
        return token

    def unshare(self, name: str) -> None:
        """Close a link; what was said through it stays."""
        with self._store.write() as c:
            kept = self.shares()
            left = [one for one in kept if one.name != name]
            if len(left) == len(kept):
                raise UnknownName(f"nobody called {name!r} has a link")
            catalog_changes.put_setting(c, _SHARES, _written(left))

    def shared_with(self, token: str) -> Share | None:
        """Whose token it is."""
        digest = _digest(token)
        # A hash of 192 random bits is compared: nothing can be learned from how long it takes.
        return next((one for one in self.shares() if one.digest == digest), None)


def _written(shares: list[Share]) -> str:
    return json.dumps([one.__dict__ for one in shares])


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=24).hexdigest()
