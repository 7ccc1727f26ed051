"""Product sparse coding (Ge et al. 2014): coders, their exact solver and its certificates."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.psc.product import ProductSparseCoder as ProductSparseCoder
    from likewise_methods.psc.solver.certificate import certify as certify
    from likewise_methods.psc.solver.certificate import objectives as objectives
    from likewise_methods.psc.solver.codes import ProductPaths as ProductPaths
    from likewise_methods.psc.solver.codes import Task as Task
    from likewise_methods.psc.solver.codes import product_codes as product_codes
    from likewise_methods.psc.solver.words import WordPaths as WordPaths
    from likewise_methods.psc.solver.words import nonnegative_codes as nonnegative_codes
    from likewise_methods.psc.sparse import SparseCoder as SparseCoder

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "product": ["ProductSparseCoder"],
        "solver.certificate": ["certify", "objectives"],
        "solver.codes": ["ProductPaths", "Task", "product_codes"],
        "solver.words": ["WordPaths", "nonnegative_codes"],
        "sparse": ["SparseCoder"],
    },
)
