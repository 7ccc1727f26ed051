"""The one table of lazy doors: which public name of which room lives in which file.

A room's ``__init__`` calls :func:`doors` and nothing else, so that importing a room costs
nothing; a file is imported when somebody first asks for a name in it (PEP 562).  The same names
stand under ``TYPE_CHECKING`` in each ``__init__``, for type checkers and for readers; a test
keeps both lists equal.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

DOORS: dict[str, dict[str, str]] = {
    "likewise": {
        "DatasetError": "errors",
        "ImageError": "errors",
        "InvalidInput": "errors",
        "LikewiseError": "errors",
        "__version__": "_version",
        "decode": "images",
        "probe": "images",
    },
}


def doors(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a room, from its rows of the table."""
    table = DOORS[room]

    def __getattr__(name: str) -> Any:
        home = table.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{room}.{home}"), name)
        # Found once, kept: the next access does not come through here.
        setattr(sys.modules[room], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*table, *vars(sys.modules[room])})

    return __getattr__, __dir__, sorted(table)
