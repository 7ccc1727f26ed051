"""Repeat requests: after a pause that doubles and is drawn at random, a bounded number of times.

Every request to an engine may be repeated, since it is idempotent by picture id.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from likewise.engines.errors import EngineAway

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Retries:
    """How often to retry, and how long to pause: up to ``first`` seconds, then twice that, …."""

    times: int = 5
    first: float = 0.25
    longest: float = 8.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    draw: Callable[[], float] = field(default=random.random, repr=False)

    def call(
        self, address: str, ask: Callable[[], Answer], reason_of: Callable[[Exception], str | None]
    ) -> Answer:
        """Return what ``ask`` returns, or raise :class:`EngineAway` when it fails every time.

        ``reason_of`` describes a failure that a retry may solve; None: it is raised at once.
        """
        for attempt in range(self.times):
            try:
                return ask()
            except Exception as error:
                reason = reason_of(error)
                if reason is None:
                    raise
                if attempt + 1 == self.times:
                    raise EngineAway(
                        f"{address} is away ({reason}; asked {self.times} times); start it, or "
                        "try again later"
                    ) from error
            self.sleep(self.draw() * min(self.longest, self.first * 2**attempt))
        raise AssertionError("unreachable")
