"""Memory that requests are done with goes back to the system.

A server answers from many threads.  The GNU C library gives each thread a heap of its own, takes
ever larger blocks from it once one of that size was given back, and keeps what is given back for
that thread: the largest ranking that a thread ever made stays with it, so that a server of forty
threads grows for days.  Here there are a few heaps for all, and what is large is asked of the
system and given back to it.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

LARGE = 1 << 20
"""Bytes from which on a block is the system's; smaller ones stay in the heaps."""
HEAPS = 4
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Numbers of ``mallopt`` (malloc.h)."""


def share_heaps() -> bool:
    """Before the threads start; gives whether this system's library can."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):  # another library than GNU's has no such function
        mallopt = ctypes.CDLL(None).mallopt
        mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
        return bool(mallopt(_ARENA_MAX, HEAPS) and mallopt(_MMAP_THRESHOLD, LARGE))
    return False
