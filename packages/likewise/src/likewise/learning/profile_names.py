"""Names of profiles: which one is meant, and which a new one may have."""

from __future__ import annotations

from likewise.catalog import log_tables
from likewise.catalog.log_tables import model
from likewise.catalog.store import Store
from likewise.errors import CollectionError, InvalidInput, UnknownName

DEFAULT = "default"
IN_USE = "profile_in_use"
"""The setting that says which profile ``default`` means."""
_LONGEST_NAME = 40
_LONGEST_PERSON = 200


def resolve_profile(store: Store, profile: str) -> str:
    """The profile a name means: ``default`` is the one in use."""
    name = str(store.setting(IN_USE, DEFAULT)) if profile == DEFAULT else profile
    known = log_tables.profiles(store)
    if name not in known:
        raise UnknownName(f"there is no profile {name!r}; there are {', '.join(known)}")
    return name


def check_new_name(store: Store, name: str, kind: str = "profile") -> None:
    """Refuse what a new profile, metric or map (``kind``) cannot be called."""
    plain = isinstance(name, str) and name.replace("-", "").replace("_", "").isalnum()
    if not plain or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"{name!r} is no name for a {kind}; letters, digits, - and _ expected")
    taken = name in log_tables.profiles(store) or name in store.spaces() or name == "both"
    if taken or model(store, name) is not None:
        raise CollectionError(f"there is a profile, space or similarity {name!r} already")


def check_person(person: str | None) -> str | None:
    """The name of who compares, as the log keeps it."""
    if person is None:
        return None
    if not isinstance(person, str) or not person.strip() or len(person) > _LONGEST_PERSON:
        raise InvalidInput(
            f"person is {person!r}; a name of at most {_LONGEST_PERSON} letters expected"
        )
    return person.strip()
