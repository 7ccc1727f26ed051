"""What numba keeps of a kernel, with the stamp of its sources.

The only file that knows how numba keeps compiled functions.  It is imported with numba, at the
first call of a kernel.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from numba import config, njit
from numba.core import caching

from likewise_methods._kernel_sources import stamp


def compiled(
    function: Callable[..., Any],
    cache: bool,
    options: Mapping[str, Any],
    about_to_compile: Callable[[bool], object] = lambda kept: None,
) -> Any:
    """``njit`` of a function; with ``cache``, other processes may use what comes of it.

    ``about_to_compile`` is called where nothing was kept, with whether it will be.
    """
    made = njit(**options)(function)
    # With NUMBA_DISABLE_JIT the function comes back as it is.
    if cache and not config.DISABLE_JIT:
        _keep(made, function, about_to_compile)
    return made


def _keep(
    made: Any, function: Callable[..., Any], about_to_compile: Callable[[bool], object]
) -> None:
    """Give a compiled function its cache; these few names are all we need of numba's inside."""
    if not _KNOWN or not hasattr(made, "_cache"):
        warnings.warn(
            "this numba keeps compiled functions in a way Likewise does not know, so kernels are "
            "compiled in every process; use another version of numba",
            RuntimeWarning,
            stacklevel=4,
        )
        return
    made._cache = _Cache(function, about_to_compile)


_KNOWN = all(
    hasattr(owner, name)
    for owner, name in (
        (getattr(caching, "FunctionCache", None), "_impl_class"),
        (getattr(caching, "CompileResultCacheImpl", None), "reduce"),
        (getattr(caching, "CompileResultCacheImpl", None), "rebuild"),
        (getattr(caching, "CompileResultCacheImpl", None), "check_cachable"),
    )
)

if _KNOWN:

    class _Stamped(caching.CompileResultCacheImpl):  # type: ignore[misc]
        """What is written holds the stamp, so that no other file can vouch for it wrongly.

        Two processes that compile different versions at once may write index and data of one
        kernel in any order; each set of data still says itself which sources it is of.
        """

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            self._module = function.__module__

        def reduce(self, compiled: Any) -> Any:
            return stamp(self._module), super().reduce(compiled)

        def rebuild(self, target: Any, kept: Any) -> Any:
            own = stamp(self._module)
            if own is None or not isinstance(kept, tuple) or len(kept) != 2 or kept[0] != own:
                return None
            return super().rebuild(target, kept[1])

        def check_cachable(self, compiled: Any) -> bool:
            return stamp(self._module) is not None and bool(super().check_cachable(compiled))

    class _Files(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = _Stamped


class _Cache:
    """The cache of one kernel, opened at its first call: importing touches no file."""

    def __init__(
        self, function: Callable[..., Any], about_to_compile: Callable[[bool], object]
    ) -> None:
        self._function, self._about_to_compile = function, about_to_compile

    @functools.cached_property
    def _files(self) -> Any:
        try:
            return _Files(self._function)
        except (RuntimeError, OSError):
            # No folder can be written: neither NUMBA_CACHE_DIR, the package's, nor the user's.
            return caching.NullCache()

    @property
    def cache_path(self) -> Any:
        return self._files.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        found = self._load(signature, target)
        if found is None:
            self._about_to_compile(not isinstance(self._files, caching.NullCache))
        return found

    def _load(self, signature: Any, target: Any) -> Any:
        try:
            return self._files.load_overload(signature, target)
        except Exception:
            # Whatever a damaged file makes numba raise: the source is at hand, and better.  An
            # empty index lets the new kernel be kept.
            with contextlib.suppress(OSError):
                self._files.flush()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        # A full disk is no reason to fail: the kernel is compiled, only not kept.
        with contextlib.suppress(OSError):
            self._files.save_overload(signature, compiled)

    def enable(self) -> None:
        self._files.enable()

    def disable(self) -> None:
        self._files.disable()

    def flush(self) -> None:
        self._files.flush()
