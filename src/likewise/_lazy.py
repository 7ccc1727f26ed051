"""Libraries that many files mention and few calls need, imported when they are first used.

Each takes a tenth of a second or more, which is longer than most commands need for their work.  A
file writes ``from likewise._lazy import sparse`` where it would write ``from scipy import sparse``.
Kernels cannot look through such a name, and a class cannot derive from something in it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["cv2", "faiss", "linalg", "sparse"]


class _Later:
    """Stands for a module until something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import cv2
    import faiss
    from scipy import linalg, sparse
else:
    cv2 = _Later("cv2")
    faiss = _Later("faiss")
    linalg = _Later("scipy.linalg")
    sparse = _Later("scipy.sparse")
