"""Explain why a picture was found: by the space that ranked it, and by nothing else.

Where words ranked: the words that both pictures share, and where they lie.  Where a network's row
ranked: a heat map of each picture.  Such a row is the mean of a map of cells; made linear in its
cells (``Space.find_parts``), the score is the sum over the cells of one picture of ``<cell, row of
the other>``: nothing is estimated, and the numbers of a heat map add up to the score that ranked.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.segments import apply_idf
from likewise.catalog.store import ImageRow
from likewise.errors import CollectionError, NoPlaces, UnknownPicture
from likewise.search.query import Query, Region, ResolvedQuery, query_row
from likewise.search.reranker import ProfileReranker
from likewise.search.similarities import can_explain, can_split
from likewise.search.sparse_view import SparseView
from likewise.search.views import Views
from likewise.spaces.base import DECODE_SIDE, Space
from likewise_methods.coding import count

_ROWS = ("top", "middle", "bottom")
_COLUMNS = ("left", "middle", "right")
_THIRDS = 3


class Area(NamedTuple):
    """A ninth of a picture by its name, and its share of the likeness."""

    name: str
    share: float


@dataclass(frozen=True)
class HeatMap:
    """What each cell of a picture adds to the score.

    Attributes
    ----------
    cells : array of shape (rows, columns)
        Negative cells speak against the likeness.
    box : (x, y, width, height)
        What the cells cover, in pixels of the picture.
    rest : float
        What lies nowhere in this picture: in a query, what the pictures that were liked and
        disliked under it add.

    See Also
    --------
    Explanation : has one of each picture.
    """

    cells: NDArray[np.float64]
    box: tuple[int, int, int, int]
    rest: float = 0.0

    @property
    def total(self) -> float:
        """All cells and the rest: the score."""
        return float(self.cells.sum()) + self.rest

    def areas(self, most: int = 3) -> list[Area]:
        """Ninths of the picture that add most to the likeness, for where nothing can be drawn.

        >>> cells = np.zeros((7, 7))
        >>> cells[0, :2], cells[3, 3] = 2.0, 1.0
        >>> [(one.name, round(one.share, 2)) for one in HeatMap(cells, (0, 0, 70, 70)).areas()]
        [('top left', 0.8), ('middle', 0.2)]
        """
        warm = np.maximum(self.cells, 0)
        if warm.sum() <= 0:
            return []
        down, across = (_thirds(n) for n in self.cells.shape)
        shares = down @ warm @ across.T / warm.sum()
        found = [
            Area(_name(row, column), float(shares[row, column]))
            for row in range(_THIRDS)
            for column in range(_THIRDS)
            if shares[row, column] > 0
        ]
        return sorted(found, key=lambda one: -one.share)[:most]


def _thirds(n: int) -> NDArray[np.float64]:
    """Return how much of each of n equal lengths lies in each third of them all: (3, n)."""
    edges = np.arange(n + 1) / n * _THIRDS
    low, high = edges[:-1], edges[1:]
    thirds = np.arange(_THIRDS)[:, None]
    inside = np.minimum(high, thirds + 1) - np.maximum(low, thirds)
    return np.asarray(np.maximum(inside, 0) * n / _THIRDS)


def _name(row: int, column: int) -> str:
    words = [_ROWS[row], _COLUMNS[column]]
    return "middle" if words == ["middle", "middle"] else " ".join(words)


@dataclass(frozen=True)
class SharedWord:
    """A word both pictures have: what it adds to the score, and its places (x, y) in each."""

    word: int
    contribution: float
    in_query: NDArray[np.float32]
    in_hit: NDArray[np.float32]


@dataclass(frozen=True)
class Explanation:
    """The score in ``space`` and what makes it: shared words, or a heat map of each picture.

    Attributes
    ----------
    score : float
        The score.
    words : tuple of SharedWord
        The shared words that add most to it, largest first.
    n_shared : int
        All words they share.
    space : str
        The space that explains.
    in_query, in_hit : HeatMap or None
        Of each picture; the cells of either add up to the score.
    exact : bool
        Whether that score is what ranked; not where several spaces are fused or something was
        learned over the space.

    See Also
    --------
    HeatMap : what each cell adds.
    NoPlaces : where nothing can be shown.
    """

    score: float
    words: tuple[SharedWord, ...] = ()
    n_shared: int = 0
    space: str = ""
    in_query: HeatMap | None = None
    in_hit: HeatMap | None = None
    exact: bool = True


class _Parts(NamedTuple):
    """A query's row as it is searched with, the parts that add up to it, and what they cover."""

    row: NDArray[np.float64]
    parts: NDArray[np.float64]
    shape: tuple[int, ...]
    box: tuple[int, int, int, int]


