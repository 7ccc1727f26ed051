"""Maps: the places of pictures, sheets of tiny copies, and colours by score or tag."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from numpy.typing import NDArray
from pydantic import BaseModel

from likewise.errors import InvalidInput
from likewise.server.routes_page import has_tag
from likewise.server.routes_pictures import FOREVER, JPEG, Serving, from_state
from likewise.server.schemas import Name, PictureId, QueryIn, SearchIn, Strict
from likewise.server.service import MAX_RESULTS, Recent, Service
from likewise.server.thumbnail_sheets import A_SHEET, ACROSS, SPRITE, important, sheet, sheet_key
from likewise_methods.ordinal import fit_to_square, place_on_grid

router = APIRouter(prefix="/api/maps", tags=["map"])
KEPT_MAPS = 2
NOT_KEPT = {"cache-control": "no-store"}
KEPT_SHEETS = 256
MOST_TIDY = 5_000
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
        if 2 <= len(self.ids) <= MOST_TIDY:
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
