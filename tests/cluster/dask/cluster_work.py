"""What workers of a cluster do in tests, and a kind of space that is bad for them.

In a file of its own: workers import it, and need no test for that.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from likewise.ingest.pool import Failure

MARKS = "LIKEWISE_TEST_MARKS"
"""The folder where workers leave what they did."""

# A mean colour; red pictures end the process that describes them, and the first blue one waits
# long enough for somebody to kill the worker it is with.
KIND = """\
import hashlib
import os
import secrets
import signal
import time
from pathlib import Path

from likewise.spaces.base import Space


class FragileSpace(Space):
    feature = "fragile"

    def fixed_width(self):
        return 3

    def describe(self, picture, shared):
        marks = os.environ.get("LIKEWISE_TEST_MARKS")
        colour = picture.reshape(-1, 3).mean(axis=0)
        if colour[0] > 200 and colour[1:].max() < 50:
            os.kill(os.getpid(), signal.SIGSEGV)
        if marks and colour[2] > 200 and colour[:2].max() < 50:
            try:
                with open(Path(marks) / "waiting", "x") as file:
                    file.write(str(os.getppid()))
                time.sleep(60)
            except FileExistsError:
                pass
        if marks:
            name = hashlib.sha256(picture.tobytes()).hexdigest()[:16]
            (Path(marks) / f"done-{name}-{secrets.token_hex(4)}").touch()
        return colour
"""


class Answer(NamedTuple):
    task: int
    said: str


def fail(task: int, failure: Failure) -> Answer:
    return Answer(task, failure.kind)


def never_end_on_five(task: int) -> Answer:
    while task == 5:
        pass
    return Answer(task, "")


def end_the_worker(task: int) -> Answer:
    """Number 2 takes the whole worker of the cluster along."""
    if task == 2:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return Answer(task, "")


def raise_on_three(task: int) -> Answer:
    if task == 3:
        raise ValueError("a fault of ours")
    return Answer(task, "")
