"""Tagging by sparse reconstruction (SISO): annotators, the lasso solver and its certificates."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.siso.annotator import SparseAnnotator as SparseAnnotator
    from likewise_methods.siso.linear import LinearAnnotator as LinearAnnotator
    from likewise_methods.siso.mixed import MIXES as MIXES
    from likewise_methods.siso.mixed import MixChoice as MixChoice
    from likewise_methods.siso.mixed import MixedAnnotator as MixedAnnotator
    from likewise_methods.siso.mixed import mixed_shares as mixed_shares
    from likewise_methods.siso.objective import certify as certify
    from likewise_methods.siso.solver.dictionary import Dictionary as Dictionary
    from likewise_methods.siso.solver.lasso import Codes as Codes
    from likewise_methods.siso.solver.lasso import lasso as lasso

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "annotator": ["SparseAnnotator"],
        "linear": ["LinearAnnotator"],
        "mixed": ["MIXES", "MixChoice", "MixedAnnotator", "mixed_shares"],
        "objective": ["certify"],
        "solver.dictionary": ["Dictionary"],
        "solver.lasso": ["Codes", "lasso"],
    },
)
