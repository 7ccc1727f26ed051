"""Build the application: routes by subject, one format of errors, the guard around all."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from likewise._version import __version__
from likewise.catalog.thumbnails import prune
from likewise.errors import (
    CatalogAway,
    CollectionBusy,
    CollectionError,
    DamagedCollection,
    DecoderFailed,
    DiskFull,
    ImageError,
    ImageTooLarge,
    InvalidInput,
    LikewiseError,
    LostPicture,
    MissingDecoder,
    NoPlaces,
    NotYours,
    ReadOnlyCollection,
    UnknownFilter,
    UnknownName,
    UnknownPicture,
    UnreadableImage,
)
from likewise.server import (
    routes_collection,
    routes_compare,
    routes_learning,
    routes_library,
    routes_map,
    routes_page,
    routes_pictures,
    routes_tags,
)
from likewise.server.access import Access, App, Guard
from likewise.server.jobs import Events, Work
from likewise.server.replies import plain_error
from likewise.server.routes_collection import Metrics, MetricsMiddleware
from likewise.server.schemas import ErrorOut, EventsOut, WhereIn
from likewise.server.service import Service, UnknownUpload
from likewise_methods.index import DamagedIndex

_DESCRIPTION = """Search, judge and keep a collection of pictures.

Every route needs the cookie of a session, which a browser gets from a printed address or by signing
in with a key, or a key as `Authorization: Bearer KEY`.  A named key has a role (look, judge,
manage); what it may not do is refused with 403.

Errors are `{"error": {"kind": ..., "message": ...}}`.
"""

_SHAPE = "#/components/schemas/{model}"
# The first match counts.
_STATUS: tuple[tuple[type[LikewiseError], int, str], ...] = (
    (UnknownPicture, 404, "unknown_picture"),
    (UnknownName, 404, "unknown_name"),
    (UnknownUpload, 404, "unknown_upload"),
    (UnknownFilter, 422, "unknown_filter"),
    (LostPicture, 404, "lost_picture"),
    (MissingDecoder, 501, "no_decoder"),
    (UnreadableImage, 404, "lost_picture"),
    (CollectionBusy, 409, "busy"),
    (CatalogAway, 503, "catalog_away"),
    (ReadOnlyCollection, 403, "read_only"),
    (NotYours, 403, "not_yours"),
    (DiskFull, 507, "disk_full"),
    (NoPlaces, 409, "no_places"),
    (DamagedCollection, 500, "damaged"),
    (DamagedIndex, 500, "damaged"),
    (ImageTooLarge, 413, "too_large"),
    (DecoderFailed, 415, "cannot_decode"),
    (ImageError, 415, "not_a_picture"),
    (CollectionError, 409, "refused"),
    (InvalidInput, 422, "invalid"),
    (LikewiseError, 400, "refused"),
)


def make_app(root: Path, access: Access, catalog: str | None = None) -> tuple[App, FastAPI]:
    """Return the guarded ASGI application, and the FastAPI application inside it."""
    service = Service(root, catalog)
    access.guest = service.collection.shares.of_token
    access.keys, access.note_use = service.collection.keys, service.note_key_use
    events = Events()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        # Checking a hundred thousand thumbnails must not delay the page.
        threading.Thread(target=prune, args=(service.collection.root,), daemon=True).start()
        threading.Thread(target=service.warm_up, daemon=True).start()
        events.has_notices = service.collection.watch(events.look) is not None
        yield
        service.close()

    app = FastAPI(
        title="Likewise",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=life,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # No telemetry, whatever the environment sets for FastAPI.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
        responses={"4XX": {"model": ErrorOut}, "5XX": {"model": ErrorOut}},
    )
    app.state.service, app.state.events, app.state.work = service, events, Work(events)
    app.state.metrics = Metrics()
    app.state.access = access
    app.state.maps = routes_map.Maps(service)
    app.state.duplicates = routes_library.Duplicates()
    app.state.agreement = routes_compare.Agreement(service)
    for router in (
        routes_page.router, routes_pictures.router, routes_learning.router,
        routes_collection.router, routes_tags.router, routes_compare.router, routes_map.router,
        routes_learning.models_router, routes_tags.actions_router, routes_library.router,
        routes_collection.keys_router,
    ):  # fmt: skip
        app.include_router(router)
    _add_error_handlers(app)
    _describe(app)
    return MetricsMiddleware(Guard(app, access), app.state.metrics), app


def _describe(app: FastAPI) -> None:
    """Add the authentication of the guard and the events to the OpenAPI description."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        described = made()
        described["components"]["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "likewise-COLLECTION"},
        }
        described["security"] = [{"key": []}, {"cookie": []}]
        # FastAPI does not describe streamed events.
        events = EventsOut.model_json_schema(ref_template=_SHAPE)
        shapes = events.pop("$defs")
        described["components"]["schemas"] |= {**shapes, "EventsOut": events}
        stream = described["paths"]["/api/events"]["get"]["responses"]["200"]["content"]
        stream["text/event-stream"]["schema"] = {"$ref": _SHAPE.format(model="EventsOut")}
        return described

    app.openapi = openapi  # type: ignore[method-assign]


def _error(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    # json.dumps escapes lone surrogates, which a client can send.
    body = json.dumps(plain_error(kind, message))
    return Response(body, status, headers, "application/json")


def _add_error_handlers(app: FastAPI) -> None:
    """Return every failure as JSON with a message that says what to do."""

    @app.exception_handler(LikewiseError)
    async def refuse(_: Request, error: LikewiseError) -> Response:
        status, kind = next((s, k) for one, s, k in _STATUS if isinstance(error, one))
        message = error.reason if isinstance(error, ImageError) else str(error)
        if isinstance(error, UnreadableImage) and not isinstance(error, MissingDecoder):
            message = f"the file of a picture {message}; sync the collection"
        return _error(status, kind, message)

    @app.exception_handler(RequestValidationError)
    async def misunderstood(_: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = dict(error.errors()[0])
        if first["type"] == "extra_forbidden" and "where" in first["loc"][-2:-1]:
            unknown = UnknownFilter(str(first["loc"][-1])[:100], WhereIn.model_fields)
            return _error(422, "unknown_filter", str(unknown))
        # The first part is body, query or path.
        where = ".".join(str(part) for part in first["loc"][1:])
        said = str(first["msg"]).removeprefix("Value error, ")
        return _error(422, "invalid", f"{where[:200]}: {said}" if where else said)

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, error: HTTPException) -> Response:
        kind = {404: "not_found", 405: "wrong_method"}.get(error.status_code, "refused")
        message = str(error.detail)
        if message == "Not Found":
            message = "there is nothing at this address; /api/openapi.json lists all addresses"
        elif message == "Method Not Allowed":
            message = f"this address does not take {request.method}"
        return _error(error.status_code, kind, message, error.headers)

    @app.exception_handler(OSError)
    async def disk(_: Request, error: OSError) -> Response:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _error(507, "disk_full", "the disk is full; nothing was changed")
        if error.errno == errno.EIO:
            return _error(500, "disk", "the disk cannot be read or written; nothing was done")
        return _error(500, "fault", f"{error.strerror or error}; the server's output says more")

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> Response:
        message = f"{type(error).__name__}: a bug in Likewise; see the server's output"
        return _error(500, "fault", message)
