"""A part of an object that is made when it is first asked for, and once whoever asks.

``functools.cached_property`` makes one for each thread that comes at the same moment; two states of
one profile in memory would drift apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

P = TypeVar("P")

# One for all: parts are made of parts, a part is made once, and it takes no time to speak of.
_MAKING = threading.RLock()


class part(Generic[P]):  # noqa: N801 (a decorator, like property)
    """Decorates the method that makes the part; from then on the part is a plain attribute."""

    def __init__(self, make: Callable[[Any], P]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> P: ...
    def __get__(self, owner: object | None, kind: type) -> Self | P:
        if owner is None:
            return self
        made = vars(owner)
        with _MAKING:
            if self._name not in made:
                made[self._name] = self._make(owner)
            value: P = made[self._name]
            return value
