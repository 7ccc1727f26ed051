"""Many small blocks in one compiled loop: Newton's method as in ``newton``, without its overhead.

A block of a few variables is solved in microseconds; calling LAPACK and making arrays for each of
thousands costs a hundred times that.  Here blocks lie one after another in flat arrays.  Every
block gets its own certificate, the best dual point met and the gap it proves; a block that does not
reach its tolerance here (or has no minimum) is left to the engines, which know more ways.
"""

# mypy: disable-error-code="no-untyped-def, unused-ignore"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._kernels import kernel
from likewise.solvers.sparse_inverse.blocks import Assembly, Blocks, Proof, Whole, is_sparse
from likewise.solvers.sparse_inverse.input import Settings
from likewise.solvers.sparse_inverse.problem import Floats

FAST = {"reassoc", "contract", "nsz", "arcp"}
# Blocks up to this size are solved here.
LARGEST = 64
STEPS = 40
# Products of entries stay in range from the inverse of this up to it.
USUAL = 2.0**30
ARMIJO, SHORTEST, ROUNDING = 1e-3, 1e-9, 4e-15
# A sweep that moves less than this share of D ends coordinate descent; so many sweeps at most,
# more with every step, as the model becomes true.
CALM, SWEEPS, MORE = 0.05, 3, 4
# Pairs visited, by the square of the size, and beside that: an ill-conditioned block needs far
# more, and has better ways.
VISITS, AT_LEAST = 25, 4000


@kernel
def take_dense(S, variables, sizes, places, A):
    """The blocks of a dense S, symmetric to the bit, one after another."""
    top = 0
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        for i in range(m):
            for j in range(m):
                one, other = variables[top + i], variables[top + j]
                A[at + i * m + j] = 0.5 * (S[one, other] + S[other, one])
        top += m


@kernel
def take_sparse(begins, columns, values, variables, sizes, places, number, A):
    """The same of a CSR S; ``number`` is -1 for every variable, before and after."""
    top = 0
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        for i in range(m):
            number[variables[top + i]] = i
        for i in range(m):
            row = variables[top + i]
            for t in range(begins[row], begins[row + 1]):
                j = number[columns[t]]
                if j >= 0:
                    A[at + i * m + j] += 0.5 * values[t]
                    A[at + j * m + i] += 0.5 * values[t]
        for i in range(m):
            number[variables[top + i]] = -1
        top += m


@kernel(fastmath=FAST)
def _factor(B, m, L):
    """L with B = L L'; log det B, or NaN where B is not positive definite."""
    total = 0.0
    for i in range(m):
        for j in range(i + 1):
            dot = B[i * m + j]
            for k in range(j):
                dot -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = dot / L[j, j]
            elif dot > 0.0:
                L[i, i] = np.sqrt(dot)
                total += np.log(dot)
            else:
                return np.nan
    return total


@kernel(fastmath=FAST)
def _invert(L, m, R, W):
    """W = (L L')^-1; R, the inverse of L with rows and columns exchanged, is scratch."""
    for j in range(m):
        R[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, m):
            dot = 0.0
            for k in range(j, i):
                dot += L[i, k] * R[j, k]
            R[j, i] = -dot / L[i, i]
    for i in range(m):
        for j in range(i + 1):
            dot = 0.0
            for k in range(i, m):
                dot += R[i, k] * R[j, k]
            W[i, j] = dot
            W[j, i] = dot


@kernel(fastmath=FAST)
def _sweep(A, M, W, m, l1, rows, columns, n, D, U):
    """One pass over the free pairs of the model; U = D W.  (sum |change|, sum |D|)."""
    changed = size = 0.0
    for t in range(n):
        i, j = rows[t], columns[t]
        bend = W[i, i] * W[j, j]
        # (W D W)_ij, rows of W being its columns, too.
        slope = A[i * m + j] - W[i, j]
        for k in range(m):
            slope += W[i, k] * U[j, k]
        c = M[i * m + j] + D[i, j]
        if i == j:
            step = -slope / bend
        else:
            bend += W[i, j] * W[i, j]
            z, cut = c - slope / bend, l1 / bend
            z = max(z - cut, 0.0) + min(z + cut, 0.0)
            step = z - c
        if step != 0.0:
            D[i, j] += step
            # U is kept with rows and columns exchanged: U[k, .] is column k of D W.
            for k in range(m):
                U[k, i] += step * W[j, k]
            if i != j:
                D[j, i] = D[i, j]
                for k in range(m):
                    U[k, j] += step * W[i, k]
            changed += abs(step)
        size += abs(D[i, j])
    return changed, size


