"""Ordinal embedding: points from comparisons, by five solvers of one :class:`Problem`."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.solvers.ordinal.batch import solve_batch as solve_batch
    from likewise.solvers.ordinal.batch import solve_lbfgs as solve_lbfgs
    from likewise.solvers.ordinal.convex import solve_convex as solve_convex
    from likewise.solvers.ordinal.online import solve_online as solve_online
    from likewise.solvers.ordinal.problem import Loss as Loss
    from likewise.solvers.ordinal.problem import Problem as Problem
    from likewise.solvers.ordinal.problem import Record as Record
    from likewise.solvers.ordinal.problem import Solution as Solution
    from likewise.solvers.ordinal.problem import squares as squares
    from likewise.solvers.ordinal.svrg import solve_svrg as solve_svrg

__getattr__, __dir__, __all__ = doors(__name__)
