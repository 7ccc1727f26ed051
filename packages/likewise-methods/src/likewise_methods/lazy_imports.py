"""Libraries that many files mention and few calls need, imported when they are first used.

Each takes a tenth of a second or more, which is longer than most commands need for their work.  A
file writes ``from likewise_methods.lazy_imports import sparse`` where it would write ``from scipy
import sparse``. Kernels cannot look through such a name, and a class cannot derive from something
in it.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "faiss", "linalg", "sparse"]


class LazyModule:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _module(self) -> Any:
        return importlib.import_module(self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


if TYPE_CHECKING:
    import faiss
    from scipy import linalg, sparse
else:
    faiss = LazyModule("faiss")
    linalg = LazyModule("scipy.linalg")
    sparse = LazyModule("scipy.sparse")
