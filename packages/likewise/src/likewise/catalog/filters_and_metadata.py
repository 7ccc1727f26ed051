"""Metadata and filters as plain values: what can be stored as JSON and compared by SQLite."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from likewise.errors import InvalidInput
from likewise_methods.validation import refuse

_WIDEST = 1 << 63


def plain_metadata(metadata: Mapping[str, Any]) -> str:
    """The metadata of a picture as JSON text, or a clear refusal."""
    try:
        found = dict(metadata)
        text = json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        wanted = "text, finite numbers, true or false, and lists of them, by name"
        raise refuse("metadata", metadata, f"{wanted} ({error})") from error
    # JSON would take numbers as keys, and make text of them.
    for key in found:
        if not isinstance(key, str):
            raise refuse("a key of metadata", key, "text")
    return text


def plain_where(where: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions with values SQLite can compare: dates as ISO text, folders as text.

    A folder that is a path object is made whole; text may be a name, which the catalog knows.
    """
    made: dict[str, Any] = {}
    for key, value in where.items():
        if key == "folder":
            if not isinstance(value, str | os.PathLike):
                raise InvalidInput(f"where 'folder' is {value!r}; a path or a name expected")
            made[key] = value if isinstance(value, str) else str(absolute(value))
        elif key == "tag":
            made[key] = [value] if isinstance(value, str) else list(value)
            if not made[key] or not all(isinstance(tag, str) for tag in made[key]):
                raise InvalidInput(f"where 'tag' is {value!r}; a tag or a list of tags expected")
        elif isinstance(value, datetime | date):
            made[key] = value.isoformat()
        elif isinstance(value, str | bool | float) or (
            isinstance(value, int) and -_WIDEST <= value < _WIDEST
        ):
            made[key] = value
        else:
            raise InvalidInput(f"where {key!r} is {value!r}; text, a number or a date expected")
        if not isinstance(key, str) or '"' in key:
            raise InvalidInput(f"where has the key {key!r}; a name without quotes expected")
    return made


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path as the catalog knows it: whole, ~ resolved, links kept."""
    return Path(os.path.abspath(Path(path).expanduser()))
