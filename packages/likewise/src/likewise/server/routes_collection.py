"""The collection as a whole: status, jobs, problems, named keys, health and metrics."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from likewise._version import __version__
from likewise.catalog.jobs import Report
from likewise.collection.collection import Collection
from likewise.collection.keys import MAX_NAME, AccessKey
from likewise.errors import CollectionBusy, InvalidInput
from likewise.search.similarities import Similarity
from likewise.server import schemas
from likewise.server.access import App, Message, Receive, Scope, Send
from likewise.server.jobs import Events, Job, JobStopped, Work
from likewise.server.roles import Calling
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import Role, Strict
from likewise.server.service import Service
from likewise.vision.deep.network import can_run, offer

router = APIRouter(prefix="/api", tags=["collection"])

_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events as they happen.", "content": {"text/event-stream": {}}}
}


@router.get("/collection")
def collection(request: Request, service: Serving) -> schemas.CollectionOut:
    """Counts, sizes, spaces, and the job that is running."""
    info = service.collection.info()
    used = service.collection.similarities.find("default")
    deep = "deep" in info["spaces"]
    own = request.app.state.work.running
    job = None if own is None else schemas.RunningOut(**own)
    if job is None and info["job"]:
        job = schemas.RunningOut(job=0, what=info["job"], since=None, progress=None)
    return schemas.CollectionOut(
        name=Path(info["path"]).name,
        pictures=info["pictures"],
        problems=info["problems"],
        folders=info["roots"],
        spaces=[
            schemas.SpaceOut(
                name=name, kind=space["kind"], generation=space["generation"],
                width=space["width"], pictures=space["sealed"] + space["fresh"],
                bytes=space["bytes"],
            )
            for name, space in info["spaces"].items()
        ],
        bytes=info["bytes"],
        job=job,
        similarity=_ranks_by(service.collection, used),
        profile=used.profile or "default",
        deep=deep,
        hint=_hint(service.collection, deep),
    )  # fmt: skip


def _hint(col: Collection, deep: bool) -> str | None:
    """Return how to improve the search: install the network, or a library it needs."""
    if not deep:
        can_run()  # the offer includes what it found wrong
        return offer()
    lacking = [
        one
        for one in col.spaces.values()
        if one.generation and one.describes_pictures and not one.is_available()
    ]
    if not lacking:
        return None
    names = ", ".join(one.name for one in lacking)
    return f"New pictures get no vectors in {names}: {lacking[0].how_to_get()}"


def _ranks_by(col: Collection, used: Similarity) -> str:
    """Return the name of the built-in similarity that a profile starts from."""
    built_in = (made for made in col.similarities.built_in() if made.spaces == used.spaces)
    return next((made.name for made in built_in), "+".join(used.spaces))


@router.get("/collection/problems")
def problems(
    service: Serving,
    offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> schemas.ProblemsOut:
    """Files that could not be used, with the reason."""
    rows = service.collection.problems()
    items = [
        schemas.ProblemOut(path=r.path, problem=r.problem or "") for r in rows[offset:][:limit]
    ]
    return schemas.ProblemsOut(total=len(rows), items=items)


@router.post("/collection/add", status_code=202)
def add(request: Request, service: Serving, said: schemas.AddIn) -> schemas.JobOut:
    """Add a folder of this machine; events report the progress."""
    folder = os.path.expanduser(said.folder)
    if not os.path.isabs(folder) or "\0" in folder:
        raise InvalidInput(f"{said.folder!r} is not an absolute path; start it with /")
    if not os.path.exists(folder):
        raise InvalidInput(f"{folder} does not exist on the server's machine")
    return start_job(request, service, "add", lambda col, report: col.add(folder, report=report))


@router.post("/collection/sync", status_code=202)
def sync(request: Request, service: Serving) -> schemas.JobOut:
    """Add what is new in the added folders, and remove what is gone."""
    return start_job(request, service, "sync", lambda col, report: col.sync(report=report))


@router.post("/collection/describe", status_code=202)
def describe(request: Request, service: Serving) -> schemas.JobOut:
    """Describe every picture by visual words, colours and edges too, where that is missing."""
    return start_job(request, service, "describe", _describe)


def _describe(col: Collection, report: Report) -> dict[str, Any]:
    before = set(col.spaces)
    try:
        made = col.spaces.add_missing(report=report)
    except JobStopped:
        # Each later add would learn an unfinished vocabulary to the end; drop it instead.
        for name, space in col.spaces.items():
            if name not in before and not space.generation:
                col.spaces.drop(name)
        raise
    return {"pictures": len(col), "spaces": ", ".join(made)}


@router.post("/collection/stop")
def stop(request: Request, said: schemas.StopIn) -> schemas.StoppingOut:
    """End a job of this server at its next step; what it has done is kept."""
    work: Work = request.app.state.work
    return schemas.StoppingOut(stopping=work.cancel(said.job))


def start_job(request: Request, service: Service, what: str, job: Job) -> schemas.JobOut:
    """Start a job on a collection object of its own; an event reports its result."""
    work: Work = request.app.state.work
    # Report another process's job at once; ours would only fail a moment later.
    if work.running is None and (busy := service.collection.running_job()) is not None:
        raise CollectionBusy(f"the collection is busy: {busy}; wait for it to end")
    own = service.collection.open_again()
    try:
        number = work.start(what, own, job)
    except BaseException:
        own.close()
        raise
    return schemas.JobOut(job=number)


@router.post("/collection/verify")
def verify(service: Serving) -> schemas.WrongOut:
    """Check every byte; return a sentence for each fault."""
    return schemas.WrongOut(wrong=service.collection.verify())


@router.get("/events", response_class=StreamingResponse, responses=_EVENTS)
async def events(request: Request, service: Serving, caller: Calling) -> StreamingResponse:
    """Server-sent events: progress, done, failed, changed."""
    feed: Events = request.app.state.events
    key = caller.key
    stream = feed.listen(
        lambda: service.collection.revision,
        request.headers.get("last-event-id", ""),
        None if key is None else lambda: service.collection.keys.of_id(key.id) is not None,
    )
    return StreamingResponse(
        stream, media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


@router.get("/health")
async def health() -> schemas.HealthOut:
    """Whether the server answers."""
    return schemas.HealthOut(ok=True, version=__version__)


@router.get("/metrics", response_class=Response, responses=_TEXT)
def metrics(request: Request, service: Serving) -> Response:
    """Counters since the start, in the text format of Prometheus."""
    found: Metrics = request.app.state.metrics
    text = found.text({"pictures": len(service.collection)})
    return Response(text, media_type="text/plain; version=0.0.4")


@dataclass
class Metrics:
    """Requests by route and status, and the seconds they took."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def text(self, gauges: dict[str, float]) -> str:
        """Return the counters in the text format of Prometheus."""
        lines = []
        for name, value in gauges.items():
            lines += [f"# TYPE likewise_{name} gauge", f"likewise_{name} {value:g}"]
        lines.append("# TYPE likewise_requests_total counter")
        for (place, status), n in sorted(self.requests.items()):
            lines.append(f'likewise_requests_total{{route="{place}",status="{status}"}} {n}')
        lines.append("# TYPE likewise_request_seconds_total counter")
        for place, seconds in sorted(self.seconds.items()):
            lines.append(f'likewise_request_seconds_total{{route="{place}"}} {seconds:.6f}')
        return "\n".join(lines) + "\n"


