"""Solvers of ordinal embedding: SVRG-SBB, L-BFGS, online and convex ones."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise_methods.ordinal.solver.batch import solve_batch as solve_batch
    from likewise_methods.ordinal.solver.batch import solve_lbfgs as solve_lbfgs
    from likewise_methods.ordinal.solver.convex import solve_convex as solve_convex
    from likewise_methods.ordinal.solver.online import solve_online as solve_online
    from likewise_methods.ordinal.solver.problem import Loss as Loss
    from likewise_methods.ordinal.solver.problem import Problem as Problem
    from likewise_methods.ordinal.solver.problem import Record as Record
    from likewise_methods.ordinal.solver.problem import Solution as Solution
    from likewise_methods.ordinal.solver.problem import squares as squares
    from likewise_methods.ordinal.solver.svrg import solve_svrg as solve_svrg

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "batch": ["solve_batch", "solve_lbfgs"],
        "convex": ["solve_convex"],
        "online": ["solve_online"],
        "problem": ["Loss", "Problem", "Record", "Solution", "squares"],
        "svrg": ["solve_svrg"],
    },
)
