"""Limit BLAS to one thread while solvers run in threads of their own.

The limit holds for the whole process.  Of several overlapping calls, in any threads, the first sets
it and the last restores it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl  # type: ignore[import-untyped, unused-ignore]

_lock = threading.Lock()
_inside = 0
_limit: Any = None


def libraries() -> Any:
    """Return the loaded BLAS libraries (cached); scipy loads its own with the first products."""
    return _libraries("scipy.linalg" in sys.modules or "scipy.sparse.linalg" in sys.modules)


@functools.cache
def _libraries(with_scipy: bool) -> Any:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """Return the largest number of threads of a BLAS; 1 if there is none."""
    return max((lib.num_threads or 1 for lib in libraries().lib_controllers), default=1)


def _disown() -> None:
    """Let another thread restore the limit, which recent threadpoolctl forbids by default."""
    disown = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if disown is not None:
        disown(force=True)


def _limit_to_one() -> Any:
    """Set the limit; return None if there is nothing to restore."""
    if blas_threads() == 1:
        return None
    limit = libraries().limit(limits=1)
    if blas_threads() > 1:
        return None
    _disown()
    return limit


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside; restore the limit after the last overlapping call."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _limit_to_one()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _disown()
                _limit = None
