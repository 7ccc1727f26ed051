"""Visual words, pooled codes: Vocabulary, BagOfWords, VQ, LLC, VLAD, Fisher vectors, whitening."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.coding.aggregate import VLAD as VLAD
    from likewise_methods.coding.bow import BagOfWords as BagOfWords
    from likewise_methods.coding.bow import Weighting as Weighting
    from likewise_methods.coding.bow import count as count
    from likewise_methods.coding.fisher import FisherVector as FisherVector
    from likewise_methods.coding.hard import VQ as VQ
    from likewise_methods.coding.linear import brought_back as brought_back
    from likewise_methods.coding.linear import factor as factor
    from likewise_methods.coding.linear import products as products
    from likewise_methods.coding.locality import LLC as LLC
    from likewise_methods.coding.pooling import MaxPooling as MaxPooling
    from likewise_methods.coding.pyramid import SpatialPyramid as SpatialPyramid
    from likewise_methods.coding.vocabulary import Vocabulary as Vocabulary
    from likewise_methods.coding.whitening import Whitening as Whitening

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "aggregate": ["VLAD"],
        "bow": ["BagOfWords", "Weighting", "count"],
        "fisher": ["FisherVector"],
        "hard": ["VQ"],
        "linear": ["brought_back", "factor", "products"],
        "locality": ["LLC"],
        "pooling": ["MaxPooling"],
        "pyramid": ["SpatialPyramid"],
        "vocabulary": ["Vocabulary"],
        "whitening": ["Whitening"],
    },
)
