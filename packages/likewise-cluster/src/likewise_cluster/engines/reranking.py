"""Dense rows by a metric of ours: the engine nominates by its own, we score the nominees.

What a person taught is a metric around a query that no engine knows.  Among the first thousand by
the plain metric the best by the learned one are found, exactly ranked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.engines.exact import best_of
from likewise.engines.protocol import Found, RowStore, Where

FIRST = 1000
"""Nominees, or as many as are wanted if that is more."""


def rerank(
    store: RowStore,
    row: Any,
    k: int,
    score: Callable[[Any], Any],
    where: Where | None = None,
    *,
    first: int = FIRST,
) -> Found:
    """The k best of the store's ``first`` by ``score``, which takes rows; higher is better.

    Parameters
    ----------
    store : RowStore
        Nominates by its own metric.
    row : array of shape (width,) or (1, width)
        The query.
    k : int
        Pictures wanted.
    score : callable
        ``score(rows)`` gives a number a row.
    where : Where, optional
        Which may be found.
    first : int, default=1000
        Nominees, or as many as are wanted if that is more.

    Returns
    -------
    ids : int64 array
        Pictures, best first.
    scores : float32 array
        By ``score``.

    See Also
    --------
    likewise_methods.solis.LocalMetric : a metric that no engine knows.

    Examples
    --------
    >>> from likewise_cluster.engines.embedded import EmbeddedRows
    >>> from likewise.engines import RowKind
    >>> store = EmbeddedRows(RowKind(is_sparse=False, width=2))
    >>> store.put([1, 2, 3], [[1, 0], [0, 1], [1, 1]])
    >>> rerank(store, [1, 0], 2, lambda rows: rows[:, 1] - rows[:, 0])[0].tolist()
    [2, 3]
    """
    ids, _ = store.search(row, max(first, k), where)
    ids, rows = store.rows(ids)
    return best_of(ids, np.asarray(score(rows), np.float32), k)
