"""Vectors in batches, over threads, through the kernels of ``path_product``: marginals as CSR.

The type of the vectors decides about scans: float32 vectors are projected and scanned in float32,
float64 vectors in float64.  Supports, coefficients and thresholds are float64 in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise.solvers.lasso_threads import one_blas_thread
from likewise.solvers.path import room
from likewise.solvers.path_product import apart, halving, pack, together

Floats = NDArray[np.float64]
Method = Literal["approximate", "iterative", "exact"]

# Rows at a time: their correlations, scan type, stay within a second-level cache.
_ROWS = 1024
# This share of a vector's largest correlation is rounding.
_STILL = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
# Ties are broken by these shares of the largest correlation, one after the other where needed.
_NUDGES = (1e-9, 1e-11, 1e-7)


class ProductPaths:
    """Sub-codebooks, one word of norm 1/sqrt(m) a row, ready to code vectors at ``alpha``."""

    def __init__(self, codebooks: Sequence[Floats], alpha: float) -> None:
        self.codebooks = [np.ascontiguousarray(words, np.float64) for words in codebooks]
        self.m, self.k = len(self.codebooks), len(self.codebooks[0])
        self.alpha = float(alpha)
        self._gram = np.stack([words @ words.T for words in self.codebooks])
        # One more coordinate of the words' own size (see path_product).
        self.lift = 1.0 / self.m
        self.most = min(self.k, max(words.shape[1] for words in self.codebooks) + 1)

    def _grams(self, dtype: Any, lift: float) -> tuple[NDArray[Any], Floats]:
        """Stacked Gram matrices for scans and for supports."""
        gram = (self._gram + lift).reshape(-1, self.k)
        return gram.astype(dtype), gram

    def code(
        self,
        parts: Sequence[NDArray[Any]],
        method: Method,
        *,
        n_steps: int = 10,
        tol: float = 1e-6,
        n_threads: int = 1,
    ) -> list[Any]:
        """CSR (vectors by words, float64) for each part; masses are common for "exact" only."""
        dtype = parts[0].dtype
        grams = self._grams(dtype, self.lift if method == "exact" else 0.0)
        books = [np.ascontiguousarray(book.T, dtype) for book in self.codebooks]

        def work(start: int) -> list[tuple[Any, Any, Any]]:
            here = [part[start : start + _ROWS] for part in parts]
            C = np.empty((self.m, len(here[0]), self.k), dtype)
            for i, (part, book) in enumerate(zip(here, books, strict=True)):
                np.dot(part, book, out=C[i])
            out, status = self._run(grams, C, C, method, n_steps, tol)
            if status.any():
                self._again(np.flatnonzero(status), here, out, method, n_steps, tol)
            return [_packed(*(a[i] for a in out)) for i in range(self.m)]

        starts = range(0, len(parts[0]), _ROWS)
        with one_blas_thread():
            if n_threads == 1 or len(starts) < 2:
                done = [work(start) for start in starts]
            else:
                with ThreadPoolExecutor(n_threads) as pool:
                    done = list(pool.map(work, starts))
        return [_stacked([one[i] for one in done], self.k) for i in range(self.m)]

    def _run(
        self, grams: Any, C: Any, plain: Any, method: Method, n_steps: int, tol: float
    ) -> tuple[tuple[Any, Any, Any], NDArray[np.uint8]]:
        m, n, k = C.shape
        state = room(m, k, self.most, C.dtype)
        cap = self.most + 1
        ids, values = np.empty((m, n, cap), np.int32), np.empty((m, n, cap))
        counts, status = np.zeros((m, n), np.int64), np.zeros(n, np.uint8)
        half, limit, still = 0.5 * self.alpha, 50 + 20 * self.most, _STILL[C.dtype]
        out = (still, limit, ids, values, counts, status)
        if method == "approximate":
            apart(*grams, state, C, half / m, *out)
        elif method == "iterative":
            halving(*grams, state, C, half, n_steps, tol, *out)
        else:
            together(*grams, state, C, plain, half, self.lift, *out)
        return (ids, values, counts), status

    def _again(
        self, rows: Any, parts: Sequence[Any], out: Any, method: Method, n_steps: int, tol: float
    ) -> None:
        """Rows with ties: in float64, ties broken by tiny differences in the correlations."""
        grams = self._grams(np.float64, self.lift if method == "exact" else 0.0)
        plain = np.empty((self.m, len(rows), self.k))
        for i, (part, book) in enumerate(zip(parts, self.codebooks, strict=True)):
            np.dot(part[rows].astype(np.float64), book.T, out=plain[i])
        scale = np.abs(plain).max(axis=(0, 2))[None, :, None]
        best = np.full(len(rows), np.inf)
        for seed, share in enumerate((0.0, *_NUDGES)):
            nudges = np.random.default_rng(seed).random((self.m, 1, self.k))
            C = plain + share * scale * nudges
            found, status = self._run(grams, C, plain, method, n_steps, tol)
            excess = np.where(status > 0, np.inf, 0.0)
            better = excess < best
            best[better] = excess[better]
            for whole, new in zip(out, found, strict=True):
                whole[:, rows[better]] = new[:, better]
            if not best.any():
                return


def _packed(ids: Any, values: Any, counts: Any) -> tuple[Any, Any, Any]:
    """A batch without the room its rows do not use."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    own_ids, own_values = np.empty(ends[-1], np.int32), np.empty(ends[-1])
    pack(ids, values, counts, ends, own_ids, own_values)
    return own_ids, own_values, counts


def _stacked(parts: Sequence[tuple[Any, Any, Any]], k: int) -> Any:
    """Batches below each other, as one CSR matrix."""
    if not parts:
        return sp.csr_array((0, k))
    ids, values, counts = (np.concatenate([part[x] for part in parts]) for x in range(3))
    kind = np.int32 if len(ids) < 2**31 else np.int64
    ends = np.zeros(len(counts) + 1, kind)
    np.cumsum(counts, out=ends[1:])
    made = sp.csr_array((len(counts), k))
    # The constructor would look through all indices again.
    made.data, made.indices, made.indptr = values, ids, ends
    made.has_sorted_indices = made.has_canonical_format = True
    return made
