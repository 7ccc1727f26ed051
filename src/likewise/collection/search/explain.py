"""Why a picture was found, and which pictures are nearly the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.collection.errors import CollectionError, UnknownPicture
from likewise.collection.search.searching import (
    Hit,
    Query,
    Region,
    Similarity,
    Teaching,
    cropped,
    understand,
)
from likewise.collection.search.views import SparseView, Views
from likewise.collection.spaces import rows as space_rows
from likewise.collection.spaces.recipes import learns, local_features, step_of, words_of
from likewise.collection.store.segments import unpack_sparse
from likewise.collection.store.store import SpaceRow
from likewise.images import decode


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


def explaining_space(spaces: Mapping[str, SpaceRow], similarity: Similarity) -> str | None:
    """The space whose words say why a similarity found a picture: the one place that decides.

    The first of its own spaces whose words lie somewhere in a picture.  Where nobody chose a
    similarity without such words (``default``), what else the pictures share is told, in
    ``deep-words`` rather than ``words``.  None where there is no such space.
    """
    others = ("deep-words", "words") if similarity.name == "default" else ()
    for name in (*similarity.spaces, *others):
        space = spaces.get(name)
        if space is not None and space.generation and learns(space.recipe):
            return space.name
    return None


def explain(
    views: Views,
    query: Query,
    hit: int,
    top: int,
    space: str,
    region: Region | None = None,
    teaching: Teaching | None = None,
) -> Explanation:
    """Recompute both pictures' words and say which shared ones count most.

    With a ``teaching`` they count as that profile counts them; words that only its judgements
    brought into the query have no place there.  Places are in pixels of the pictures as they are on
    disk (of the array, for an array), also where only a ``region`` of the query was asked for.
    """
    view = views.view(space)
    if not isinstance(view, SparseView) or not learns(view.space.recipe):
        raise CollectionError(f"space {space!r} has no words to explain by; use a words space")
    row = views.store.image(hit)
    if row is None:
        raise UnknownPicture(f"there is no picture with id {hit}")
    question = understand(views.store, query, None)
    if question.vector is not None:
        raise CollectionError("a vector has no places; explain a picture")
    if isinstance(query, str | os.PathLike | bytes):
        # The search shrank it; places are wanted in the pixels of the file.
        query_pixels = decode(query).pixels
    elif question.pixels is None:
        assert question.image is not None
        asked = views.store.image(question.image)
        assert asked is not None
        query_pixels = decode(asked.path).pixels
    else:
        query_pixels = question.pixels
    corner = np.zeros(2, np.float32)
    if region is not None:
        query_pixels = cropped(query_pixels, region)
        corner = np.floor(np.maximum(region[:2], 0)).astype(np.float32)
    step = step_of(views.store.root, view.space)
    words_here = words_of(step)
    sides = []
    for pixels in (query_pixels, decode(row.path).pixels):
        found = local_features(view.space.recipe, pixels)
        words, _ = words_here.assigned(found.descriptors)
        raw = unpack_sparse([words_here.counted(found.descriptors)], view.space.width)
        sides.append((space_rows.weighted(view.bag, raw), words, found.positions))
    (q, q_words, q_places), (h, h_words, h_places) = sides
    q_places = q_places + corner
    if teaching is not None:
        q = teaching.row(view, q)
    product = q.multiply(h).tocsr()
    order = np.lexsort((product.indices, -product.data))[:top]
    shared = tuple(
        SharedWord(
            int(product.indices[i]),
            float(product.data[i]),
            q_places[(q_words == product.indices[i]).any(axis=1)],
            h_places[(h_words == product.indices[i]).any(axis=1)],
        )
        for i in order
    )
    return Explanation(float(product.sum()), shared, int(product.nnz))


def duplicates(views: Views, space: str, threshold: float) -> list[list[Hit]]:
    """Groups of pictures linked by a score of at least ``threshold``, largest group first.

    The score of a hit is its best link inside the group.
    """
    view = views.view(space)
    parent: dict[int, int] = {}
    best: dict[int, float] = {}

    def find(i: int) -> int:
        while parent.setdefault(i, i) != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for picture in views.store.every_image():
        row = view.row_of(picture.id)
        if row is None:
            continue
        k = 8
        while True:
            ids, scores = view.search_ranked(row, k)
            if len(ids) < k or scores[-1] < threshold:
                break
            k *= 4
        for image, score in zip(ids.tolist(), scores.tolist(), strict=True):
            if image != picture.id and score >= threshold:
                parent[find(image)] = find(picture.id)
                for one in (image, picture.id):
                    best[one] = max(best.get(one, -np.inf), score)
    # Files with the same content are one picture; they are duplicates all the same.
    copies = views.store.copies()
    for image in copies:
        best[image] = max(best.get(image, -np.inf), 1.0)
    groups: dict[int, list[int]] = {}
    for image in best:
        groups.setdefault(find(image), []).append(image)
    rows = views.store.images(best)
    made = [
        [
            Hit(i, path, best[i])
            for i in sorted(group, key=lambda i: (-best[i], i))
            for path in copies.get(i, [rows[i].path])
        ]
        for group in groups.values()
    ]
    return sorted(made, key=lambda group: (-len(group), group[0].id))
