"""The libraries networks run with: whether each is here, and what is wrong with one that is.

Whether a library is installed is asked of the file system, at no price, by every command.  One that
is installed may still fail to import (built for another system, or lacking a library of its own):
importing it raises :class:`BrokenLibrary`, and from then on it counts as missing in this process.
What a worker found is noted by the process that started it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from typing import Any

from likewise.vision.deep.errors import INSTALL, BrokenLibrary, DeepMissing

_LONGEST = 300
_broken: dict[str, str] = {}
"""Libraries that were tried and cannot be imported, with what each said."""


def is_there(name: str) -> bool:
    """Whether a library is installed and was not found broken; nothing is imported."""
    return name not in _broken and is_found(name)


def is_found(name: str) -> bool:
    """Whether a library is installed, broken or not."""
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # of whatever takes part in looking for modules
        return False


def import_library(name: str, how_to_get: str = INSTALL) -> Any:
    """A library, or an error that says what is missing or wrong."""
    if name in _broken:
        raise BrokenLibrary(name, _broken[name])
    try:
        return importlib.import_module(name)
    except Exception as error:  # a library may fail in any way while it is loaded
        if isinstance(error, ImportError) and not is_found(name):
            raise DeepMissing(f"a network needs {name}: {how_to_get}") from error
        _broken[name] = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        raise BrokenLibrary(name, _broken[name]) from error


def note(error: BrokenLibrary) -> None:
    """Count a library as missing from now on: a worker could not import it."""
    _broken[error.library] = error.reason


def broken_among(names: Iterable[str]) -> list[BrokenLibrary]:
    """What is known to be wrong with some libraries."""
    return [BrokenLibrary(name, _broken[name]) for name in names if name in _broken]
