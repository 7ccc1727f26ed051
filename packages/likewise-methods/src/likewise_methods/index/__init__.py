"""Exact sparse top-k search: an inverted index over visual words."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.index.files import is_current as is_current
    from likewise_methods.index.inverted import InvertedIndex as InvertedIndex
    from likewise_methods.index.layout import DamagedIndex as DamagedIndex
    from likewise_methods.index.rows import id_vector as id_vector
    from likewise_methods.index.rows import picture_rows as picture_rows
    from likewise_methods.index.rows import query_rows as query_rows
    from likewise_methods.index.small import EMPTY_INDEX as EMPTY_INDEX
    from likewise_methods.index.small import SmallIndex as SmallIndex

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "files": ["is_current"],
        "inverted": ["InvertedIndex"],
        "layout": ["DamagedIndex"],
        "rows": ["id_vector", "picture_rows", "query_rows"],
        "small": ["EMPTY_INDEX", "SmallIndex"],
    },
)
