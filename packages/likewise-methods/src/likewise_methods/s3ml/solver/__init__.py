"""Sparse inverse covariance with a certified gap."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.s3ml.solver.bounds import UnboundedProblem as UnboundedProblem
    from likewise_methods.s3ml.solver.problem import Problem as Problem
    from likewise_methods.s3ml.solver.selection import SparseInverse as SparseInverse
    from likewise_methods.s3ml.solver.selection import (
        sparse_inverse_covariance as sparse_inverse_covariance,
    )

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "bounds": ["UnboundedProblem"],
        "problem": ["Problem"],
        "selection": ["SparseInverse", "sparse_inverse_covariance"],
    },
)
