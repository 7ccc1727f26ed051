"""Compiled kernels that are kept between processes and cannot be stale.

numba keeps a compiled function beside its file and compiles it again when *that file* changes.
But a kernel is more than its file: helpers of other files are inlined into it, and constants of
other files are frozen in it.  Here what is kept carries a stamp over every source the kernel
reaches: its own file and, from import to import, all files of the same package.  A kept kernel
with another stamp counts as missing, so that it is compiled anew and replaced.

    @kernel
    @kernel(fastmath=FAST)
    @kernel(inline="always")

are numba's ``njit`` with such a cache and without the interpreter's lock.  Where nothing can be
written, or a source cannot be read, kernels are compiled in every process and nothing fails.
numba itself is imported when a kernel is first called: a process that calls none is spared it.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any


def kernel(function: Any = None, /, *, cache: bool = True, **options: Any) -> Any:
    """Compile a function with numba; ``options`` are those of ``njit``, ``nogil`` is on.

    Parameters
    ----------
    function : callable, optional
        What is decorated; left out where options are given.
    cache : bool, default=True
        Whether other processes may use what was compiled.  Helpers that are always inlined, or
        that take functions as arguments, have nothing to keep.

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

        return compiled(function, cache, {"nogil": True, **options}, _tell_compiling)

    made = Kernel(make, lambda: _settle(function))
    functools.update_wrapper(made, function)
    return made


def inside_kernels(make: Callable[[], Any]) -> Any:
    """A thing that only kernels use, made (and numba imported for it) with the first of them.

    ``make`` takes no arguments and gives it: an intrinsic, say.
    """
    return Kernel(make)


def have_compiler() -> bool:
    """Whether some kernel was called in this process already, so that another one costs little.

    The first one costs a second of processor time: numba's import, and the tables it fills before
    it can load what was kept.  A few thousand numbers are sooner done without, in the same order
    and to the same bits.
    """
    return "likewise_methods._kernel_cache" in sys.modules


MOST_WITHOUT = 1 << 22
"""Numbers up to which a process that has called no kernel goes without: some 20 ms of work."""


def is_few(n_numbers: int) -> bool:
    """Whether so many numbers are sooner summed without a kernel in this process."""
    return n_numbers <= MOST_WITHOUT and not have_compiler()


_on_compiling: Callable[[bool], object] | None = None


def tell_before_compiling(tell: Callable[[bool], object] | None) -> None:
    """Have somebody told, once, before a kernel is compiled that was not kept: it takes seconds.

    ``tell`` is called with whether what is compiled will be kept, so that it was the last time.
    """
    global _on_compiling
    _on_compiling = tell


def _tell_compiling(kept: bool) -> None:
    """Called by the cache where it has nothing of a kernel."""
    global _on_compiling
    tell, _on_compiling = _on_compiling, None
    if tell is not None:
        tell(kept)


# -- made at the first call ----------------------------------------------------------------------

# One for all: making a kernel makes those it calls, and two threads must not wait for each other.
_MAKING = threading.RLock()


class Kernel:
    """Stands for what numba makes of a function until somebody calls it or looks at it.

    numba must never meet one: before a kernel is compiled, every name through which it reaches
    another is bound to what that one really is (:func:`_settle`).
    """

    def __init__(self, make: Callable[[], Any], settle: Callable[[], None] | None = None) -> None:
        self._make, self._settle = make, settle
        # Made but not settled: what a kernel that calls itself is bound to.
        self._raw: Any = None
        self._made: Any = None

    def made(self) -> Any:
        """What numba made of it."""
        if self._made is None:
            with _MAKING:
                if self._raw is not None:
                    return self._raw
                self._raw = self._make()
                if self._settle is not None:
                    self._settle()
                self._made = self._raw
        return self._made

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        made = self._made
        return (self.made() if made is None else made)(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        # Only what is not found here comes here: ``stats``, ``py_func``, ``signatures``.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made(), name)


def _settle(function: Callable[..., Any]) -> None:
    """Bind the names a function uses to the real kernels, where they stand for them."""
    names = set(_names(function.__code__))
    _settle_in(function.__globals__, names)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, Kernel):
            cell.cell_contents = cell.cell_contents.made()
    # ``helpers.inlined(n)``: the name is one of a module's.
    for name in names:
        inner = function.__globals__.get(name)
        if isinstance(inner, ModuleType):
            _settle_in(vars(inner), names)


def _settle_in(space: dict[str, Any], names: set[str]) -> None:
    for name in names:
        found = space.get(name)
        if isinstance(found, Kernel):
            space[name] = found.made()


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function and in those defined inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
