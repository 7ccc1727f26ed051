"""From a question to ranked pictures: queries, similarities, filters, fusion.

A query becomes one row in the space of the similarity asked for; the space's view ranks it.
``both`` fuses the rankings of words and the best dense space by reciprocal ranks, of their first
thousand places (or ten times what is asked for).  Filters never change the ranking of a space:
more is asked for until enough of it passes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.collection.catalog.catalog import Catalog, SpaceRow
from likewise.collection.catalog.models import Model
from likewise.collection.errors import CollectionError, UnknownPicture
from likewise.collection.finding.live import Live, View
from likewise.collection.growing import generations as gen
from likewise.collection.growing.adding import is_text
from likewise.collection.vectors.extraction import digest_of, read_content
from likewise.collection.vectors.recipes import DECODE_SIDE, Step, made_here, vector_of
from likewise.collection.vectors.segments import unpack_dense, unpack_sparse
from likewise.errors import InvalidInput
from likewise.features.deep_errors import DeepMissing
from likewise.images import Picture, decode

# Cormack, Clarke & Büttcher (2009): rank r counts 1 / (60 + r).
FUSION_RANK = 60.0
FUSION_DEPTH = 1000
"""Places of each ranking that fusion looks at, or ten times k if that is more."""

DENSE_BY_WORTH = ("deep-dense", "vlad", "psc", "holistic")
"""Dense features by what their fusion with words finds (docs/results/psc.md), best first."""

REMEMBERED = 64
"""Rows of queries from outside that a view keeps: a search is often judged and then repeated."""

Region = tuple[float, float, float, float]


@dataclass(frozen=True)
class Hit:
    """One picture found; higher scores are better."""

    id: int
    path: str
    score: float


@dataclass(frozen=True)
class Figures:
    """What a learned similarity amounts to.

    ``agreement`` is the share of triplets that were right *before* they were learned (each
    judgement is a test, then a lesson), ``agreement_plain`` that of all words counting alike; None
    before the first.  ``triplets`` is how many were asked.  ``changed`` and ``sparsity`` are shares
    of the words of ``space``.
    """

    judgements: int
    agreement: float | None = None
    agreement_plain: float | None = None
    changed: float = 0.0
    sparsity: float = 0.0
    space: str | None = None
    triplets: int = 0


@dataclass(frozen=True)
class Similarity:
    """A way to rank: the spaces it looks at, with their weights in the fusion.

    A learned one has a ``profile``, whose ``figures`` are filled in by
    ``Collection.similarities``, or a ``model``: a metric or a map over its one space.
    """

    name: str
    spaces: Mapping[str, float]
    profile: str | None = None
    figures: Figures | None = None
    model: Model | None = None


@dataclass(frozen=True)
class Question:
    """A query, resolved: a picture of the collection, pixels, or a vector.

    ``key`` names its content, region included: the same question has the same key in any session.
    ``part_of`` is the picture of the collection that a region was taken from.
    """

    image: int | None = None
    pixels: NDArray[np.uint8] | None = None
    vector: Any = None
    key: bytes | None = None
    part_of: int | None = None


Query = int | str | os.PathLike[str] | bytes | NDArray[Any] | Picture | Question


class Teaching(Protocol):
    """What was learned, as far as it bears on one question."""

    last: Set[int]

    def row(self, view: View, row: Any) -> Any:
        """The question's row in a space, changed by what was learned."""


def similarities(spaces: Mapping[str, SpaceRow], preferred: str | None) -> dict[str, Similarity]:
    """Every built-in similarity: one for each space, ``both``, and ``default``."""
    found = {name: Similarity(name, {name: 1.0}) for name in spaces}
    if {"words", "holistic"} <= set(spaces):
        pair = ("words", best_dense(spaces))
        # While there are no words yet, what is there ranks alone.
        ready = [name for name in pair if spaces[name].generation]
        found["both"] = Similarity("both", dict.fromkeys(ready or pair, 1.0))
    deep = spaces.get("deep")
    has_deep = deep is not None and deep.generation and deep.recipe["feature"] == "deep"
    usual = "deep" if has_deep else "both" if "both" in found else next(iter(found))
    chosen = preferred if preferred in found else usual
    found["default"] = Similarity("default", found[chosen].spaces)
    return found


def best_dense(spaces: Mapping[str, SpaceRow]) -> str:
    """The dense space that ``both`` fuses with words: the best there is, and can be asked here.

    A space whose vectors cannot be made on this machine could not rank a new picture.
    """
    for feature in DENSE_BY_WORTH:
        for name in sorted(spaces, key=lambda name: name != feature):
            space = spaces[name]
            if space.recipe["feature"] == feature and space.generation and made_here(space.recipe):
                return name
    return "holistic"


