"""Pictures: lists, one picture, its copies and its file, uploads, search.

Guests get thumbnails only (see ``FOR_GUESTS``).  Only callers with a key or a session get a file's
own bytes, which hold the camera's metadata, places included.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from likewise.catalog.thumbnails import side_for, thumbnail
from likewise.collection.collection import Collection
from likewise.errors import (
    CollectionError,
    DecoderFailed,
    ImageError,
    InvalidInput,
    LostPicture,
    MissingDecoder,
    UnknownFilter,
    UnknownPicture,
)
from likewise.images.decode import Source
from likewise.server.access import GUEST
from likewise.server.routes_page import has_tag
from likewise.server.schemas import (
    FactsOut,
    PageOut,
    PictureMore,
    RevealedOut,
    SearchIn,
    SearchOut,
    UploadOut,
    WhereIn,
)
from likewise.server.service import MAX_RESULTS, Answer, Service

router = APIRouter(prefix="/api", tags=["pictures"])
LARGE = 2048
"""The longest side of a picture that the page shows."""
FOREVER = "private, max-age=31536000, immutable"
_FAR = 1 << 40


def _content(media_type: str) -> dict[str, Any]:
    """Return the OpenAPI description of binary content."""
    return {media_type: {"schema": {"type": "string", "format": "binary"}}}


def _file_responses(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"content": _content(media_type)},
        304: {"description": "It has not changed."},
    }


JPEG = _file_responses("image/jpeg")
_UPLOAD_BODY = {"requestBody": {"required": True, "content": _content("image/*")}}


def from_state(name: str) -> Any:
    """Return the dependency that is the application's ``state`` of this name."""

    # Asynchronous, so that it needs no thread.
    async def find(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(find)


Serving = Annotated[Service, from_state("service")]


def refuse_unknown(request: Request, known: set[str]) -> None:
    """Refuse unknown parameters: a mistyped filter must not show everything."""
    for key in request.query_params:
        if key not in known:
            raise UnknownFilter(key[:100], sorted(known))


@router.get("/pictures", response_model=PageOut)
def pictures(
    service: Serving,
    offset: Annotated[int, Query(ge=0, le=_FAR)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    sort: Literal["date", "name", "added"] = "date",
    order: Literal["asc", "desc"] = "desc",
    where: Annotated[WhereIn | None, Depends(WhereIn)] = None,
    *,
    request: Request,
) -> Response:
    """List the pictures of the collection, a page at a time."""
    refuse_unknown(request, {*WhereIn.model_fields, "offset", "limit", "sort", "order"})
    total, rows = service.collection.pictures.page(
        sort=sort,
        descending=order == "desc",
        where=where.plain() if where else None,
        offset=offset,
        limit=limit,
    )
    # Plain JSON, here and in search: validating hundreds of items costs more than finding them.
    return JSONResponse({"total": total, "items": service.marked_records(rows)})


@router.get("/pictures/{picture}")
def picture(service: Serving, picture: str) -> PictureMore:
    """Return a picture with its tags, path and metadata."""
    row = service.row_of(picture)
    return PictureMore(
        **service.picture_record(row),
        tags=service.collection.tags.of(row.id),
        path=row.path,
        metadata=dict(row.metadata),
        format=row.format,
    )


@router.get("/pictures/{picture}/thumbnail", response_class=Response, responses=JPEG)
async def small(
    request: Request,
    service: Serving,
    picture: str,
    side: Annotated[int, Query(ge=16, le=1024)] = 320,
) -> Response:
    """Return a small JPEG without metadata; it never changes, so a browser may cache it."""
    col, kept = service.collection, side_for(side)

    def respond() -> Response:
        image = service.image_of(picture)
        guest = request.scope.get(GUEST)
        if guest is not None and not service.shown_to_guests.may_see(guest, image):
            raise UnknownPicture("that picture is not in your questions")
        key = col.pictures.content_key(image)
        return jpeg(
            request,
            f"{key.hex()}-{kept}",
            lambda: thumbnail(
                col.root,
                key,
                lambda: col.pictures.file_of(image),
                kept,
                service.decoders.thumbnail,
            ),
        )

    return await service.draw(respond, request)


@router.get("/pictures/{picture}/image", response_class=Response, responses=JPEG)
async def large(request: Request, service: Serving, picture: str) -> Response:
    """Return the upright picture as a JPEG without metadata, at most 2048 pixels long."""

    def respond() -> Response:
        image = service.image_of(picture)
        key = service.collection.pictures.content_key(image)
        find = service.collection.pictures.file_of
        return jpeg(request, f"{key.hex()}-large", lambda: _large(service, find(image)))

    return await service.draw(respond, request)


def _large(service: Service, source: Source) -> bytes:
    return service.decoders.small_copy(source, LARGE, quality=88)


def jpeg(request: Request, tag: str, make: Callable[[], bytes]) -> Response:
    headers = {"etag": f'"{tag}"', "cache-control": FOREVER}
    if has_tag(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    try:
        content = make()
    except (DecoderFailed, MissingDecoder):
        raise
    except ImageError as error:
        # The file was a picture when it was added; now it is another file.
        raise LostPicture(f"the picture's file {error.reason}; sync the collection") from error
    return Response(content, media_type="image/jpeg", headers=headers)


@router.post("/uploads", status_code=201, openapi_extra=_UPLOAD_BODY)
async def upload(request: Request, service: Serving) -> UploadOut:
    """Keep a picture for a while as a query; the body is the bytes of its file."""
    content = await request.body()
    if not content:
        raise InvalidInput("the request has no body; send the bytes of a picture")
    name, kept = await service.take(lambda: service.upload(content), request)
    return UploadOut(
        upload=name, width=kept.width, height=kept.height, image=f"/api/uploads/{name}/image"
    )


@router.get("/uploads/{name}/image", response_class=Response, responses=JPEG)
async def uploaded(request: Request, service: Serving, name: str) -> Response:
    """Return an upload as the page shows it."""
    content = service.find_upload(name).content
    tag = f"upload-{name}"
    return await service.take(lambda: jpeg(request, tag, lambda: _large(service, content)), request)


@router.post("/search", response_model=SearchOut)
def search(service: Serving, asked: SearchIn) -> Response:
    """Search by picture or words, best first; the pages of one ranking fit together."""
    start = time.perf_counter()
    col = service.collection
    similarity = col.similarities.find(asked.by)
    where = asked.where.plain()
    # A cut-off, a filter or dates need the whole list to count it.
    whole = asked.above is not None or bool(where) or asked.sort == "date"
    wanted = MAX_RESULTS if whole else min(MAX_RESULTS, asked.offset + asked.limit)
    answer = service.rank(asked, wanted)
    page = _page(col, answer, asked)
    rows = col.pictures.rows(answer.ids[i] for i in page)
    liked: list[int] = []
    disliked: list[int] = []
    judged = asked.query is None or asked.query.colours is None
    if similarity.profile is not None and judged:
        liked, disliked = col.log.verdicts(
            service.resolve(asked), text=asked.text, profile=similarity.profile
        )
    verdict = dict.fromkeys(liked, "liked") | dict.fromkeys(disliked, "disliked")
    reasons = answer.typed.reasons(rows) if answer.typed is not None else {}
    # A picture removed meanwhile has no row.
    page = [i for i in page if answer.ids[i] in rows]
    items = service.marked_records([rows[answer.ids[i]] for i in page])
    for i, item in zip(page, items, strict=True):
        image = answer.ids[i]
        item |= {
            "score": answer.scores[i],
            "verdict": verdict.get(image),
            "reasons": [
                {"key": one.key, "kind": one.kind, "text": str(one)}
                for one in reasons.get(image, ())
            ],
        }
    return JSONResponse(
        {
            "total": service.total(asked, answer),
            "items": items,
            "by": similarity.name,
            "profile": similarity.profile,
            "learned": {"liked": len(liked), "disliked": len(disliked)},
            "ms": 1000 * (time.perf_counter() - start),
            "scores": {
                "highest": answer.scores[0] if answer.scores else None,
                "lowest": answer.scores[-1] if answer.scores else None,
            },
            "hint": None if answer.typed is None else answer.typed.hint,
            "behind": answer.behind,
            "away": answer.away,
        }
    )


def _page(col: Collection, answer: Answer, asked: SearchIn) -> list[int]:
    """Return the places in the ranking that a page shows, in order; undated ones last."""
    order = list(range(len(answer.ids)))
    if asked.sort == "date":
        dates = col.pictures.dates(answer.ids)
        order.sort(key=lambda i: dates.get(answer.ids[i], ""), reverse=True)
    return order[asked.offset : asked.offset + asked.limit]


SHOWN = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}
"""Formats that every browser shows; others are converted."""
_FINE = 93
"""JPEG quality of a converted picture, which is viewed at full size."""
_LARGEST = 16_384
"""The longest side of a converted picture; browsers cannot draw larger ones."""


@router.get(
    "/pictures/{picture}/original", response_class=Response, responses=_file_responses("image/*")
)
async def original(request: Request, service: Serving, picture: str) -> Response:
    """Return the file if a browser can show it upright, else a JPEG of the same size."""

    def respond() -> Response:
        row = service.row_of(picture)
        pictures = service.collection.pictures
        tag = f"{pictures.content_key(row.id).hex()}-original"
        headers = {"etag": f'"{tag}"', "cache-control": FOREVER}
        if has_tag(request, headers["etag"]):
            return Response(status_code=304, headers=headers)
        path = pictures.file_of(row.id)
        if _is_shown(service, row.format, path):
            return FileResponse(path, media_type=SHOWN[row.format], headers=headers)
        side = min(max(row.width, row.height), _LARGEST)
        return jpeg(request, tag, lambda: service.decoders.small_copy(path, side, quality=_FINE))

    return await service.draw(respond, request)


def _is_shown(service: Service, format_: str, path: str) -> bool:
    # Browsers apply the EXIF orientation of JPEGs only.
    if format_ not in SHOWN:
        return False
    return format_ == "JPEG" or service.decoders.camera_facts(path).orientation == 1


@router.get("/pictures/{picture}/facts")
async def facts(request: Request, service: Serving, picture: str) -> FactsOut:
    """Return the camera's metadata, read from the file now."""

    def respond() -> FactsOut:
        row = service.row_of(picture)
        path = service.collection.pictures.file_of(row.id)
        known = asdict(service.decoders.camera_facts(path))
        for name in ("orientation", "rating"):
            known.pop(name)
        return FactsOut(**known, path=path, can_reveal=_may_reveal(request) and _opener() != [])

    return await service.draw(respond, request)


@router.get(
    "/pictures/{picture}/download",
    response_class=Response,
    responses=_file_responses("application/octet-stream"),
)
async def download(request: Request, service: Serving, picture: str) -> Response:
    """Return the file itself, under its own name."""

    def respond() -> Response:
        row = service.row_of(picture)
        path = service.collection.pictures.file_of(row.id)
        name = os.path.basename(path)
        kind = "application/octet-stream"
        return FileResponse(
            path, media_type=kind, filename=name, headers={"cache-control": "no-store"}
        )

    return await service.draw(respond, request)


@router.post("/pictures/{picture}/reveal")
async def reveal(request: Request, service: Serving, picture: str) -> RevealedOut:
    """Show the picture's folder in the file manager of the server's machine.

    The request must come from that machine, by one of its own names.
    """

    def respond() -> RevealedOut:
        row = service.row_of(picture)
        path = Path(service.collection.pictures.file_of(row.id))
        if not _may_reveal(request):
            raise CollectionError("only a browser on the server's own machine may open its folders")
        command = _opener()
        if not command:
            raise CollectionError(f"no file manager was found; the file is {path}")
        show_in_folder(command, path)
        return RevealedOut(folder=str(path.parent))

    return await service.draw(respond, request)


def _may_reveal(request: Request) -> bool:
    """Return whether the request comes from this machine, and not through a proxy."""
    host = (request.headers.get("host") or "").rpartition(":")[0].strip("[]").lower()
    return bool(
        request.client
        and _is_loopback(request.client.host)
        and (host == "localhost" or _is_loopback(host))
        and not {"forwarded", "x-forwarded-for", "via"} & set(request.headers.keys())
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _opener() -> list[str]:
    """Return the command that opens a file manager; empty without one or without a screen."""
    if sys.platform == "darwin":
        return ["/usr/bin/open", "-R"]
    if sys.platform == "win32":
        return [os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "explorer.exe")]
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return []
    found = shutil.which("xdg-open")
    return [found] if found else []


def show_in_folder(command: list[str], path: Path) -> subprocess.Popen[bytes]:
    """Start the file manager: a fixed program, one absolute path, no shell."""
    shown = path if len(command) > 1 else path.parent
    return subprocess.Popen(
        [*command, os.path.abspath(shown)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
    )
