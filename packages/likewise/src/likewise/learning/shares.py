"""Links that let other people answer questions; only the hash of a link's token is stored."""

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
MAX_SHARES = 100


@dataclass(frozen=True)
class Share:
    """A link to answer questions for a profile; ``digest`` is the hash of its token.

    See Also
    --------
    ComparisonQuestion : a question.
    """

    name: str
    profile: str
    made: str
    digest: str


class Shares:
    """The links of a collection."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Share]:
        """Iterate over the links, oldest first."""
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def create(self, name: str, profile: str = "default") -> str:
        """Make a link and return its token, which cannot be read again."""
        name = name.strip()
        if not name or len(name) > _LONGEST or not name.isprintable():
            raise InvalidInput(f"{name!r} is no name; 1 to {_LONGEST} letters expected")
        token = secrets.token_urlsafe(24)
        with self._store.write() as c:
            shares = self._load()
            if any(one.name == name for one in shares):
                raise CollectionError(
                    f"{name} has a link already; close it first, or choose another name"
                )
            if name.casefold() in {one.name.casefold() for one, _ in working_keys(self._store)}:
                raise CollectionError(f"{name} has a key already; another name expected")
            if len(shares) >= MAX_SHARES:
                raise CollectionError(f"there are {len(shares)} links; close some first")
            shares.append(Share(name, profile, timestamp(), _digest(token)))
            put_setting(c, _SHARES, _to_json(shares))
        return token

    def revoke(self, name: str) -> None:
        """Close a link; answers given through it stay."""
        # Durable: a power cut must not open a closed link again.
        with self._store.write(durable=True) as c:
            shares = self._load()
            left = [one for one in shares if one.name != name]
            if len(left) == len(shares):
                raise UnknownName(f"there is no link for {name!r}")
            put_setting(c, _SHARES, _to_json(left))

    def revoke_all(self) -> int:
        """Close every link; return how many there were."""
        with self._store.write(durable=True) as c:
            closed = len(self._load())
            if closed:
                put_setting(c, _SHARES, _to_json([]))
        return closed

    def of_token(self, token: str) -> Share | None:
        """Return the link a token belongs to."""
        digest = _digest(token)
        # Comparing hashes of 192 random bits leaks nothing through timing.
        return next((one for one in self._load() if one.digest == digest), None)

    def _load(self) -> list[Share]:
        return [Share(**one) for one in json.loads(self._store.setting(_SHARES) or "[]")]


def _to_json(shares: list[Share]) -> str:
    return json.dumps([one.__dict__ for one in shares])


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=24).hexdigest()
