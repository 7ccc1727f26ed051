"""Solve with Pi = (1 - a)(I - aP)^-1 over a kNN graph; compute T without any n-by-n matrix.

T = X'(diag(W 1) - W)X for W = (W* + W*')/2, W* = Pi W0, uncut (docs/methods/s3ml.md, (14)): F = Pi
W0 X, r = Pi W0 1, c = W0' Pi' 1, d = (r + c)/2, T = X' diag(d) X - (X'F + F'X)/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.s3ml.graph import Graph
from likewise_methods.s3ml.pairs import Constraints
from likewise_methods.s3ml.propagation.kernels import send, sweep

Floats = NDArray[np.float64]
# (stage, steps done, steps in all)
Progress = Callable[[str, int, int], None]

# Columns solved together: a row is then one or two cache lines.
COLUMNS = 16
_ROWS = 16_384
TOL = 1e-12


def chunks(n: int, size: int = _ROWS) -> Iterator[slice]:
    """Yield slices that cover n rows."""
    for low in range(0, n, size):
        yield slice(low, min(low + size, n))


def solve(graph: Graph, B: Floats, a: float, tol: float = TOL) -> Floats:
    """Return Pi B, each entry to ``tol`` times the largest of |B|.

    The error shrinks by a in every sweep (rows of P sum to 1), so a change of c in a sweep leaves
    an error of at most c a / (1 - a).
    """
    F = np.array(B, np.float64, order="C")
    if a == 0 or graph.shape[1] == 0:
        return F
    enough = tol * float(np.abs(F).max(initial=0)) * (1 - a) / a
    B = F.copy()
    for _ in range(_most_sweeps(a)):
        if sweep(graph, B, a, F) <= enough:
            break
    return F


def column_sums(graph: Graph, a: float, tol: float = TOL) -> Floats:
    """Return Pi'1: how much of the others' affinities reaches each row."""
    u = np.ones(len(graph))
    if a == 0 or graph.shape[1] == 0:
        return u
    other = np.empty_like(u)
    for _ in range(_most_sweeps(a)):
        change = send(graph, a, u, other)
        u, other = other, u
        if change <= tol * len(u) * (1 - a) / a:
            break
    return u


def _most_sweeps(a: float) -> int:
    return int(np.ceil(np.log(1e-17) / np.log(a))) + 2


def centre(X: Any, mean: Floats, rows: slice, columns: slice = slice(None)) -> Floats:
    """Return a part of X in float64 minus its mean, which changes rounding but not T."""
    return np.asarray(X[rows, columns], np.float64) - mean[columns]


def weighted_gram(X: Any, mean: Floats, d: Floats) -> Floats:
    """Return X' diag(d) X."""
    T = np.zeros((X.shape[1], X.shape[1]))
    for rows in chunks(len(X)):
        part = centre(X, mean, rows)
        T += part.T @ (part * d[rows, None])
    return T


def plain_scatter(X: Any, said: Constraints) -> Floats:
    """Return T of the pairs alone, W = W0 (S2ML); the diagonal of W0 cancels."""
    mean = X.mean(axis=0, dtype=np.float64)
    rows = said.constrained_rows()
    if not len(rows):
        return np.zeros((X.shape[1], X.shape[1]))
    part = np.asarray(X[rows], np.float64) - mean
    here = among(said, rows)
    T = part.T @ (part * here.apply(np.ones(len(rows)))[:, None]) - part.T @ here.apply(part)
    return np.asarray((T + T.T) / 2)


def among(said: Constraints, rows: NDArray[np.int64]) -> Constraints:
    """Return the constraints over these rows only; they must hold all constrained rows."""
    if said.codes is not None:
        return replace(said, n=len(rows), codes=said.codes[rows])
    first, second = np.searchsorted(rows, said.first), np.searchsorted(rows, said.second)
    return replace(said, n=len(rows), first=first, second=second)


def matrix_free_scatter(
    X: Any, graph: Graph, said: Constraints, a: float, progress: Progress | None = None
) -> Floats:
    """Return T for theta = 0, in memory of two blocks of n x 16 numbers."""
    n, m = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    ones = np.ones((n, 1))
    r = solve(graph, said.apply(ones), a).ravel()
    c = said.apply(column_sums(graph, a))
    T = weighted_gram(X, mean, (r + c) / 2)
    for low in range(0, m, COLUMNS):
        block = slice(low, min(low + COLUMNS, m))
        F = solve(graph, said.apply(centre(X, mean, slice(None), block)), a)
        product = np.zeros((m, F.shape[1]))
        for rows in chunks(n):
            product += centre(X, mean, rows).T @ F[rows]
        T[:, block] -= product / 2
        T[block] -= product.T / 2
        if progress is not None:
            progress("spreading affinities", block.stop, m)
    return (T + T.T) / 2


# Fewer rows at a time, as their neighbours are copied too.
_SPARSE_ROWS = 4_096


class Sum:
    """The two sums that every part of W adds to: d (n) = W 1 and product (m, m) = X'(W X).

    ``order``: the row of X that is called 0, 1, ... here; None where rows keep their numbers.
    """

    def __init__(self, X: Any, order: NDArray[np.int64] | None = None) -> None:
        self.X, self.order = X, order
        self.mean: Floats = X.mean(axis=0, dtype=np.float64)
        self.d = np.zeros(len(X))
        self.product = np.zeros((X.shape[1], X.shape[1]))
        # Given pairs that are not cut.
        self.similar = self.dissimilar = 0

    def rows(self, which: Any) -> Floats:
        """Return rows of X, centred."""
        if self.order is not None:
            which = self.order[which]
        return np.asarray(self.X[which], np.float64) - self.mean

    def scatter(self) -> Floats:
        """Return T = X' diag(d) X - X'(W X)."""
        d = self.d
        if self.order is not None:
            d = np.empty_like(d)
            d[self.order] = self.d
        T = weighted_gram(self.X, self.mean, d) - (self.product + self.product.T) / 2
        return np.asarray((T + T.T) / 2)

    def add_sparse(self, W: sp.csr_array) -> None:
        """Add a symmetric sparse part over all rows."""
        self.d += W.sum(axis=1)
        for part in chunks(len(self.X), _SPARSE_ROWS):
            piece = W[part]
            near = np.unique(piece.indices)
            self.product += self.rows(part).T @ (piece[:, near] @ self.rows(near))

    def add_block(self, first: Any, second: Any, W: Any) -> None:
        """Add W between two disjoint sets of rows, and its transpose."""
        A = self.rows(first).T @ (W @ self.rows(second))
        self.product += A + A.T
        self.d[first] += np.asarray(W.sum(axis=1)).ravel()
        self.d[second] += np.asarray(W.sum(axis=0)).ravel()

    def add_symmetric(self, rows: NDArray[np.int64], W: Any) -> None:
        """Add a symmetric part among some rows, dense or sparse."""
        part = self.rows(rows)
        self.product += part.T @ (W @ part)
        self.d[rows] += np.asarray(W.sum(axis=1)).ravel()


def threshold(W: Floats, least: tuple[float, float]) -> Floats:
    """Set W to zero, in place, where it is above -least[1] and below least[0]."""
    positive, negative = least
    W[(positive > W) & (-negative < W)] = 0
    return W
