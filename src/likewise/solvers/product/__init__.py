"""Non-negative sparse codes by homotopy paths: over one codebook, or over products of codebooks.

``path`` follows one path, ``marching`` the parts of a vector together, ``codes`` and ``words``
bring vectors in batches; ``certificate`` says how far from the optimum an answer is at most.
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.solvers.product.certificate import certify as certify
    from likewise.solvers.product.certificate import objectives as objectives
    from likewise.solvers.product.codes import ProductPaths as ProductPaths
    from likewise.solvers.product.codes import Task as Task
    from likewise.solvers.product.codes import product_codes as product_codes
    from likewise.solvers.product.words import WordPaths as WordPaths
    from likewise.solvers.product.words import nonnegative_codes as nonnegative_codes

__getattr__, __dir__, __all__ = doors(__name__)
