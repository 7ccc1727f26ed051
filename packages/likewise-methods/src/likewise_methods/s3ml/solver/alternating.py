"""Alternating linearisation (S3ML; Goldfarb, Ma and Scheinberg): one eigendecomposition a step.

M takes the smooth part of the objective exactly and the penalty linearised, Y the other way round
(docs/methods/s3ml.md, (10) to (12)).  Zeros are in Y, never in M (docs/methods/s3ml.md, F5), so Y
is returned.  The paper's step, the smoothing parameter, makes no progress (F4).  Here mu begins at
the square of M's geometric mean and is balanced by the two residuals, each measured in the units of
M; steps that alternate fully are damped a little.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.linalg import blas

from likewise_methods.s3ml.objective import (
    Floats,
    Problem,
    Solution,
    cholesky,
    inverse,
    logdet,
)
from likewise_methods.s3ml.solver.newton_kernels import mirror

# Certificates cost factorisations, so they are not computed at each step.  mu is fixed after
# BALANCED steps, as convergence is only proved for a fixed mu.
CHECKED_EVERY = 5
BALANCED = 400
# mu stays within these multiples of the square of M's geometric mean, and moves at most STRIDE
# times, when one residual is more than EVEN times the other.
LEAST, MOST = 0.25, 2.0
EVEN, STRIDE = 2.0, 4.0
# 2 is the method of the paper; less is surely convergent and rarely slower.
RELAXED = 1.8


class Alternating:
    """The state of the method: Y, U, mu, and the best primal and dual values so far."""

    def __init__(self, problem: Problem, smoothing: float, start: Floats | None) -> None:
        self.problem, self.smoothing = problem, smoothing
        L = problem.box
        if start is None:
            self.Y = np.diag(1.0 / np.diagonal(problem.folded))
            self.U = np.clip(self.Y / smoothing, -L, L) if smoothing > 0 else L * np.sign(self.Y)
        else:
            factor = cholesky(start)
            if factor is None:
                raise ValueError("start is not positive definite")
            self.Y = start
            self.U = np.clip(inverse(factor) - problem.S, -L, L)
        self.mu = self._first_step()
        self.n_iter = 0
        self.best = _Best(problem, smoothing)
        self.best.offer(self.Y, self.U, None)

    def _first_step(self) -> float:
        """Return mu of the start, or of A's inverse, whose determinant is similar."""
        given = cholesky(self.Y)
        if given is not None and np.count_nonzero(self.Y) > self.problem.m:
            return float(np.exp(2.0 * logdet(given) / self.problem.m))
        factor = cholesky(self.problem.folded)
        if factor is None:
            return float(np.mean(np.diagonal(self.Y))) ** 2
        return float(np.exp(-2.0 * logdet(factor) / self.problem.m))

    def advance(self, steps: int) -> float:
        """Take so many steps; return the gap."""
        S, L, sig = self.problem.S, self.problem.box, self.smoothing
        relaxed = 2.0 if sig > 0.0 else RELAXED
        for _ in range(steps):
            mu, old = self.mu, self.Y
            C = old - mu * (S + self.U)
            M, gamma, V = _smooth_step(C, mu)
            B = relaxed * M + (1.0 - relaxed) * old + mu * self.U
            self.U = np.clip(B / (mu + sig), -L, L)
            # Without smoothing the soft threshold is written out: B - mu * (B / mu) would leave
            # 1e-18 in place of zeros.
            if sig > 0.0:
                self.Y = B - mu * self.U
            else:
                self.Y = np.sign(B) * np.maximum(np.abs(B) - mu * L, 0.0)
            self.n_iter += 1
        if self.n_iter <= BALANCED:
            self.mu = _balance(mu, gamma, V, M - self.Y, self.Y - old)
        # mu M^-1 = M - C, so that no second product is needed.
        return self.best.offer(self.Y, self.U, (M - C) / mu)

    def solution(self, tol: float) -> Solution:
        return self.best.solution(self.n_iter, tol)


def solve_alm(
    problem: Problem, tol: float, max_iter: int, smoothing: float = 0.0, start: Floats | None = None
) -> Solution:
    """Minimise until the gap (of the smoothed problem, if smoothing > 0) is at most tol * m."""
    state = Alternating(problem, smoothing, start)
    gap = state.best.gap()
    while gap > tol * problem.m and state.n_iter < max_iter:
        gap = state.advance(min(CHECKED_EVERY, max_iter - state.n_iter))
    return state.solution(tol)


