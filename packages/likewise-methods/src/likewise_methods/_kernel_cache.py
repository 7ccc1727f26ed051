"""Numba's cache of compiled kernels, with a check that it is not stale.

The only file that uses numba's internals.  Importing it imports numba, so ``kernels`` does that at
the first call of a kernel.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numba import config, njit
from numba.core import caching


def compiled(
    function: Callable[..., Any],
    cache: bool,
    options: Mapping[str, Any],
    before_compile: Callable[[bool], object] = lambda cached: None,
) -> Any:
    """Return ``njit`` of a function, cached on disk if ``cache`` is true.

    ``before_compile`` is called when the cache has no code, with whether it will be saved.
    """
    dispatcher = njit(**options)(function)
    # With NUMBA_DISABLE_JIT njit returns the function itself.
    if not cache or config.DISABLE_JIT:
        return dispatcher
    if _SUPPORTED and hasattr(dispatcher, "_cache"):
        dispatcher._cache = _Cache(dispatcher, before_compile)
    else:
        warnings.warn(
            "Likewise cannot use the cache of this version of numba: kernels are compiled in every "
            "process; install another version of numba",
            RuntimeWarning,
            stacklevel=3,
        )
    return dispatcher


# -- is cached code current? -----------------------------------------------------------------------


def stamp(dispatcher: Any) -> str:
    """Hash all that a kernel is compiled from: its code, its constants, the kernels it calls.

    Numba itself looks at the kernel's own file only, but helpers and constants of other files
    become part of the compiled code.
    """
    return hashlib.sha256("\n".join(_parts(dispatcher, set())).encode()).hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Describe a value that a kernel uses."""
    # The function of a kernel, or the one that builds an intrinsic.
    function = getattr(value, "py_func", None) or getattr(value, "_defn", None)
    if function is not None:
        if id(function) not in seen:
            seen.add(id(function))
            yield _described(sorted(getattr(value, "targetoptions", {}).items()))
            yield from _function_parts(function, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    else:
        yield f"{_described(value)} {getattr(value, '_fields', '')}"


def _function_parts(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    yield repr(function.__defaults__)
    yield from _code_parts(function.__code__)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, seen)
    names = set(names_in(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        inner = function.__globals__[name]
        yield name
        yield from _parts(inner, seen)
        if isinstance(inner, types.ModuleType):
            for attribute in sorted(names & vars(inner).keys()):
                yield from _parts(vars(inner)[attribute], seen)


def _code_parts(code: types.CodeType) -> Iterator[str]:
    yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant)
        else:
            yield _described(constant)


def _described(value: Any) -> str:
    """Return the same text in every process: no address, no order of a set."""
    if isinstance(value, (set, frozenset)):
        return _described(sorted(value))
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_described, value))})"
    return repr(value).split(" at 0x")[0]


def names_in(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a function and in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


# -- the cache -------------------------------------------------------------------------------------

_SUPPORTED = all(
    hasattr(getattr(caching, owner, None), name)
    for owner, name in (
        ("FunctionCache", "_impl_class"),
        ("CompileResultCacheImpl", "reduce"),
        ("CompileResultCacheImpl", "rebuild"),
    )
)

if _SUPPORTED:

    class _StampedFiles(caching.FunctionCache):  # type: ignore[misc]
        """Numba's cache files; every data file holds the stamp of what it was compiled from.

        The index is not enough: two processes that compile different versions at once may write
        index and data of one kernel in any order.
        """

        def __init__(self, dispatcher: Any) -> None:
            class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
                def reduce(self, result: Any) -> Any:
                    return stamp(dispatcher), super().reduce(result)

                def rebuild(self, target: Any, data: Any) -> Any:
                    if data[0] != stamp(dispatcher):
                        return None
                    return super().rebuild(target, data[1])

            self._impl_class = Implementation
            super().__init__(dispatcher.py_func)


class _Cache:
    """The cache of one kernel, opened at its first call; no failure of it reaches the caller."""

    def __init__(self, dispatcher: Any, before_compile: Callable[[bool], object]) -> None:
        self._dispatcher, self._before_compile = dispatcher, before_compile

    @functools.cached_property
    def _files(self) -> Any:
        try:
            return _StampedFiles(self._dispatcher)
        except (RuntimeError, OSError):
            # NUMBA_CACHE_DIR, the package's folder and the user's are all read-only.
            return caching.NullCache()

    @property
    def cache_path(self) -> Any:
        return self._files.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            found = self._files.load_overload(signature, target)
        except Exception:
            # A damaged file can raise anything.  An empty index lets the new code be saved.
            found = None
            with contextlib.suppress(OSError):
                self._files.flush()
        if found is None:
            self._before_compile(not isinstance(self._files, caching.NullCache))
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk
            self._files.save_overload(signature, result)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)  # enable, disable, flush
