"""Change one query by what a profile learned.

Two parts, each of which can be left out to measure the other: the *query part* (verdicts about this
very query move its row) and the *profile part* (for every query: weights of words in a sparse
space, a metric from judged pairs in a fitted dense one).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import Store
from likewise.search.engine_views import EngineView
from likewise.search.sparse_view import SparseView
from likewise.search.views import View
from likewise.spaces.base import Space
from likewise_methods.solis import expand, own_share

PARTS = ("query", "profile")


class Verdicts(Protocol):
    """Subjects that were liked and disliked under one query."""

    liked: set[int]
    disliked: set[int]


class LearnedState(Protocol):
    """What profiles have learned, as far as a search needs it (see ``ProfileStates``)."""

    def verdicts(self, profile: str, subject: int) -> Verdicts: ...
    def rows(self, space: Space, subjects: Iterable[int]) -> Any: ...
    def weights(self, profile: str, space: Space) -> NDArray[np.float64] | None: ...
    def weights_now(self, profile: str, space: Space) -> tuple[NDArray[np.float64] | None, int]: ...
    def change_row(
        self, profile: str, space: Space, row: NDArray[np.float32]
    ) -> NDArray[np.float32]: ...
    def change_parts(
        self,
        profile: str,
        space: Space,
        row: NDArray[np.float32],
        parts: NDArray[np.float64],
    ) -> NDArray[np.float64]: ...


class ProfileReranker:
    """Changes the row of one query by what a profile learned.

    ``near`` are subjects whose verdicts count where the query's own say nothing.  ``behind`` counts
    judgements that the weights used so far do not include yet.
    """

    def __init__(
        self,
        store: Store,
        states: LearnedState,
        profile: str,
        key: bytes | None,
        parts: Set[str] = frozenset(PARTS),
        near: Iterable[int] = (),
    ) -> None:
        self._states, self._profile, self._parts = states, profile, parts
        self.behind = 0
        self.liked: Set[int] = frozenset()
        self._disliked: Set[int] = frozenset()
        subject = None if key is None else log_tables.subject_of(store, key)
        if subject is not None and "query" in parts:
            own = states.verdicts(profile, subject)
            self.liked, self._disliked = frozenset(own.liked), frozenset(own.disliked)
        self.own_liked = self.liked
        for other in near:
            if other != subject:
                more = states.verdicts(profile, other)
                # Where verdicts disagree about a picture, the first ones count.
                self.liked, self._disliked = (
                    self.liked | (more.liked - self._disliked),
                    self._disliked | (more.disliked - self.liked),
                )
        # However alike, a disliked picture comes after all others for this query.
        self.ranked_last: Set[int] = set(
            log_tables.subjects_in_collection(store, self._disliked).values()
        )

    def row(self, view: View, row: Any) -> Any:
        """Return the query's row as this profile changes it."""
        space = view.space
        row, _, _ = self._expand(view, row)
        if "profile" in self._parts:
            weights, behind = self._states.weights_now(self._profile, space)
            self.behind = max(self.behind, behind)
            if weights is not None:
                row = apply_weights(row, weights)
            if space.learns_pairs:
                row = self._states.change_row(self._profile, space, row)
        return row

    def split(self, view: View, row: Any, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply the same change to parts that add up to the query's row.

        Their sum falls short of :meth:`row` by what judged pictures brought into the query.
        """
        space = view.space
        moved, liked, disliked = self._expand(view, row)
        if moved is not row:
            parts = parts * own_share(row, liked, disliked, moved)
        if "profile" in self._parts:
            weights = self._states.weights(self._profile, space)
            if weights is not None:
                parts = parts * weights
            if space.learns_pairs:
                parts = self._states.change_parts(self._profile, space, moved, parts)
        return parts

    def _expand(self, view: View, row: Any) -> tuple[Any, Any, Any]:
        """Mix judged pictures into the query's row; also returns the rows of these pictures."""
        space = view.space
        if not (self.liked or self._disliked):
            return row, None, None
        liked = self._states.rows(space, self.liked)
        disliked = self._states.rows(space, self._disliked)
        local = view.local if isinstance(view, EngineView) else view
        if isinstance(local, SparseView):
            frequency, n_pictures = local.frequency()
            made = expand(row, liked, disliked, frequency=frequency, n_pictures=n_pictures)
        else:
            # Pictures of the collection are mixed in as they are compared: so is the query.
            made = expand(comparable_rows(space, row[None])[0], liked, disliked)
        return made, liked, disliked


def apply_weights(row: Any, weights: Any) -> Any:
    """Multiply a query by weights: S_w(q, x) = sum of w_j q_j x_j."""
    made = row.tocsr().copy()
    made.data = (made.data * weights[made.indices]).astype(np.float32)
    made.eliminate_zeros()
    return made
