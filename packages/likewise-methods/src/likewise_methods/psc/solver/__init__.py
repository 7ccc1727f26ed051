"""Exact non-negative and product codes: paths, words, certificate."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.psc.solver.certificate import certify as certify
    from likewise_methods.psc.solver.certificate import objectives as objectives
    from likewise_methods.psc.solver.codes import ProductPaths as ProductPaths
    from likewise_methods.psc.solver.codes import Task as Task
    from likewise_methods.psc.solver.codes import product_codes as product_codes
    from likewise_methods.psc.solver.words import WordPaths as WordPaths
    from likewise_methods.psc.solver.words import nonnegative_codes as nonnegative_codes

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "certificate": ["certify", "objectives"],
        "codes": ["ProductPaths", "Task", "product_codes"],
        "words": ["WordPaths", "nonnegative_codes"],
    },
)