class Explainer:
    """Explains hits of one query in one space; the query's picture is decoded once.

    With a ``reranker`` words and cells count as its profile counts them; words that only judgements
    brought into the query have no place there.  Places are in pixels of the pictures as they are on
    disk (of the array, for an array), also where only a ``region`` of the query was searched with.
    """

    def __init__(
        self,
        views: Views,
        query: Query,
        resolved: ResolvedQuery,
        space: str,
        *,
        region: Region | None = None,
        reranker: ProfileReranker | None = None,
        exact: bool = True,
    ) -> None:
        self._views, self._view = views, views.view(space)
        self._query, self._resolved, self._region = query, resolved, region
        self._reranker, self._exact = reranker, exact

    @property
    def _space(self) -> Space:
        return self._view.space

    def explain(self, hit: int, top: int = 10) -> Explanation:
        """Explain one hit: at most ``top`` shared words, or two heat maps."""
        row = self._views.store.image(hit)
        if row is None:
            raise UnknownPicture(f"there is no picture with id {hit}")
        if self._resolved.vector is not None:
            raise CollectionError("a vector has no places; explain a picture")
        if self._resolved.several:
            raise CollectionError("several pictures have no places; explain one picture")
        if can_split(self._space):
            return self._compare_parts(row)
        if not isinstance(self._view, SparseView) or not can_explain(self._space):
            raise NoPlaces(f"space {self._space.name!r} has no places to explain by")
        return self._compare_words(row, top)

    def _compare_words(self, hit: ImageRow, top: int) -> Explanation:
        asked, corner, q = self._query_words
        found = self._space.find_places(self._views.decode_pixels(hit.path, None, None))
        product = q.multiply(self._count_words(found)).tocsr()
        order = np.lexsort((product.indices, -product.data))[:top]
        shared = tuple(
            SharedWord(
                int(product.indices[i]),
                float(product.data[i]),
                asked.positions[(asked.columns == product.indices[i]).any(axis=1)] + corner,
                found.positions[(found.columns == product.indices[i]).any(axis=1)],
            )
            for i in order
        )
        return Explanation(
            float(product.sum()), shared, int(product.nnz), self._space.name, exact=self._exact
        )

    @cached_property
    def _query_words(self) -> tuple[Any, NDArray[np.float32], Any]:
        """Find the words of the query: their places, the corner of its region, and its row."""
        corner = np.zeros(2, np.float32)
        if self._region is not None:
            corner = np.floor(np.maximum(self._region[:2], 0)).astype(np.float32)
        asked = self._space.find_places(self._full_pixels())
        row = self._count_words(asked)
        return asked, corner, row if self._reranker is None else self._reranker.row(self._view, row)

    def _count_words(self, places: Any) -> Any:
        return apply_idf(self._view.idf, count(places.columns, self._space.width, places.shares))

    def _compare_parts(self, hit: ImageRow) -> Explanation:
        """Compute a heat map of the query and one of the hit.

        With q the query's row as it is searched with, z the hit's and p its parts, the hit's cells
        are ``<p, q>``.  A reranker maps the query's row linearly and adds what judged pictures
        bring, so that the query's cells are ``<that map of its parts, z>`` and the rest is that.
        """
        query = self._query_parts
        answer = self._view.row_of(hit.id)
        if answer is None:
            raise UnknownPicture(f"picture {hit.id} has no vector in space {self._space.name!r}")
        z = _plain(answer)
        score = float(query.row @ z)
        own = (query.parts @ z).reshape(query.shape)
        rest = score - float(own.sum()) if self._reranker is not None else 0.0
        pixels = self._views.decode_pixels(hit.path, DECODE_SIDE, None)
        return Explanation(
            score,
            space=self._space.name,
            in_query=HeatMap(own, query.box, rest),
            in_hit=HeatMap(
                self._space.find_parts(pixels) @ query.row, (0, 0, hit.width, hit.height)
            ),
            exact=self._exact,
        )

    @cached_property
    def _query_parts(self) -> _Parts:
        row = query_row(self._view, self._resolved)
        pixels, box = self._searched_pixels()
        grid = self._space.find_parts(pixels)
        parts = grid.reshape(-1, grid.shape[-1])
        if self._reranker is not None:
            parts = self._reranker.split(self._view, row, parts)
            row = self._reranker.row(self._view, row)
        q = _plain(row)
        if not self._space.row_format.is_sparse:
            # A dense view compares directions.
            length = float(np.linalg.norm(q)) or 1.0
            q, parts = q / length, parts / length
        return _Parts(q, parts, grid.shape[:2], box)

    def _searched_pixels(self) -> tuple[NDArray[np.uint8], tuple[int, int, int, int]]:
        """Return the pixels that were searched with, and where they lie in the whole picture."""
        pixels = self._resolved.pixels
        if pixels is None:
            row = self._own_row()
            pixels = self._views.decode_pixels(row.path, DECODE_SIDE, None)
            return pixels, (0, 0, row.width, row.height)
        height, width = pixels.shape[:2]
        left, top = (max(0, math.floor(at)) for at in (self._region or (0.0, 0.0))[:2])
        return pixels, (left, top, width, height)

    def _full_pixels(self) -> NDArray[np.uint8]:
        """Return the pixels of the query's file, or the region of it, at full size."""
        query, pixels = self._query, self._resolved.pixels
        if self._region is None and isinstance(query, str | os.PathLike | bytes):
            # The search has shrunk it.
            return self._views.decode_pixels(query, None, None)
        return (
            self._views.decode_pixels(self._own_row().path, None, None)
            if pixels is None
            else pixels
        )

    def _own_row(self) -> ImageRow:
        assert self._resolved.image is not None
        row = self._views.store.image(self._resolved.image)
        assert row is not None
        return row


def _plain(row: Any) -> NDArray[np.float64]:
    dense = row.toarray()[0] if hasattr(row, "toarray") else np.asarray(row)
    return np.asarray(dense, np.float64)
