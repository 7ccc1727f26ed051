"""The library: timeline, folders, places, duplicates, marks and albums."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from likewise.catalog.jobs import Report
from likewise.catalog.listing import TimelineEntry
from likewise.catalog.picture_marks import Marks
from likewise.collection.collection import Collection
from likewise.library.library import KEEP_RULE, AlbumChange, DuplicateGroup, Marked
from likewise.server.routes_collection import start_job
from likewise.server.routes_pictures import Serving, from_state, refuse_unknown
from likewise.server.schemas import JobOut, MarkedPictureOut, PictureId, PictureOut, Strict, WhereIn
from likewise.server.service import Service

router = APIRouter(prefix="/api/library", tags=["library"])


async def _filters(request: Request, where: Annotated[WhereIn, Depends(WhereIn)]) -> WhereIn:
    refuse_unknown(request, {*WhereIn.model_fields, "offset", "limit"})
    return where


Filters = Annotated[WhereIn, Depends(_filters)]
Album = Annotated[str, Field(min_length=1, max_length=100)]
Month = Annotated[str, Field(pattern=r"^\d{4}-\d\d$", description="Such as 2019-07.")]
Source = Literal["exif", "name", "file"]
MOST = 10_000


class DayOut(BaseModel):
    day: int
    pictures: int


class MonthOut(BaseModel):
    """``by_name`` and ``by_file`` count pictures dated by the file's name or time only.
    ``days`` is for a month with many pictures, newest first."""

    month: str
    pictures: int
    by_name: int
    by_file: int
    days: list[DayOut]


class MonthsOut(BaseModel):
    """Months that have pictures, newest first."""

    total: int
    items: list[MonthOut]


class LibraryPictureOut(MarkedPictureOut):
    """``moment`` is local time, from ``source``: EXIF, the file's name or its time."""

    moment: str
    source: Source


class LibraryPageOut(BaseModel):
    items: list[LibraryPictureOut]


class FolderOut(BaseModel):
    """``pictures`` counts those in it, ``all`` also those in folders below it."""

    path: str
    name: str
    depth: int
    pictures: int
    all: int


class FoldersOut(BaseModel):
    items: list[FolderOut]


class CameraOut(BaseModel):
    camera: str
    pictures: int


class CamerasOut(BaseModel):
    items: list[CameraOut]


class PlacesOut(BaseModel):
    """Pictures with a place, in degrees north and east."""

    ids: list[PictureId]
    latitude: list[float]
    longitude: list[float]


class AboutOut(BaseModel):
    """The date, marks and albums of a picture."""

    moment: str | None
    source: Source | None
    stars: int
    favourite: bool
    hidden: bool
    albums: list[str]


class MarkIn(Strict):
    """Omitted marks stay unchanged."""

    pictures: list[PictureId] = Field(min_length=1, max_length=MOST)
    stars: int | None = Field(None, ge=0, le=5)
    favourite: bool | None = None
    hidden: bool | None = None


class MarkState(Strict):
    picture: PictureId
    stars: int = Field(ge=0, le=5)
    favourite: bool
    hidden: bool


class MarkedOut(BaseModel):
    """The earlier marks of the changed pictures.  To undo, ``restore`` them, or undo ``action``,
    which several pictures have."""

    before: list[MarkState]
    action: int | None = None


class RestoreMarksIn(Strict):
    before: list[MarkState] = Field(min_length=1, max_length=MOST)


class AlbumOut(BaseModel):
    name: str
    pictures: int
    cover: PictureOut | None


class AlbumsOut(BaseModel):
    items: list[AlbumOut]


class AlbumIn(Strict):
    album: Album
    pictures: list[PictureId] = Field(default=[], max_length=MOST)


class AlbumRenameIn(Strict):
    album: Album
    name: Album


class AlbumChangeOut(BaseModel):
    """The added or removed pictures.  To undo, do the opposite with them, or undo ``action``, which
    several pictures have."""

    album: str
    pictures: list[PictureId]
    made: bool
    action: int | None = None


class DuplicateOut(PictureOut):
    """``bytes`` of its file; ``score`` of its best match; ``mirrored``: relative to the first."""

    bytes: int
    score: float
    mirrored: bool


class DuplicateGroupOut(BaseModel):
    """The first is the one to keep."""

    pictures: list[DuplicateOut]


class DuplicatesOut(BaseModel):
    """The last result.  ``looked`` is the number of pictures then; None: no search since the server
    started.  ``rule`` explains which of a group comes first."""

    looked: int | None
    rule: str
    groups: list[DuplicateGroupOut]


class Duplicates:
    """The last search for duplicates."""

    def __init__(self) -> None:
        self.looked: int | None = None
        self.groups: list[DuplicateGroup] = []

    def find(self, col: Collection, report: Report) -> dict[str, int]:
        groups = col.library.duplicates(report=report)
        self.groups, self.looked = groups, len(col)
        pictures = sum(len(group.pictures) for group in groups)
        return {"groups": len(groups), "pictures": pictures}


Finding = Annotated[Duplicates, from_state("duplicates")]


@router.post("/duplicates", status_code=202)
def find_duplicates(request: Request, service: Serving, duplicates: Finding) -> JobOut:
    """Search for copies by pixels; events report the progress and the end."""
    return start_job(request, service, "duplicates", duplicates.find)


