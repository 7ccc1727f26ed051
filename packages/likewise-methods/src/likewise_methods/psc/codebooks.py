"""Codebooks for sparse coding: training, and checks of those given.

Training alternates codes and words (Lee et al. 2007; Ge et al. 2014).  A round codes all training
rows with the current words, then solves for each part

    min over A of |X - U A|_F^2  subject to |a_j| <= c for every word (row) a_j of A,

a convex problem (docs/methods/psc.md, (15)), by exact minimisation over one word after another
until none moves.  Words are then scaled to norm c = 1/sqrt(m), as the paper's constraint is an
equality.  Words that no code uses are replaced by the worst coded rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from likewise_methods.coding.progress import Report
from likewise_methods.errors import InvalidInput
from likewise_methods.kernels import kernel
from likewise_methods.validation import finite_rows, generator

Floats = NDArray[np.float64]
Coding = Callable[[list[Floats], list[NDArray[Any]]], list[Any]]

_SWEEPS, _SETTLED = 100, 1e-6


def train(
    parts: Sequence[NDArray[Any]],
    n_words: int,
    coding: Coding,
    *,
    alpha: float,
    n_iter: int,
    random_state: int | np.random.Generator | None,
    report: Report | None = None,
) -> tuple[list[Floats], list[float]]:
    """Train sub-codebooks; return them and the mean objective before each round's new words.

    ``coding(codebooks, parts)`` returns CSR codes (rows, n_words) of each part.
    """
    rng = generator(random_state)
    m, n = len(parts), len(parts[0])
    norm = 1 / np.sqrt(m)
    books = [first_words(part, n_words, norm, rng) for part in parts]
    history: list[float] = []
    for turn in range(n_iter):
        codes = coding(books, list(parts))
        total = 0.0
        for i, (part, code) in enumerate(zip(parts, codes, strict=True)):
            rests = part - code @ books[i]
            errors = np.einsum("ij,ij->i", rests, rests)
            total += float(errors.sum() + alpha / m * code.sum())
            books[i] = new_words(part, code, books[i], norm, errors, rng)
        history.append(total / n)
        if report is not None:
            report(turn + 1, n_iter, history[-1])
    return books, history


def first_words(X: NDArray[Any], n_words: int, norm: float, rng: np.random.Generator) -> Floats:
    """Return random rows, scaled; random directions fill up where too few rows are non-zero."""
    lengths = np.linalg.norm(X, axis=1)
    useful = np.flatnonzero(lengths > 0)
    chosen = rng.permutation(useful)[:n_words]
    words = X[np.sort(chosen)].astype(np.float64)
    if len(words) < n_words:
        words = np.vstack([words, np.abs(rng.standard_normal((n_words - len(words), X.shape[1])))])
    return np.asarray(words * (norm / np.linalg.norm(words, axis=1))[:, None])


def new_words(
    X: NDArray[Any],
    codes: Any,
    words: Floats,
    norm: float,
    errors: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return the words of length ``norm`` that fit ``codes`` best; unused ones from bad rows."""
    wanted = np.asarray(codes.T @ X, np.float64)
    use = sp.csr_array(codes.T @ codes)
    words = words.copy()
    constrained_words(use.indptr, use.indices, use.data, wanted, words, norm, _SWEEPS, _SETTLED)
    lengths = np.linalg.norm(words, axis=1)
    dead = np.flatnonzero((use.diagonal() <= 0) | (lengths <= 1e-12 * norm))
    alive = np.setdiff1d(np.arange(len(words)), dead)
    words[alive] *= (norm / lengths[alive])[:, None]
    if len(dead):
        words[dead] = _seeds(X, len(dead), norm, errors, rng)
    return words


def _seeds(
    X: NDArray[Any], count: int, norm: float, errors: Floats, rng: np.random.Generator
) -> Floats:
    """Return badly coded rows, drawn from twice as many of the worst so that not all are alike."""
    worst = np.argsort(-errors, kind="stable")[: 2 * count]
    return first_words(X[rng.permutation(worst)[:count]], count, norm, rng)


@kernel
def constrained_words(ends, ids, values, wanted, words, norm, sweeps, settled):  # type: ignore[no-untyped-def]
    """Minimise over each word in turn, in the ball of radius ``norm``, until none moves much.

    With S = U'U (CSR) and T = U'X: a_j <- projection of a_j + (T_j - S_j A) / S_jj.
    """
    k, d = words.shape
    step = np.empty(d)
    for _ in range(sweeps):
        moved = 0.0
        for j in range(k):
            own = 0.0
            for x in range(d):
                step[x] = wanted[j, x]
            for e in range(ends[j], ends[j + 1]):
                value, other = values[e], words[ids[e]]
                if ids[e] == j:
                    own = value
                for x in range(d):
                    step[x] -= value * other[x]
            if own <= 0.0:
                continue
            length = 0.0
            for x in range(d):
                step[x] = words[j, x] + step[x] / own
                length += step[x] * step[x]
            scale = min(1.0, norm / np.sqrt(length)) if length > 0.0 else 1.0
            change = 0.0
            for x in range(d):
                new = scale * step[x]
                change += (new - words[j, x]) ** 2
                words[j, x] = new
            moved = max(moved, change)
        if moved <= (settled * norm) ** 2:
            break


# Largest relative error of a word's norm.
_NORM = 1e-4


def as_words(words: Any, name: str, norm: float) -> NDArray[np.float64]:
    """Return words as float64 rows of the expected norm."""
    found = finite_rows(words, name).astype(np.float64)
    if not len(found):
        raise InvalidInput(f"{name} has no words; at least 1 expected")
    norms = np.linalg.norm(found, axis=1)
    wrong = np.flatnonzero(np.abs(norms - norm) > _NORM * norm)
    if len(wrong):
        raise InvalidInput(
            f"word {wrong[0]} of {name} has norm {norms[wrong[0]]:.6g}; {norm:.6g} expected: "
            "scale every row"
        )
    return np.asarray(found * (norm / norms)[:, None])
