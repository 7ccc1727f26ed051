"""Resolve queries, and turn them into rows of spaces.

``resolve_query`` finds out once whether a query is a picture of the collection, pixels or a vector;
searches, judgements and explanations share the result.  ``query_row`` makes its row in a space.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.content import digest_of, is_text, read_content
from likewise.catalog.filters import absolute
from likewise.catalog.store import Store
from likewise.errors import (
    CollectionError,
    InvalidInput,
    LikewiseError,
    UnknownPicture,
    UnknownSpaceKind,
)
from likewise.images.decode import Picture, Source, decode
from likewise.search.learned_models import PlacedRow
from likewise.search.similarities import Similarity
from likewise.search.typed.evidence import IgnoredReasons
from likewise.search.typed.parse import TypedQuery
from likewise.spaces.base import DECODE_SIDE, Space
from likewise.vision.deep.libraries import DeepMissing

if TYPE_CHECKING:
    from likewise.search.views import View

Region = tuple[float, float, float, float]
DecodePixels = Callable[[Source, int | None, Region | None], NDArray[np.uint8]]
"""Decodes a file or bytes down to a longest side and cuts a region out; a server uses workers."""
REMEMBERED = 64
"""Rows of outside pictures that a view keeps: a search is often judged and then repeated."""
PICTURE_WEIGHT = 0.5
"""Weight of a picture that is searched for together with words."""
MAX_TOGETHER = 100
"""Pictures of one query."""


@dataclass(frozen=True)
class ResolvedQuery:
    """A query as a search uses it: a picture of the collection, pixels, a vector, or words.

    ``key`` names the content, region included: the same query has the same key in any session.
    ``part_of`` is the picture of the collection that a region was taken from.  ``text`` is what
    was typed, alone or with a picture.  ``several`` are pictures that are searched for together, by
    the mean of their rows.
    """

    image: int | None = None
    pixels: NDArray[np.uint8] | None = None
    vector: Any = None
    key: bytes | None = None
    part_of: int | None = None
    text: str | None = None
    several: tuple[ResolvedQuery, ...] = ()

    @property
    def own_pictures(self) -> frozenset[int]:
        """Pictures of the collection in the query; they are left out of its hits."""
        own = {self.image} | {one.image for one in self.several}
        return frozenset(image for image in own if image is not None)

    @property
    def has_picture(self) -> bool:
        """Whether it has a picture, with or without words."""
        return bool(
            self.image is not None
            or self.pixels is not None
            or self.vector is not None
            or self.several
        )

    @property
    def is_typed(self) -> bool:
        """Whether it is words alone, and so has no row of its own."""
        return self.text is not None and not self.has_picture


@dataclass(frozen=True)
class SearchRequest:
    """One search: the query, the similarity to rank by, and which results are wanted.

    ``where`` is a filter as ``plain_where`` gives it; ``above`` the lowest score.  The rest is for
    typed words: the text, reasons that do not count, the weight of the picture of the query, and
    the day that "last week" is counted from.
    """

    query: ResolvedQuery
    similarity: Similarity
    k: int
    where: Mapping[str, Any] | None = None
    above: float | None = None
    text: TypedQuery | None = None
    ignored: IgnoredReasons = field(default_factory=IgnoredReasons)
    picture_weight: float = PICTURE_WEIGHT
    today: date = field(default_factory=date.today)


One = int | str | os.PathLike[str] | bytes | NDArray[Any] | Picture | ResolvedQuery
Query = One | Sequence[One]
"""One picture, or several to search for together."""


def decode_in_process(
    source: Source, max_side: int | None, region: Region | None
) -> NDArray[np.uint8]:
    """Decode a picture in this process."""
    return crop(decode(source, max_side=max_side).pixels, region)


def crop(pixels: NDArray[np.uint8], region: Region | None) -> NDArray[np.uint8]:
    """Return the part (x, y, w, h) of a picture, in its own pixels."""
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


def resolve_query(
    store: Store,
    query: Query,
    region: Region | None,
    decode_pixels: DecodePixels = decode_in_process,
) -> ResolvedQuery:
    """Resolve an id, a path, encoded bytes, pixels, a vector, or a list of these."""
    if isinstance(query, list | tuple):
        return _resolve_several(store, query, region, decode_pixels)
    if isinstance(query, ResolvedQuery):
        if region is not None:
            raise InvalidInput("a resolved query has its region already")
        return query
    if isinstance(query, bool):
        raise InvalidInput("a query is an id, a path, bytes, pixels or a vector; got a bool")
    if isinstance(query, int | np.integer):
        row = store.image(int(query))
        if row is None:
            raise UnknownPicture(f"there is no picture with id {query}")
        key = store.hash_of(int(query))
        if region is None:
            return ResolvedQuery(image=int(query), key=key)
        pixels = decode_pixels(row.path, None, region)
        return ResolvedQuery(pixels=pixels, key=_content_key(key, region), part_of=int(query))
    if isinstance(query, np.ndarray) and query.dtype == np.uint8 and query.ndim in (2, 3):
        return _resolve_pixels(query, region)
    if isinstance(query, Picture):
        return _resolve_pixels(query.pixels, region)
    if isinstance(query, np.ndarray) or hasattr(query, "tocsr"):
        if region is not None:
            raise InvalidInput("a vector has no region")
        return ResolvedQuery(vector=query)
    if isinstance(query, bytes | bytearray | memoryview):
        content: bytes | Path = bytes(query)
        name = None
    elif isinstance(query, str | os.PathLike):
        name = str(absolute(query))
        if region is None and (image := _find_unchanged(store, name)) is not None:
            return ResolvedQuery(image=image, key=store.hash_of(image))
        content = read_content(name)
    else:
        raise InvalidInput(
            f"a query is an id, a path, bytes, pixels or a vector; got {type(query).__name__}"
        )
    digest = digest_of(content)
    if name is None and region is None and (known := store.image_of_hash(digest)) is not None:
        return ResolvedQuery(image=known, key=digest)
    # Decode by name where there is one, so that an error names the file.  A copy in another place
    # is a query of its own, and the picture in the collection is its best hit.
    source = content if name is None else name
    pixels = decode_pixels(source, None if region else DECODE_SIDE, region)
    part_of = None if region is None else store.image_of_hash(digest)
    return ResolvedQuery(pixels=pixels, key=_content_key(digest, region), part_of=part_of)


def _resolve_several(
    store: Store, queries: Sequence[One], region: Region | None, decode_pixels: DecodePixels
) -> ResolvedQuery:
    if region is not None:
        raise InvalidInput("several pictures have no region; search with one of them")
    if not 0 < len(queries) <= MAX_TOGETHER:
        raise InvalidInput(f"{len(queries)} pictures in one query; 1 to {MAX_TOGETHER} expected")
    parts = tuple(resolve_query(store, one, None, decode_pixels) for one in queries)
    if len(parts) == 1:
        return parts[0]
    if any(part.several for part in parts):
        raise InvalidInput("a list of pictures holds a list; pictures expected")
    # The order of the pictures does not count.
    keys = sorted(part.key for part in parts if part.key is not None)
    complete = len(keys) == len(parts)
    return ResolvedQuery(several=parts, key=digest_of(b"".join(keys)) if complete else None)


def query_key(store: Store, query: Query, region: Region | None) -> bytes | None:
    """Return the key of a query, without decoding it where possible."""
    if isinstance(query, int | np.integer) and not isinstance(query, bool):
        key = store.hash_of(int(query))
        if key is not None:
            return _content_key(key, region)
    if isinstance(query, bytes | bytearray | memoryview):
        return _content_key(digest_of(bytes(query)), region)
    return resolve_query(store, query, region).key


def _resolve_pixels(pixels: NDArray[np.uint8], region: Region | None) -> ResolvedQuery:
    digest = digest_of(repr(pixels.shape).encode() + np.ascontiguousarray(pixels).tobytes())
    return ResolvedQuery(pixels=crop(pixels, region), key=_content_key(digest, region))


def _content_key(digest: bytes | None, region: Region | None) -> bytes | None:
    """Return the key of a content and the region that was cut out of it."""
    if region is None or digest is None:
        return digest
    return digest_of(digest + repr(tuple(float(x) for x in region)).encode())


def _find_unchanged(store: Store, path: str) -> int | None:
    """Return the picture of the collection at a path, if the file is still the same."""
    row = store.file(path) if is_text(path) else None
    if row is None or row.image is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    same = (status.st_size, status.st_mtime_ns) == (row.size, row.mtime_ns)
    return row.image if same else None


def query_row(view: View, query: ResolvedQuery) -> Any:
    """Return the query as a row of the view's space, weighted as the index holds rows."""
    space = view.space
    if query.several:
        return _mean_row([query_row(view, one) for one in query.several])
    if query.image is not None:
        row = view.row_of(query.image)
        if row is None:
            raise UnknownPicture(
                f"picture {query.image} has no vector in space {space.name!r}; {_remedy(space)}"
            )
        return row
    if query.vector is not None:
        return space.row_format.check_vector(query.vector, space.width, space.name)
    assert query.pixels is not None
    if query.key is not None and (seen := view.remembered.get(query.key)) is not None:
        return seen
    row = _describe(view, query.pixels)
    if query.key is not None:
        if len(view.remembered) >= REMEMBERED:
            view.remembered.clear()
        view.remembered[query.key] = row
    return row