def understand(catalog: Catalog, query: Query, region: Region | None) -> Question:
    """What a query is: an id, a path, encoded bytes, pixels, or a vector."""
    if isinstance(query, Question):
        if region is not None:
            raise InvalidInput("a question has its region already")
        return query
    if isinstance(query, bool):
        raise InvalidInput("a query is an id, a path, bytes, pixels or a vector; got a bool")
    if isinstance(query, int | np.integer):
        row = catalog.image(int(query))
        if row is None:
            raise UnknownPicture(f"there is no picture with id {query}")
        key = catalog.hash_of(int(query))
        if region is None:
            return Question(image=int(query), key=key)
        pixels = decode(row.path, max_side=None).pixels
        return Question(pixels=cropped(pixels, region), key=_key(key, region), part_of=int(query))
    if isinstance(query, np.ndarray) and query.dtype == np.uint8 and query.ndim in (2, 3):
        return _pixels(query, region)
    if isinstance(query, Picture):
        return _pixels(query.pixels, region)
    if isinstance(query, np.ndarray) or hasattr(query, "tocsr"):
        if region is not None:
            raise InvalidInput("a vector has no region")
        return Question(vector=query)
    if isinstance(query, bytes | bytearray | memoryview):
        content, name = bytes(query), None
    elif isinstance(query, str | os.PathLike):
        name = os.path.abspath(Path(query).expanduser())
        if region is None and (image := _unchanged(catalog, name)) is not None:
            return Question(image=image, key=catalog.hash_of(image))
        content = read_content(name)
    else:
        raise InvalidInput(
            f"a query is an id, a path, bytes, pixels or a vector; got {type(query).__name__}"
        )
    digest = digest_of(content)
    if name is None and region is None and (known := catalog.image_of_hash(digest)) is not None:
        return Question(image=known, key=digest)
    # By its name where it has one: what is wrong with it is then said about that file.  A copy
    # that lies elsewhere is a question of its own, and the picture in the collection its answer.
    picture = decode(content if name is None else name, max_side=None if region else DECODE_SIDE)
    part_of = None if region is None else catalog.image_of_hash(digest)
    pixels = cropped(picture.pixels, region)
    return Question(pixels=pixels, key=_key(digest, region), part_of=part_of)


def key_of(catalog: Catalog, query: Query, region: Region | None) -> bytes | None:
    """What names a query, region included; nothing is decoded where it can be helped."""
    if isinstance(query, int | np.integer) and not isinstance(query, bool):
        key = catalog.hash_of(int(query))
        if key is not None:
            return _key(key, region)
    if isinstance(query, bytes | bytearray | memoryview):
        return _key(digest_of(bytes(query)), region)
    return understand(catalog, query, region).key


def _pixels(pixels: NDArray[np.uint8], region: Region | None) -> Question:
    whole = digest_of(repr(pixels.shape).encode() + np.ascontiguousarray(pixels).tobytes())
    return Question(pixels=cropped(pixels, region), key=_key(whole, region))


def _key(digest: bytes | None, region: Region | None) -> bytes | None:
    """What names a question: its content, and the region where there is one."""
    if region is None or digest is None:
        return digest
    return digest_of(digest + repr(tuple(float(x) for x in region)).encode())


def _unchanged(catalog: Catalog, path: str) -> int | None:
    """The picture of the collection that lies at a path, if the file is still the same."""
    row = catalog.file(path) if is_text(path) else None
    if row is None or row.image is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    same = (status.st_size, status.st_mtime_ns) == (row.size, row.mtime_ns)
    return row.image if same else None


def cropped(pixels: NDArray[np.uint8], region: Region | None) -> NDArray[np.uint8]:
    """The part (x, y, w, h) of a picture, in its own pixels."""
    if region is None:
        return pixels
    height, width = pixels.shape[:2]
    if len(region) != 4 or not np.isfinite(region).all():
        raise InvalidInput(f"region is {region}; four finite numbers x, y, w, h expected")
    x, y, w, h = region
    left, top = max(0, int(np.floor(x))), max(0, int(np.floor(y)))
    right, bottom = min(width, int(np.ceil(x + w))), min(height, int(np.ceil(y + h)))
    if w <= 0 or h <= 0 or left >= right or top >= bottom:
        raise InvalidInput(
            f"region {region} has no pixel of the {width} x {height} picture; x, y, w, h expected"
        )
    return np.ascontiguousarray(pixels[top:bottom, left:right])


def ranked_row(root: Path, view: View, question: Question) -> Any:
    """The question as a row of the view's space, weighted as the index holds rows."""
    space = view.space
    if question.image is not None:
        row = view.row_of(question.image)
        if row is None:
            raise UnknownPicture(
                f"picture {question.image} has no vector in space {space.name!r}; {_remedy(space)}"
            )
        return row
    if question.vector is not None:
        return _given_vector(space, question.vector)
    assert question.pixels is not None
    if question.key is not None and (seen := view.remembered.get(question.key)) is not None:
        return seen
    row = _described(root, view, question.pixels)
    if question.key is not None:
        if len(view.remembered) >= REMEMBERED:
            view.remembered.clear()
        view.remembered[question.key] = row
    return row


