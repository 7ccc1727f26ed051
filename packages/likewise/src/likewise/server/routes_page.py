"""The web page: static files of the package."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
# A name, or folders and a name: none of them begins with a dot.
_NAME = re.compile(r"(?:\w[\w-]*/)*\w[\w.-]*", re.ASCII)


@router.get("/")
def index(request: Request) -> Response:
    return _file(request, "index.html")


@router.get("/page/{name:path}")
def part(request: Request, name: str) -> Response:
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    place = PAGE / name if _NAME.fullmatch(name) else PAGE
    kind = _TYPES.get(place.suffix)
    if kind is None or not place.is_file():
        raise HTTPException(404, f"the page has no part {name[:100]!r}")
    content = place.read_bytes()
    tag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    # Browsers revalidate each time; the file is sent again only if it changed.
    headers = {"cache-control": "no-cache", "etag": tag}
    if has_tag(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def has_tag(request: Request, tag: str) -> bool:
    """Return whether the browser has this content already."""
    said = request.headers.get("if-none-match", "")
    return tag in (one.strip().removeprefix("W/") for one in said.split(","))
