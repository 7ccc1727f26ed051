"""Semi-supervised sparse metrics (S3ML): metrics, propagation, sparse inverse covariance."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.s3ml.lrml import LRML as LRML
    from likewise_methods.s3ml.objective import Problem as Problem
    from likewise_methods.s3ml.propagation.scatter import affinities as affinities
    from likewise_methods.s3ml.propagation.scatter import scatter as scatter
    from likewise_methods.s3ml.s3ml import S3ML as S3ML
    from likewise_methods.s3ml.solver.bounds import UnboundedProblem as UnboundedProblem
    from likewise_methods.s3ml.solver.sparse_inverse import SparseInverse as SparseInverse
    from likewise_methods.s3ml.solver.sparse_inverse import (
        sparse_inverse_covariance as sparse_inverse_covariance,
    )

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "lrml": ["LRML"],
        "objective": ["Problem"],
        "propagation.scatter": ["affinities", "scatter"],
        "s3ml": ["S3ML"],
        "solver.bounds": ["UnboundedProblem"],
        "solver.sparse_inverse": ["SparseInverse", "sparse_inverse_covariance"],
    },
)
