"""Maps: the places of pictures, sheets of tiny copies, and colours by score or tag."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from numpy.typing import NDArray
from pydantic import BaseModel

from likewise.catalog.thumbnails import SIDES, thumbnail
from likewise.errors import InvalidInput, LikewiseError
from likewise.images.decode import Source, decode, probe, small_jpeg
from likewise.server.routes_page import has_tag
from likewise.server.routes_pictures import FOREVER, JPEG, Serving, from_state
from likewise.server.schemas import Name, PictureId, QueryIn, SearchIn, Strict
from likewise.server.service import MAX_RESULTS, Recent, Service
from likewise_methods.ordinal import fit_to_square, place_on_grid

router = APIRouter(prefix="/api/maps", tags=["map"])
SPRITE = 40
"""The side of a picture on a sheet."""
ACROSS = 16
A_SHEET = ACROSS * ACROSS
_NOTHING = 128
"""The grey of a picture whose file is missing."""
KEPT_MAPS = 2
NOT_KEPT = {"cache-control": "no-store"}
KEPT_SHEETS = 256
MAX_ON_GRID = 5_000
"""The most pictures that a grid shows; more would be too small to see."""


class PointsOut(BaseModel):
    """Pictures and their places, most important first: a picture that hides another comes before
    it.  Sheet ``n`` shows pictures ``n * on_a_sheet`` and on, ``across`` in a row.  ``columns`` and
    ``rows`` lay them side by side on a grid, each as near to its place as it can (None: too many).
    """

    name: str
    version: str
    ids: list[PictureId]
    x: list[float]
    y: list[float]
    columns: list[int] | None
    rows: list[int] | None
    on_a_sheet: int
    across: int
    sprite: int


class ColourIn(Strict):
    """Colour by likeness to a picture."""

    query: QueryIn
    by: Name = "default"


class ScoresOut(BaseModel):
    """Each point's place in the ranking, from 0 (best) to 1; 2: beyond what was ranked."""

    ranks: list[float]


class TagsOut(BaseModel):
    """For each point the number of its tag in ``tags``; -1: none of these."""

    tags: list[str]
    counts: list[int]
    points: list[int]


class DrawnMap:
    """A map as it was sent to a page; its sheets use the same order."""

    def __init__(self, service: Service, name: str) -> None:
        ids, places, model = service.collection.models.map_points(name)
        order = important([int(image) for image in ids])
        self.ids = [int(ids[i]) for i in order]
        self.places: NDArray[np.float32] = np.asarray(places, np.float32)[order]
        self.version = sheet_key([str(image).encode() + b"," for image in self.ids])
        self.cells = None
        if 2 <= len(self.ids) <= MAX_ON_GRID:
            self.cells, _, _ = place_on_grid(fit_to_square(self.places))
        self.etag = f"{self.version}-{sheet_key([model.made.encode()])}"
        self.row = {image: row for row, image in enumerate(self.ids)}


