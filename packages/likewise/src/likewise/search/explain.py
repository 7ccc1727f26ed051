"""Why a picture was found: by what ranked it, and by nothing else.

Where words ranked: the words both pictures share, and where they lie.  Where a network's row did:
a heat map over each picture, whose cells add up to the score (``heat.py``).  Which space explains
is decided here and nowhere else: the first of those that rank whose kind knows places.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.segments import apply_idf
from likewise.errors import CollectionError, NoPlaces, UnknownPicture
from likewise.search.heat import HeatMap
from likewise.search.pixels import crop
from likewise.search.query import Query, Region, query_row, resolve_query
from likewise.search.rank import Reranker
from likewise.search.similarities import Similarity
from likewise.search.sparse_view import SparseView
from likewise.search.views import SpaceView, Views
from likewise.spaces.base import DECODE_SIDE, Space
from likewise_methods.coding import count


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
        The shared words that make most of it, largest first.
    n_shared : int
        All words they share.
    space : str
        The space that explains.
    in_query, in_hit : HeatMap or None
        Of each picture; the cells of either add up to the score.
    exact : bool
        That score is what ranked; not where several spaces are fused or something was learned over
        the space.

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


def can_explain(space: Space) -> bool:
    """Whether a space knows where its words lie in a picture, and has some."""
    return space.has_places and space.row_format.is_sparse and bool(space.generation)


def can_split(space: Space) -> bool:
    """Whether a space can say here what each place of a picture adds to its row."""
    return space.splits_rows and bool(space.generation) and space.is_available()


def explaining_space(spaces: Mapping[str, Space], similarity: Similarity) -> str | None:
    """The space that says why a similarity found a picture: the one place that decides.

    The first of the spaces that rank which knows places in a picture, by words or by a heat map.
    None where there is no such space: what did not rank explains nothing.
    """
    asked = [spaces[name] for name in similarity.spaces if name in spaces]
    return next((one.name for one in asked if can_explain(one) or can_split(one)), None)


def explain(
    views: Views,
    query: Query,
    hit: int,
    top: int,
    space: str,
    region: Region | None = None,
    reranker: Reranker | None = None,
) -> Explanation:
    """What of both pictures makes their score in a space, found in their pixels again.

    With a ``reranker`` they count as its profile counts them; words that only judgements brought
    into the query have no place there.  Places are in pixels of the pictures as they are on disk
    (of the array, for an array), also where only a ``region`` of the query was asked for.
    """
    view = views.view(space)
    row = views.store.image(hit)
    if row is None:
        raise UnknownPicture(f"there is no picture with id {hit}")
    if can_split(view.space):
        return _heat_maps(views, view, query, hit, region, reranker)
    if not isinstance(view, SparseView) or not can_explain(view.space):
        raise NoPlaces(f"space {space!r} has no places to explain by; use a words space")
    pixels = _pixels_of(views, query)
    corner = np.zeros(2, np.float32)
    if region is not None:
        pixels = crop(pixels, region)
        corner = np.floor(np.maximum(region[:2], 0)).astype(np.float32)
    answer = views.pixels_of(row.path, None, None)
    asked, found = (view.space.find_places(one) for one in (pixels, answer))
    q, h = (
        apply_idf(view.idf, count(one.columns, view.space.width, one.shares))
        for one in (asked, found)
    )
    if reranker is not None:
        q = reranker.row(view, q)
    product = q.multiply(h).tocsr()
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
    return Explanation(float(product.sum()), shared, int(product.nnz), space)


def _heat_maps(
    views: Views,
    view: SpaceView,
    query: Query,
    hit: int,
    region: Region | None,
    reranker: Reranker | None,
) -> Explanation:
    """A heat map of the query and one of the hit.

    With q the query's row as it is asked, z the hit's and p its parts, the hit's cells are
    ``<p, q>``.  What a reranker does to the query's row is a linear map of it plus what judged
    pictures bring, so that its own cells are ``<that map of its parts, z>`` and the rest is that.
    """
    space = view.space
    question = resolve_query(views.store, query, region, views.pixels_of)
    if question.vector is not None:
        raise CollectionError("a vector has no places; explain a picture")
    asked = query_row(view, question)
    answer = view.row_of(hit)
    if answer is None:
        raise UnknownPicture(f"picture {hit} has no vector in space {space.name!r}")
    shown = _shown_pixels(views, query, region)
    grid = space.find_parts(shown.pixels)
    parts = grid.reshape(-1, grid.shape[-1])
    if reranker is not None:
        parts = reranker.split(view, asked, parts)
        asked = reranker.row(view, asked)
    q, z = _plain(asked), _plain(answer)
    if not space.row_format.is_sparse:
        # A dense view compares directions.
        length = float(np.linalg.norm(q)) or 1.0
        q, parts = q / length, parts / length
    score = float(q @ z)
    own = (parts @ z).reshape(grid.shape[:2])
    # What the query's own places do not say was brought by what people said about it.
    rest = score - float(own.sum()) if reranker is not None else 0.0
    row = views.store.image(hit)
    assert row is not None
    other = space.find_parts(views.pixels_of(row.path, DECODE_SIDE, None)) @ q
    return Explanation(
        score,
        space=space.name,
        in_query=HeatMap(own, shown.box, rest),
        in_hit=HeatMap(other, (0, 0, row.width, row.height)),
    )


def _plain(row: Any) -> NDArray[np.float64]:
    dense = row.toarray()[0] if hasattr(row, "toarray") else np.asarray(row)
    return np.asarray(dense, np.float64)


class _Shown(NamedTuple):
    """The pixels that were asked with, and where they lie in the whole picture."""

    pixels: NDArray[np.uint8]
    box: tuple[int, int, int, int]


def _shown_pixels(views: Views, query: Query, region: Region | None) -> _Shown:
    """What of a query was described: the picture as searches decode it, or its region."""
    if region is None:
        resolved = resolve_query(views.store, query, None, views.pixels_of)
        if resolved.pixels is not None:
            height, width = resolved.pixels.shape[:2]
            return _Shown(resolved.pixels, (0, 0, width, height))
        assert resolved.image is not None
        row = views.store.image(resolved.image)
        assert row is not None
        pixels = views.pixels_of(row.path, DECODE_SIDE, None)
        return _Shown(pixels, (0, 0, row.width, row.height))
    pixels = crop(_pixels_of(views, query), region)
    height, width = pixels.shape[:2]
    left, top = (max(0, math.floor(at)) for at in region[:2])
    return _Shown(pixels, (left, top, width, height))


def _pixels_of(views: Views, query: Query) -> NDArray[np.uint8]:
    """The whole picture of a query, in the pixels of its file."""
    resolved = resolve_query(views.store, query, None, views.pixels_of)
    if resolved.vector is not None:
        raise CollectionError("a vector has no places; explain a picture")
    if isinstance(query, str | os.PathLike | bytes):
        # The search shrank it.
        return views.pixels_of(query, None, None)
    if resolved.pixels is not None:
        return resolved.pixels
    assert resolved.image is not None
    row = views.store.image(resolved.image)
    assert row is not None
    return views.pixels_of(row.path, None, None)
