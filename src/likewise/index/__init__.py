"""The index: exact top-k over sparse vectors, with weights that may change at every search."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.index.errors import DamagedIndex as DamagedIndex
    from likewise.index.inverted import InvertedIndex as InvertedIndex

__getattr__, __dir__, __all__ = doors(__name__)
