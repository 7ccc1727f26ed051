"""Metrics that only the benchmarks report: MAP over labels, P@k and R@k of tags, flat cost.

Score matrices are pictures by labels.  Ties are broken by position (stable sort); NaN is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.evaluation.metrics import Booleans, average_precision, boolean_vector
from likewise_methods.validation import whole


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
    hits = boolean_vector(relevant)[: whole(k, "k")]
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
    k = min(whole(k, "k"), ranked.shape[1])
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
    best = _best_first(matrix)[:, : whole(k, "k")]
    return float(1 - (best == classes[:, None]).any(axis=1).mean())


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
