"""Public names of a package that are imported at their first use (PEP 562).

Importing a package then costs nothing.  ``__init__.py`` also imports the names under
``TYPE_CHECKING``, for type checkers and readers; a test checks that both lists are equal.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    exports : mapping of str to iterable of str
        Public names by module.  A module name is relative to the package, or full for another
        package of Likewise.
    """
    module_of = {name: module for module, names in exports.items() for name in names}

    def __getattr__(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not module.startswith(("likewise.", "likewise_")):
            module = f"{package}.{module}"
        value = getattr(importlib.import_module(module), name)
        # Later accesses find the value directly.
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*module_of, *vars(sys.modules[package])})

    return __getattr__, __dir__, sorted(module_of)
