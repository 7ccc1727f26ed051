"""Keep the tagged pictures in memory as an annotator, up to date with the catalog.

The catalog numbers every change of tags, so the cost of an update depends on the changes only. Open
suggestions are no evidence: a bulk run must not confirm itself.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog import tag_tables
from likewise.catalog.segments import comparable_rows
from likewise.search.dense_view import DenseView
from likewise.search.query import ResolvedQuery, query_row
from likewise.search.views import Views
from likewise.spaces.base import Space, ranked_spaces
from likewise_methods.siso import MixedAnnotator, mixed_shares

ALPHA = 0.05
"""The lasso's penalty, as a share of the largest correlation (docs/tags.md)."""

WIDEST = 512
"""Rows up to this width also get a linear classifier; ``deep-dense`` has none."""

Rows = NDArray[np.float32]
Floats = NDArray[np.float64]


class Reconstruction(NamedTuple):
    """The pictures that reconstruct a picture, with their shares, the largest first.

    ``tags`` are those of these pictures, ``scores`` are those of the candidate tags.
    """

    shares: list[tuple[int, float]]
    tags: dict[int, list[str]]
    scores: dict[str, float]


class Opinion(NamedTuple):
    """Shares and the linear classifier's odds of every tag for one picture, by ``names``.

    ``odds`` is None where there is no classifier.
    """

    names: list[str]
    shares: Floats
    odds: Floats | None

    def scores(self, mix: float) -> dict[str, float]:
        """Return the scores of tags with a share or positive odds."""
        mixed = mixed_shares(self.shares, self.odds, mix)
        some = np.flatnonzero((self.shares > 0) | (mixed > 0)).tolist()
        return {self.names[i]: float(mixed[i]) for i in some}


def usable_spaces(spaces: Mapping[str, Space]) -> list[tuple[str, ...]]:
    """Return the spaces tags can be suggested from, the best first, each with its companions."""
    dense = {name: one for name, one in spaces.items() if not one.row_format.is_sparse}
    return [
        (
            first.name,
            *(
                one.name
                for one in dense.values()
                if one.tags_beside == first.feature and one.name == one.feature and one.generation
            ),
        )
        for first in ranked_spaces(dense, lambda one: one.tag_rank)
    ]


