"""When to retry an engine that failed: after a pause that doubles with every failure."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable


class Breaker:
    """Refuses requests to an engine that failed until a pause is over.

    The pause doubles with every failure, up to ``longest`` seconds, and is drawn at random from its
    upper half, so that many clients do not return at once.  When it is over, one caller may try;
    the others are refused until that one reports.
    """

    def __init__(
        self,
        first: float = 1.0,
        longest: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._first, self._longest = first, longest
        self._clock, self._draw = clock, draw
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._reason: str | None = None

    def reason_to_wait(self) -> str | None:
        """Return the last failure if it is too early for another request, else None."""
        with self._lock:
            if self._reason is None:
                return None
            if self._clock() < self._until:
                return self._reason
            self._until = self._clock() + self._longest
            return None

    def failed(self, reason: str) -> None:
        """Record a failure."""
        with self._lock:
            pause = min(self._longest, self._first * 2**self._failures)
            self._failures = min(self._failures + 1, 16)
            self._until = self._clock() + pause * (0.5 + 0.5 * self._draw())
            self._reason = reason

    def worked(self) -> None:
        """Record a success."""
        with self._lock:
            self._failures, self._reason = 0, None
