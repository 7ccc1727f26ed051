"""The objective of sparse inverse covariance selection, and the certificate of its minimum.

    F(M) = -logdet M + <S, M> + sum_ij L_ij |M_ij|,   L_ij = l1 (on the diagonal: l1, or 0)
    dual:  logdet Z + m  over all Z > 0 with |Z_ij - S_ij| <= L_ij

(docs/methods/s3ml.md, (5) and (6)).  Every Z that meets both conditions bounds the minimum from
below, so F(M) minus its value is a duality gap.  A Z that is only inside the box proves nothing:
its gap is infinite (docs/methods/s3ml.md, F3).  M_ii > 0, so the penalty of the diagonal is linear:
A is S plus that penalty, and A's diagonal is that of the best Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from likewise_methods.s3ml.solver.newton_kernels import HOPED, clip_to_box, mirror, tree

Floats = NDArray[np.float64]


def cholesky(M: Floats) -> Floats | None:
    """Return the upper factor R with M = R' R, or None where M is not positive definite.

    Only the upper triangle of M is read; the lower one of the result is undefined.
    """
    factor, info = lapack.dpotrf(M.T, lower=1, clean=0, overwrite_a=0)
    return None if info else factor.T


def logdet(factor: Floats) -> float:
    """Return log det of R' R from its Cholesky factor."""
    return 2.0 * float(np.log(np.diagonal(factor)).sum())


def inverse(factor: Floats, kind: Any = np.float64) -> Any:
    """Return the full symmetric inverse of R' R, computed in the precision ``kind``."""
    if kind is np.float32:
        half, _ = lapack.spotri(factor.T.astype(np.float32), lower=1, overwrite_c=1)
    else:
        half, _ = lapack.dpotri(factor.T, lower=1, overwrite_c=0)
    whole = np.ascontiguousarray(half.T)
    mirror(whole)
    return whole


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem: ``S`` (symmetric, float64, C order), ``l1``, and whether M_ii are penalised.

    See Also
    --------
    sparse_inverse_covariance : solves it.

    References
    ----------
    docs/methods/s3ml.md, (5) and (6).
    """

    S: Floats
    l1: float
    penalise_diagonal: bool = True

    @property
    def m(self) -> int:
        return len(self.S)

    @cached_property
    def folded(self) -> Floats:
        """A: S plus the penalty of the diagonal."""
        A = self.S.copy()
        if self.penalise_diagonal:
            A[np.diag_indices(self.m)] += self.l1
        return A

    @cached_property
    def norm(self) -> float:
        """The Frobenius norm of A."""
        return float(np.linalg.norm(self.folded))

    @cached_property
    def box(self) -> Floats:
        """L, the weight of each entry."""
        L = np.full(self.S.shape, self.l1)
        if not self.penalise_diagonal:
            np.fill_diagonal(L, 0.0)
        return L

    @cached_property
    def first_bound(self) -> tuple[Floats, float]:
        """The dual point of M = diag(A)^-1, and its value.

        Each entry off the diagonal of A is as near to zero as allowed.
        """
        Z = self.dual_point(np.diag(np.diagonal(self.folded)))
        return Z, self.dual_value(Z)

    @cached_property
    def tree(self) -> tuple[Floats, Floats] | None:
        """The M of a tree and its factor (docs/methods/s3ml.md, (21)), or None if it is poor."""
        M = np.empty_like(self.folded)
        hoped = tree(self.folded, self.l1, M)
        factor = cholesky(M) if np.isfinite(hoped) else None
        if factor is None:
            return None
        diagonal = float(np.log(np.diagonal(self.folded)).sum()) + self.m
        fallen = diagonal - (self.linear(M) - logdet(factor))
        # All methods can begin with a diagonal M.
        return (M, factor) if hoped > 0.0 and fallen >= HOPED * hoped else None

    def linear(self, M: Floats) -> float:
        """Return G(M) = <S, M> + penalty, the part of F that is proportional to M."""
        absolute = float(np.abs(M).sum()) - float(np.abs(np.diagonal(M)).sum())
        return float(np.vdot(self.folded, M)) + self.l1 * absolute

    def value(self, M: Floats) -> float:
        """Return F(M); infinite where M is not positive definite."""
        factor = cholesky(M)
        return np.inf if factor is None else self.linear(M) - logdet(factor)

    def dual_point(self, W: Floats) -> Floats:
        """Return the point of the box nearest to W = M^-1, its diagonal as large as allowed."""
        Z = np.empty_like(self.folded)
        clip_to_box(W, self.folded, self.l1, Z)
        mirror(Z)
        return Z

    def dual_value(self, Z: Floats) -> float:
        """Return logdet Z + m for Z inside the box; -inf where Z is not positive definite."""
        factor = cholesky(Z)
        return -np.inf if factor is None else logdet(factor) + self.m

    def gap(self, M: Floats) -> float:
        """Return F(M) - F* at most, from M alone; infinite where M or the dual point fails."""
        factor = cholesky(M)
        if factor is None:
            return np.inf
        dual = self.dual_value(self.dual_point(inverse(factor)))
        return max(self.linear(M) - logdet(factor) - dual, 0.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a method: ``M``, its objective, the best dual value, and how it ended.

    ``Z`` is the dual point of that value, or None.  ``own_gap`` is that of the problem solved; it
    differs from ``gap`` for the smoothed form only.
    """

    M: Floats
    value: float
    dual: float
    n_iter: int
    converged: bool
    own_gap: float
    Z: Floats | None = None

    @property
    def gap(self) -> float:
        return max(self.value - self.dual, 0.0)
