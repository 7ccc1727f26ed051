"""Turn judgements into triplets of query, liked picture and negative, and learn them with SOLIS.

A profile is a SOLIS learner that starts at plain similarity (``start="ones"``): words that no
judgement touched keep weight 1, so a judgement re-ranks results and never empties them.  The
constants are for rows of unit length; they were chosen on queries that ``make bench-loop`` does not
report.
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
"""Step: with AdaGrad's division a word moves at most this much in its first round."""

DELTA = 0.01
"""Added to AdaGrad's scale.  Entries of z are about .003 for visual words and .01 for sparse
activations: a smaller entry moves its word in proportion, a larger one by the step."""

MARGIN = 0.3
"""Ten times the score gap of visual words (about .03), so that every triplet of a judgement counts,
not only the wrongly ranked ones.  Sparse activations have larger gaps: they reach the margin and
stop before queries of other classes suffer."""

L1 = 0.0
"""No penalty: it would move every word back to 1 a little in every later round, so that old
judgements would fade."""

JUDGEMENT_REACH = 0.5
"""The most that one judgement may change the weight of a word."""

SESSION_REACH = 2.0
"""The most that one session may change the weight of a word."""

N_RANDOM = 10
"""Number of random negatives for a judgement without disliked pictures."""

RANDOM_WEIGHT = 0.25
"""Sample weight of triplets with random negatives."""

LIMIT = 200
"""Most triplets of one judgement, so that a large one does not outweigh the others."""


def profile_learner() -> SOLIS:
    """Return the learner of a new profile.

    It uses adaptive forward-backward, whose state is the offset itself, so that weights can be
    capped.

    Returns
    -------
    SOLIS
        Not fitted; non-negative weights that start at 1.

    See Also
    --------
    judgement_triplets : what it learns from.
    likewise_methods.spaces.LocalMetric : learns from judgements in dense spaces.

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
    """Return triplets over the rows of a matrix of query, liked pictures, then negatives.

    Every liked picture is paired with every negative.  Without a liked picture the query is its own
    positive.  Without negatives there are no triplets.

    Parameters
    ----------
    n_liked : int
        Number of liked pictures.
    n_negatives : int
        Number of disliked or random pictures.
    seed : int or Generator
        Determines the order.
    limit : int, default=200
        Most triplets: the first ones of that order.

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
    """Return rows, triplets and sample weights for the learner; X is sparse.

    A query that is its own positive has a margin of nearly 1 and would not change anything at
    ``MARGIN``.  Such triplets get ``margin`` times the query as anchor and ``1 / margin`` as
    weight, which equals a hinge with margin 1 and keeps the gradient.

    Parameters
    ----------
    X : sparse matrix of shape (n, words)
        Rows of query, liked pictures and negatives.
    triplets : int array of shape (m, 3)
        From :func:`judgement_triplets`.
    weight : float, default=1.0
        Sample weight of the triplets.
    margin : float, default=0.3
        Margin of the learner.

    Returns
    -------
    rows : sparse matrix
        X, and the scaled query if needed.
    triplets : int array of shape (m, 3)
        Rows of it.
    weights : array of shape (m,)
        Sample weights.

    See Also
    --------
    profile_learner : learns from them.

    Examples
    --------
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
    """Clip ``weights`` to the most that one judgement and one session may change.

    ``judgement`` and ``session`` are the weights of the same words before the judgement and before
    its session.  Offsets (weights minus 1) work too: only differences matter.

    Parameters
    ----------
    weights, judgement, session : array of shape (words,)
        Weights now, before the judgement, and before its session.

    Returns
    -------
    array of shape (words,)
        The clipped weights.

    See Also
    --------
    profile_learner : learns the weights.

    Examples
    --------
    >>> within_reach(np.array([0.9, -0.2, 2.4]), np.array([0, 0, 1.8]), np.zeros(3)).tolist()
    [0.5, -0.2, 2.0]
    """
    near = np.clip(weights, judgement - JUDGEMENT_REACH, judgement + JUDGEMENT_REACH)
    return np.asarray(np.clip(near, session - SESSION_REACH, session + SESSION_REACH))
