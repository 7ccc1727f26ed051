"""Tagging by sparse reconstruction (SISO): annotators, the lasso solver and its certificates."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.siso.annotator import SparseAnnotator as SparseAnnotator
    from likewise_methods.siso.linear import LinearAnnotator as LinearAnnotator
    from likewise_methods.siso.mixed import MixedAnnotator as MixedAnnotator
    from likewise_methods.siso.mixing import MIXES as MIXES
    from likewise_methods.siso.mixing import MixChoice as MixChoice
    from likewise_methods.siso.mixing import mixed_shares as mixed_shares
    from likewise_methods.siso.solver.certificate import certify as certify
    from likewise_methods.siso.solver.engine import Codes as Codes
    from likewise_methods.siso.solver.engine import lasso as lasso
    from likewise_methods.siso.solver.scan import Dictionary as Dictionary

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "annotator": ["SparseAnnotator"],
        "linear": ["LinearAnnotator"],
        "mixed": ["MixedAnnotator"],
        "mixing": ["MIXES", "MixChoice", "mixed_shares"],
        "solver.certificate": ["certify"],
        "solver.engine": ["Codes", "lasso"],
        "solver.scan": ["Dictionary"],
    },
)
