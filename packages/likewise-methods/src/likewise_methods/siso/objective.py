"""The lasso's objective and its certificate: the duality gap, in float64 over all columns.

    P(x) = 1/2 |A x - y|^2 + gamma |x|_1

With r = y - A x and c = A'r, the point theta = tau r, tau = y'r / |r|^2 clipped to [-gamma /
|c|_inf, gamma / |c|_inf], is feasible for the dual, so that

    P(x) - D(theta) >= P(x) - P*,   D(theta) = 1/2 |y|^2 - 1/2 |y - theta|^2.

The gap reported is (P - D) / P: relative to |y|^2 it would look far too good, as the optimum is
small (docs/methods/siso.md, (3) and (4)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.siso.solver.dictionary import Dictionary, Floats


def relative_gap(
    yr: float, rr: float, l1: float, largest: float, gamma: float, nonnegative: bool = False
) -> float:
    """Return (P - D) / P from y'r, r'r and |x|_1; 0 where P is 0.

    ``largest`` is the greatest correlation of any column.  For non-negative codes it is the
    greatest signed one, and tau is not negative.
    """
    primal = 0.5 * rr + gamma * l1
    if primal <= 0:
        return 0.0
    reach = gamma / largest if largest > 0 else np.inf
    tau = yr / rr if rr > 0 else 0.0
    tau = min(max(tau, 0.0 if nonnegative else -reach), reach)
    dual = tau * yr - 0.5 * tau**2 * rr
    return max(primal - dual, 0.0) / primal


def certify(
    dictionary: Dictionary, Y: NDArray[Any], codes: Any, gamma: Floats, nonnegative: bool = False
) -> Floats:
    """Return the relative gap of every code, from one float64 pass.

    Parameters
    ----------
    dictionary : Dictionary
        The columns.
    Y : array of shape (q, d)
        Queries.
    codes : CSR matrix of shape (q, n)
        Codes of the queries.
    gamma : array of shape (q,)
        The weight of |x|_1 of each query.
    nonnegative : bool, default=False
        Whether codes may have no negative entries.

    Returns
    -------
    array of shape (q,)
        (P - D) / P.

    See Also
    --------
    lasso : certifies its own results.

    References
    ----------
    docs/methods/siso.md, (3) and (4).
    """
    Y = np.asarray(Y, np.float64)
    used = np.unique(codes.indices)
    R = Y - codes[:, used] @ dictionary.rows(used)
    largest = np.zeros(len(Y))
    for start, tile in dictionary.tiles():
        C = (tile.astype(np.float64) @ R.T) * dictionary.scale[start : start + len(tile), None]
        largest = np.maximum(largest, (C if nonnegative else np.abs(C)).max(axis=0))
    l1 = np.asarray(abs(codes).sum(axis=1)).ravel()
    yr, rr = np.einsum("ij,ij->i", Y, R), np.einsum("ij,ij->i", R, R)
    each = zip(yr, rr, l1, largest, gamma, strict=True)
    return np.array([relative_gap(*one, nonnegative) for one in each])
