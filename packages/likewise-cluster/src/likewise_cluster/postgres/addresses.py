"""Addresses of a catalog in PostgreSQL: ``postgresql://user@host:5432/database?schema=likewise``.

They are libpq's with one more option: ``schema``, the schema that holds the tables of one
collection.  A password in an address is used, but never shown, stored or logged; it belongs in
``PGPASSWORD`` or ``~/.pgpass``.  A folder may be untrusted, so its stored address may name the
database, but no files or rights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from likewise.errors import InvalidInput

SCHEMES = ("postgresql", "postgres")
EXAMPLE = "postgresql://user@host:5432/database"
SCHEMA = "likewise"
_KEPT = ("host", "hostaddr", "port", "user", "dbname", "sslmode", "target_session_attrs", "schema")
"""Options that are shown and kept."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}")


@dataclass(frozen=True)
class Address:
    """Where a catalog is; ``str`` returns the address without a password."""

    public: str
    schema: str
    options: str
    secret: str = field(repr=False)
    """The address for libpq; it may hold a password."""

    def __str__(self) -> str:
        return self.public


def read_address(text: str) -> Address:
    """Parse an address.

    >>> str(read_address("postgres://ann:secret@db/photos"))
    'postgresql://ann@db/photos'
    """
    try:
        parts = urlsplit(text)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidInput(f"the address of a catalog is like {EXAMPLE}") from None
    if parts.scheme not in SCHEMES or parts.fragment:
        raise InvalidInput(f"the address of a catalog begins like {EXAMPLE}")
    schema = dict(query).get("schema", SCHEMA)
    if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(
            f"the schema {schema!r} of the address; small letters, digits and _ expected"
        )
    user, at, host = parts.netloc.rpartition("@")
    plain = f"{user.partition(':')[0]}{at}{host}"
    told = [(key, value) for key, value in query if key not in ("schema", "options")]
    shown = [(key, value) for key, value in query if key in _KEPT]
    return Address(
        _join(plain, parts.path, shown),
        schema,
        " ".join(value for key, value in query if key == "options"),
        _join(parts.netloc, parts.path, told),
    )


def _join(place: str, path: str, pairs: list[tuple[str, str]]) -> str:
    # libpq does not read a plus sign as a space.
    query = urlencode(pairs, quote_via=quote)
    return f"postgresql://{place}{path}" + (f"?{query}" if query else "")
