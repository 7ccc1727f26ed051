"""Tags spread over a graph: by local and global consistency, and by Kullback-Leibler divergence.

Arrays in, arrays out; both are stated in docs/methods/siso.md, (18) to (20).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Propagation(NamedTuple):
    """What came out for each picture, steps taken, and the last change or residual."""

    values: Floats
    steps: int
    error: float


def normalise_graph(W: Any) -> Any:
    """S = D^-1/2 W D^-1/2 of W <- (W + W') / 2; a picture without neighbours has an empty row."""
    W = ((W + W.T) / 2).tocsr()
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    return sp.csr_array(sp.diags_array(root) @ W @ sp.diags_array(root))


def consistent(S: Any, Y: Floats, share: float, tol: float, max_steps: int) -> Propagation:
    """F = (1 - a)(I - a S)^-1 Y, the limit of F <- a S F + (1 - a) Y, by conjugate gradients.

    All tags go together, each with its own step; I - a S is positive definite as a < 1 and the
    eigenvalues of S lie within [-1, 1].  Ends where every residual is ``tol`` of its right side.
    """
    right = (1 - share) * Y
    F = right.copy()
    R = right - (F - share * (S @ F))
    P = R.copy()
    size = np.einsum("ij,ij->j", R, R)
    wanted = tol**2 * np.einsum("ij,ij->j", right, right)
    steps = 0
    while steps < max_steps and (size > wanted).any():
        steps += 1
        moved = P - share * (S @ P)
        curve = np.einsum("ij,ij->j", P, moved)
        step = np.where(curve > 0, size / np.where(curve > 0, curve, 1), 0)
        F += step * P
        R -= step * moved
        before, size = size, np.einsum("ij,ij->j", R, R)
        P = R + np.where(before > 0, size / np.where(before > 0, before, 1), 0) * P
    scale = np.sqrt(np.einsum("ij,ij->j", right, right))
    error = np.sqrt(size) / np.where(scale > 0, scale, 1)
    return Propagation(F, steps, float(error.max(initial=0.0)))


class Beliefs(NamedTuple):
    """The two distributions over tags of each picture, steps taken, and the last change."""

    p: Floats
    q: Floats
    steps: int
    error: float


def entropic(
    W: Any, truth: Floats, mu: float, nu: float, beta: float, tol: float, max_steps: int
) -> Beliefs:
    """EGSSC: alternating minimisation over p and q of

    sum_labelled KL(r_i | q_i) + mu sum_ij w'_ij KL(p_i | q_j) - nu sum_i H(p_i),

    with w'_ij = w_ij and w'_ii = w_ii + beta.  ``truth`` holds r_i (rows that sum to 1), zeros for
    a picture without tags.  Each half has a closed form:

    p_i(y) ~ exp(mu sum_j w'_ij log q_j(y) / (nu + mu sum_j w'_ij)),
    q_i(y) = ([i labelled] r_i(y) + mu sum_j w'_ji p_j(y)) / ([i labelled] + mu sum_j w'_ji).

    p begins uniform.  Ends where no entry of p moved by more than ``tol``.
    """
    n, width = truth.shape
    own = sp.csr_array(W + beta * sp.eye_array(n, format="csr"))
    back = sp.csr_array(own.T)
    given = (truth.sum(axis=1) > 0).astype(np.float64)
    out = np.asarray(own.sum(axis=1), np.float64).ravel()
    into = given + mu * np.asarray(back.sum(axis=1)).ravel()
    p = q = np.full((n, width), 1 / width)
    steps, error = 0, np.inf
    while steps < max_steps and error > tol:
        steps += 1
        before = p
        mixed = truth + mu * (back @ p)
        # A picture nobody points to, and without tags, says what it hears.
        q = np.where(into[:, None] > 0, mixed / np.where(into > 0, into, 1)[:, None], p)
        p = belief(own @ np.log(q), out, mu, nu)
        error = float(np.abs(p - before).max())
    return Beliefs(p, q, steps, error)


def belief(heard: Floats, weight: Floats, mu: float, nu: float) -> Floats:
    """p of the formula above from sum_j w_ij log q_j and sum_j w_ij; rows sum to 1."""
    powers = (mu / (nu + mu * weight))[:, None] * heard
    powers -= powers.max(axis=1, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