class MetricsMiddleware:
    """Count requests and their seconds by route and status; refused ones too."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        start = time.perf_counter()

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            # The route's pattern, not the path: requests of strangers must not fill the table.
            place = str(getattr(scope.get("route"), "path", "none"))
            self._metrics.requests[place, status] += 1
            self._metrics.seconds[place] += time.perf_counter() - start


keys_router = APIRouter(prefix="/api", tags=["keys"])

KeyId = Annotated[int, PathParameter(ge=1, lt=1 << 32, description="The key's id.")]


class KeyOut(BaseModel):
    """``used``: to the hour; ``maker``: another key, "the page" or "the command line"."""

    id: int
    name: str
    role: Role
    made: str
    maker: str
    used: str | None
    revoked: str | None


class KeysOut(BaseModel):
    items: list[KeyOut]


class KeyIn(Strict):
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    role: Role


class NewKeyOut(BaseModel):
    """``secret`` is shown this once."""

    secret: str
    key: KeyOut


class TakenBackOut(BaseModel):
    """``action`` can be undone; ``judgements`` counts comparisons too, ``tags`` lines of tags."""

    action: int
    judgements: int
    tags: int


@keys_router.get("/keys")
def keys(service: Serving) -> KeysOut:
    """List all named keys, revoked ones too, oldest first."""
    return KeysOut(items=[_key_out(one) for one in service.collection.keys])


@keys_router.post("/keys", status_code=201, name="add")
def add_key(service: Serving, said: KeyIn, response: Response) -> NewKeyOut:
    """Make a key for one person, who signs in with it or sends it as a bearer token."""
    made = service.collection.keys.add(said.name, said.role)
    response.headers["cache-control"] = "no-store"
    return NewKeyOut(secret=made.secret, key=_key_out(made.key))


@keys_router.post("/keys/{key}/revoke")
def revoke(service: Serving, key: KeyId) -> KeysOut:
    """Revoke a key: it and its sessions stop working with the next request."""
    service.collection.keys.revoke(key)
    return keys(service)


@keys_router.post("/keys/{key}/take-back")
def take_back(service: Serving, key: KeyId) -> TakenBackOut:
    """Undo all judgements, comparisons and tags made with a key, as one action."""
    done = service.collection.keys.take_back(key)
    return TakenBackOut(action=done.action, judgements=done.judgements, tags=done.tags)


def _key_out(key: AccessKey) -> KeyOut:
    return KeyOut.model_validate(vars(key))