class Maps:
    """Recently used maps and sheets."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._maps: Recent[tuple[str, int], DrawnMap] = Recent(KEPT_MAPS)
        self._sheets: Recent[tuple[str, int], bytes] = Recent(KEPT_SHEETS)

    def get(self, name: str) -> DrawnMap:
        key = (name, self._service.collection.revision)
        found = self._maps.get(key)
        if found is None:
            found = DrawnMap(self._service, name)
            self._maps.put(key, found)
        return found

    def sheet(self, name: str, number: int) -> tuple[bytes, bool]:
        """Return a sheet, and whether every picture on it could be read."""
        drawn = self.get(name)
        images = drawn.ids[number * A_SHEET : (number + 1) * A_SHEET]
        if not images:
            raise InvalidInput(f"the map {name!r} has no sheet {number}")
        key = (drawn.version, number)
        kept = self._sheets.get(key)
        if kept is not None:
            return kept, True
        col = self._service.collection
        found = col.pictures.content_keys(images)
        keys = [(found.get(i, b""), partial(col.pictures.file_of, i)) for i in images]
        made, whole = sheet(col.root, keys, self._service.decoders.thumbnail)
        if whole:
            self._sheets.put(key, made)
        return made, whole


Mapping = Annotated[Maps, from_state("maps")]


@router.get("/{name}", response_model=PointsOut)
def points(request: Request, service: Serving, maps: Mapping, name: str) -> Response:
    """Return every picture's place on a map."""
    drawn = maps.get(name)
    headers = {"cache-control": "no-cache", "etag": f'"{drawn.etag}"'}
    if has_tag(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    # Plain JSON: validating fifty thousand names costs more than the rest.
    return JSONResponse(
        {
            "name": name,
            "version": drawn.version,
            "ids": [service.name_of(image) for image in drawn.ids],
            "x": [round(float(x), 5) for x in drawn.places[:, 0]],
            "y": [round(float(y), 5) for y in drawn.places[:, 1]],
            "columns": None if drawn.cells is None else drawn.cells[:, 0].tolist(),
            "rows": None if drawn.cells is None else drawn.cells[:, 1].tolist(),
            "on_a_sheet": A_SHEET,
            "across": ACROSS,
            "sprite": SPRITE,
        },
        headers=headers,
    )


@router.get("/{name}/sheets/{number}", response_class=Response, responses=JPEG)
async def one_sheet(
    request: Request,
    service: Serving,
    maps: Mapping,
    name: str,
    number: int,
    version: Annotated[str, Query(max_length=40, description="The version of the map.")] = "",
) -> Response:
    """Return a sheet of tiny pictures; with the map's ``version`` a browser may cache it."""

    def draw_sheet() -> Response:
        current = maps.get(name).version
        tag = f"{current}-{number}"
        if has_tag(request, f'"{tag}"'):
            return Response(status_code=304, headers={"etag": f'"{tag}"'})
        content, whole = maps.sheet(name, number)
        # Do not cache a sheet with grey pictures: their disk may return.
        kept = whole and version == current
        headers = {"cache-control": FOREVER, "etag": f'"{tag}"'} if kept else NOT_KEPT
        return Response(content, media_type="image/jpeg", headers=headers)

    return await service.draw_sheet(draw_sheet, request)


@router.post("/{name}/likeness", response_model=ScoresOut)
def likeness(service: Serving, maps: Mapping, name: str, asked: ColourIn) -> Response:
    """Return each point's place in the ranking of a query, of the first 10,000."""
    drawn = maps.get(name)
    answer = service.rank(
        SearchIn.model_validate({"query": asked.query, "by": asked.by}), MAX_RESULTS
    )
    ranks = [2.0] * len(drawn.ids)
    last = max(1, len(answer.ids) - 1)
    for place, image in enumerate(answer.ids):
        row = drawn.row.get(image)
        if row is not None:
            ranks[row] = round(place / last, 4)
    if asked.query.picture is not None:
        row = drawn.row.get(service.image_of(asked.query.picture))
        if row is not None:
            ranks[row] = 0.0
    return JSONResponse({"ranks": ranks})


@router.get("/{name}/tags", response_model=TagsOut)
def tags(
    service: Serving,
    maps: Mapping,
    name: str,
    most: Annotated[int, Query(ge=1, le=12, description="Tags, at most.")] = 8,
) -> Response:
    """Return the most frequent tags on a map, and each point's tag, the rarest of several."""
    drawn = maps.get(name)
    found: dict[int, Any] = service.collection.tags.of_many(drawn.ids)
    counts: dict[str, int] = {}
    for some in found.values():
        for tag in some:
            counts[tag] = counts.get(tag, 0) + 1
    common = sorted(counts, key=lambda tag: (-counts[tag], tag))[:most]
    number = {tag: i for i, tag in enumerate(common)}
    points = [
        max((number[tag] for tag in found.get(image, ()) if tag in number), default=-1)
        for image in drawn.ids
    ]
    answer = {"tags": common, "counts": [counts[tag] for tag in common], "points": points}
    return JSONResponse(answer)


def important(ids: Sequence[int]) -> list[int]:
    """Return a pseudo-random order of pictures, which spreads over any map.

    It depends on the ids alone, so new pictures do not change the order of old ones.
    """
    mixed = (np.asarray(ids, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    return [int(place) for place in np.argsort(mixed, kind="stable")]


def sheet_key(keys: Sequence[bytes]) -> str:
    """Return a hash of a sheet's content keys."""
    return hashlib.blake2b(b"".join(keys), digest_size=12).hexdigest()


def sheet(
    root: Path,
    pictures: Sequence[tuple[bytes, Callable[[], str]]],
    make: Callable[[Source, int], bytes],
) -> tuple[bytes, bool]:
    """Return the JPEG of a sheet of (content key, path finder), and whether it is complete.

    A picture that cannot be read stays grey.
    """
    whole = True
    rows = max(1, math.ceil(len(pictures) / ACROSS))
    drawn = np.full((rows * SPRITE, ACROSS * SPRITE, 3), _NOTHING, dtype=np.uint8)
    for place, (key, find_file) in enumerate(pictures):
        top, left = (side * SPRITE for side in divmod(place, ACROSS))
        try:
            drawn[top : top + SPRITE, left : left + SPRITE] = sprite(
                thumbnail(root, key, find_file, SIDES[0], make)
            )
        except (LikewiseError, OSError):
            whole = False
    return small_jpeg(drawn, max(drawn.shape), quality=80), whole


def sprite(content: bytes) -> NDArray[np.uint8]:
    """Return the middle square of a picture, :data:`SPRITE` pixels wide."""
    info = probe(content)
    long, short = max(info.width, info.height), min(info.width, info.height)
    pixels = decode(content, max_side=math.ceil(SPRITE * long / short)).pixels
    height, width = pixels.shape[:2]
    top, left = max(0, (height - SPRITE) // 2), max(0, (width - SPRITE) // 2)
    cut = pixels[top : top + SPRITE, left : left + SPRITE]
    # A picture narrower than a sprite is repeated at its edge rather than stretched.
    missing = (SPRITE - cut.shape[0], SPRITE - cut.shape[1])
    return np.pad(cut, ((0, missing[0]), (0, missing[1]), (0, 0)), mode="edge")