class Evidence:
    """An annotator over every tagged picture that has a row in some spaces."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.number = 0
        self.tags: dict[int, list[str]] = {}
        self._generations: tuple[int, ...] = ()
        self._model: MixedAnnotator | None = None
        self._without_row: set[int] = set()
        self._revision = -1

    def __len__(self) -> int:
        return len(self.tags)

    def update(self, views: Views) -> None:
        """Apply the changes of tags since the last update."""
        revision = views.store.revision
        if revision == self._revision:
            return
        dense = self._dense(views)
        generations = tuple(view.space.generation for view in dense)
        if generations != self._generations:
            self.tags, self._model, self._without_row, self.number = {}, None, set(), 0
            self._generations = generations
        with views.store.snapshot():
            number = tag_tables.evidence_number(views.store)
            # Pictures tagged before they had a row are checked again.
            changed = {*tag_tables.changed_since(views.store, self.number), *self._without_row}
            tagged = tag_tables.evidence(views.store, sorted(changed))
        if changed:
            self._update_pictures(changed, tagged, dense)
        self.number, self._revision = number, revision

    def _update_pictures(
        self, changed: set[int], tagged: Mapping[int, list[str]], views: Sequence[DenseView]
    ) -> None:
        moved = {i for i in changed if self.tags.get(i, []) != tagged.get(i, [])}
        gone = sorted(moved & self.tags.keys())
        found, rows = rows_of(views, sorted(moved & tagged.keys()))
        # A row of zeros reconstructs nothing.
        some = np.flatnonzero(np.abs(rows).max(axis=1, initial=0) > 0)
        new, rows = [found[i] for i in some], rows if len(some) == len(rows) else rows[some]
        if gone and self._model is not None:
            self._model.remove(gone)
        for image in gone:
            del self.tags[image]
        if new:
            names = [tagged[image] for image in new]
            if self._model is None:
                self._model = MixedAnnotator(alpha=ALPHA, widest=WIDEST)
            self._model.partial_fit(rows, names, new)
            self.tags |= dict(zip(new, names, strict=True))
        self._without_row = {image for image in tagged if image not in self.tags}

    def _dense(self, views: Views) -> list[DenseView]:
        return [view for view in map(views.view, self.names) if isinstance(view, DenseView)]

    def rows_of(self, views: Views, images: Iterable[int]) -> tuple[list[int], Rows]:
        """Return the pictures that have a row in these spaces, and the rows."""
        return rows_of(self._dense(views), list(images))

    def row_of(self, views: Views, query: ResolvedQuery) -> Rows | None:
        """Return the row of a query; None where these spaces cannot describe it."""
        parts = []
        for view in self._dense(views):
            if query.image is not None:
                if view.row_of(query.image) is None:
                    return None
            elif not view.space.is_available():
                return None
            row = np.asarray(query_row(view, query), np.float32).reshape(1, -1)
            parts.append(comparable_rows(view.space, row))
        return join_rows(parts)

    def save(self, path: Path, views: Views) -> None:
        """Write the tagged pictures with their rows to a file, for another process."""
        ids = [] if self._model is None else self._model.ids_.tolist()
        found, rows = self.rows_of(views, ids)
        text = json.dumps([self.tags[image] for image in found]).encode()
        tags = np.frombuffer(text, np.uint8)
        with path.open("wb") as file:
            np.savez(file, ids=np.asarray(found, np.int64), rows=rows, tags=tags)

    @classmethod
    def open(cls, path: Path) -> Evidence:
        """Read what :meth:`save` wrote; it follows no catalog."""
        made = cls(())
        with np.load(path) as file:
            ids, rows = file["ids"].tolist(), file["rows"]
            tags = json.loads(file["tags"].tobytes())
        if ids:
            made._model = MixedAnnotator(alpha=ALPHA, widest=WIDEST).partial_fit(rows, tags, ids)
            made.tags = dict(zip(ids, tags, strict=True))
        return made

    def reconstruct(
        self, rows: Rows, images: Sequence[int] = (), mix: float = 0.0
    ) -> list[Reconstruction]:
        """Reconstruct each row from the tagged pictures, without ``images``.

        ``mix`` is the weight of the linear classifier in the scores.
        """
        asked = self._ask(rows, images)
        if asked is None:
            return [Reconstruction([], {}, {}) for _ in rows]
        ids, codes, opinions = asked
        found = []
        for a, b, opinion in zip(codes.indptr[:-1], codes.indptr[1:], opinions, strict=True):
            shares = list(
                zip(ids[codes.indices[a:b]].tolist(), codes.data[a:b].tolist(), strict=True)
            )
            shares.sort(key=lambda one: (-one[1], one[0]))
            tags = {image: self.tags[image] for image, _ in shares}
            found.append(Reconstruction(shares, tags, opinion.scores(mix)))
        return found

    def opinions(self, rows: Rows, images: Sequence[int] = ()) -> list[Opinion]:
        """Return shares and odds of every tag for each row, without ``images``."""
        asked = self._ask(rows, images)
        return [Opinion([], np.zeros(0), None) for _ in rows] if asked is None else asked[2]

    def nearest(
        self, row: Rows, tags: Sequence[str], k: int, images: Sequence[int] = ()
    ) -> dict[str, list[int]]:
        """Return, for each tag, the k pictures with it that are most similar to a row."""
        if self._model is None or not tags:
            return {}
        place = {name: at for at, name in enumerate(self._model.tags_)}
        own = [image for image in images if image in self.tags]
        found = self._model.sparse_.nearest(row, [place[tag] for tag in tags], k, own or None)
        return {tag: [i for i, _ in some] for tag, some in zip(tags, found, strict=True)}

    def _ask(self, rows: Rows, images: Sequence[int]) -> tuple[Any, Any, list[Opinion]] | None:
        """Return (ids, coefficients, opinions); None where no other picture is tagged."""
        own = [image for image in images if image in self.tags]
        if self._model is None or len(own) == len(self.tags):
            return None
        with warnings.catch_warnings():
            # A row of zeros has no code, and a solution that stopped early is usable.
            warnings.simplefilter("ignore")
            codes, shares, odds = self._model.opinions(rows, own or None)
        some = np.abs(rows).max(axis=1, initial=0) > 0
        opinions = [
            Opinion(self._model.tags_, one, odds[at] if odds is not None and some[at] else None)
            for at, one in enumerate(shares)
        ]
        return self._model.ids_, codes, opinions


def rows_of(views: Sequence[DenseView], images: Sequence[int]) -> tuple[list[int], Rows]:
    """Return the pictures with a row in every view, and their rows joined."""
    found = list(images)
    parts: list[tuple[DenseView, Rows]] = []
    for view in views:
        found, rows = view.rows_of(found)
        parts.append((view, rows))
    # Rows are fetched again only where a later view lacks some pictures.
    return found, join_rows(
        [rows if len(rows) == len(found) else view.rows_of(found)[1] for view, rows in parts]
    )


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Join the rows of several spaces, so that the cosine is the mean of their cosines."""
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0], np.float32)
    return np.ascontiguousarray(np.hstack(parts) / np.float32(np.sqrt(len(parts))), np.float32)
