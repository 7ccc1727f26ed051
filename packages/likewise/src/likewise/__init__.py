"""Likewise: image search and tagging that learns what you mean by "alike".

Every public name is imported when it is first used: importing this package loads no numerical
library.  The methods come from ``likewise_methods``.
"""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise._version import __version__ as __version__
    from likewise.collection.collection import Collection as Collection
    from likewise.errors import DatasetError as DatasetError
    from likewise.errors import ImageError as ImageError
    from likewise.errors import InvalidInput as InvalidInput
    from likewise.errors import LikewiseError as LikewiseError
    from likewise.images.decode import decode as decode
    from likewise.images.decode import probe as probe
    from likewise.learning.judge import Judgement as Judgement
    from likewise.search.rank import Hit as Hit
    from likewise_methods.coding import LLC as LLC
    from likewise_methods.coding import VLAD as VLAD
    from likewise_methods.coding import VQ as VQ
    from likewise_methods.coding import BagOfWords as BagOfWords
    from likewise_methods.coding import FisherVector as FisherVector
    from likewise_methods.coding import MaxPooling as MaxPooling
    from likewise_methods.coding import SpatialPyramid as SpatialPyramid
    from likewise_methods.coding import Vocabulary as Vocabulary
    from likewise_methods.coding import Whitening as Whitening
    from likewise_methods.index import InvertedIndex as InvertedIndex
    from likewise_methods.ordinal import KernelMap as KernelMap
    from likewise_methods.ordinal import OrdinalEmbedding as OrdinalEmbedding
    from likewise_methods.psc import ProductSparseCoder as ProductSparseCoder
    from likewise_methods.psc import SparseCoder as SparseCoder
    from likewise_methods.s3ml import LRML as LRML
    from likewise_methods.s3ml import S3ML as S3ML
    from likewise_methods.siso import SparseAnnotator as SparseAnnotator
    from likewise_methods.solis import LEGO as LEGO
    from likewise_methods.solis import OASIS as OASIS
    from likewise_methods.solis import QPAO as QPAO
    from likewise_methods.solis import SOLIS as SOLIS
    from likewise_methods.spaces import FittedSpace as FittedSpace
    from likewise_methods.spaces import LocalMetric as LocalMetric

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise._version": ["__version__"],
        "likewise.collection.collection": ["Collection"],
        "likewise.errors": ["DatasetError", "ImageError", "InvalidInput", "LikewiseError"],
        "likewise.images.decode": ["decode", "probe"],
        "likewise.learning.judge": ["Judgement"],
        "likewise.search.rank": ["Hit"],
        "likewise_methods.coding": [
            "BagOfWords",
            "FisherVector",
            "LLC",
            "MaxPooling",
            "SpatialPyramid",
            "VLAD",
            "VQ",
            "Vocabulary",
            "Whitening",
        ],
        "likewise_methods.index": ["InvertedIndex"],
        "likewise_methods.ordinal": ["KernelMap", "OrdinalEmbedding"],
        "likewise_methods.psc": ["ProductSparseCoder", "SparseCoder"],
        "likewise_methods.s3ml": ["LRML", "S3ML"],
        "likewise_methods.siso": ["SparseAnnotator"],
        "likewise_methods.solis": ["LEGO", "OASIS", "QPAO", "SOLIS"],
        "likewise_methods.spaces": ["FittedSpace", "LocalMetric"],
    },
)
