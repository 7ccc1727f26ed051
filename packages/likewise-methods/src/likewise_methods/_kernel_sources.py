"""The sources a kernel reaches, and one digest over them.

A compiled kernel holds more than its own file: see :mod:`~likewise_methods.kernels`.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from likewise_methods.lazy_exports import OPENED

# A line that imports, as far as it can be told without parsing (which would take ten times as
# long).  It may find too much, in a docstring say, and never too little: a test compares it with
# Python's own parser over the whole package.
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n(]*)"
    r"|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")
# Of these nothing goes into a kernel but the options and what numba is asked with them, so what
# else they import is no matter.
_MAKERS = {
    "likewise_methods.kernels": ("likewise_methods._kernel_cache",),
    "likewise_methods._kernel_cache": (),
}


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
    if module in _MAKERS:
        found: tuple[str, ...] = _MAKERS[module]
    else:
        found = tuple(imports(source.decode(errors="replace"), module, path))
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
