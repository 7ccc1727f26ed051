"""What a network sees, as vectors (with the extra ``deep``): ``recipes`` is where to begin reading.

``weights`` reads torch's file, ``graph`` builds the network as ONNX, ``network`` checks and keeps
it, ``runtime`` runs it; ``onnx_model`` and ``wire`` are for networks of one's own.
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.features.deep.errors import DamagedWeights as DamagedWeights
    from likewise.features.deep.errors import DeepMissing as DeepMissing
    from likewise.features.deep.errors import UnusableModel as UnusableModel
    from likewise.features.deep.onnx_model import OnnxModel as OnnxModel
    from likewise.features.deep.recipes import DeepCells as DeepCells
    from likewise.features.deep.recipes import DeepDense as DeepDense
    from likewise.features.deep.recipes import DeepSparse as DeepSparse
    from likewise.features.deep.runtime import Preparation as Preparation

__getattr__, __dir__, __all__ = doors(__name__)
