"""Return freed memory to the system.

The GNU C library keeps freed memory in heaps, one per thread, so that a server with many threads
grows for days.  Here all threads share a few heaps, and large blocks come from the system directly.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

LARGE = 1 << 20
"""Blocks of at least so many bytes come from the system."""
HEAPS = 4
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Option numbers of ``mallopt`` (malloc.h)."""


def share_heaps() -> bool:
    """Share a few heaps; call it before threads start.  Return whether the system supports it."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):  # not the GNU C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
        return bool(mallopt(_ARENA_MAX, HEAPS) and mallopt(_MMAP_THRESHOLD, LARGE))
    return False


def return_free_memory() -> bool:
    """Return unused memory of the heaps to the system; return whether there was any."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        trim = ctypes.CDLL(None).malloc_trim
        trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
        return bool(trim(0))
    return False
