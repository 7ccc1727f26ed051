"""Asking again: after a pause that doubles and is drawn at random, a bounded number of times.

Everything we ask of an engine may be asked twice, since it is idempotent by picture id.  Pauses
are random up to their limit, so that many clients of a server that comes back do not all return
at once.
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
