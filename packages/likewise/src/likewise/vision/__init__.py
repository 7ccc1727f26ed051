"""From pixels or words to rows: networks, colours, local words, text towers."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.vision.deep.libraries import DamagedWeights as DamagedWeights
    from likewise.vision.deep.libraries import DeepMissing as DeepMissing
    from likewise.vision.deep.libraries import UnusableModel as UnusableModel
    from likewise.vision.deep.onnx_model import OnnxModel as OnnxModel
    from likewise.vision.deep.recipes import DeepCells as DeepCells
    from likewise.vision.deep.recipes import DeepDense as DeepDense
    from likewise.vision.deep.recipes import DeepSparse as DeepSparse
    from likewise.vision.deep.runtime import Preparation as Preparation
    from likewise.vision.holistic import Holistic as Holistic
    from likewise.vision.holistic import bin_names as bin_names
    from likewise.vision.holistic import colour_moments as colour_moments
    from likewise.vision.holistic import edge_histogram as edge_histogram
    from likewise.vision.holistic import wavelet_texture as wavelet_texture
    from likewise.vision.local import SIFT as SIFT
    from likewise.vision.local import DenseSIFT as DenseSIFT
    from likewise.vision.local import LocalFeatures as LocalFeatures
    from likewise.vision.local import root_sift as root_sift

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.vision.deep.libraries": ["DamagedWeights", "DeepMissing", "UnusableModel"],
        "likewise.vision.deep.onnx_model": ["OnnxModel"],
        "likewise.vision.deep.recipes": ["DeepCells", "DeepDense", "DeepSparse"],
        "likewise.vision.deep.runtime": ["Preparation"],
        "likewise.vision.holistic": [
            "Holistic",
            "bin_names",
            "colour_moments",
            "edge_histogram",
            "wavelet_texture",
        ],
        "likewise.vision.local": ["DenseSIFT", "LocalFeatures", "SIFT", "root_sift"],
    },
)
