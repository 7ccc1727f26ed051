"""Networks that describe pictures."""

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

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.vision.deep.libraries": ["DamagedWeights", "DeepMissing", "UnusableModel"],
        "likewise.vision.deep.onnx_model": ["OnnxModel"],
        "likewise.vision.deep.recipes": ["DeepCells", "DeepDense", "DeepSparse"],
        "likewise.vision.deep.runtime": ["Preparation"],
    },
)
