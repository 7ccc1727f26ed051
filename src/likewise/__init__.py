"""Likewise: image search and tagging that learns what you mean by "alike".

Every public name is behind a lazy door (see ``_doors``): importing this package loads no
numerical library.
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise._version import __version__ as __version__
    from likewise.annotation.annotator import SparseAnnotator as SparseAnnotator
    from likewise.coding.aggregate import VLAD as VLAD
    from likewise.coding.bow import BagOfWords as BagOfWords
    from likewise.coding.fisher import FisherVector as FisherVector
    from likewise.coding.hard import VQ as VQ
    from likewise.coding.locality import LLC as LLC
    from likewise.coding.pooling import MaxPooling as MaxPooling
    from likewise.coding.product import ProductSparseCoder as ProductSparseCoder
    from likewise.coding.pyramid import SpatialPyramid as SpatialPyramid
    from likewise.coding.sparse import SparseCoder as SparseCoder
    from likewise.coding.vocabulary import Vocabulary as Vocabulary
    from likewise.coding.whitening import Whitening as Whitening
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.feedback.judge import Judgement as Judgement
    from likewise.collection.search.rank import Hit as Hit
    from likewise.errors import DatasetError as DatasetError
    from likewise.errors import ImageError as ImageError
    from likewise.errors import InvalidInput as InvalidInput
    from likewise.errors import LikewiseError as LikewiseError
    from likewise.images import decode as decode
    from likewise.images import probe as probe
    from likewise.index.inverted import InvertedIndex as InvertedIndex
    from likewise.metric.fitted import FittedSpace as FittedSpace
    from likewise.metric.lrml import LRML as LRML
    from likewise.metric.s3ml import S3ML as S3ML
    from likewise.ordinal.embedding import OrdinalEmbedding as OrdinalEmbedding
    from likewise.ordinal.kernel_map import KernelMap as KernelMap
    from likewise.similarity.lego import LEGO as LEGO
    from likewise.similarity.lmnn import LMNN as LMNN
    from likewise.similarity.local_metric import LocalMetric as LocalMetric
    from likewise.similarity.oasis import OASIS as OASIS
    from likewise.similarity.qpao import QPAO as QPAO
    from likewise.similarity.solis import SOLIS as SOLIS

__getattr__, __dir__, __all__ = doors(__name__)
