"""Links for other people's answers: a name, a token, and nothing of the token kept but its hash."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from likewise.catalog.changes import put_setting
from likewise.catalog.key_table import working_keys
from likewise.catalog.store import Store
from likewise.errors import CollectionError, InvalidInput, UnknownName
from likewise.learning.log import timestamp

_SHARES = "shares"
_LONGEST = 40
MOST_SHARES = 100


@dataclass(frozen=True)
class Share:
    """Who may answer questions, and for which profile; of its token only a ``digest`` is kept.

    See Also
    --------
    ComparisonQuestion : a question.
    """

    name: str
    profile: str
    made: str
    digest: str


class Shares:
    """Links that let other people in to answer questions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Share]:
        """Links that work now, oldest first."""
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def create(self, name: str, profile: str = "default") -> str:
        """A token for somebody's answers; it cannot be shown again."""
        name = name.strip()
        if not name or len(name) > _LONGEST or not name.isprintable():
            raise InvalidInput(f"{name!r} is no name; 1 to {_LONGEST} letters expected")
        token = secrets.token_urlsafe(24)
        with self._store.write() as c:
            shares = self._load()
            if any(one.name == name for one in shares):
                raise CollectionError(f"{name} has a link already; close it first, or another name")
            if name.casefold() in {one.name.casefold() for one in working_keys(self._store)}:
                raise CollectionError(f"{name} has a key already; another name expected")
            if len(shares) >= MOST_SHARES:
                raise CollectionError(f"there are {len(shares)} links; close some first")
            shares.append(Share(name, profile, timestamp(), _digest(token)))
            put_setting(c, _SHARES, _to_json(shares))
        return token

    def revoke(self, name: str) -> None:
        """Close a link; what was said through it stays."""
        # Durable: a power cut must not open again what somebody closed.
        with self._store.write(durable=True) as c:
            shares = self._load()
            left = [one for one in shares if one.name != name]
            if len(left) == len(shares):
                raise UnknownName(f"nobody called {name!r} has a link")
            put_setting(c, _SHARES, _to_json(left))

    def revoke_all(self) -> int:
        """Close every link; gives how many there were."""
        with self._store.write(durable=True) as c:
            closed = len(self._load())
            if closed:
                put_setting(c, _SHARES, _to_json([]))
        return closed

    def of_token(self, token: str) -> Share | None:
        """The link a token belongs to."""
        digest = _digest(token)
        # A hash of 192 random bits is compared: nothing can be learned from how long it takes.
        return next((one for one in self._load() if one.digest == digest), None)

    def _load(self) -> list[Share]:
        return [Share(**one) for one in json.loads(self._store.setting(_SHARES) or "[]")]


def _to_json(shares: list[Share]) -> str:
    return json.dumps([one.__dict__ for one in shares])


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=24).hexdigest()
