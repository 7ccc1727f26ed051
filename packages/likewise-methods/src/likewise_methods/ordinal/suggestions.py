"""Suggest the question to ask next: the one whose answer would say most about an object's place.

As in crowd kernel learning (Tamuz et al. 2011), the answers about an object make some places on the
map more likely for it than others.  A question about it is worth its *information gain*: the
entropy of the answer minus the entropy that would remain if the place were known.  Neither a
question whose answer is a coin flip at every place nor one with a certain answer gains anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.ordinal.comparisons import Rows, as_comparisons, columns
from likewise_methods.validation import generator, whole

Floats = NDArray[np.float64]
Questions = NDArray[np.int64]

# Places tried for an object: those of this many others, and as many around its own.
PLACES = 120
# Pairs tried for an anchor where no candidates are given.
PAIRS = 60
# mu of P = (mu + b) / (2 mu + a + b), as a share of the mean squared distance on the map.
SHARE = 0.05


def suggest_comparisons(
    embedding: Any,
    k: int,
    *,
    known: Any = None,
    candidates: Any = None,
    random_state: Any = None,
) -> Questions:
    """Return ``k`` questions (anchor, a, b), "is a or b nearer to the anchor?", the best first.

    Every anchor gets its best question before any gets a second.  Where there are more anchors than
    questions, objects that were compared least come first.

    Parameters
    ----------
    embedding : OrdinalEmbedding or array of shape (objects, dimensions)
        A fitted map, or its points.
    k : int
        Number of questions.
    known : int array of shape (m, 3) or (m, 4), optional
        Comparisons already made, by default those of the estimator; their questions are not asked
        again.
    candidates : int array of shape (n, 3), optional
        The questions to choose from.
    random_state : int, Generator or None, default=None
        Draws the places and questions tried.

    Returns
    -------
    int array of shape (k, 3)
        Fewer rows only when there are no more questions.

    See Also
    --------
    OrdinalEmbedding : learns from the answers.

    References
    ----------
    Tamuz et al., 2011 (information gain of a question).

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> suggest_comparisons(points, 3, random_state=0).shape
    (3, 3)
    """
    points = np.asarray(getattr(embedding, "embedding_", embedding), np.float64)
    if points.ndim != 2 or len(points) < 3 or not np.isfinite(points).all():
        raise InvalidInput(
            f"embedding has shape {points.shape}; at least three finite points expected"
        )
    whole(k, "k", 1)
    rng = generator(random_state)
    if known is None:
        known = getattr(embedding, "comparisons_", None)
    said = _triplets(known, len(points))
    if candidates is None:
        pool = _random_questions(len(points), k, said, rng)
    else:
        pool = _triplets(candidates, len(points)).astype(np.int64)
        if not len(pool):
            raise InvalidInput("candidates has no triplets; (n, 3) questions expected")
    # Only answers that name an anchor matter from here on.
    anchors = np.zeros(len(points), np.bool_)
    anchors[pool[:, 0]] = True
    about = said[anchors[said].any(axis=1)].astype(np.int64)
    asked = np.unique(_question_keys(about, len(points)))
    pool = pool[~np.isin(_question_keys(pool, len(points)), asked)]
    if not len(pool):
        return np.empty((0, 3), np.int64)
    gains = _gains(points, pool, about, rng)
    return _best_in_turn(pool, gains, k)


def _triplets(comparisons: Any, n: int) -> Rows:
    """Return checked triplets; quadruplets (i, j, l, k) with i not l are left out."""
    if comparisons is None or np.size(comparisons) == 0:
        return np.empty((0, 3), np.int32)
    rows = as_comparisons(comparisons, n)
    if rows.shape[1] == 4:
        i, j, l, k = columns(rows)  # noqa: E741
        rows = np.column_stack([i, j, k])[i == l]
    return rows


def _question_keys(rows: Questions, n: int) -> NDArray[np.int64]:
    """Return a number for each question, the same for both orders of its sides."""
    low, high = np.minimum(rows[:, 1], rows[:, 2]), np.maximum(rows[:, 1], rows[:, 2])
    return np.asarray((rows[:, 0] * n + low) * n + high)


def _random_questions(n: int, k: int, said: Rows, rng: np.random.Generator) -> Questions:
    """Return PAIRS random pairs for each of at most 2 k anchors, those compared least."""
    times = np.bincount(said.ravel(), minlength=n) + rng.random(n)
    anchors = np.argsort(times)[: min(n, 2 * k)]
    # More questions than anchors: more pairs for each.
    pairs = max(PAIRS, 4 * -(-k // len(anchors)))
    rows = np.empty((len(anchors), pairs, 3), np.int64)
    rows[:, :, 0] = anchors[:, None]
    rows[:, :, 1:] = rng.integers(0, n, (len(anchors), pairs, 2))
    flat = rows.reshape(-1, 3)
    a, b, c = flat.T
    flat = flat[(a != b) & (a != c) & (b != c)]
    flat[:, 1:].sort(axis=1)
    # The order of a question's sides is random.
    flat = np.unique(flat, axis=0)
    turned = rng.random(len(flat)) < 0.5
    flat[turned] = flat[turned][:, [0, 2, 1]]
    return flat


def _gains(points: Floats, pool: Questions, said: Questions, rng: np.random.Generator) -> Floats:
    """Return the information gain of every question about the place of its anchor."""
    centred = points - points.mean(axis=0)
    mu = SHARE * max(2.0 * float((centred**2).sum(axis=1).mean()), 1e-12)
    spread = centred.std(axis=0)
    order = np.argsort(pool[:, 0], kind="stable")
    gains = np.empty(len(pool))
    ends = np.flatnonzero(np.diff(pool[order, 0], append=-1)) + 1
    about = _mentions(said, len(points))
    first = 0
    for last in ends.tolist():
        here = order[first:last]
        anchor = int(pool[here[0], 0])
        places = _places(points, anchor, spread, rng)
        weights = _posterior(points, places, said[about(anchor)], anchor, mu)
        near = _squared_distances(places, points[pool[here, 1]])
        far = _squared_distances(places, points[pool[here, 2]])
        p = (mu + far) / (2 * mu + near + far)
        gains[here] = _entropy(weights @ p) - weights @ _entropy(p)
        first = last
    return gains


def _mentions(said: Questions, n: int) -> Any:
    """Return a function that gives the rows of ``said`` that name an object."""
    row = np.repeat(np.arange(len(said)), 3)
    order = np.argsort(said.ravel(), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(said.ravel(), minlength=n))])
    return lambda r: row[order[starts[r] : starts[r + 1]]]


def _places(points: Floats, anchor: int, spread: Floats, rng: np.random.Generator) -> Floats:
    """Return places where the anchor might lie: at other objects, and around its own place."""
    others = points[rng.choice(len(points), min(PLACES, len(points)), replace=False)]
    # From very near to as far as the whole map.
    reach = np.exp(rng.uniform(np.log(0.03), 0.0, PLACES))[:, None]
    around = points[anchor] + rng.normal(size=(PLACES, points.shape[1])) * spread * reach
    return np.vstack([others, around])


def _posterior(points: Floats, places: Floats, said: Questions, anchor: int, mu: float) -> Floats:
    """Return how likely each place is, after the answers that name the object in any role."""
    logs = np.zeros(len(places))
    for role in range(3):
        rows = said[said[:, role] == anchor]
        if not len(rows):
            continue
        i, j, k = (points[rows[:, c]] for c in range(3))
        if role == 0:
            a, b = _squared_distances(places, j), _squared_distances(places, k)
        elif role == 1:
            a, b = (
                _squared_distances(places, i),
                np.broadcast_to(((i - k) ** 2).sum(axis=1), (1, len(i))),
            )
        else:
            a, b = (
                np.broadcast_to(((i - j) ** 2).sum(axis=1), (1, len(i))),
                _squared_distances(places, i),
            )
        logs += (np.log(mu + b) - np.log(2 * mu + a + b)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _squared_distances(A: Floats, B: Floats) -> Floats:
    """Return squared distances, (rows of A, rows of B)."""
    found = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    return np.asarray(np.maximum(found, 0.0))


def _entropy(p: Floats) -> Floats:
    q = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-q * np.log(q) - (1 - q) * np.log(1 - q))


def _best_in_turn(pool: Questions, gains: Floats, k: int) -> Questions:
    """Return the best question of each anchor, then the second best of each, up to k."""
    order = np.lexsort((-gains, pool[:, 0]))
    anchors = pool[order, 0]
    first = np.concatenate([[True], anchors[1:] != anchors[:-1]])
    starts = np.flatnonzero(first)
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    chosen = order[np.lexsort((-gains[order], rank))[:k]]
    return pool[chosen]
