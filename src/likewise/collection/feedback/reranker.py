"""What was learned, as far as it bears on one question.

Two things, each of which can be left out to measure the other: the *query part* (verdicts about
this very query move its row) and the *profile part* (weights of words, for every query).
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from likewise.collection.feedback.history import Verdicts
from likewise.collection.feedback.learning import Learning
from likewise.collection.search.sparse_view import SparseView
from likewise.collection.search.views import View
from likewise.collection.store import log as feedback
from likewise.collection.store.row_formats import comparable_rows
from likewise.collection.store.store import Store
from likewise.similarity.expansion import expand

PARTS = ("query", "profile")


class Taught:
    """The teaching of one profile for one question."""

    def __init__(
        self,
        store: Store,
        learning: Learning,
        profile: str,
        key: bytes | None,
        parts: Set[str] = frozenset(PARTS),
    ) -> None:
        self._learning, self._profile, self._parts = learning, profile, parts
        subject = None if key is None else feedback.subject_of(store, key)
        self._verdicts = Verdicts()
        if subject is not None and "query" in parts:
            self._verdicts = learning.verdicts(profile, subject)
        # "Not this" is meant: however alike, it comes after everything else for this query.
        self.last: Set[int] = set(
            feedback.subjects_in_collection(store, self._verdicts.disliked).values()
        )

    def row(self, view: View, row: Any) -> Any:
        """The question's row as this profile asks it."""
        space = view.space
        said = self._verdicts
        if said.liked or said.disliked:
            liked = self._learning.rows(space, said.liked)
            disliked = self._learning.rows(space, said.disliked)
            if isinstance(view, SparseView):
                frequency, n_pictures = view.frequency()
                row = expand(row, liked, disliked, frequency=frequency, n_pictures=n_pictures)
            else:
                # Pictures of the collection are mixed in as they are compared: so is the query.
                row = expand(comparable_rows(space, row[None])[0], liked, disliked)
        if "profile" in self._parts:
            weights = self._learning.weights(self._profile, space)
            if weights is not None:
                row = weighted(row, weights)
        return row


def weighted(row: Any, weights: Any) -> Any:
    """S_w(q, x) = sum of w_j q_j x_j: the weights folded into the query."""
    made = row.tocsr().copy()
    made.data = (made.data * weights[made.indices]).astype(np.float32)
    made.eliminate_zeros()
    return made
