"""Many small blocks in one compiled loop of Newton's method.

A block of a few variables is solved in microseconds; calling LAPACK and allocating arrays for each
of thousands costs a hundred times that.  Here blocks lie one after another in flat arrays.  Every
block gets its own certificate.  A block that does not reach its tolerance here (or has no minimum)
is left to the other methods, which continue from the M reached.
"""

# mypy: disable-error-code="no-untyped-def, unused-ignore"
from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.kernels import kernel
from likewise_methods.s3ml.objective import Floats
from likewise_methods.s3ml.solver.blocks import Assembly, Blocks, Proof, Whole, is_sparse
from likewise_methods.s3ml.solver.compiled_newton import solve_block
from likewise_methods.s3ml.solver.methods import Settings

# Blocks up to LARGEST are tried here; those up to SMALL get all the work they need.
LARGEST, SMALL = 600, 64
STEPS = 40
# For larger ones: the highest l1 to begin with, over the problem's, and pairs visited over m**2.
# Ill-conditioned blocks need far more; other methods suit them better.
HIGHEST, VISITS = 4.0, 3.0
# The same for small ones.
ANY, MANY = 1e300, 30.0
# Below this tolerance directions are computed in float64.
FINE = 1e-5
# Products of entries stay in range from the inverse of this up to it.
USUAL = 2.0**30


@kernel
def take_dense(S, variables, sizes, places, A):
    """Copy the blocks of a dense S, exactly symmetric, one after another."""
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
    """Copy the blocks of a CSR S; ``number`` is -1 for every variable, before and after."""
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


@kernel
def solve_small(A, sizes, places, others, l1, on_diagonal, tol, most, M, Z, zero, results):
    """Solve every block by Newton's method until its gap is at most ``tol`` per variable.

    Where entries are very small or very large a block is solved in a unit of its own, a power of
    two.  ``zero`` has the precision of directions; ``results`` are F, gap, steps.
    """
    largest = 0
    for b in range(len(sizes)):
        largest = max(largest, sizes[b])
    wide = np.empty((3, largest * largest))
    narrow = np.empty((4, largest * largest), zero.dtype)
    on_pairs = np.empty((4, largest * (largest + 1) // 2), zero.dtype)
    starts, columns = np.empty(largest + 1, np.int64), np.empty(on_pairs.shape[1], np.int64)
    values, gaps, steps = results
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        values[b], gaps[b], steps[b] = np.inf, np.inf, 0
        if others[b]:
            continue
        part, n, shape = slice(at, at + m * m), m * m, (m, m)
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
            continue
        limits = (HIGHEST, VISITS * n) if m > SMALL else (ANY, MANY * n + 4000.0)
        values[b], gaps[b], steps[b] = solve_block(
            A[part].reshape(shape), l1 / unit, tol * m, most, limits,
            M[part].reshape(shape), Z[part].reshape(shape),
            (wide[0, :n].reshape(shape), wide[1, :n].reshape(shape), wide[2, :n].reshape(shape)),
            (
                narrow[0, :n].reshape(shape), narrow[1, :n].reshape(shape),
                narrow[2, :n].reshape(shape), narrow[3, :n].reshape(shape),
            ),
            (starts[: m + 1], columns),
            (on_pairs[0], on_pairs[1], on_pairs[2], on_pairs[3]),
        )  # fmt: skip
        if unit != 1.0:
            values[b] += m * np.log(unit)
            for t in range(at, at + m * m):
                M[t] /= unit
                Z[t] *= unit


@kernel
def put_dense(variables, sizes, places, solved, packed, target):
    """Write the solved blocks into a matrix of zeros."""
    top = 0
    for b in range(len(sizes)):
        m, at = sizes[b], places[b]
        if solved[b]:
            for i in range(m):
                row = variables[top + i]
                for j in range(m):
                    target[row, variables[top + j]] = packed[at + i * m + j]
        top += m


@kernel
def entries(variables, sizes, places, solved, packed, rows, columns, values):
    """Write the non-zeros of the solved blocks with their variables; return how many."""
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
class Packed:
    """Matrices of blocks one after another, and which of them are solved."""

    blocks: Blocks
    places: Whole
    solved: Any
    values: Floats

    def enter(self, made: Assembly) -> None:
        """Add the solved ones."""
        variables, sizes = self.blocks.variables, self.blocks.sizes
        if made.dense is not None:
            put_dense(variables, sizes, self.places, self.solved, self.values, made.dense)
            return
        rows, columns = np.empty((2, len(self.values)), np.int64)
        values = np.empty(len(self.values))
        n = entries(variables, sizes, self.places, self.solved, self.values, rows, columns, values)
        made.entries(rows[:n], columns[:n], values[:n])

    def of_block(self, b: int) -> Floats:
        """Return the matrix of one block, solved or not."""
        m, at = int(self.blocks.sizes[b]), int(self.places[b])
        return self.values[at : at + m * m].reshape(m, m)


@dataclass(frozen=True, eq=False)
class Batch:
    """The result: precisions, dual points, and sums over the solved blocks."""

    M: Packed
    Z: Packed
    begun: Any
    value: float
    gap: float
    n_iter: int

    def unsolved(self) -> Iterator[tuple[Whole, Floats | None]]:
        """Yield the unsolved blocks, each with the M reached, if any."""
        if self.M.solved.all():
            return
        for b, block in enumerate(self.M.blocks):
            if not self.M.solved[b]:
                yield block, self.M.of_block(b) if self.begun[b] else None

    def add_to(self, made: Assembly, proof: Proof) -> None:
        """Add the solved blocks."""
        self.M.enter(made)
        proof.packed(self.Z)


def solve_batch(
    S: Any, blocks: Blocks, others: NDArray[np.bool_], settings: Settings, place: Whole
) -> Batch:
    """Solve all these blocks but the ``others``, which stay unsolved.

    ``place`` is -1 for each variable, before and after.
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
    results = np.empty((3, len(blocks)))
    kind = np.float64 if settings.tol < FINE else np.float32
    solve_small(
        A, blocks.sizes, places, others, settings.l1, settings.on_diagonal, settings.tol,
        min(STEPS, settings.max_iter), M, Z, np.zeros(1, kind), results,
    )  # fmt: skip
    values, gaps, steps = results
    solved = gaps <= settings.tol * blocks.sizes
    # Rounding may take a gap a little below 0.
    proved = np.maximum(gaps[solved], 0.0)
    return Batch(
        Packed(blocks, places, solved, M), Packed(blocks, places, solved, Z), np.isfinite(values),
        float(values[solved].sum()), float(proved.sum()), int(steps[solved].max(initial=0)),
    )  # fmt: skip
