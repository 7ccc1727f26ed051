"""Ordinal embedding from comparisons (SVRG-SBB): losses, solvers, kernel map."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.ordinal.cross_validation import cross_validate as cross_validate
    from likewise_methods.ordinal.embedding import OrdinalEmbedding as OrdinalEmbedding
    from likewise_methods.ordinal.kernel_map import KernelMap as KernelMap
    from likewise_methods.ordinal.layout import fit_to_square as fit_to_square
    from likewise_methods.ordinal.layout import place_on_grid as place_on_grid
    from likewise_methods.ordinal.losses import CKL as CKL
    from likewise_methods.ordinal.losses import GNMDS as GNMDS
    from likewise_methods.ordinal.losses import STE as STE
    from likewise_methods.ordinal.losses import TSTE as TSTE
    from likewise_methods.ordinal.objective import Problem as Problem
    from likewise_methods.ordinal.objective import Record as Record
    from likewise_methods.ordinal.objective import Solution as Solution
    from likewise_methods.ordinal.objective import squares as squares
    from likewise_methods.ordinal.solver.lbfgs import solve_lbfgs as solve_lbfgs
    from likewise_methods.ordinal.solver.online import solve_online as solve_online
    from likewise_methods.ordinal.solver.svrg import solve_svrg as solve_svrg
    from likewise_methods.ordinal.suggestions import suggest_comparisons as suggest_comparisons

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "cross_validation": ["cross_validate"],
        "embedding": ["OrdinalEmbedding"],
        "kernel_map": ["KernelMap"],
        "layout": ["fit_to_square", "place_on_grid"],
        "losses": ["CKL", "GNMDS", "STE", "TSTE"],
        "objective": ["Problem", "Record", "Solution", "squares"],
        "solver.lbfgs": ["solve_lbfgs"],
        "solver.online": ["solve_online"],
        "solver.svrg": ["solve_svrg"],
        "suggestions": ["suggest_comparisons"],
    },
)