@router.get("/duplicates")
def found_duplicates(service: Serving, duplicates: Finding) -> DuplicatesOut:
    """Return the last result, without pictures that were hidden or removed since."""
    hidden = service.collection.library.hidden()
    ids = [one.row.id for group in duplicates.groups for one in group.pictures]
    rows = service.collection.pictures.rows(image for image in ids if image not in hidden)
    groups = []
    for group in duplicates.groups:
        left = [
            DuplicateOut(
                **service.picture_record(rows[one.row.id]),
                bytes=one.row.n_bytes,
                score=one.score,
                mirrored=one.mirrored,
            )
            for one in group.pictures
            if one.row.id in rows
        ]
        if len(left) > 1:
            groups.append(DuplicateGroupOut(pictures=left))
    return DuplicatesOut(looked=duplicates.looked, rule=KEEP_RULE, groups=groups)


@router.get("/months")
def months(service: Serving, where: Filters) -> MonthsOut:
    """Count pictures by month, newest first."""
    found = service.collection.library.months(where.plain())
    return MonthsOut(
        total=sum(one.pictures for one in found),
        items=[
            MonthOut.model_validate(
                one._asdict() | {"days": [DayOut(day=day, pictures=n) for day, n in one.days]}
            )
            for one in found
        ],
    )


@router.get("/months/{month}", response_model=LibraryPageOut)
def month(
    service: Serving,
    where: Filters,
    month: Month,
    offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """List the pictures of a month, newest first."""
    found = service.collection.library.month(month, offset=offset, limit=limit, where=where.plain())
    return JSONResponse({"items": _records(service, found)})


def _records(service: Service, entries: list[TimelineEntry]) -> list[dict[str, Any]]:
    """Return pictures as plain JSON: validating hundreds of items costs more than the rest."""
    rows = service.collection.pictures.rows(one.image for one in entries)
    entries = [one for one in entries if one.image in rows]
    records = service.marked_records([rows[one.image] for one in entries])
    return [
        record | {"moment": one.moment, "source": one.source}
        for record, one in zip(records, entries, strict=True)
    ]


@router.get("/folders")
def folders(service: Serving, where: Filters) -> FoldersOut:
    """The folders of the collection as a tree, in reading order."""
    found = service.collection.library.folders(where.plain())
    return FoldersOut(items=[FolderOut(**one._asdict()) for one in found])


@router.get("/cameras")
def cameras(service: Serving) -> CamerasOut:
    """Cameras that took pictures, the most frequent first."""
    found = service.collection.library.cameras()
    return CamerasOut(items=[CameraOut(camera=name, pictures=n) for name, n in found])


@router.get("/places", response_model=PlacesOut)
def places(service: Serving, where: Filters) -> Response:
    """Return the places of pictures that have one."""
    found = service.collection.library.places(where.plain())
    return JSONResponse(
        {
            "ids": [service.name_of(one.image) for one in found],
            "latitude": [round(one.latitude, 6) for one in found],
            "longitude": [round(one.longitude, 6) for one in found],
        }
    )


@router.get("/pictures/{picture}")
def about(service: Serving, picture: str) -> AboutOut:
    """Return the date, marks and albums of a picture."""
    library, image = service.collection.library, service.row_of(picture).id
    moment, source = library.moment(image) or (None, None)
    mark = library.marks([image]).get(image, Marks())
    known = {"moment": moment, "source": source, "albums": library.albums_of(image)}
    return AboutOut.model_validate(known | mark._asdict())


@router.post("/marks")
def mark(service: Serving, said: MarkIn) -> MarkedOut:
    """Set stars, favourites and hidden marks; return the earlier ones."""
    done = service.collection.library.mark(
        service.images_of(said.pictures),
        stars=said.stars,
        favourite=said.favourite,
        hidden=said.hidden,
    )
    return MarkedOut(
        before=[
            MarkState(picture=service.name_of(image), **one._asdict())
            for image, one in done.before.items()
        ],
        action=done.action,
    )


@router.post("/marks/restore")
def restore(service: Serving, said: RestoreMarksIn) -> MarkedOut:
    """Restore earlier marks."""
    before = {
        service.image_of(one.picture): Marks(one.stars, one.favourite, one.hidden)
        for one in said.before
    }
    service.collection.library.restore(Marked(before))
    return MarkedOut(before=said.before)


@router.get("/albums")
def albums(service: Serving) -> AlbumsOut:
    """All albums, by name."""
    found = service.collection.library.albums()
    covers = service.pictures_out(one.cover for one in found if one.cover is not None)
    return AlbumsOut(
        items=[
            AlbumOut(name=one.name, pictures=one.pictures, cover=covers.get(one.cover or 0))
            for one in found
        ]
    )


@router.post("/albums/add")
def add_to_album(service: Serving, said: AlbumIn) -> AlbumChangeOut:
    """Add pictures to an album, which is created if there is none of that name."""
    images = service.images_of(said.pictures)
    return _change_out(service, service.collection.library.add_to_album(said.album, images))


@router.post("/albums/take")
def take_from_album(service: Serving, said: AlbumIn) -> AlbumChangeOut:
    """Remove pictures from an album."""
    images = service.images_of(said.pictures)
    return _change_out(service, service.collection.library.take_from_album(said.album, images))


@router.post("/albums/rename")
def rename_album(service: Serving, said: AlbumRenameIn) -> AlbumsOut:
    """Rename an album."""
    service.collection.library.rename_album(said.album, said.name)
    return albums(service)


@router.post("/albums/delete")
def delete_album(service: Serving, said: AlbumIn) -> AlbumChangeOut:
    """Delete an album, never its pictures."""
    return _change_out(service, service.collection.library.delete_album(said.album))


def _change_out(service: Service, done: AlbumChange) -> AlbumChangeOut:
    return AlbumChangeOut(
        album=done.album,
        pictures=[service.name_of(i) for i in done.pictures],
        made=done.made,
        action=done.action,
    )
