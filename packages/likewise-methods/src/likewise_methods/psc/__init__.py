"""Product sparse coding (Ge et al. 2014): coders, their exact solver and its certificates."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.psc.objective import certify as certify
    from likewise_methods.psc.product_coder import ProductSparseCoder as ProductSparseCoder
    from likewise_methods.psc.solver.product_paths import product_codes as product_codes
    from likewise_methods.psc.solver.word_paths import nonnegative_codes as nonnegative_codes
    from likewise_methods.psc.sparse_coder import SparseCoder as SparseCoder

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "objective": ["certify"],
        "product_coder": ["ProductSparseCoder"],
        "solver.product_paths": ["product_codes"],
        "solver.word_paths": ["nonnegative_codes"],
        "sparse_coder": ["SparseCoder"],
    },
)
