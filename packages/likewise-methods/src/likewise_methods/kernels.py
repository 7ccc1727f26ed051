"""Kernels: functions compiled by numba at their first call and cached between processes.

    @kernel
    @kernel(fastmath=FAST)
    @kernel(inline="always")

are numba's ``njit(cache=True, nogil=True)`` with two differences:

- A process that calls no kernel does not import numba, which costs 0.6 s of processor time.
- Cached code is compiled again when a helper or constant of *another* file changes, not only when
  the kernel's own file does (``_kernel_cache``).  Where the cache cannot be written, kernels are
  compiled in every process.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any


def kernel(function: Any = None, /, *, cache: bool = True, **options: Any) -> Any:
    """Compile a function with numba; ``options`` are those of ``njit``.

    Parameters
    ----------
    function : callable, optional
        The decorated function; None where options are given.
    cache : bool, default=True
        Save the compiled code for other processes.  Helpers that are always inlined have none.

    >>> @kernel(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return functools.partial(kernel, cache=cache, **options)

    def make() -> Any:
        from likewise_methods._kernel_cache import compiled

        return compiled(function, cache, {"nogil": True, **options}, _call_before_compile)

    made = Kernel(make, lambda: _resolve(function))
    functools.update_wrapper(made, function)
    return made


def inside_kernels(make: Callable[[], Any]) -> Any:
    """Return a stand-in for what ``make`` returns (an intrinsic, say), for use in kernels."""
    return Kernel(make)


def numba_loaded() -> bool:
    """Return whether this process has called a kernel, so that another call is cheap."""
    return "likewise_methods._kernel_cache" in sys.modules


NUMPY_LIMIT = 1 << 22
"""Up to so many numbers NumPy is faster than loading numba: some 20 ms of work."""


def prefer_numpy(n_numbers: int) -> bool:
    """Return whether to sum so many numbers with NumPy, because numba is not loaded yet."""
    return n_numbers <= NUMPY_LIMIT and not numba_loaded()


_before_compile: Callable[[bool], object] | None = None


def call_before_compile(callback: Callable[[bool], object] | None) -> None:
    """Set a function to call once, before the first kernel is compiled, which takes seconds.

    ``callback`` receives whether the compiled code will be saved for the next process.
    """
    global _before_compile
    _before_compile = callback


def _call_before_compile(saved: bool) -> None:
    global _before_compile
    callback, _before_compile = _before_compile, None
    if callback is not None:
        callback(saved)


# -- compiled at the first call --------------------------------------------------------------------

# One lock for all: compiling a kernel compiles those it calls, and two threads must not deadlock.
_LOCK = threading.RLock()


class Kernel:
    """A stand-in for a numba function, which is created at the first call.

    Numba cannot compile a call of a stand-in: before a kernel is compiled, :func:`_resolve` binds
    every name it uses to the numba function.
    """

    def __init__(self, make: Callable[[], Any], resolve: Callable[[], None] | None = None) -> None:
        self._make, self._resolve = make, resolve
        # Made but not resolved yet: what a recursive kernel refers to.
        self._raw: Any = None
        self._made: Any = None

    def made(self) -> Any:
        """Return the numba function."""
        if self._made is None:
            with _LOCK:
                if self._raw is not None:
                    return self._raw
                self._raw = self._make()
                if self._resolve is not None:
                    self._resolve()
                self._made = self._raw
        return self._made

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        made = self._made
        return (self.made() if made is None else made)(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        # ``stats``, ``py_func``, ``signatures``
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made(), name)


def _resolve(function: Callable[..., Any]) -> None:
    """Replace the stand-ins a function refers to by their numba functions."""
    from likewise_methods._kernel_cache import names_in

    names = set(names_in(function.__code__))
    _resolve_names(function.__globals__, names)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, Kernel):
            cell.cell_contents = cell.cell_contents.made()
    # ``helpers.inlined(n)``: an attribute of a module
    for name in names:
        inner = function.__globals__.get(name)
        if isinstance(inner, ModuleType):
            _resolve_names(vars(inner), names)


def _resolve_names(space: dict[str, Any], names: set[str]) -> None:
    for name in names:
        found = space.get(name)
        if isinstance(found, Kernel):
            space[name] = found.made()
