"""Sparse inverse covariance with a duality gap; ``selection`` is where to begin reading."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.solvers.sparse_inverse.bounds import UnboundedProblem as UnboundedProblem
    from likewise.solvers.sparse_inverse.problem import Problem as Problem
    from likewise.solvers.sparse_inverse.selection import SparseInverse as SparseInverse
    from likewise.solvers.sparse_inverse.selection import (
        sparse_inverse_covariance as sparse_inverse_covariance,
    )

__getattr__, __dir__, __all__ = doors(__name__)
