"""Features: what a picture looks like, as vectors.

Local descriptors at many places (``local``), one vector for the whole (``holistic``).
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
    from likewise.features.holistic import Holistic as Holistic
    from likewise.features.holistic import bin_names as bin_names
    from likewise.features.holistic import colour_moments as colour_moments
    from likewise.features.holistic import edge_histogram as edge_histogram
    from likewise.features.holistic import wavelet_texture as wavelet_texture
    from likewise.features.local import SIFT as SIFT
    from likewise.features.local import DenseSIFT as DenseSIFT
    from likewise.features.local import LocalFeatures as LocalFeatures
    from likewise.features.local import root_sift as root_sift

__getattr__, __dir__, __all__ = doors(__name__)
