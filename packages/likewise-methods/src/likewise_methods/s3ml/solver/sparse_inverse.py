"""Sparse inverse covariance: min over M > 0 of -logdet M + <S, M> + l1 sum |M_ij| (S3ML).

S is split into the connected blocks of |S_ij| > l1, which are solved separately: those of one and
two variables in closed form, small ones in one compiled loop (``small_blocks``), others by a
second-order active-set method (``newton``) or alternating linearisation (``alternating``).  Every
result has a duality gap.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise_methods.errors import InvalidInput
from likewise_methods.s3ml.objective import Floats, Problem, Solution, cholesky, inverse, logdet
from likewise_methods.s3ml.solver.blocks import (
    Assembly,
    Blocks,
    BlockScan,
    Proof,
    is_sparse,
    scan,
    take_block,
)
from likewise_methods.s3ml.solver.bounds import (
    REMEDY,
    UnboundedProblem,
    feasible_at_once,
    refuse_diagonal,
    refuse_plainly_unbounded,
)
from likewise_methods.s3ml.solver.methods import METHODS, Settings
from likewise_methods.s3ml.solver.newton import solve_newton
from likewise_methods.s3ml.solver.small_blocks import LARGEST, solve_batch
from likewise_methods.validation import number, one_of, truth, whole

# Entries are multiplied with each other, some in float32: beyond this they would leave its range.
_USUAL = 2.0**30


@dataclass(frozen=True, eq=False)
class SparseInverse:
    """The minimiser, its certificate, and a report.

    Attributes
    ----------
    precision : array or CSR matrix of shape (m, m)
        The minimiser, with exact zeros; CSR where S was sparse.
    gap : float
        Bounds F(precision) - min F from above, by a dual feasible point in float64; infinite if
        none was found.
    n_iter : int
        The largest number of steps any block took.
    converged : bool
        Whether own_gap <= tol * m was reached.
    objective : float
        F(precision).
    own_gap : float
        The gap of the smoothed problem with ``smoothing``, else the same as ``gap``.
    blocks : int
        How many blocks S was split into.
    largest_block : int
        The size of the largest block.
    proof : Proof
        The dual point block by block; ``covariance`` assembles it.

    See Also
    --------
    sparse_inverse_covariance : the solver that returns it.
    """

    precision: Any = field(repr=False)
    gap: float
    n_iter: int
    converged: bool
    objective: float
    own_gap: float
    blocks: int
    largest_block: int
    proof: Proof = field(repr=False)

    @property
    def covariance(self) -> Any:
        """Z, the dual feasible point that proves ``gap``, in the form of ``precision``.

        It is positive definite, no entry is farther than l1 from S (on the diagonal: exactly S_ii,
        plus l1 if that is penalised), and F(precision) - logdet Z - m is the gap, so the gap can be
        checked.  At the optimum it is the inverse of ``precision``.  None if no such point was
        found (``gap`` is then infinite).
        """
        return self.proof.whole()


def sparse_inverse_covariance(
    S: Any,
    l1: float,
    penalise_diagonal: bool = True,
    tol: float = 1e-6,
    method: str = "auto",
    smoothing: float = 0.0,
    *,
    start: Any = None,
    max_iter: int | None = None,
) -> SparseInverse:
    """Minimise -logdet M + <S, M> + l1 sum |M_ij| over positive definite M.

    Parameters
    ----------
    S : array or SciPy sparse matrix of shape (m, m)
        Symmetric.  It need not be positive definite as long as a minimum exists.
    l1 : float
        The weight of the penalty, zero or more.
    penalise_diagonal : bool, default=True
        Whether M_ii are part of the sum.
    tol : float, default=1e-6
        Stop at a duality gap of ``tol`` times m; use 1e-6 or less where zeros matter.
    method : {"auto", "alm", "newton"}, default="auto"
        "newton" is of second order, for sparse answers; "alm" is alternating linearisation; "auto"
        chooses for each block.
    smoothing : float, default=0.0
        Above zero, use the paper's smoothed penalty: alternating linearisation on all of S; entries
        within smoothing * l1 become zero at the end.
    start : array or sparse matrix of shape (m, m), optional
        A precision to start from; blocks of it that are not positive definite are ignored.
    max_iter : int, optional
        The largest number of steps of a block; by default 2000.

    Returns
    -------
    SparseInverse
        ``precision``, and the duality gap with the point that proves it.

    Raises
    ------
    UnboundedProblem
        If no minimum exists.

    Examples
    --------
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> found = sparse_inverse_covariance(S, 0.3)
    >>> found.precision.round(2).tolist()
    [[0.81, -0.19, 0.0], [-0.19, 0.81, 0.0], [0.0, 0.0, 0.77]]
    >>> found.blocks, found.gap < 1e-12
    (2, True)

    See Also
    --------
    likewise_methods.s3ml.S3ML : learns a metric with it.
    UnboundedProblem : what is raised where no minimum exists.

    References
    ----------
    W. Liu, S. Ma, D. Tao, J. Liu and P. Liu: Semi-supervised sparse metric learning using
    alternating linearization optimization.  ACM SIGKDD, 2010.

    Problem, dual and the two methods: docs/methods/s3ml.md, (5), (6) and (10) to (13).
    """
    S = as_matrix(S)
    settings = as_settings(l1, penalise_diagonal, tol, method, smoothing, max_iter)
    start = None if start is None else as_start(start, S.shape)
    scanned = scan(S, settings.l1)
    check_scanned(S, scanned)
    if settings.smoothing > 0.0:
        # The smoothed penalty is flat at zero and separates no blocks, so all of S is one.
        scanned = replace(scanned, labels=np.zeros_like(scanned.labels))
    diagonal = np.asarray(S.diagonal(), np.float64)
    refuse_diagonal(diagonal + settings.on_diagonal, settings.penalise_diagonal)
    return _by_blocks(S, diagonal, scanned, settings, start)


def _by_blocks(
    S: Any, diagonal: Floats, scanned: BlockScan, settings: Settings, start: Any
) -> SparseInverse:
    m = len(diagonal)
    made, proof = Assembly(m, is_sparse(S)), Proof(m, is_sparse(S))
    blocks = Blocks.of(scanned.labels)
    ones = blocks.between(1, 1).variables
    a = diagonal[ones] + settings.on_diagonal
    made.entries(ones, ones, 1.0 / a)
    proof.entries(ones, ones, a)
    value = float(np.log(a).sum()) + len(ones)
    closed = settings.smoothing == 0.0
    pairs = blocks.between(2, 2).variables.reshape(-1, 2)
    if closed and len(pairs):
        value += _pairs(S, diagonal, pairs, settings, made, proof)
    rest = blocks.between(3 if closed else 2, m)
    gap = own = 0.0
    n_iter, converged = 0, True
    place = np.full(m, -1, np.int64)
    left: Any = ((block, None) for block in rest)
    if METHODS[settings.method].batched and settings.l1 > 0.0 and closed:
        small = rest.between(3, LARGEST)
        # Blocks with a start are left to the other methods, which continue from it.
        begun = np.zeros(len(small), bool)
        if start is not None:
            begun[:] = [_part(start, block, place) is not None for block in small]
        batch = solve_batch(S, small, begun, settings, place)
        batch.add_to(made, proof)
        value, gap, own = value + batch.value, gap + batch.gap, own + batch.gap
        n_iter = batch.n_iter
        large = ((block, None) for block in rest.between(LARGEST + 1, m))
        left = itertools.chain(batch.unsolved(), large)
    for block, reached in left:
        near = _part(start, block, place) if reached is None else reached
        found = _solve(take_block(S, block, place), settings, near)
        made.block(block, found.M)
        proof.block(block, found.Z)
        value, gap, own = value + found.value, gap + found.gap, own + found.own_gap
        n_iter, converged = max(n_iter, found.n_iter), converged and found.converged
    largest = int(blocks.sizes[-1])
    return SparseInverse(
        made.whole(), gap, n_iter, converged, value, own, len(blocks), largest, proof
    )


def _pairs(
    S: Any, diagonal: Floats, pairs: Any, settings: Settings, made: Assembly, proof: Proof
) -> float:
    """Solve all blocks of two; return their part of the objective."""
    i, j = pairs.T
    off = 0.5 * (np.asarray(S[i, j]) + np.asarray(S[j, i])).ravel()
    first, second = diagonal[i] + settings.on_diagonal, diagonal[j] + settings.on_diagonal
    one, two, between = twos(first, second, off, settings.l1)
    for rows, columns, values in ((i, i, one), (j, j, two), (i, j, between), (j, i, between)):
        made.entries(rows, columns, values)
    z = toward_zero(off, settings.l1)
    for rows, columns, values in ((i, i, first), (j, j, second), (i, j, z), (j, i, z)):
        proof.entries(rows, columns, values)
    # At the optimum G(M) = m for any block, and det Z = A_11 / M_22.
    return float((np.log(first) - np.log(two)).sum()) + 2.0 * len(pairs)


def _part(start: Any, block: Any, place: Any) -> Floats | None:
    """Return the block's part of the start, if it is positive definite."""
    if start is None:
        return None
    part = take_block(start, block, place)
    return part if cholesky(part) is not None else None


