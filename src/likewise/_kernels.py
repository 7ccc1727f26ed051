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
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import caching

from likewise._doors import OPENED

# A line that imports, as far as it can be told without parsing (which would take ten times as
# long).  It may find too much, in a docstring say, and never too little: a test compares it with
# Python's own parser over the whole package.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n(]*)"
    r"|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")


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
    made = njit(**{"nogil": True, **options})(function)
    # With NUMBA_DISABLE_JIT the function comes back as it is.
    if cache and not config.DISABLE_JIT:
        _keep(made, function)
    return made


def _keep(made: Any, function: Callable[..., Any]) -> None:
    """Give a compiled function its cache; these few names are all we need of numba's inside."""
    if not _KNOWN or not hasattr(made, "_cache"):
        warnings.warn(
            "this numba keeps compiled functions in a way Likewise does not know, so kernels are "
            "compiled in every process; use another version of numba",
            RuntimeWarning,
            stacklevel=4,
        )
        return
    made._cache = _Cache(function)


# -- what numba keeps, with our stamp ---------------------------------------------------------

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

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

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


# -- the sources a kernel reaches --------------------------------------------------------------


@functools.cache
def stamp(module: str) -> str | None:
    """A digest over the source of a module and of all it imports of its package, or of ours.

    None where a source cannot be read, or was written after this process began: what runs here
    is then not what the files say.
    """
    if _file(module) is None:
        return None
    packages = {module.partition(".")[0], __name__.partition(".")[0]}
    digests: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in digests or path is None:
            continue
        read = _read(name, path)
        if read is None:
            return None
        digests[name], imported = read
        waiting += [other for other in imported if other.partition(".")[0] in packages]
    every = "\n".join(f"{name} {digest}" for name, digest in sorted(digests.items()))
    return hashlib.sha256(every.encode()).hexdigest()


@functools.cache
def _read(module: str, path: Path) -> tuple[str, tuple[str, ...]] | None:
    """Digest and imports of one file."""
    try:
        source, times = path.read_bytes(), path.stat()
    except OSError:
        return None
    # The second time moves even where a tool that copies files sets the first one back.
    if max(times.st_mtime, times.st_ctime) > OPENED:
        return None
    # Of this file nothing goes into a kernel but the options, so what it imports is no matter.
    inside = module == __name__
    found = () if inside else tuple(imports(source.decode(errors="replace"), module, path))
    return hashlib.sha256(source).hexdigest(), found


@functools.cache
def _file(module: str) -> Path | None:
    """Where the source of a module is, without importing it; None if there is none."""
    root, *rest = module.split(".")
    package = sys.modules.get(root)
    if not rest and not hasattr(package, "__path__"):
        own = getattr(package, "__file__", None)
        return Path(own) if own else None
    for folder in getattr(package, "__path__", ()):
        place = Path(folder, *rest)
        for path in (place / "__init__.py", place.parent / f"{place.name}.py"):
            if path.is_file():
                return path
    return None


def imports(source: str, module: str, path: Path) -> Iterator[str]:
    """Names of the modules that a source may import, and of what it takes out of them.

    ``from a.b import c`` gives both a.b and a.b.c, which may be a module.
    """
    for found in _IMPORT.finditer(source):
        if found["modules"] is not None:
            names = _COMMENT.sub("", found["modules"]).split(",")
            yield from (name.split()[0] for name in names if name.split())
            continue
        base = _absolute(found["base"], module, path)
        yield base
        names = _COMMENT.sub("", found["names"]).strip(" \t()\r\n\\").split(",")
        yield from (f"{base}.{name.split()[0]}" for name in names if name.split())


def _absolute(base: str, module: str, path: Path) -> str:
    """The module that ``from BASE import`` means: leading dots go up from the module's package."""
    name = base.lstrip(".")
    dots = len(base) - len(name)
    if dots == 0:
        return base
    up = dots - 1 if path.name == "__init__.py" else dots
    package = module.split(".")[: len(module.split(".")) - up]
    return ".".join([*package, name] if name else package)
