"""Plain values of the command line are read without pydantic.

typer reads every text, number and path by an adapter of pydantic, whose import takes a fifth of
what a short command takes in all.  A value that is plainly right is read here; whatever is not (a
letter in a number, a number out of its range, a path that must exist) goes the way of typer, so
that its checks and its messages are typer's own.  The place this takes is private to typer: where a
typer has no such place, nothing is changed and commands start more slowly.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args, get_origin

import typer.core
from typer.models import ParameterInfo

_PLACE = "build_runtime_param"
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_UNREAD = object()


def read_plain_values() -> None:
    """From now on typer reads plain values by `read_plain`, once and for all of this process."""
    usual = getattr(typer.core, _PLACE, None)
    if usual is not None and not isinstance(usual, _Plainly):
        setattr(typer.core, _PLACE, _Plainly(usual))


class _Plainly:
    """In the place of typer's builder of readers: gives one that builds typer's when it must."""

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
        """The value as its command wants it; ``about`` names the parameter for messages."""
        if value is None:
            several = about["param"].multiple or about["param"].nargs == -1
            return () if several else None
        read = read_plain(value, self.descriptor.annotation, self.descriptor.parameter_info)
        if read is not _UNREAD:
            return read
        return self.usual(self.descriptor).coerce(value, **about)


def read_plain(value: Any, annotation: Any, info: ParameterInfo) -> Any:
    """The value, or `_UNREAD` where reading it is typer's work."""
    if info.parser is not None or getattr(info, "click_type", None) is not None:
        return _UNREAD
    if get_origin(annotation) is list:
        if not isinstance(value, list | tuple):
            return _UNREAD
        read = [read_plain(one, get_args(annotation)[0], info) for one in value]
        return _UNREAD if any(one is _UNREAD for one in read) else read
    if annotation is str and type(value) is str:
        return value
    if annotation is int:
        if type(value) is str and _WHOLE.fullmatch(value):
            value = int(value)
        if type(value) is int and _is_inside(value, info):
            return value
    if annotation is float and type(value) is float and _is_inside(value, info):
        return value
    if annotation is Path and isinstance(value, str | Path) and not _is_looked_up(info):
        return Path(value)
    return _UNREAD


def _is_inside(value: float, info: ParameterInfo) -> bool:
    least = value if info.min is None else info.min
    most = value if info.max is None else info.max
    return least <= value <= most


def _is_looked_up(info: ParameterInfo) -> bool:
    """Whether the file behind a path is looked at before the command begins."""
    takes_any = info.file_okay and info.dir_okay and not info.writable and info.path_type is None
    return bool(info.exists or info.resolve_path or info.allow_dash or not takes_any)
