"""Query expansion: add liked pictures to a query and subtract disliked ones.

Rocchio's expansion (1971), ``q + beta mean(liked) - gamma mean(disliked)``, then each word is
weighted by its log-odds in liked against disliked pictures (the relevance weight of Robertson and
Sparck Jones, 1976).  A closed form of two sets: the result does not depend on their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.errors import InvalidInput
from likewise_methods.lazy_imports import sparse as sp
from likewise_methods.solis.rows import Floats, as_rows
from likewise_methods.sparse_rows import Rows
from likewise_methods.validation import finite_rows, number, vector

# A dense query counts as unit length if its norm is this near to 1.
_UNIT = 1e-3


@dataclass(frozen=True)
class QueryRule:
    """The constants of query expansion.

    The defaults were chosen on queries that ``make bench-loop`` does not report; results hardly
    depend on the exact numbers.

    Parameters
    ----------
    beta : float, default=4.0
        Weight of the mean of the liked pictures; the query itself weighs 1.
    gamma : float, default=3.0
        Weight of the mean of the disliked pictures once there are many.
    patience : float, default=10.0
        Multiplies gamma by ``n / (n + patience)`` for n disliked pictures: one of them says little,
        and shares most of its words with the query.
    smoothing : float, default=1.0
        Weight of the prior in the two rates of the log-odds, in pictures; above 0.
    sharpness : float, default=0.5
        A word's weight is ``max(0, 1 + sharpness s lambda)`` with log-odds lambda and the sign s of
        its expanded value; 0 is plain Rocchio.

    See Also
    --------
    expand : the query after judgements.
    """

    beta: float = 4.0
    gamma: float = 3.0
    patience: float = 10.0
    smoothing: float = 1.0
    sharpness: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            number(getattr(self, field.name), field.name, least=0)
        number(self.smoothing, "smoothing", above=0)

    def taken_out(self, n_disliked: int) -> float:
        """Return gamma for this many disliked pictures."""
        return self.gamma * n_disliked / (n_disliked + self.patience) if n_disliked else 0.0


RULE = QueryRule()


def expand(
    query: Any,
    liked: Any,
    disliked: Any,
    *,
    frequency: Any = None,
    n_pictures: int = 0,
    rule: QueryRule = RULE,
) -> Any:
    """Return the query after these judgements.

    Sparse queries are expanded and their words weighted by log-odds; words of disliked pictures get
    negative values.  Dense queries are only expanded, since they have no words to count.

    Parameters
    ----------
    query : sparse matrix of shape (1, width), or array of shape (width,)
        The query.
    liked, disliked : sparse matrices or arrays of shape (n, width)
        Rows of liked and of disliked pictures, any n from 0; sparse if the query is.
    frequency : array of shape (width,), optional
        Number of pictures with each word, of ``n_pictures``: the prior rate of a word.  Without it
        the rate among the given pictures is the prior.
    n_pictures : int, default=0
        Number of pictures that ``frequency`` counts.
    rule : QueryRule, optional
        The constants.

    Returns
    -------
    CSR array of shape (1, width), or array of shape (width,)
        For a sparse query, float32 of unit length without stored zeros.  For a dense one, of unit
        length if the query is, else a point between query and liked pictures, away from the
        others.  The query itself if there are no pictures or everything cancels.

    See Also
    --------
    QueryRule : the constants.
    likewise_methods.spaces.LocalMetric : learns for other queries, in dense spaces.
    profile_learner : learns for other queries, from words.

    References
    ----------
    Rocchio, 1971 (expansion); Robertson and Sparck Jones, 1976 (the relevance weight of a word).

    Examples
    --------
    >>> words = sp.csr_array(np.array([[0.8, 0.6, 0, 0], [0.6, 0, 0.8, 0], [0, 0.6, 0, 0.8]]))
    >>> print(expand(words[[0]], words[[1]], words[[2]]).toarray().round(2))
    [[ 0.82  0.02  0.57 -0.06]]
    >>> print(expand(np.array([1.0, 0]), np.array([[0.0, 1]]), np.zeros((0, 2))).round(2))
    [0.24 0.97]
    """
    if _is_sparse(query):
        return _expand_sparse(query, liked, disliked, frequency, n_pictures, rule)
    return _expand_dense(query, liked, disliked, rule)


def own_share(
    query: Any, liked: Any, disliked: Any, expanded: Any, rule: QueryRule = RULE
) -> NDArray[np.float64]:
    """Return the factor of each entry of the query in its expansion.

    ``query * factor`` is the query's part of ``expanded``, and the rest comes from the pictures.

    Parameters
    ----------
    query, liked, disliked : array or sparse matrix
        As given to :func:`expand`.
    expanded : array or CSR array
        Its result.
    rule : QueryRule, optional
        The constants.

    Returns
    -------
    array of float64
        One factor per column, or one for all.

    See Also
    --------
    expand : the query after judgements.

    Examples
    --------
    >>> query, other = np.array([1.0, 0.0]), np.array([[0.0, 1.0]])
    >>> expanded = expand(query, other, other[:0])
    >>> print((query * own_share(query, other, other[:0], expanded)).round(2))
    [0.24 0.  ]
    """
    sparse = _is_sparse(query)
    own, good, bad = (
        np.asarray(one.toarray() if _is_sparse(one) else one, np.float64)
        for one in (query, liked, disliked)
    )
    value = np.atleast_2d(own)[0] + rule.beta * _mean(good)
    value = value - rule.taken_out(len(bad)) * _mean(bad)
    if not value.any():
        return np.ones(1)
    if sparse:
        made = np.asarray(expanded.toarray()[0], np.float64)
        return np.asarray(np.divide(made, value, out=np.zeros_like(made), where=value != 0))
    # A dense query is only scaled.
    return np.atleast_1d(np.asarray(expanded, np.float64) @ value / (value @ value))


def _is_sparse(X: Any) -> bool:
    # A dense search should not import scipy.
    return not isinstance(X, np.ndarray) and sp.issparse(X)


# -- sparse ------------------------------------------------------------------------------------


class _Sums(NamedTuple):
    """Per word that occurs, ascending: sum of values and number of pictures with the word."""

    values: Floats
    counts: Floats
    n: int


def _expand_sparse(
    query: Any, liked: Any, disliked: Any, frequency: Any, n_pictures: int, rule: QueryRule
) -> Any:
    asked = as_rows(query, name="query")
    if len(asked.ends) != 2:
        raise InvalidInput(f"query has {len(asked.ends) - 1} rows; 1 expected")
    good = _sparse_rows(liked, asked.width, "liked")
    bad = _sparse_rows(disliked, asked.width, "disliked")
    n_liked, n_disliked = len(good.ends) - 1, len(bad.ends) - 1
    if not n_liked + n_disliked:
        return query
    words, place = _support(asked.width, asked, good, bad)
    own, more, less = (_sum_words(rows, place, len(words)) for rows in (asked, good, bad))
    value = own.values + rule.beta * more.values / max(n_liked, 1)
    value -= rule.taken_out(n_disliked) * less.values / max(n_disliked, 1)
    # The query counts as a liked picture.
    wanted = _Sums(own.values, own.counts + more.counts, 1 + n_liked)
    prior = _prior(frequency, n_pictures, asked.width, words, wanted, less)
    odds = log_odds(wanted.counts, wanted.n, less.counts, less.n, prior, rule.smoothing)
    value *= np.maximum(0.0, 1.0 + rule.sharpness * np.sign(value) * odds)
    unit = _unit(value)
    if unit is None:
        return query
    kept = unit != 0
    ends = np.array([0, int(kept.sum())])
    made = (unit[kept], words[kept], ends)
    return sp.csr_array(made, shape=(1, asked.width))


def log_odds(
    liked: Floats, n_liked: int, disliked: Floats, n_disliked: int, prior: Any, smoothing: float
) -> Floats:
    """Return ``log p (1 - q) / (q (1 - p))`` of each word; p and q are its rates in the two sets.

    ``liked`` and ``disliked`` count the pictures with the word.  Both rates are smoothed by
    ``smoothing`` pictures with the rate ``prior``, between 0 and 1.
    """
    p = (liked + smoothing * prior) / (n_liked + smoothing)
    q = (disliked + smoothing * prior) / (n_disliked + smoothing)
    return np.asarray(np.log(p) - np.log(q) + np.log1p(-q) - np.log1p(-p), np.float64)


def _prior(
    frequency: Any, n_pictures: int, width: int, words: Any, wanted: _Sums, less: _Sums
) -> Floats:
    if frequency is None:
        # Half a picture on either side keeps the rate inside (0, 1).
        return np.asarray((wanted.counts + less.counts + 0.5) / (wanted.n + less.n + 1.0))
    known = vector(frequency, "frequency", width, "the pictures with each word")
    if n_pictures < 1:
        raise InvalidInput(f"n_pictures is {n_pictures}; frequency needs at least 1")
    rate = known[words].astype(np.float64) / n_pictures
    if not np.isfinite(rate).all():
        raise InvalidInput("frequency holds a number that is not finite")
    # Keep the rate of a word in no picture, or in all, inside (0, 1).
    least = 0.5 / (n_pictures + 1.0)
    return np.asarray(np.clip(rate, least, 1.0 - least))


def _sparse_rows(X: Any, width: int, name: str) -> Rows:
    sparse: bool = sp.issparse(X)
    if not sparse:
        raise InvalidInput(f"{name} is dense and the query sparse; give both alike")
    if X.shape[0] == 0 and X.shape[1] == width:
        return Rows(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32), width)
    return as_rows(X, width, name)


def _support(width: int, *sets: Rows) -> tuple[Any, Any]:
    """Return the words that occur, ascending, and each word's index among them, without sorting."""
    occurs = np.zeros(width, bool)
    for rows in sets:
        occurs[rows.words] = True
    words = np.flatnonzero(occurs)
    place = np.zeros(width, np.int64)
    place[words] = np.arange(len(words))
    return words, place


