"""Named keys: who may look, judge and tag, or manage.

A key is 256 random bits, so one fast hash of it is stored; slow hashes are for passwords.  Each
request looks its key up in the catalog, so a revoked key stops working at once, on every server.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.catalog import key_table
from likewise.catalog.key_table import AccessKey as AccessKey
from likewise.catalog.store import Store
from likewise.errors import CollectionError, InvalidInput, NotYours, UnknownName

# Import learners only to withdraw something: a request only needs the key.
if TYPE_CHECKING:
    from likewise.learning.profile_states import ProfileStates

LOOK, JUDGE, MANAGE = "look", "judge", "manage"
ROLES = (LOOK, JUDGE, MANAGE)
"""Each role includes those before it."""
PREFIX = "lwk_"
"""The start of every key, so that programs that search for leaked secrets recognise it."""
MAX_KEYS = 100
MAX_NAME = 40
_RESERVED = {"the page", "the command line", "a program", "the owner", "owner", "you"}
"""Names that the log uses for actors without a named key."""


@dataclass(frozen=True)
class NewKey:
    """A new key; ``secret`` is shown only once."""

    secret: str = field(repr=False)
    key: AccessKey


class TakenBack(NamedTuple):
    """What was withdrawn of a key, as an action, which can be undone.

    ``judgements`` counts judgements and comparisons, ``tags`` lines about tags.
    """

    action: int
    key: AccessKey
    judgements: int
    tags: int


class Keys:
    """The named keys of a collection."""

    def __init__(self, store: Store, states: Callable[[], ProfileStates]) -> None:
        self._store, self._states = store, states

    def __iter__(self) -> Iterator[AccessKey]:
        """Yield all keys ever made, oldest first."""
        return iter(key_table.keys(self._store))

    def __len__(self) -> int:
        """Count the keys that work."""
        return len(key_table.working_keys(self._store))

    # -- create and revoke ------------------------------------------------------------------

    def add(self, name: str, role: str) -> NewKey:
        """Make a key and return it; its secret cannot be read again.

        Parameters
        ----------
        name : str
            The name of its holder in the log: 1 to 40 letters.
        role : {"look", "judge", "manage"}
            What it allows.

        Returns
        -------
        NewKey
        """
        name = clean_name(name)
        if role not in ROLES:
            raise InvalidInput(f"{role!r} is no role; one of {', '.join(ROLES)} expected")
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._store.write(durable=True) as c:
            there = [one for one, _ in key_table.working_keys(self._store)]
            taken = {_folded(one.name) for one in there}
            if _folded(name) in taken:
                raise CollectionError(f"there is a key {name!r} already; revoke it first")
            if _folded(name) in {_folded(one) for one in self._names_of_guests()}:
                raise CollectionError(
                    f"{name!r} has a link to answer questions; close it first, or take another name"
                )
            if len(there) >= MAX_KEYS:
                raise CollectionError(f"there are {len(there)} keys; revoke some first")
            digest, maker = digest_of(secret), self._store.actor
            made = key_table.put_key(c, name, role, digest, _moment(), maker)
            assert made is not None, "names were compared inside of the transaction"
        return NewKey(secret, self[made])

    def _names_of_guests(self) -> list[str]:
        from likewise.learning.shares import Shares

        return [one.name for one in Shares(self._store)]

    def revoke(self, name: str | int) -> AccessKey:
        """Revoke a key and its sessions from the next request on.

        Parameters
        ----------
        name : str or int
            Its name, or its id.

        Returns
        -------
        AccessKey
        """
        # Durable: a power cut must not make the key work again.
        with self._store.write(durable=True) as c:
            row = self._row(name, working=True)
            key_table.revoke_key(c, row.id, _moment())
        return self[row.id]

    def __getitem__(self, name: str | int) -> AccessKey:
        """Return a key by its name or id, the last of several with one name."""
        return self._row(name)

    def _row(self, name: str | int, *, working: bool = False) -> AccessKey:
        every = key_table.keys(self._store)
        number = int(name) if isinstance(name, int) or is_number(name) else None
        found = [
            one
            for one in every
            if (one.id == number if number is not None else _folded(one.name) == _folded(str(name)))
        ]
        if working and found and not [one for one in found if one.revoked is None]:
            raise CollectionError(f"the key {found[-1].name!r} was revoked already")
        found = [one for one in found if one.revoked is None] or found
        if not found:
            there = ", ".join(repr(one.name) for one in every if one.revoked is None)
            known = f"; there are {there}" if there else "; there are none"
            raise UnknownName(f"there is no key {str(name)[:MAX_NAME]!r}{known}")
        return found[-1]

    # -- look up ----------------------------------------------------------------------------

    def of_secret(self, secret: str) -> AccessKey | None:
        """Return the key with this secret, if it works."""
        offered = digest_of(secret)
        # All are compared in constant time.
        found = [
            one
            for one, digest in key_table.working_keys(self._store)
            if hmac.compare_digest(digest, offered)
        ]
        return found[0] if found else None

    def of_id(self, id_: int) -> AccessKey | None:
        """Return the key of a session, if it works."""
        found = key_table.key(self._store, id_)
        return None if found is None or found.revoked is not None else found

    def note_use(self, key: AccessKey) -> None:
        """Store that a key was used this hour."""
        now = hour()
        if key.used == now or self._store.read_only:
            return
        with self._store.write() as c:
            key_table.put_used(c, key.id, now)

    def check_wrote(self, key: AccessKey, lines: Sequence[int]) -> None:
        """Refuse lines of the log that were not written with this key."""
        own = key_table.written_by(self._store, key.id, lines)
        other = next((line for line in lines if line not in own), None)
        if other is not None:
            raise NotYours(
                f"line {other} was not written with your key; the owner can take it back"
            )

    def last_judgement(self, key: AccessKey, profile: str = "default") -> int:
        """Return the newest judgement of a profile by a key that is not withdrawn."""
        from likewise.search.similarities import resolve_profile

        own = key_table.lines_of(self._store, key.id)
        items = self._states().history(resolve_profile(self._store, profile)).items
        found = [one.number for one in items if one.number in own and one.kind == "judge"]
        if not found:
            raise CollectionError("you have no judgement to take back")
        return found[-1]

    # -- withdraw --------------------------------------------------------------------------

    def take_back(self, name: str | int) -> TakenBack:
        """Withdraw everything that was judged, compared and tagged with a key, as one action.

        Profiles are then as if these lines had never been written.  Undoing the action restores
        them, except where others have judged the same pictures and tags since.

        Parameters
        ----------
        name : str or int
            Its name, or its id; it may be revoked.

        Returns
        -------
        TakenBack
        """
        from likewise.catalog import action_tables, log_tables, tag_tables
        from likewise.learning.history import TAKE_BACK
        from likewise.learning.log import append_line
        from likewise.tags import tag_log

        store, states = self._store, self._states()
        row = self._row(name)
        profiles: dict[str, int] = {}
        judgements: set[int] = set()
        # Lock order: the states first, then the catalog.
        with states.lock, store.write(durable=True) as c:
            lines = key_table.lines_of(store, row.id)
            for profile in log_tables.profiles(store):
                # Also in copies of profiles.
                items = states.history(profile).items
                standing = [item.number for item in items if item.number in lines]
                if standing:
                    body = {"judgements": standing, "of": row.name}
                    profiles[profile] = append_line(c, store, profile, TAKE_BACK, body).number
                    judgements |= {*standing}
            about = tag_tables.active_lines(store, lines)
            withdrawn = [tag_log.write_withdrawal(c, store, line) for line in about]
            for line in reversed(about):
                tag_log.put_back_within(c, store, line)
            if not (judgements or about):
                raise CollectionError(
                    f"nothing that was judged or tagged with the key {row.name!r} stands"
                )
            done: dict[str, Any] = {
                "name": row.name, "of": row.id, "profiles": profiles, "withdrawals": withdrawn,
                "judgements": len(judgements), "tag_lines": len(about),
            }  # fmt: skip
            count = len(judgements) + len(about)
            action = action_tables.put_action(c, store, action_tables.TAKE_BACK, count, done)
        for profile in profiles:
            states.fold_new_lines(profile)
        return TakenBack(action, row, len(judgements), len(about))


def clean_name(name: str) -> str:
    """Return a name as the log stores it, or refuse it."""
    plain = unicodedata.normalize("NFC", name).strip() if isinstance(name, str) else ""
    # Other characters move the cursor or reverse the text around them.
    if not plain or len(plain) > MAX_NAME or not plain.isprintable():
        shown = json.dumps(str(name)[: MAX_NAME + 10])
        raise InvalidInput(f"{shown} is no name for a key; 1 to {MAX_NAME} letters expected")
    if is_number(plain):
        raise InvalidInput(f"{plain!r} is a number, and keys have those; a name expected")
    if _folded(plain) in _RESERVED:
        raise InvalidInput(f"{plain!r} is what the log calls the owner; another name expected")
    return plain


def digest_of(secret: str) -> bytes:
    """Return the digest of a secret."""
    said = secret.encode(errors="replace")
    return hashlib.blake2b(said, person=b"likewise-key", digest_size=32).digest()


def hour() -> str:
    """Return the time now, to the hour."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H}:00:00+00:00"


def is_number(name: str) -> bool:
    return isinstance(name, str) and name.isascii() and name.isdecimal() and len(name) < 10


def _folded(name: str) -> str:
    """Return the name without differences that are easily overlooked."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
