"""Prove that a minimum exists, or that none does (docs/methods/s3ml.md, (7)).

F is bounded below exactly if some Z > 0 lies in the box.  It has no minimum exactly if some M >= 0,
not zero, has G(M) = <S, M> + penalty <= 0: along t M it falls without end.  For a positive
semidefinite S with a positive diagonal the first proof costs one factorisation.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.objective import Floats, Problem, cholesky


class UnboundedProblem(InvalidInput):
    """-logdet M + <S, M> + penalty has no minimum; the message says why and what to do."""


REMEDY = (
    "raise l1, penalise the diagonal, or make S positive definite first (floor its eigenvalues, "
    "add a ridge, or give less weight to what made it indefinite)"
)
# G(M) is a difference of sums; below this share of them it is rounding.
ROUNDING = 1e-13


def refuse_diagonal(diagonal: Floats, penalised: bool) -> None:
    """Refuse an entry Z_ii <= 0, which no positive definite Z can have."""
    worst = int(np.argmin(diagonal))
    if diagonal[worst] <= 0.0:
        said = f"S[{worst}, {worst}]" + (" + l1" if penalised else "")
        but = "" if penalised else " and the diagonal is not penalised"
        raise UnboundedProblem(
            f"no minimum exists: {said} = {diagonal[worst]:g} is not positive{but}, so that "
            f"M[{worst}, {worst}] can grow without end; {REMEDY}"
        )
    largest = float(diagonal.max())
    if not (1.0 / np.finfo(np.float64).max < diagonal[worst] and np.isfinite(largest)):
        raise InvalidInput(
            f"the diagonal of S (with l1, where that is added) reaches from {diagonal[worst]:g} to "
            f"{largest:g}: an inverse is beyond float64; multiply S and l1 by a constant"
        )


def feasible_at_once(problem: Problem) -> Floats | None:
    """Return a dual feasible point, which proves that a minimum exists; None proves nothing."""
    # Moving towards its diagonal makes a semidefinite A definite: each entry as far as allowed ...
    first, value = problem.first_bound
    if value > -np.inf:
        return first
    A, l1 = problem.folded, problem.l1
    off = A - np.diag(np.diagonal(A))
    # ... or all entries by the same share.
    Z = A - min(1.0, l1 / float(np.abs(off).max())) * off
    return None if cholesky(Z) is None else np.asarray(Z)


def refuse_plainly_unbounded(problem: Problem) -> None:
    """Look for a proof in pairs of variables and in the lowest direction of the shrunken A."""
    A, l1 = problem.folded, problem.l1
    off = A - np.diag(np.diagonal(A))
    Z = A - np.clip(off, -l1, l1)
    d = np.sqrt(np.diagonal(A))
    over = np.abs(Z) / np.outer(d, d)
    np.fill_diagonal(over, 0.0)
    i, j = divmod(int(np.argmax(over)), problem.m)
    if over[i, j] >= 1.0:
        raise UnboundedProblem(
            f"no minimum exists: |S[{i}, {j}]| = {abs(problem.S[i, j]):g} exceeds l1 = {l1:g} by "
            f"more than the geometric mean of both (penalised) diagonal entries, "
            f"{d[i] * d[j]:g}; {REMEDY}"
        )
    lowest = la.eigh(Z, subset_by_index=(0, 0))[1][:, 0]
    refuse_if_falling(problem, np.outer(lowest, lowest))


def refuse_if_falling(problem: Problem, M: Floats, linear: float | None = None) -> None:
    """Raise if G(M) <= 0 for a positive semidefinite M: a proof that F has no minimum."""
    linear = problem.linear(M) if linear is None else linear
    # The sum of |A M| is at most the product of norms, which is cheaper.
    if linear > ROUNDING * problem.norm * float(np.linalg.norm(M)):
        return
    if linear <= ROUNDING * float(np.abs(problem.folded * M).sum()):
        raise UnboundedProblem(
            "no minimum exists: a positive semidefinite M was found with <S, M> + penalty <= 0, "
            "and along its multiples the objective falls without end (S is indefinite, its "
            f"smallest eigenvalue is {np.linalg.eigvalsh(problem.S)[0]:.3g}, and l1 = "
            f"{problem.l1:g} does not make up for it); {REMEDY}"
        )
