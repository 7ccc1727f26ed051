"""Tagging by sparse reconstruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.annotation.annotator import SparseAnnotator as SparseAnnotator

__getattr__, __dir__, __all__ = doors(__name__)