def _solve(S: Floats, settings: Settings, start: Floats | None) -> Solution:
    """Solve one block, in a unit of its own if its entries are very small or very large.

    F(M / c) for c S and c l1 is F(M) for S and l1, plus m log c; a power of two rounds nothing.
    """
    largest = float(np.abs(S).max() + settings.l1)
    if 1.0 / _USUAL <= largest <= _USUAL:
        return _solve_usual(S, settings, start)
    if settings.smoothing > 0.0:
        # The smoothed penalty has a unit of its own, which this would change.
        raise InvalidInput(
            f"entries of S (and l1) are up to {largest:g}, too far from 1 for smoothing; multiply "
            "S and l1 by a constant, or leave smoothing at 0"
        )
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    try:
        found = _solve_usual(
            S / unit,
            replace(settings, l1=settings.l1 / unit),
            None if start is None else start * unit,
        )
    except UnboundedProblem as error:
        raise UnboundedProblem(f"{error} (S and l1 as divided by {unit:g})") from error
    more = len(S) * math.log(unit)
    return replace(
        found,
        M=found.M / unit,
        value=found.value + more,
        dual=found.dual + more,
        Z=None if found.Z is None else found.Z * unit,
    )


def _solve_usual(S: Floats, settings: Settings, start: Floats | None) -> Solution:
    """Solve one block with the method asked for."""
    problem = Problem(S, settings.l1, settings.penalise_diagonal)
    tol, most = settings.tol, settings.max_iter
    if problem.l1 == 0.0:
        return plain_inverse(problem)
    method = METHODS[settings.method]
    if method.batched and start is None and problem.tree is not None:
        # Newton's steps end in a proof that a minimum exists, or does not.
        found = method.run(problem, tol, most, 0.0, None)
        if found.Z is not None:
            return found
    known = feasible_at_once(problem)
    if known is None:
        refuse_plainly_unbounded(problem)
        start = solve_newton(problem, np.inf, most, start).M
    found = method.run(problem, tol, most, settings.smoothing, start)
    if found.Z is not None or known is None:
        return found
    # The method stopped early: a poor bound is better than none.
    dual = problem.dual_value(known)
    return replace(found, dual=dual, Z=known, own_gap=min(found.own_gap, found.value - dual))


