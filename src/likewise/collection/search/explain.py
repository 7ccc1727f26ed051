"""Why a picture was found: the columns both pictures share, and where they lie.

Which space explains is decided here and nowhere else: one whose kind knows places in a picture.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.coding.bow import count
from likewise.collection.errors import CollectionError, NoPlaces, UnknownPicture
from likewise.collection.search.pixels import crop
from likewise.collection.search.query import Query, Region, resolve_query
from likewise.collection.search.rank import Reranker
from likewise.collection.search.similarities import Similarity
from likewise.collection.search.sparse_view import SparseView
from likewise.collection.search.views import Views
from likewise.collection.spaces.base import Space, ranked_spaces
from likewise.collection.store.row_formats import apply_idf


@dataclass(frozen=True)
class SharedWord:
    """A word both pictures have: what it adds to the score, and its places (x, y) in each."""

    word: int
    contribution: float
    in_query: NDArray[np.float32]
    in_hit: NDArray[np.float32]


@dataclass(frozen=True)
class Explanation:
    """The score and the words that make most of it, largest first."""

    score: float
    words: tuple[SharedWord, ...]
    n_shared: int


def can_explain(space: Space) -> bool:
    """Whether a space knows where its words lie in a picture, and has some."""
    return space.has_places and space.row_format.is_sparse and bool(space.generation)


def explaining_space(spaces: Mapping[str, Space], similarity: Similarity) -> str | None:
    """The space whose words say why a similarity found a picture: the one place that decides.

    The first of its own spaces whose words lie somewhere in a picture.  Where nobody chose a
    similarity without such words (``default``), what else the pictures share is told, by the
    kinds that offer themselves (``explain_rank``).  None where there is no such space.
    """
    asked = [spaces[name] for name in similarity.spaces if name in spaces]
    if similarity.name == "default":
        asked += ranked_spaces(spaces, lambda one: one.explain_rank)
    return next((one.name for one in asked if can_explain(one)), None)


def explain(
    views: Views,
    query: Query,
    hit: int,
    top: int,
    space: str,
    region: Region | None = None,
    reranker: Reranker | None = None,
) -> Explanation:
    """Find both pictures' words again and say which shared ones count most.

    With a ``reranker`` they count as its profile counts them; words that only judgements brought
    into the query have no place there.  Places are in pixels of the pictures as they are on disk
    (of the array, for an array), also where only a ``region`` of the query was asked for.
    """
    view = views.view(space)
    if not isinstance(view, SparseView) or not can_explain(view.space):
        raise NoPlaces(f"space {space!r} has no words to explain by; use a words space")
    row = views.store.image(hit)
    if row is None:
        raise UnknownPicture(f"there is no picture with id {hit}")
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
    return Explanation(float(product.sum()), shared, int(product.nnz))


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
