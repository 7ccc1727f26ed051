"""The two sums every part of W adds to: d = W 1 and X'(W X), with X centred."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.s3ml.propagation.matrix_free import Floats, chunks, weighted_gram

# Fewer at a time than elsewhere: their neighbours are copied, too, and may be anywhere.
_SPARSE_ROWS = 4_096


class Sum:
    """d (n) and product (m, m), and the centred X in pieces.

    ``order``: the row of X that is called 0, 1, ... here; None where they have their own numbers.
    """

    def __init__(self, X: Any, order: NDArray[np.int64] | None = None) -> None:
        self.X, self.order = X, order
        self.mean: Floats = X.mean(axis=0, dtype=np.float64)
        self.d = np.zeros(len(X))
        self.product = np.zeros((X.shape[1], X.shape[1]))
        # Pairs that were given and not cut.
        self.similar = self.dissimilar = 0

    def rows(self, which: Any) -> Floats:
        """Rows of X, centred."""
        if self.order is not None:
            which = self.order[which]
        return np.asarray(self.X[which], np.float64) - self.mean

    def scatter(self) -> Floats:
        """T = X' diag(d) X - X'(W X)."""
        d = self.d
        if self.order is not None:
            d = np.empty_like(d)
            d[self.order] = self.d
        T = weighted_gram(self.X, self.mean, d) - (self.product + self.product.T) / 2
        return np.asarray((T + T.T) / 2)

    def add_sparse(self, W: sp.csr_array) -> None:
        """A symmetric sparse part over all rows."""
        self.d += W.sum(axis=1)
        for part in chunks(len(self.X), _SPARSE_ROWS):
            piece = W[part]
            near = np.unique(piece.indices)
            self.product += self.rows(part).T @ (piece[:, near] @ self.rows(near))

    def add_block(self, first: Any, second: Any, W: Any) -> None:
        """W between two disjoint sets of rows, and its mirror image."""
        A = self.rows(first).T @ (W @ self.rows(second))
        self.product += A + A.T
        self.d[first] += np.asarray(W.sum(axis=1)).ravel()
        self.d[second] += np.asarray(W.sum(axis=0)).ravel()

    def add_symmetric(self, rows: NDArray[np.int64], W: Any) -> None:
        """A symmetric part among some rows, dense or sparse."""
        part = self.rows(rows)
        self.product += part.T @ (W @ part)
        self.d[rows] += np.asarray(W.sum(axis=1)).ravel()


def threshold(W: Floats, least: tuple[float, float]) -> Floats:
    """Zero where W is above -least[1] and below least[0], in place."""
    positive, negative = least
    W[(positive > W) & (-negative < W)] = 0
    return W