MAX_ITER = 2000
# Covariances computed in float32 or by blocks are symmetric to about this share.
ASYMMETRY = 1e-6


def as_matrix(S: Any, name: str = "S") -> Any:
    """Return S as a float64 array in C order, or as CSR."""
    if not is_sparse(S):
        S = np.asarray(S)
    if S.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} has type {S.dtype}; a matrix of real numbers expected")
    if is_sparse(S):
        found: Any = sp.csr_array(S, dtype=np.float64)
        found.sum_duplicates()
    else:
        found = np.ascontiguousarray(S, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InvalidInput(f"{name} has shape {found.shape}; a square matrix expected")
    if found.shape[0] == 0:
        raise InvalidInput(f"{name} has no rows; at least 1 expected")
    return found


def as_start(start: Any, shape: tuple[int, int]) -> Any:
    """Return the checked precision to start from."""
    found = as_matrix(start, "start")
    if found.shape != shape:
        raise InvalidInput(f"start has shape {found.shape}; {shape} expected, as S has")
    if not np.isfinite(found.data if is_sparse(found) else found).all():
        raise InvalidInput("start holds NaN or infinity; leave it out or give a finite one")
    return found


def check_scanned(S: Any, scanned: BlockScan) -> None:
    """Refuse a matrix that is not symmetric or not finite."""
    if not scanned.finite:
        values = S.tocoo() if is_sparse(S) else None
        if values is not None:
            bad = int(np.flatnonzero(~np.isfinite(values.data))[0])
            row, column = int(values.row[bad]), int(values.col[bad])
        else:
            row = next(i for i in range(len(S)) if not np.isfinite(S[i]).all())
            column = int(np.flatnonzero(~np.isfinite(S[row]))[0])
        raise InvalidInput(
            f"S[{row}, {column}] is not finite; drop or fill in the samples it came from"
        )
    if scanned.asymmetry > ASYMMETRY * scanned.largest:
        raise InvalidInput(
            f"S is not symmetric: entries differ from their mirror images by up to "
            f"{scanned.asymmetry:g}; give (S + S.T) / 2 if that is what is meant"
        )


def as_settings(
    l1: Any, penalise_diagonal: Any, tol: Any, method: Any, smoothing: Any, max_iter: Any
) -> Settings:
    """Return the checked options."""
    truth(penalise_diagonal, "penalise_diagonal")
    one_of(method, "method", tuple(METHODS))
    smooth = number(smoothing, "smoothing", least=0)
    if smooth > 0.0:
        smoothed = METHODS[method].smoothed
        if smoothed is None:
            raise InvalidInput(
                f'smoothing is for method "alm": "{method}" solves the exact problem'
            )
        method = smoothed
    most = MAX_ITER if max_iter is None else whole(max_iter, "max_iter")
    return Settings(
        number(l1, "l1", least=0), bool(penalise_diagonal), number(tol, "tol", above=0), method,
        smooth, most,
    )  # fmt: skip


def toward_zero(off: Floats, l1: float) -> Floats:
    """Return the number nearest to zero in the box around an entry."""
    return np.asarray(np.sign(off) * np.maximum(np.abs(off) - l1, 0.0))


def twos(first: Floats, second: Floats, off: Floats, l1: float) -> tuple[Floats, Floats, Floats]:
    """Return M_11, M_22, M_12 for diagonals of A and |off| > l1; ``toward_zero`` gives Z_12.

    The best Z has the largest diagonal the box allows and the off-diagonal entry nearest to zero; M
    is its inverse.
    """
    # In units of about the larger diagonal entry (a power of two), so that products stay in range.
    unit = np.ldexp(1.0, np.frexp(np.maximum(first, second))[1] - 1)
    a, b, z = first / unit, second / unit, toward_zero(off, l1) / unit
    det = a * b - z * z
    if np.any(det <= 0.0):
        worst = int(np.argmin(det))
        raise UnboundedProblem(
            f"no minimum exists: an entry of S, {off[worst]:g}, exceeds l1 = {l1:g} by more than "
            "the geometric mean of both (penalised) diagonal entries, "
            f"{np.sqrt(first[worst]) * np.sqrt(second[worst]):g}; {REMEDY}"
        )
    return b / det / unit, a / det / unit, -z / det / unit


def plain_inverse(problem: Problem) -> Solution:
    """Return the minimum without a penalty: M = S^-1."""
    factor = cholesky(problem.S)
    if factor is None:
        raise UnboundedProblem(
            "no minimum exists: l1 is 0 and S is not positive definite (its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(problem.S)[0]:.3g}); {REMEDY}"
        )
    M = inverse(factor)
    value = problem.value(M)
    dual = logdet(factor) + problem.m
    return Solution(M, value, dual, 0, True, max(value - dual, 0.0), problem.S)
