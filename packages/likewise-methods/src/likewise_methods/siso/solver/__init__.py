"""The exact lasso for many targets: engine, dictionary scan, certificate."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.siso.solver.certificate import certify as certify
    from likewise_methods.siso.solver.engine import Codes as Codes
    from likewise_methods.siso.solver.engine import lasso as lasso
    from likewise_methods.siso.solver.scan import Dictionary as Dictionary

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "certificate": ["certify"],
        "engine": ["Codes", "lasso"],
        "scan": ["Dictionary"],
    },
)