def _sum_words(rows: Rows, place: Any, n_words: int) -> _Sums:
    where = place[rows.words]
    whole, unit = _whole(rows.values, len(rows.ends) - 1)
    values = np.bincount(where, whole, n_words).astype(np.float64) * unit
    counts = np.bincount(where, minlength=n_words).astype(np.float64)
    return _Sums(values, counts, len(rows.ends) - 1)


def _whole(values: Any, n: int) -> tuple[Floats, float]:
    """Return the values as integer multiples of a power of two, and that power.

    Sums of n such integers stay below 2^53, so they are exact in any order.
    """
    peak = float(np.abs(values).max(initial=0.0))
    bits = 52 - n.bit_length() - math.frexp(peak)[1]
    return np.rint(np.ldexp(values.astype(np.float64), bits)), math.ldexp(1.0, -bits)


def _unit(value: Floats) -> NDArray[np.float32] | None:
    """Scale to unit length in float32; return None for a zero vector."""
    peak = float(np.abs(value).max(initial=0.0))
    if not (np.isfinite(peak) and peak > 0):
        return None
    scaled = value / peak
    return np.asarray(scaled / np.sqrt(scaled @ scaled), np.float32)


# -- dense -------------------------------------------------------------------------------------


def _expand_dense(query: Any, liked: Any, disliked: Any, rule: QueryRule) -> Any:
    asked = np.asarray(query)
    if asked.ndim != 1 or asked.dtype.kind not in "uif" or not np.isfinite(asked).all():
        raise InvalidInput(
            f"query has shape {asked.shape} and type {asked.dtype}; one vector of finite numbers "
            "expected, or a sparse row"
        )
    good, bad = (
        _dense_rows(X, len(asked), name) for X, name in ((liked, "liked"), (disliked, "disliked"))
    )
    if not len(good) + len(bad):
        return query
    own = asked.astype(np.float64)
    value = own + rule.beta * _mean(good)
    if abs(float(np.linalg.norm(own)) - 1.0) > _UNIT:
        # A point rather than a direction: it moves, but is not scaled.
        weight = 1.0 + (rule.beta if len(good) else 0.0)
        place = value / weight
        if len(bad):
            place = place + rule.taken_out(len(bad)) / weight * (place - _mean(bad))
        return place.astype(np.float32)
    value -= rule.taken_out(len(bad)) * _mean(bad)
    unit = _unit(value)
    return query if unit is None else unit


def _dense_rows(X: Any, width: int, name: str) -> Floats:
    if _is_sparse(X):
        raise InvalidInput(f"{name} is sparse and the query dense; give both alike")
    return finite_rows(X, name, width, dtype=np.float64)


def _mean(rows: Floats) -> Any:
    """Return the mean row, the same bits for any order of the rows; 0 without rows."""
    if not len(rows):
        return 0.0
    whole, unit = _whole(rows, len(rows))
    return whole.sum(axis=0) * unit / len(rows)