@kernel
def _promise(A, M, W, m, l1, rows, columns, n, D):
    """The slope of F along D, with the whole step's change of the penalty."""
    total = 0.0
    for t in range(n):
        i, j = rows[t], columns[t]
        if i == j:
            total += (A[i * m + i] - W[i, i]) * D[i, i]
        else:
            c = M[i * m + j]
            total += 2.0 * (A[i * m + j] - W[i, j]) * D[i, j]
            total += 2.0 * l1 * (abs(c + D[i, j]) - abs(c))
    return total


@kernel
def _bound(A, W, m, l1, Z, L):
    """Z = W brought into the box, and the dual value it proves; NaN where it proves nothing."""
    for i in range(m):
        for j in range(m):
            a = A[i * m + j]
            Z[i * m + j] = a if i == j else min(max(W[i, j], a - l1), a + l1)
    return _factor(Z, m, L) + m


@kernel
def _solve_block(A, m, l1, goal, most, M, Z, work):
    """(value, gap, steps) of one block; M and Z are written.  A gap above the goal: not solved."""
    W, D, U, L, R, rows, columns, trial, other = work
    value = float(m)
    for i in range(m):
        for j in range(m):
            M[i * m + j] = 1.0 / A[i * m + i] if i == j else 0.0
            W[i, j] = A[i * m + i] if i == j else 0.0
        value += np.log(A[i * m + i])
    dual = -np.inf
    steps = visits = 0
    while True:
        bound = _bound(A, W, m, l1, other, L)
        if bound > dual:
            dual = bound
            Z[:] = other[: m * m]
        if value - dual <= goal or steps == most or visits > VISITS * m * m + AT_LEAST:
            break
        n = 0
        for i in range(m):
            for j in range(i, m):
                D[i, j] = 0.0
                D[j, i] = 0.0
                U[i, j] = 0.0
                U[j, i] = 0.0
                if i == j or M[i * m + j] != 0.0 or abs(A[i * m + j] - W[i, j]) > l1:
                    rows[n], columns[n] = i, j
                    n += 1
        for _ in range(SWEEPS + MORE * steps):
            changed, size = _sweep(A, M, W, m, l1, rows, columns, n, D, U)
            visits += n
            if changed <= CALM * size or visits > VISITS * m * m + AT_LEAST:
                break
        promised = _promise(A, M, W, m, l1, rows, columns, n, D)
        slack = ROUNDING * (abs(value) + m)
        length = 1.0
        moved = False
        while promised < 0.0 and length > SHORTEST:
            linear = 0.0
            for i in range(m):
                for j in range(m):
                    x = M[i * m + j] + length * D[i, j]
                    trial[i * m + j] = x
                    linear += A[i * m + j] * x
                    if i != j:
                        linear += l1 * abs(x)
            reached = linear - _factor(trial, m, L)
            if reached <= value + ARMIJO * length * promised + slack:
                moved = True
                break
            length *= 0.5
        if not moved:
            break
        M[:] = trial[: m * m]
        value = reached
        steps += 1
        _invert(L, m, R, W)
    return value, value - dual, steps