def _remedy(space: SpaceRow) -> str:
    """What somebody can do whose picture lacks its vector in a space: why it does differs."""
    feature = space.recipe["feature"]
    if feature == "own":
        return f"give it one: likewise space fill {space.name}, or search --by both"
    if not made_here(space.recipe):
        return "run likewise add again with the extra deep installed, or search --by both"
    # Nothing is missing here, so its file was: ``both`` may ask the same space again.
    other = "words" if feature == "holistic" else "holistic"
    return f"run likewise add again once its file can be read, or search --by {other}"


def _described(root: Path, view: View, pixels: NDArray[np.uint8]) -> Any:
    """The row of a picture that is not in the collection."""
    space = view.space
    if space.recipe["feature"] == "own":
        raise CollectionError(
            f"space {space.name!r} holds your own vectors; search it by id or by vector"
        )
    step: Step = gen.step_of(root, space)
    try:
        blob = vector_of(step, pixels)
    except DeepMissing as error:
        raise CollectionError(
            f"space {space.name!r} cannot describe a new picture here: {error}; or search by "
            "another similarity (both, say), or for a picture of the collection"
        ) from error
    assert blob is not None
    if space.kind == "dense":
        return unpack_dense([blob], space.width)[0]
    return gen.ranked(getattr(view, "bag", None), unpack_sparse([blob], space.width))


def _given_vector(space: SpaceRow, vector: Any) -> Any:
    from scipy import sparse

    if space.kind == "sparse":
        row = sparse.csr_array(vector) if not hasattr(vector, "tocsr") else vector.tocsr()
        row = row.reshape((1, -1)) if row.ndim == 1 else row
    else:
        row = np.asarray(vector, np.float32).reshape(1, -1)
    if row.shape[0] != 1 or row.shape[1] != space.width:
        raise InvalidInput(
            f"the vector has shape {np.shape(vector)}; {space.width} numbers expected "
            f"for space {space.name!r}"
        )
    return row if space.kind == "sparse" else row[0]


def rank(
    root: Path,
    live: Live,
    similarity: Similarity,
    question: Question,
    k: int,
    *,
    allowed: set[int] | None,
    above: float | None,
    teaching: Teaching | None = None,
) -> tuple[list[int], list[float]]:
    """Ids and scores, best first: at most k that are allowed and score above the cut-off.

    Pictures a teaching names last come after all others, if at all.
    """
    views = views_of(live, similarity)
    rows = {name: ranked_row(root, view, question) for name, view in views.items()}
    last: Set[int] = frozenset()
    if teaching is not None:
        rows = {name: teaching.row(views[name], row) for name, row in rows.items()}
        last = teaching.last
    size = max(len(view) for view in views.values())
    wanted = k + (question.image is not None) + len(last)
    while True:
        ids, scores = _rank_once(similarity, views, rows, min(wanted, size))
        keep = [
            (int(i), float(s))
            for i, s in zip(ids, scores, strict=True)
            if i != question.image
            and (allowed is None or int(i) in allowed)
            and (above is None or s >= above)
        ]
        low = above is not None and len(scores) > 0 and float(scores[-1]) < above
        if len(keep) - len(last) >= k or wanted >= size or low:
            keep = _with_last(keep, last)[:k]
            return [i for i, _ in keep], [s for _, s in keep]
        wanted = min(size, 8 * wanted)


def views_of(live: Live, similarity: Similarity) -> dict[str, View]:
    """The views a similarity ranks by, by space: its model's own where it has one."""
    if similarity.model is not None:
        return {similarity.model.space: live.models.view(similarity.model.name)}
    return {name: live.view(name, similarity.profile) for name in similarity.spaces}


def _with_last(found: list[tuple[int, float]], last: Set[int]) -> list[tuple[int, float]]:
    """Some pictures after all others, with scores that say so."""
    if not last:
        return found
    first = [hit for hit in found if hit[0] not in last]
    floor = first[-1][1] if first else np.inf
    return first + [(image, min(score, floor)) for image, score in found if image in last]


def _rank_once(
    similarity: Similarity, views: Mapping[str, View], rows: Mapping[str, Any], wanted: int
) -> tuple[Sequence[int], Sequence[float]]:
    if len(views) == 1:
        ((name, view),) = views.items()
        ids, scores = view.search_ranked(rows[name], wanted)
        return ids.tolist(), scores.tolist()
    depth = max(FUSION_DEPTH, 10 * wanted)
    total: dict[int, float] = {}
    for name, view in views.items():
        ids, scores = view.search_ranked(rows[name], depth)
        # Pictures without a word in common are in no order; their places would be noise.
        ranked = ids[scores > 0] if view.space.kind == "sparse" else ids
        for place, image in enumerate(ranked.tolist()):
            share = similarity.spaces[name] / (FUSION_RANK + 1 + place)
            total[image] = total.get(image, 0.0) + share
    order = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:wanted]
    return [image for image, _ in order], [score for _, score in order]
