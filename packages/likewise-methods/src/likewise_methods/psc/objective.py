"""The objective of non-negative sparse coding and its duality gap, without forming the codebook.

For ||x - A y||^2 + alpha |y|_1 over y >= 0 with residual r, the point c r is feasible for the dual
where c 2 A'r <= alpha, and its value is 2 c r'x - c^2 |r|^2.  For a product codebook the largest
entry of A'r is the sum over the parts of their largest, so nothing of size k^m is formed
(docs/methods/psc.md, (14)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Rows whose correlations with all words are formed at a time.
_ROWS = 1024


def certify(
    parts: Sequence[NDArray[Any]], codes: Sequence[Any], codebooks: Sequence[Floats], alpha: float
) -> tuple[Floats, Floats]:
    """Return objective and duality gap of every row, in float64.

    Parameters
    ----------
    parts : m arrays of shape (n, d_i)
        The parts of the vectors.
    codes : m CSR matrices of shape (n, k)
        Marginals with a common mass.
    codebooks : m arrays of shape (k, d_i)
        Words, one a row.
    alpha : float
        The weight of the code's sum.

    Returns
    -------
    objective, gap : array of shape (n,)
        The objective, and how far it is above the optimum at most.

    See Also
    --------
    product_codes : returns such codes.

    References
    ----------
    docs/methods/psc.md, (14).
    """
    n = len(parts[0])
    objective, gap = np.zeros(n), np.zeros(n)
    for start in range(0, n, _ROWS):
        here = slice(start, start + _ROWS)
        rr, rx, top = (np.zeros(min(_ROWS, n - start)) for _ in range(3))
        for part, code, words in zip(parts, codes, codebooks, strict=True):
            x = part[here].astype(np.float64)
            rest = x - code[here] @ words
            rr += np.einsum("ij,ij->i", rest, rest)
            rx += np.einsum("ij,ij->i", rest, x)
            top += 2 * (rest @ words.T).max(axis=1)
        mass = np.asarray(codes[0][here].sum(axis=1), np.float64).ravel()
        best = np.divide(rx, rr, out=np.zeros_like(rr), where=rr > 0)
        reach = np.divide(alpha, top, out=np.full_like(top, np.inf), where=top > 0)
        scale = np.clip(best, 0.0, reach)
        objective[here] = rr + alpha * mass
        dual = 2 * scale * rx - scale**2 * rr
        gap[here] = np.maximum(objective[here] - dual, 0.0)
    return objective, gap


def objectives(
    parts: Sequence[NDArray[Any]], codes: Sequence[Any], codebooks: Sequence[Floats], alpha: float
) -> Floats:
    """Return the objective of every row; parameters as for ``certify``."""
    mass = np.asarray(codes[0].sum(axis=1), np.float64).ravel()
    found: Floats = alpha * mass
    for part, code, words in zip(parts, codes, codebooks, strict=True):
        for start in range(0, len(mass), _ROWS):
            here = slice(start, start + _ROWS)
            rest = part[here].astype(np.float64) - code[here] @ words
            found[here] += np.einsum("ij,ij->i", rest, rest)
    return found