@kernel
def solve_small(
    A, sizes, places, others, l1, on_diagonal, tol, most, M, Z, values, gaps, steps
):  # fmt: skip
    """Every block by Newton's method until its gap is at most ``tol`` a variable.

    Where entries are very small or very large a block is solved in a unit of its own, a power of
    two, as engines do it.
    """
    largest = 0
    for b in range(len(sizes)):
        largest = max(largest, sizes[b])
    square = (largest, largest)
    pairs = largest * (largest + 1) // 2
    work = (
        np.empty(square), np.empty(square), np.empty(square), np.empty(square), np.empty(square),
        np.empty(pairs, np.int64), np.empty(pairs, np.int64),
        np.empty(largest * largest), np.empty(largest * largest),
    )  # fmt: skip
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        if others[b]:
            values[b], gaps[b] = np.inf, np.inf
            continue
        part = slice(at, at + m * m)
        size = 0.0
        for t in range(at, at + m * m):
            size = max(size, abs(A[t]))
        for i in range(m):
            A[at + i * m + i] += on_diagonal
        size += l1
        unit = 1.0
        if not 1.0 / USUAL <= size <= USUAL:
            unit = math.ldexp(1.0, math.frexp(size)[1] - 1)
            for t in range(at, at + m * m):
                A[t] /= unit
        if l1 / unit == 0.0:
            # Without a penalty there is a closed form.
            values[b], gaps[b] = np.inf, np.inf
            continue
        values[b], gaps[b], steps[b] = _solve_block(
            A[part], m, l1 / unit, tol * m, most, M[part], Z[part], work
        )
        if unit != 1.0:
            values[b] += m * np.log(unit)
            for t in range(at, at + m * m):
                M[t] /= unit
                Z[t] *= unit


@kernel
def entries(variables, sizes, places, solved, packed, rows, columns, values):
    """The non-zeros of the solved blocks with the variables they belong to; how many."""
    top = n = 0
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        if solved[b]:
            for i in range(m):
                for j in range(m):
                    value = packed[at + i * m + j]
                    if value != 0.0:
                        rows[n], columns[n], values[n] = (
                            variables[top + i],
                            variables[top + j],
                            value,
                        )
                        n += 1
        top += m
    return n


@dataclass(frozen=True, eq=False)
class Batch:
    """What was found: precisions and dual points block after block, and which are solved."""

    blocks: Blocks
    places: Whole
    solved: Any
    M: Floats
    Z: Floats
    value: float
    gap: float
    n_iter: int

    @property
    def unsolved(self) -> Blocks:
        """Blocks left to others."""
        of_block = np.repeat(self.solved, self.blocks.sizes)
        return Blocks(self.blocks.variables[~of_block], self.blocks.sizes[~self.solved])

    def add_to(self, made: Assembly, proof: Proof) -> None:
        """Enter the solved blocks."""
        for packed, target in ((self.M, made), (self.Z, proof)):
            rows, columns = np.empty((2, len(packed)), np.int64)
            values = np.empty(len(packed))
            n = entries(
                self.blocks.variables, self.blocks.sizes, self.places, self.solved, packed, rows,
                columns, values,
            )  # fmt: skip
            target.entries(rows[:n], columns[:n], values[:n])


def solve_batch(
    S: Any, blocks: Blocks, others: NDArray[np.bool_], settings: Settings, place: Whole
) -> Batch:
    """All these blocks at once but the ``others``, which are left unsolved.

    ``place`` has -1 for each variable and has it again afterwards.
    """
    squares = blocks.sizes**2
    places, total = np.cumsum(squares) - squares, int(squares.sum())
    A, M, Z = np.zeros(total), np.empty(total), np.empty(total)
    if is_sparse(S):
        take_sparse(
            S.indptr.astype(np.int64), S.indices.astype(np.int64), S.data, blocks.variables,
            blocks.sizes, places, place, A,
        )  # fmt: skip
    else:
        take_dense(S, blocks.variables, blocks.sizes, places, A)
    values, gaps = np.empty((2, len(blocks)))
    steps = np.zeros(len(blocks), np.int64)
    most = min(STEPS, settings.max_iter)
    on_diagonal = settings.on_diagonal
    solve_small(
        A, blocks.sizes, places, others, settings.l1, on_diagonal, settings.tol, most, M, Z,
        values, gaps, steps,
    )  # fmt: skip
    solved = gaps <= settings.tol * blocks.sizes
    # Rounding may take a gap a little below 0.
    proved = np.maximum(gaps[solved], 0.0)
    return Batch(
        blocks, places, solved, M, Z, float(values[solved].sum()), float(proved.sum()),
        int(steps[solved].max(initial=0)),
    )  # fmt: skip
