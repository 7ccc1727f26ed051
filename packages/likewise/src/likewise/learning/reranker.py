"""What a profile learned, applied to one query.

Two things, each of which can be left out to measure the other: the *query part* (verdicts about
this very query move its row) and the *profile part* (for every query: weights of words, and in a
fitted space a metric around it from judged pairs).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import log_tables
from likewise.catalog.segments import comparable_rows
from likewise.catalog.store import Store
from likewise.learning.pair_index import Verdicts
from likewise.learning.profile_states import ProfileStates
from likewise.search.engine_views import EngineView
from likewise.search.sparse_view import SparseView
from likewise.search.views import View
from likewise_methods.solis import expand, own_share

PARTS = ("query", "profile")


class ProfileReranker:
    """What one profile learned, as far as it changes one query."""

    def __init__(
        self,
        store: Store,
        states: ProfileStates,
        profile: str,
        key: bytes | None,
        parts: Set[str] = frozenset(PARTS),
        near: Iterable[int] = (),
    ) -> None:
        """``near`` are subjects whose verdicts count too, where the query's own say nothing."""
        self._states, self._profile, self._parts = states, profile, parts
        self.behind = 0
        """Judgements that the weights used so far do not know, or know wrongly, yet."""
        subject = None if key is None else log_tables.subject_of(store, key)
        self._verdicts = Verdicts()
        if subject is not None and "query" in parts:
            self._verdicts = states.verdicts(profile, subject)
        self.own_liked: Set[int] = frozenset(self._verdicts.liked)
        for other in near:
            if other != subject:
                self._verdicts = _joined(self._verdicts, states.verdicts(profile, other))
        # "Not this" is meant: however alike, it comes after everything else for this query.
        self.last: Set[int] = set(
            log_tables.subjects_in_collection(store, self._verdicts.disliked).values()
        )

    @property
    def liked(self) -> Set[int]:
        """Subjects that were liked, under this query or a near one."""
        return frozenset(self._verdicts.liked)

    def row(self, view: View, row: Any) -> Any:
        """The query's row as this profile asks it."""
        space = view.space
        row, _, _ = self._expand(view, row)
        if "profile" in self._parts:
            weights, behind = self._states.weights_now(self._profile, space)
            self.behind = max(self.behind, behind)
            if weights is not None:
                row = apply_weights(row, weights)
            if space.learns_pairs:
                row = self._states.ask(self._profile, space, row)
        return row

    def split(self, view: View, row: Any, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each part of the query's row becomes; judged pictures that are mixed in are none."""
        space = view.space
        moved, liked, disliked = self._expand(view, row)
        if moved is not row:
            parts = parts * own_share(row, liked, disliked, moved)
        if "profile" in self._parts:
            weights = self._states.weights(self._profile, space)
            if weights is not None:
                parts = parts * weights
            if space.learns_pairs:
                parts = self._states.ask_parts(self._profile, space, moved, parts)
        return parts

    def _expand(self, view: View, row: Any) -> tuple[Any, Any, Any]:
        """The query's row after what was said about it, and the rows of what was."""
        space, said = view.space, self._verdicts
        if not (said.liked or said.disliked):
            return row, None, None
        liked = self._states.rows(space, said.liked)
        disliked = self._states.rows(space, said.disliked)
        local = view.local if isinstance(view, EngineView) else view
        if isinstance(local, SparseView):
            frequency, n_pictures = local.frequency()
            made = expand(row, liked, disliked, frequency=frequency, n_pictures=n_pictures)
        else:
            # Pictures of the collection are mixed in as they are compared: so is the query.
            made = expand(comparable_rows(space, row[None])[0], liked, disliked)
        return made, liked, disliked


def _joined(one: Verdicts, other: Verdicts) -> Verdicts:
    """Verdicts of two queries; where they disagree about a picture, the first's."""
    return Verdicts(
        one.liked | (other.liked - one.disliked), one.disliked | (other.disliked - one.liked)
    )


def apply_weights(row: Any, weights: Any) -> Any:
    """S_w(q, x) = sum of w_j q_j x_j: the weights folded into the query."""
    made = row.tocsr().copy()
    made.data = (made.data * weights[made.indices]).astype(np.float32)
    made.eliminate_zeros()
    return made
