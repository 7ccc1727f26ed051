"""One BLAS thread while lassos are solved: the threads are ours, and products are many and small.

The limit of a BLAS holds for the whole process.  Of several calls that overlap, in any threads,
the first sets it and the last puts back what was there before the first.
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
    """The BLAS libraries loaded; finding them takes a millisecond, so once for those there are.

    scipy brings a BLAS of its own when its first part with products is imported.
    """
    return _libraries("scipy.linalg" in sys.modules or "scipy.sparse.linalg" in sys.modules)


@functools.cache
def _libraries(with_scipy: bool) -> Any:
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def blas_threads() -> int:
    """How many threads a BLAS may start at most; 1 where none is found."""
    return max((lib.num_threads or 1 for lib in libraries().lib_controllers), default=1)


def _disown() -> None:
    """Recent threadpoolctl lets only the thread that set a limit change it; the last one out of
    here may be another."""
    disown = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if disown is not None:
        disown(force=True)


def _limit_to_one() -> Any:
    """Set the limit; None if there is nothing to undo: it was one, or somebody else's."""
    if blas_threads() == 1:
        return None
    limit = libraries().limit(limits=1)
    if blas_threads() > 1:
        return None
    _disown()
    return limit


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A BLAS without threads of its own inside; outside, after the last, as it was."""
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
