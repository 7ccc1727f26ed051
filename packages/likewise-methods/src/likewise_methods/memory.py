"""Memory that is done with goes back to the system.

The GNU C library keeps what is given back to it for whoever asks next: it takes ever larger blocks
from its heaps once one of that size was given back, gives each thread a heap of its own, and
returns only what lies at the end of one.  So the most that a job ever needed stays with it; and the
largest ranking that a thread of a server ever made stays with that thread, so that one of forty
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


def return_free_memory() -> bool:
    """What the heaps hold and nobody uses goes back to the system; gives whether any did."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        trim = ctypes.CDLL(None).malloc_trim
        trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
        return bool(trim(0))
    return False