def _smooth_step(C: Floats, mu: float) -> tuple[Floats, Floats, Floats]:
    """Return M with M - mu M^-1 = C (a quadratic per eigenvalue), and its eigenpairs."""
    d, V = la.eigh(C, driver="evd", check_finite=False)
    root = np.sqrt(d * d + 4.0 * mu)
    # For d < 0 the sum cancels; the conjugate form does not.
    gamma = np.where(d < 0.0, 2.0 * mu / (root - np.minimum(d, 0.0)), 0.5 * (d + root))
    M = np.ascontiguousarray(blas.dsyrk(1.0, V * np.sqrt(gamma), lower=1).T)
    mirror(M)
    return M, gamma, V


def _balance(mu: float, gamma: Floats, V: Floats, apart: Floats, moved: Floats) -> float:
    """Return mu, smaller where M and Y disagree more than Y moves, larger in the opposite case.

    Both are measured in M's own coordinates, |M^-1/2 (M - Y) M^-1/2| and |M^1/2 (Y - old) M^1/2| /
    mu: plain norms would see only the few largest eigenvalues, of M or of M^-1.
    """
    scale = np.sqrt(np.outer(gamma, gamma))
    primal = float(np.linalg.norm(V.T @ apart @ V / scale))
    dual = float(np.linalg.norm(V.T @ moved @ V * scale)) / mu
    if primal > EVEN * dual:
        mu /= min(np.sqrt(primal / max(dual, 1e-300)), STRIDE)
    elif dual > EVEN * primal:
        mu *= min(np.sqrt(dual / max(primal, 1e-300)), STRIDE)
    middle = float(np.exp(2.0 * np.mean(np.log(gamma))))
    return float(min(max(mu, LEAST * middle), MOST * middle))


class _Best:
    """The best primal and the best dual value, which may come from different steps."""

    def __init__(self, problem: Problem, smoothing: float) -> None:
        self.problem, self.smoothing = problem, smoothing
        # The start is positive definite, so the first offer sets M.
        self.M = problem.folded
        self.Z: Floats | None = None
        self.value, self.dual = np.inf, -np.inf
        self.smooth_value, self.smooth_dual = np.inf, -np.inf

    def gap(self) -> float:
        """Return the gap that decides about stopping."""
        if self.smoothing > 0.0:
            return self.smooth_value - self.smooth_dual
        return self.value - self.dual

    def offer(self, Y: Floats, U: Floats, W: Floats | None) -> float:
        """Use the result of a step; return the gap."""
        self._duals(self.problem.S + U)
        if W is not None:
            self._duals(self.problem.dual_point(W))
        if self.smoothing > 0.0:
            self._smooth_primal(Y)
        else:
            self._primal(Y, self.problem.value(Y))
        return self.gap()

    def _duals(self, Z: Floats) -> None:
        dual = self.problem.dual_value(Z)
        if dual > self.dual:
            self.dual, self.Z = dual, Z
        if self.smoothing > 0.0:
            # The smoothed dual also pays sig |U|^2 / 2.
            paid = 0.5 * self.smoothing * float(np.square(Z - self.problem.S).sum())
            self.smooth_dual = max(self.smooth_dual, dual - paid)

    def _primal(self, Y: Floats, value: float) -> None:
        if value < self.value:
            self.value, self.M = value, Y

    def _smooth_primal(self, Y: Floats) -> None:
        factor = cholesky(Y)
        if factor is None:
            return
        sig, L = self.smoothing, self.problem.box
        U = np.clip(Y / sig, -L, L)
        huber = float(np.vdot(U, Y)) - 0.5 * sig * float(np.square(U).sum())
        value = float(np.vdot(self.problem.S, Y)) - logdet(factor) + huber
        if value < self.smooth_value:
            self.smooth_value = value
            # In the dead zone the smoothed Y is sig B / (sig + mu), which is not zero (F5).
            zeroed = np.where(np.abs(Y) <= sig * L, 0.0, Y)
            self.value = self.problem.value(zeroed)
            self.M = zeroed

    def solution(self, n_iter: int, tol: float) -> Solution:
        factor = cholesky(self.M)
        if factor is not None:
            self._duals(self.problem.dual_point(inverse(factor)))
        own = max(self.gap(), 0.0)
        converged = own <= tol * self.problem.m
        return Solution(self.M, self.value, self.dual, n_iter, converged, own, self.Z)
