"""What a judgement teaches a profile: triplets of query, liked picture and negative, and SOLIS.

A profile is SOLIS learned as an offset from plain similarity (``start="ones"``): words that no
judgement touched keep weight 1, so a click re-ranks an answer and never empties it.  The constants
serve rows of unit length, hundreds of visual words or a hundred activations alike; they were chosen
on queries that ``make bench-loop`` does not report.  What the caps cost was measured with a margin
of 1: nothing beyond noise on two sets of words, some transfer within a class on a third and on
activations; with the margin below it has not been measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.lazy_imports import sparse as sp
from likewise_methods.solis.rows import Floats
from likewise_methods.solis.solis import SOLIS
from likewise_methods.validation import generator, whole

ETA = 0.1
"""Step.  AdaGrad's division makes it the most a word can move in its first round, whatever the
scale of the rows: a tenth of its weight."""

DELTA = 0.01
"""Added to AdaGrad's scale.  Entries of z are about .003 for visual words and .01 for sparse
activations: below that a word moves in proportion to what it contributes, above by the step."""

MARGIN = 0.3
"""Ten times the plain score gap of visual words (about .03), so that there every triplet of a
judgement teaches, not only those ranked wrongly.  Sparse activations have larger gaps and all
classes share them: they reach the margin, and stop before queries of other classes suffer
(`lesson` deals with a query that is its own positive)."""

L1 = 0.0
"""No penalty: it would draw every word a little back to 1 in every later round, and an old
judgement would fade by the number of newer ones.  Sparse profiles are learned apart."""

JUDGEMENT_REACH = 0.5
"""How far one judgement may move the weight of a word, either way."""

SESSION_REACH = 2.0
"""How far one session may move the weight of a word, either way."""

N_RANDOM = 10
"""How many random pictures stand in where a judgement names nothing to be ranked below."""

RANDOM_WEIGHT = 0.25
"""Sample weight of their triplets: nobody said that they are unlike the query."""

LIMIT = 200
"""At most so many triplets a judgement, so that none outweighs the rest by its size."""


def profile_learner() -> SOLIS:
    """A profile before its first judgement.

    Adaptive forward-backward: its state is the offset itself, so a cap on it is a cap on the state.

    Returns
    -------
    SOLIS
        Not fitted; non-negative weights that start at 1.

    See Also
    --------
    judgement_triplets : what it learns from.
    likewise_methods.spaces.LocalMetric : the same for dense rows.

    Examples
    --------
    >>> X = np.array([[0.8, 0.6, 0], [0.6, 0, 0.8], [0, 0.6, 0.8]])
    >>> profile_learner().partial_fit(X, [[0, 1, 2]]).weights_.round(2).tolist()
    [1.1, 0.9, 1.0]
    """
    return SOLIS("afb", l1=L1, eta=ETA, delta=DELTA, margin=MARGIN, start="ones", nonnegative=True)


def judgement_triplets(
    n_liked: int, n_negatives: int, *, seed: Any, limit: int = LIMIT
) -> NDArray[np.int64]:
    """Triplets over the rows of a small matrix stacked as query, liked pictures, negatives.

    Every liked picture against every negative.  Without a liked picture the query is its own
    positive: what it has itself is worth more than what it shares with the negatives.  No
    negatives, no triplets.

    Parameters
    ----------
    n_liked : int
        Pictures that are like the query.
    n_negatives : int
        Pictures that are not.
    seed : int or Generator
        Draws the order.
    limit : int, default=200
        Triplets, at most: the first ones of that order.

    Returns
    -------
    int64 array of shape (n, 3)
        Rows: anchor, nearer, farther.

    See Also
    --------
    profile_learner : learns from them.

    Examples
    --------
    >>> judgement_triplets(1, 2, seed=0).tolist()
    [[0, 1, 2], [0, 1, 3]]
    >>> judgement_triplets(0, 1, seed=0).tolist()
    [[0, 0, 1]]
    """
    n_liked, n_negatives = whole(n_liked, "n_liked", 0), whole(n_negatives, "n_negatives", 0)
    limit = whole(limit, "limit", 1)
    positives = max(n_liked, 1)
    total = positives * n_negatives
    rng = generator(seed)
    pair = rng.choice(total, min(total, limit), replace=False) if total else np.zeros(0, np.int64)
    nearer = pair // max(n_negatives, 1) + min(n_liked, 1)
    farther = 1 + n_liked + pair % max(n_negatives, 1)
    return np.stack([np.zeros_like(pair), nearer, farther], axis=1)


def lesson(
    X: Any, triplets: NDArray[np.int64], weight: float = 1.0, *, margin: float = MARGIN
) -> tuple[Any, NDArray[np.int64], Floats]:
    """Rows, triplets and sample weights as the learner should see them; X is sparse.

    A query that is its own positive has a plain margin of nearly 1 and would teach nothing at
    ``MARGIN``.  Such triplets are anchored at ``margin`` times the query and weigh ``1 / margin``
    more: the hinge is then that of margin 1, to the letter, and the gradient stays as it was.

    >>> X = sp.csr_array(np.array([[0.8, 0.6], [0.0, 1.0]]))
    >>> rows, triplets, weights = lesson(X, judgement_triplets(0, 1, seed=0), margin=0.5)
    >>> rows.toarray().tolist(), triplets.tolist(), weights.tolist()
    ([[0.8, 0.6], [0.0, 1.0], [0.4, 0.3]], [[2, 0, 1]], [2.0])
    """
    alone = triplets[:, 0] == triplets[:, 1]
    weights = np.where(alone, weight / margin, weight)
    if not alone.any() or margin == 1.0:
        return X, triplets, weights
    rows = sp.vstack([X, X[[0]] * X.dtype.type(margin)], format="csr")
    anchored = triplets.copy()
    anchored[alone, 0] = X.shape[0]
    return rows, anchored, weights


def within_reach(weights: Floats, judgement: Floats, session: Floats) -> Floats:
    """``weights`` brought back to what one judgement and one session may do.

    ``judgement`` and ``session`` are the weights of the same words before the judgement and when
    its session began.  (Offsets, weights minus 1, do as well: only differences matter.)

    >>> within_reach(np.array([0.9, -0.2, 2.4]), np.array([0, 0, 1.8]), np.zeros(3)).tolist()
    [0.5, -0.2, 2.0]
    """
    near = np.clip(weights, judgement - JUDGEMENT_REACH, judgement + JUDGEMENT_REACH)
    return np.asarray(np.clip(near, session - SESSION_REACH, session + SESSION_REACH))
