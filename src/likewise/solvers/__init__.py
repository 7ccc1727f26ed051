"""Solvers: arrays in, arrays and certificates out; and what compiled kernels share."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.solvers.lassos.engine import lasso as lasso
    from likewise.solvers.lassos.scan import Dictionary as Dictionary
    from likewise.solvers.product.codes import product_codes as product_codes
    from likewise.solvers.product.words import nonnegative_codes as nonnegative_codes
    from likewise.solvers.sparse_inverse.bounds import UnboundedProblem as UnboundedProblem
    from likewise.solvers.sparse_inverse.selection import SparseInverse as SparseInverse
    from likewise.solvers.sparse_inverse.selection import (
        sparse_inverse_covariance as sparse_inverse_covariance,
    )

__getattr__, __dir__, __all__ = doors(__name__)