def _mean_row(rows: list[Any]) -> Any:
    """Average rows and keep their usual length; rows of a model are positions and stay unscaled.

    A score is a product of rows, so this ranks by the mean of the scores each picture would give.
    """
    if isinstance(rows[0], PlacedRow):
        return PlacedRow(np.mean([row.row for row in rows], axis=0, dtype=np.float32))
    if hasattr(rows[0], "tocsr"):
        mean = sum(rows[1:], rows[0]) / np.float32(len(rows))
        length = float(np.sqrt(mean.multiply(mean).sum()))
        return (mean / np.float32(length) if length > 0 else mean).astype(np.float32)
    mean = np.mean(rows, axis=0, dtype=np.float64)
    usual = float(np.mean([np.linalg.norm(row) for row in rows]))
    length = float(np.linalg.norm(mean))
    return (mean * (usual / length) if length > 0 else mean).astype(np.float32)


def _remedy(space: Space) -> str:
    """Say what to do about a picture without a vector."""
    with suppress(LikewiseError):
        space.load()  # a library it needs may be installed and still fail to load
    if not space.is_available():
        return f"{space.how_to_get()}, or search --by another space"
    return "run likewise add again once its file can be read, or search --by another space"


def _describe(view: View, pixels: NDArray[np.uint8]) -> Any:
    """Compute the row of a picture that is not in the collection."""
    space = view.space
    try:
        blob = space.packed_row(pixels)
    except (DeepMissing, UnknownSpaceKind) as error:
        raise CollectionError(
            f"space {space.name!r} cannot describe a new picture here: {error}; or search by "
            "another similarity (both, say), or for a picture of the collection"
        ) from error
    return space.row_format.query_row(space.row_format.unpack([blob], space.width), view.idf)
