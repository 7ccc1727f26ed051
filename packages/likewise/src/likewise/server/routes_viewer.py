"""One picture seen whole: its own pixels, what the camera wrote, its file.

None of this is for guests (see ``FOR_GUESTS``).  The file's own bytes go only to whoever has the
key: they carry what the camera wrote, places included.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from likewise.errors import CollectionError
from likewise.server.routes_page import has_tag
from likewise.server.routes_pictures import FOREVER, Serving, jpeg
from likewise.server.schemas import FactsOut, RevealedOut
from likewise.server.service import Service

router = APIRouter(prefix="/api/pictures/{picture}", tags=["pictures"])

SHOWN = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}
"""Formats every browser shows by itself; the others are converted."""
_FINE = 93
"""Quality of a converted picture: it is looked at closely."""
_LARGEST = 16_384
"""Longest side of a converted picture; browsers draw no larger one whole."""
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "It has not changed."},
}
_DOWNLOAD: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    },
    304: {"description": "It has not changed."},
}


@router.get("/original", response_class=Response, responses=_FILE)
async def original(request: Request, service: Serving, picture: str) -> Response:
    """The picture in its own pixels: the file as it is where a browser can show it upright, else
    a JPEG of the same size."""

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
    # Of turned pictures all browsers turn only JPEGs as EXIF says.
    if format_ not in SHOWN:
        return False
    return format_ == "JPEG" or service.decoders.camera_facts(path).orientation == 1


@router.get("/facts")
async def facts(request: Request, service: Serving, picture: str) -> FactsOut:
    """What the camera wrote into the file, read from it now."""

    def respond() -> FactsOut:
        row = service.row_of(picture)
        path = service.collection.pictures.file_of(row.id)
        known = asdict(service.decoders.camera_facts(path))
        for name in ("orientation", "rating"):
            known.pop(name)
        return FactsOut(**known, path=path, can_reveal=_may_reveal(request) and _opener() != [])

    return await service.draw(respond, request)


@router.get("/download", response_class=Response, responses=_DOWNLOAD)
async def download(request: Request, service: Serving, picture: str) -> Response:
    """The file itself, under its own name."""

    def respond() -> Response:
        row = service.row_of(picture)
        path = service.collection.pictures.file_of(row.id)
        name = os.path.basename(path)
        kind = "application/octet-stream"
        return FileResponse(
            path, media_type=kind, filename=name, headers={"cache-control": "no-store"}
        )

    return await service.draw(respond, request)


@router.post("/reveal")
async def reveal(request: Request, service: Serving, picture: str) -> RevealedOut:
    """Show the picture's folder in the file manager of the machine the server runs on.

    Only for whoever sits at that machine: asked from it, by a name of it.
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
    """Whether the request comes from this machine, and was not passed on from another one."""
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
    """The command that opens a file manager; empty where there is none, or no screen."""
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
