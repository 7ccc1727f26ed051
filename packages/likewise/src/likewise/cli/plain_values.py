"""Read plain texts, paths and defaults without pydantic, whose import takes 0.07 s of a command.

All other values (numbers that were typed, paths that must exist) are left to typer, so that its
checks and messages are its own.  The function replaced here is private to typer; where a version
of typer has none, nothing changes and commands start more slowly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.core

_PLACE = "build_runtime_param"


def read_plain_values() -> None:
    """Make typer read plain values by `_Reader`, for the rest of this process."""
    usual = getattr(typer.core, _PLACE, None)
    if usual is not None and not isinstance(usual, _Builder):
        setattr(typer.core, _PLACE, _Builder(usual))


class _Builder:
    """Replaces typer's builder of readers."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def __call__(self, descriptor: Any) -> _Reader:
        return _Reader(self.usual, descriptor)


class _Reader:
    """Reads the values of one parameter."""

    def __init__(self, usual: Any, descriptor: Any) -> None:
        self.usual = usual
        self.descriptor = descriptor

    def coerce(self, value: Any, **about: Any) -> Any:
        """Return the value as its command wants it; ``about`` names the parameter for messages."""
        kind, info = self.descriptor.annotation, self.descriptor.parameter_info
        several = about["param"].multiple or about["param"].nargs == -1
        if value is None:
            return () if several else None
        if info.parser is None and getattr(info, "click_type", None) is None:
            if kind in (str, int, float) and type(value) is kind:
                return value
            if kind == list[str] and all(type(one) is str for one in value):
                return list(value)
            checked = info.exists or info.resolve_path or info.allow_dash or info.writable
            if not checked and info.file_okay and info.dir_okay and info.path_type is None:
                if kind is Path:
                    return Path(value)
                if kind == list[Path]:
                    return [Path(one) for one in value]
        return self.usual(self.descriptor).coerce(value, **about)
