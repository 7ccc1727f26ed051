"""The entry point: hears Ctrl-C before anything is imported, and tells of it in one line.

The first Ctrl-C interrupts whatever runs.  A key is held a moment longer, or pressed again because
nothing seemed to happen: what comes while the command is ending must not break off the end, which
writes what was done, says so and takes leave of the workers.
"""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

STOPPED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
PATIENCE = 3.0
"""Seconds a command may take to end; from then on another Ctrl-C ends the process at once."""

_heard: float | None = None
_ended: float | None = None
"""When the command was done: what is left is Python's own end."""
_is_told = False


def main() -> None:
    """Run the command line; the entry point of the package."""
    global _ended
    hear_ctrl_c_once()
    try:
        from likewise.cli.app import main as run

        run()
    except KeyboardInterrupt:
        report_stopped("likewise: stopped")
        sys.exit(STOPPED)
    except SystemExit as ended:
        # typer makes this of one that no command has told of.
        if ended.code == STOPPED and not _is_told:
            report_stopped("likewise: stopped")
        raise
    finally:
        # A server is ended by Ctrl-C, and a launcher (uvx) may send the signal once more.
        _ended = time.monotonic()


def hear_ctrl_c_once() -> None:
    """Have the first Ctrl-C raise ``KeyboardInterrupt``, and those soon after it nothing.

    Who is deaf to it stays so: what a shell starts in the background.
    """
    global _heard, _ended, _is_told
    _heard, _ended, _is_told = None, None, False
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _hear)
        sys.unraisablehook = functools.partial(_raise_again, sys.unraisablehook)
        # The last of all that is called before Python takes itself apart, and our handler away.
        atexit.register(_ignore_sigint)


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed: what goes wrong from then on is its doing.

    A library that calls us (for a function of SQL) makes of ``KeyboardInterrupt`` what it likes.
    """
    return _heard is not None


def report_stopped(text: str) -> None:
    """The one line of a command that was stopped."""
    global _is_told
    if _is_told:
        return
    _is_told = True
    # An interruption inside of any text that Python ran (a dataclass is made of one) is remembered
    # as one nobody heard of, and the process would end by a signal after all; the next text is not.
    exec("")
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _hear(signum: int, frame: FrameType | None) -> None:
    global _heard
    now = time.monotonic()
    if _heard is None:
        if _ended is not None and now - _ended <= PATIENCE:
            return
        _heard = now
        raise KeyboardInterrupt
    if now - _heard > PATIENCE:
        os._exit(STOPPED)


def _raise_again(before: Callable[[Any], object], lost: Any) -> None:
    """Python has no way to raise what is raised where it looks for none (in a callback of a weak
    reference, which every import has), and would go on as if nothing had been."""
    global _heard
    if lost.exc_type is KeyboardInterrupt and is_interrupted():
        _heard = None
        with suppress(RuntimeError):  # no thread is started any more: it ends anyway
            threading.Timer(0.01, signal.raise_signal, [signal.SIGINT]).start()
    else:
        before(lost)


def _ignore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
