"""Asking again: after a pause that doubles and is drawn at random, a bounded number of times.

Everything we ask of an engine may be asked twice, since it is idempotent by picture id.  Pauses
are random up to their limit, so that many clients of a server that comes back do not all return
at once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from likewise.engines.errors import EngineAway

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Retries:
    """How often, and how long between: at most ``first`` seconds, then twice that, …, ``most``."""

    times: int = 5
    first: float = 0.25
    most: float = 8.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    draw: Callable[[], float] = field(default=random.random, repr=False)

    def call(
        self, address: str, ask: Callable[[], Answer], passing: Callable[[Exception], str | None]
    ) -> Answer:
        """What ``ask`` gives; :class:`EngineAway` when it fails every time.

        ``passing`` says in words what a failure was that may be over next time; None: that one is
        for the caller.
        """
        for attempt in range(self.times):
            try:
                return ask()
            except Exception as error:
                reason = passing(error)
                if reason is None:
                    raise
                if attempt + 1 == self.times:
                    raise EngineAway(
                        f"{address} is away ({reason}; asked {self.times} times); start it, or "
                        "try again later"
                    ) from error
            self.sleep(self.draw() * min(self.most, self.first * 2**attempt))
        raise AssertionError("unreachable")


class Breaker:
    """Whether something that failed is worth asking: not before a pause is over.

    The pause doubles with every failure, up to ``most`` seconds, and is drawn at random from its
    upper half.  When it is over one caller may try; the others go on without until that one knows.
    """

    def __init__(
        self,
        first: float = 1.0,
        most: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._first, self._most = first, most
        self._clock, self._draw = clock, draw
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._reason: str | None = None

    def reason_to_wait(self) -> str | None:
        """What failed, where it is too early to ask again; None: ask."""
        with self._lock:
            if self._reason is None:
                return None
            if self._clock() < self._until:
                return self._reason
            self._until = self._clock() + self._most
            return None

    def failed(self, reason: str) -> None:
        """It did not answer."""
        with self._lock:
            pause = min(self._most, self._first * 2**self._failures)
            self._failures = min(self._failures + 1, 16)
            self._until = self._clock() + pause * (0.5 + 0.5 * self._draw())
            self._reason = reason

    def worked(self) -> None:
        """It answered."""
        with self._lock:
            self._failures, self._reason = 0, None
