"""Metrics of rankings, comparisons and weights, as functions of plain arrays.

A ranked list is given as relevance in rank order (best first), or as ids for :func:`relevance`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import whole

Booleans = NDArray[np.bool_]


def relevance(
    ranking: Iterable[Hashable], positives: Collection[Hashable], junk: Collection[Hashable] = ()
) -> Booleans:
    """Return the relevance of a ranked list of ids in rank order, without junk.

    Parameters
    ----------
    ranking : iterable of ids
        Best first, each id once.
    positives : collection of ids
        Relevant ids.
    junk : collection of ids, optional
        Ids to remove before ranks are counted.

    Returns
    -------
    bool array
        Whether each rank is relevant.

    See Also
    --------
    average_precision : uses it.

    Examples
    --------
    >>> relevance(["a", "x", "b"], positives={"b"}, junk={"x"})
    array([False,  True])
    """
    ranked = list(ranking)
    if len(set(ranked)) != len(ranked):
        twice = next(item for i, item in enumerate(ranked) if item in ranked[:i])
        raise InvalidInput(f"the ranking names {twice!r} twice; each picture once expected")
    return np.array([item in positives for item in ranked if item not in junk], dtype=bool)


def average_precision(
    relevant: ArrayLike, n_positives: int | None = None, *, trapezoid: bool = False
) -> float:
    """Return the average precision of one ranked list: the mean precision at the positives' ranks.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    n_positives : int, optional
        Number of all positives, for a list that does not contain them all.
    trapezoid : bool, default=False
        The area under the precision-recall curve as in the Oxford Buildings benchmark:
        ``sum (r_i - r_{i-1}) (p_i + p_{i-1}) / 2`` with p_0 = 1.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    relevance : computes relevance from ids.

    References
    ----------
    docs/methods/solis.md, (16).

    Examples
    --------
    >>> average_precision([True, False, True])
    0.8333333333333333
    >>> average_precision([True, False, True], trapezoid=True)
    0.7916666666666666
    """
    hits = boolean_vector(relevant)
    found = int(hits.sum())
    total = found if n_positives is None else n_positives
    if total < found:
        raise InvalidInput(f"n_positives is {total}, but {found} positives are in the ranking")
    if total == 0:
        raise InvalidInput("there are no positives; average precision is not defined")
    ranks = np.flatnonzero(hits) + 1.0
    precision = np.arange(1, found + 1) / ranks
    if not trapezoid:
        return float(precision.sum() / total)
    # Recall changes only at hits: only the precision just before each hit is needed.
    before = np.ones(found)
    later = ranks > 1
    before[later] = np.arange(found)[later] / (ranks[later] - 1)
    return float((precision + before).sum() / 2 / total)


def precision_at(relevant: ArrayLike, k: int) -> float:
    """Return the share of relevant ids in the first k; missing ranks count as wrong.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    k : int
        Number of ranks.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    recall_at : the share of the positives.

    Examples
    --------
    >>> precision_at([True, False, True], 2)
    0.5
    """
    return float(boolean_vector(relevant)[: whole(k, "k")].sum() / k)


def recall_at(relevant: ArrayLike, k: int, n_positives: int | None = None) -> float:
    """Return the share of the positives in the first k ranks.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    k : int
        Number of ranks.
    n_positives : int, optional
        Number of all positives; by default those in the list.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    precision_at : the share of the ranks.

    Examples
    --------
    >>> recall_at([True, False, True], 2)
    0.5
    """
    hits = boolean_vector(relevant)
    total = int(hits.sum()) if n_positives is None else n_positives
    if total <= 0:
        raise InvalidInput("there are no positives; recall is not defined")
    if total < hits.sum():
        raise InvalidInput(f"n_positives is {total}, but {hits.sum()} positives are in the ranking")
    return float(hits[: whole(k, "k")].sum() / total)


def triplet_error(points: ArrayLike, comparisons: ArrayLike) -> float:
    """Return the share of comparisons that an embedding violates; ties and NaN are violations.

    Parameters
    ----------
    points : array of shape (objects, dimensions)
        The embedding.
    comparisons : int array of shape (m, 3) or (m, 4)
        A row (i, j, k) means d(i, j) < d(i, k); a row (i, j, l, k) means d(i, j) < d(l, k).

    Returns
    -------
    float
        Between 0 and 1, lower is better.

    See Also
    --------
    likewise_methods.ordinal.cross_validate : the error on held-out comparisons.

    Examples
    --------
    >>> triplet_error([[0.0], [1.0], [3.0]], [[0, 1, 2], [0, 2, 1]])
    0.5
    """
    x = np.asarray(points, dtype=np.float64)
    rows = np.asarray(comparisons)
    if x.ndim != 2:
        raise InvalidInput(f"points have shape {x.shape}; (objects, dimensions) expected")
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise InvalidInput(
            f"comparisons have shape {rows.shape}; (n, 3) triplets (anchor, nearer, farther) "
            "or (n, 4) quadruplets expected"
        )
    if len(rows) == 0:
        raise InvalidInput("there are no comparisons; the error is not defined")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(x):
        raise InvalidInput(f"comparisons must hold object numbers from 0 to {len(x) - 1}")
    i, j, l, k = (rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]).T  # noqa: E741
    near = ((x[i] - x[j]) ** 2).sum(axis=1)
    far = ((x[l] - x[k]) ** 2).sum(axis=1)
    return float(1 - np.mean(near < far))


def sparsity(weights: ArrayLike, touched: ArrayLike | None = None) -> float:
    """Return the share of exact zeros.

    Parameters
    ----------
    weights : array
        Weights.
    touched : bool array, optional
        Count only these entries.  Use it for learners that start at zero, since untouched weights
        stay zero.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    likewise_methods.solis.SOLIS : has ``sparsity_`` and ``touched_``.

    References
    ----------
    docs/methods/solis.md, E14.

    Examples
    --------
    >>> sparsity([0.0, 0.0, 1.0, 0.0]), sparsity([0.0, 0.0, 1.0, 0.0], [True, False, True, False])
    (0.75, 0.5)
    """
    w = np.asarray(weights)
    if touched is not None:
        mask = np.asarray(touched, dtype=bool)
        if mask.shape != w.shape:
            raise InvalidInput(f"touched has shape {mask.shape}; {w.shape} expected")
        w = w[mask]
    if w.size == 0:
        raise InvalidInput("there are no weights; sparsity is not defined")
    return float(np.mean(w == 0))


def boolean_vector(values: ArrayLike) -> Booleans:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidInput(f"relevance has shape {array.shape}; one ranked list expected")
    wrong = array[~np.isin(array, (0, 1))]
    if len(wrong):
        raise InvalidInput(f"relevance has {wrong[0]!s}; true or false (1 or 0) expected")
    return array.astype(bool)
