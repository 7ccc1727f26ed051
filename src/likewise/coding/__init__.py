"""Coding: descriptors to visual words, words to sparse vectors."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.coding.aggregate import VLAD as VLAD
    from likewise.coding.bow import BagOfWords as BagOfWords
    from likewise.coding.bow import count as count
    from likewise.coding.fisher import FisherVector as FisherVector
    from likewise.coding.hard import VQ as VQ
    from likewise.coding.locality import LLC as LLC
    from likewise.coding.pooling import MaxPooling as MaxPooling
    from likewise.coding.product import ProductSparseCoder as ProductSparseCoder
    from likewise.coding.pyramid import SpatialPyramid as SpatialPyramid
    from likewise.coding.sparse import SparseCoder as SparseCoder
    from likewise.coding.vocabulary import Vocabulary as Vocabulary
    from likewise.coding.whitening import Whitening as Whitening

__getattr__, __dir__, __all__ = doors(__name__)
