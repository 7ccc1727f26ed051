"""The lasso for many queries at once (SISO), certified; ``engine`` is where to begin reading.

The folder is not called ``lasso``: importing a submodule makes it an attribute of its package, and
``from likewise.solvers import lasso`` would then give the folder instead of the function, or not,
depending on what was imported before.
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.solvers.lassos.certificate import certify as certify
    from likewise.solvers.lassos.engine import Codes as Codes
    from likewise.solvers.lassos.engine import lasso as lasso
    from likewise.solvers.lassos.scan import Dictionary as Dictionary

__getattr__, __dir__, __all__ = doors(__name__)
