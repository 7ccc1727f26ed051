"""The yardsticks, each as a small function of plain arrays.

Ranked lists are given as relevance in rank order (best first) or as ids to be looked up; score
matrices are pictures by labels.  Ties are broken by position (stable sorting), whatever is right;
scores that are NaN are refused, and a distance that is NaN violates its comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.validation import whole

Booleans = NDArray[np.bool_]


def relevance(
    ranking: Iterable[Hashable], positives: Collection[Hashable], junk: Collection[Hashable] = ()
) -> Booleans:
    """Relevance in rank order of a ranked list of ids, junk taken out before ranks are counted.

    Parameters
    ----------
    ranking : iterable of ids
        Best first.  A list that names a picture twice is refused: it would be counted twice.
    positives : collection of ids
        What is right.
    junk : collection of ids, optional
        What is neither right nor wrong.

    Returns
    -------
    bool array
        Whether each place is right.

    See Also
    --------
    average_precision : takes it.

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
    """Average precision of one ranked list.

    Plain: the mean, over all positives, of the precision at their rank.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    n_positives : int, optional
        A positive that was not ranked counts as never found: give their number when the list is cut
        short.
    trapezoid : bool, default=False
        The area under the precision-recall curve as the Oxford Buildings benchmark draws it:
        ``sum (r_i - r_{i-1}) (p_i + p_{i-1}) / 2`` with p_0 = 1.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    mean_average_precision : over many lists.
    relevance : from ids.

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
    hits = _boolean_vector(relevant)
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
    # Recall moves only at hits, so only the precision just before each hit is needed.
    before = np.ones(found)
    later = ranks > 1
    before[later] = np.arange(found)[later] / (ranks[later] - 1)
    return float((precision + before).sum() / 2 / total)


def mean_average_precision(
    rankings: Iterable[tuple[ArrayLike, int | None]], *, trapezoid: bool = False
) -> float:
    """Mean of :func:`average_precision` over ranked lists.

    Parameters
    ----------
    rankings : iterable of (relevant, n_positives)
        As :func:`average_precision` takes them.
    trapezoid : bool, default=False
        As there.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    evaluate : asks and scores.

    Examples
    --------
    >>> mean_average_precision([([True], None), ([False, True], None)])
    0.75
    """
    values = [average_precision(hits, total, trapezoid=trapezoid) for hits, total in rankings]
    if not values:
        raise InvalidInput("there are no rankings to average over")
    return float(np.mean(values))


def precision_at(relevant: ArrayLike, k: int) -> float:
    """Share of the first k places that are right; missing places are wrong.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    k : int
        Places.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    recall_at : share of the positives.

    Examples
    --------
    >>> precision_at([True, False, True], 2)
    0.5
    """
    return float(_boolean_vector(relevant)[: _count(k)].sum() / k)


def recall_at(relevant: ArrayLike, k: int, n_positives: int | None = None) -> float:
    """Share of the positives found in the first k places.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    k : int
        Places.
    n_positives : int, optional
        All there are; by default those in the list.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    precision_at : share of the places.

    Examples
    --------
    >>> recall_at([True, False, True], 2)
    0.5
    """
    hits = _boolean_vector(relevant)
    total = int(hits.sum()) if n_positives is None else n_positives
    if total <= 0:
        raise InvalidInput("there are no positives; recall is not defined")
    if total < hits.sum():
        raise InvalidInput(f"n_positives is {total}, but {hits.sum()} positives are in the ranking")
    return float(hits[: _count(k)].sum() / total)


def average_precision_at(relevant: ArrayLike, k: int, n_positives: int) -> float:
    """AP@K of the ordinal embedding paper: ``sum_{q<=K} P(q) [rel q] / n_positives``.

    Parameters
    ----------
    relevant : bool array
        Relevance in rank order.
    k : int
        Places that count, K.
    n_positives : int
        TP + FN without the query itself (39 in its SUN397 protocol, with K = 40).

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    average_precision : of whole lists.

    References
    ----------
    docs/methods/ordinal.md, (17).

    Examples
    --------
    >>> average_precision_at([True, False, True, True], k=3, n_positives=3)
    0.5555555555555555
    """
    hits = _boolean_vector(relevant)[: _count(k)]
    found = int(hits.sum())
    if n_positives < max(found, 1):
        raise InvalidInput(
            f"n_positives is {n_positives}; at least {max(found, 1)} expected (positives ranked)"
        )
    ranks = np.flatnonzero(hits) + 1
    return float((np.arange(1, found + 1) / ranks).sum() / n_positives)


def label_map(scores: ArrayLike, truth: Any) -> float:
    """MAP over labels: for each label rank all pictures by its score.

    Parameters
    ----------
    scores : array of shape (pictures, labels)
        Higher is better.
    truth : 0/1 matrix of shape (pictures, labels)
        Dense or sparse; labels without a positive are left out.

    Returns
    -------
    float
        Between 0 and 1.

    See Also
    --------
    annotation_at : when every picture gets k labels.
    flat_cost : one class a picture.

    References
    ----------
    docs/methods/siso.md, (14).

    Examples
    --------
    >>> label_map([[0.9, 0.1], [0.2, 0.8], [0.3, 0.3]], [[1, 0], [0, 1], [1, 0]])
    1.0
    """
    ranked, hits = _score_matrix(scores, truth)
    with_positives = np.flatnonzero(hits.any(axis=0))
    if len(with_positives) == 0:
        raise InvalidInput("no label has a positive; MAP is not defined")
    order = _best_first(ranked.T)
    return float(
        np.mean([average_precision(hits[order[label], label]) for label in with_positives])
    )


@dataclass(frozen=True)
class AnnotationScores:
    """Mean precision and recall over labels, and N+: how many labels were found at all.

    See Also
    --------
    annotation_at : gives it.
    """

    precision: float
    recall: float
    n_plus: int


def annotation_at(scores: ArrayLike, truth: Any, k: int = 5) -> AnnotationScores:
    """P@k, R@k and N+ when every picture is given its k best labels (k = 5 is the custom).

    Per label: precision over the pictures it was given to (0 if to none), recall over the
    pictures that have it; both averaged over the labels that occur in the truth.

    Parameters
    ----------
    scores : array of shape (pictures, labels)
        Higher is better.
    truth : 0/1 matrix of shape (pictures, labels)
        Dense or sparse.
    k : int, default=5
        Labels a picture is given.

    Returns
    -------
    AnnotationScores
        The three numbers.

    See Also
    --------
    label_map : of whole rankings.

    Examples
    --------
    >>> annotation_at([[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]], k=1)
    AnnotationScores(precision=0.25, recall=0.5, n_plus=1)
    """
    ranked, hits = _score_matrix(scores, truth)
    k = min(_count(k), ranked.shape[1])
    given = np.zeros_like(hits)
    np.put_along_axis(given, _best_first(ranked)[:, :k], True, axis=1)
    right = (given & hits).sum(axis=0)
    n_given, n_true = given.sum(axis=0), hits.sum(axis=0)
    occurs = n_true > 0
    if not occurs.any():
        raise InvalidInput("no label has a positive; precision and recall are not defined")
    precision = right / np.maximum(n_given, 1)
    recall = right / np.maximum(n_true, 1)
    return AnnotationScores(
        precision=float(precision[occurs].mean()),
        recall=float(recall[occurs].mean()),
        n_plus=int((right > 0).sum()),
    )


def flat_cost(scores: ArrayLike, truth: ArrayLike, k: int = 5) -> float:
    """Top-k flat cost of ILSVRC2010: share of pictures whose class is not among the k best.

    Parameters
    ----------
    scores : array of shape (pictures, classes)
        Higher is better; ties go to the lower class number.
    truth : int array of shape (pictures,)
        One class number a picture.
    k : int, default=5
        Classes that are looked at.

    Returns
    -------
    float
        Between 0 and 1, lower is better.

    See Also
    --------
    label_map : where pictures have several labels.

    References
    ----------
    docs/methods/siso.md, (14).

    Examples
    --------
    >>> flat_cost([[0.1, 0.9], [0.8, 0.2]], [1, 1], k=1)
    0.5
    """
    matrix = np.asarray(scores, dtype=np.float64)
    classes = np.asarray(truth)
    if matrix.ndim != 2 or classes.shape != (matrix.shape[0],):
        raise InvalidInput(
            f"scores have shape {matrix.shape} and truth {classes.shape}; "
            "(pictures, classes) and (pictures,) expected"
        )
    if len(classes) == 0:
        raise InvalidInput("there are no pictures; the flat cost is not defined")
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= matrix.shape[1]:
        raise InvalidInput(f"truth must hold class numbers from 0 to {matrix.shape[1] - 1}")
    _refuse_nan(matrix)
    best = _best_first(matrix)[:, : _count(k)]
    return float(1 - (best == classes[:, None]).any(axis=1).mean())


def triplet_error(points: ArrayLike, comparisons: ArrayLike) -> float:
    """Share of comparisons an embedding does not satisfy, by Euclidean distance.

    Ties and NaN are errors.

    Parameters
    ----------
    points : array of shape (objects, dimensions)
        The embedding.
    comparisons : int array of shape (m, 3) or (m, 4)
        Rows (i, j, k) say d(i, j) < d(i, k); rows (i, j, l, k) say d(i, j) < d(l, k).

    Returns
    -------
    float
        Between 0 and 1, lower is better.

    See Also
    --------
    likewise_methods.ordinal.cross_validate : on comparisons held out.

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
    """Share of exact zeros.

    Parameters
    ----------
    weights : array
        Weights.
    touched : bool array, optional
        Count only among these entries.  That is the honest form for learners that start at zero:
        words that no training picture has are zero for free.

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


def _best_first(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Columns of each row by falling score; equal scores by column."""
    return np.argsort(-scores, axis=1, kind="stable")


def _refuse_nan(scores: NDArray[np.float64]) -> None:
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores).any(axis=1))[0])
        raise InvalidInput(f"scores of row {row} have NaN, which has no rank")


def _score_matrix(scores: ArrayLike, truth: Any) -> tuple[NDArray[np.float64], Booleans]:
    ranked = np.asarray(scores, dtype=np.float64)
    dense = truth.toarray() if hasattr(truth, "toarray") else np.asarray(truth)
    hits = np.asarray(dense) != 0
    if ranked.ndim != 2 or hits.shape != ranked.shape:
        raise InvalidInput(
            f"scores have shape {ranked.shape} and truth {hits.shape}; "
            "(pictures, labels) expected of both"
        )
    _refuse_nan(ranked)
    return ranked, hits


def _boolean_vector(values: ArrayLike) -> Booleans:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidInput(f"relevance has shape {array.shape}; one ranked list expected")
    wrong = array[~np.isin(array, (0, 1))]
    if len(wrong):
        raise InvalidInput(f"relevance has {wrong[0]!s}; true or false (1 or 0) expected")
    return array.astype(bool)


def _count(k: int) -> int:
    return whole(k, "k")
