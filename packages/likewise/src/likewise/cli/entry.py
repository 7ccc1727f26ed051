"""The entry point: handles Ctrl-C from the start, and reports it in one line.

The first Ctrl-C interrupts the command.  Further ones are ignored for a few seconds, so that they
do not break off the clean-up: it writes what was done, reports it and stops the workers.
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

_pressed: float | None = None
_ended: float | None = None
"""Time at which the command was done; only the shutdown of Python remains."""
_is_reported = False


def main() -> None:
    """Run the command line; the entry point of the package."""
    global _ended
    handle_ctrl_c_once()
    try:
        from likewise.cli.app import main as run

        run()
    except KeyboardInterrupt:
        report_stopped("likewise: stopped")
        sys.exit(STOPPED)
    except SystemExit as ended:
        # typer turns an unreported KeyboardInterrupt into this.
        if ended.code == STOPPED and not _is_reported:
            report_stopped("likewise: stopped")
        raise
    finally:
        # Ctrl-C ends a server, and a launcher (uvx) may send the signal again.
        _ended = time.monotonic()


def handle_ctrl_c_once() -> None:
    """Make the first Ctrl-C raise ``KeyboardInterrupt`` and ignore those soon after it.

    A process that ignores Ctrl-C already, such as a background job of a shell, goes on doing so.
    """
    global _pressed, _ended, _is_reported
    _pressed, _ended, _is_reported = None, None, False
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_sigint)
        sys.unraisablehook = functools.partial(_raise_again, sys.unraisablehook)
        # Called last before Python removes our handler.
        atexit.register(_ignore_sigint)


def is_interrupted() -> bool:
    """Return whether Ctrl-C was pressed: it causes the errors that follow.

    A library that calls us (SQLite for a function) may turn ``KeyboardInterrupt`` into another.
    """
    return _pressed is not None


def report_stopped(text: str) -> None:
    """Print the one line of a command that was stopped."""
    global _is_reported
    if _is_reported:
        return
    _is_reported = True
    # CPython keeps a flag when ``exec`` (a dataclass uses it) is interrupted, and would end the
    # process by a signal; another ``exec`` clears the flag.
    exec("")
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _on_sigint(signum: int, frame: FrameType | None) -> None:
    global _pressed
    now = time.monotonic()
    if _pressed is None:
        if _ended is not None and now - _ended <= PATIENCE:
            return
        _pressed = now
        raise KeyboardInterrupt
    if now - _pressed > PATIENCE:
        os._exit(STOPPED)


def _raise_again(before: Callable[[Any], object], lost: Any) -> None:
    """Send the signal again if Python could not raise ``KeyboardInterrupt``.

    That happens in callbacks of weak references, which every import has."""
    global _pressed
    if lost.exc_type is KeyboardInterrupt and is_interrupted():
        _pressed = None
        with suppress(RuntimeError):  # the interpreter is shutting down and starts no threads
            threading.Timer(0.01, signal.raise_signal, [signal.SIGINT]).start()
    else:
        before(lost)


def _ignore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
