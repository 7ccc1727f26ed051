"""Spaces: what a picture becomes, one file a kind, and the rows of each.

The names below are what a package needs that brings a kind of its own (CONTRIBUTING.md).
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.collection.spaces.base import LearnedGeneration as LearnedGeneration
    from likewise.collection.spaces.base import Places as Places
    from likewise.collection.spaces.base import Space as Space
    from likewise.collection.spaces.base import Survey as Survey

__getattr__, __dir__, __all__ = doors(__name__)
