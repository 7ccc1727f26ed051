"""Libraries that are imported at their first use, since each takes a tenth of a second or more.

Write ``from likewise_methods.lazy_imports import sparse`` instead of ``from scipy import sparse``.
Such a name cannot be used in kernels or as a base class.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "faiss", "linalg", "sparse"]


class LazyModule:
    """A module that is imported at its first use."""

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
