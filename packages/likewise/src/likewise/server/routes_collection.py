"""The collection as a whole: status, adding with progress, problems, health and metrics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from likewise._version import __version__
from likewise.catalog.jobs import Report
from likewise.collection.collection import Collection
from likewise.errors import CollectionBusy, InvalidInput
from likewise.search.similarities import Similarity
from likewise.server.callers import Calling
from likewise.server.jobs import Events, Job, JobStopped, Work
from likewise.server.metrics import Metrics
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import (
    AddIn,
    CollectionOut,
    HealthOut,
    JobOut,
    ProblemOut,
    ProblemsOut,
    RunningOut,
    SpaceOut,
    StopIn,
    StoppingOut,
    WrongOut,
)
from likewise.server.service import Service
from likewise.vision.deep.network import can_run, offer

router = APIRouter(prefix="/api", tags=["collection"])

_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events as they happen.", "content": {"text/event-stream": {}}}
}


@router.get("/collection")
def collection(request: Request, service: Serving) -> CollectionOut:
    """Counts, sizes, spaces, and the job that is running."""
    info = service.collection.info()
    used = service.collection.similarities.find("default")
    deep = "deep" in info["spaces"]
    own = request.app.state.work.running
    job = None if own is None else RunningOut(**own)
    if job is None and info["job"]:
        job = RunningOut(job=0, what=info["job"], since=None, progress=None)
    return CollectionOut(
        name=Path(info["path"]).name,
        pictures=info["pictures"],
        problems=info["problems"],
        folders=info["roots"],
        spaces=[
            SpaceOut(
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
    """What would make answers better: the network, or that it runs here again."""
    if not deep:
        can_run()  # what is wrong with it is part of what is said
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
    """The built-in similarity that a profile starts from."""
    built_in = (made for made in col.similarities.built_in() if made.spaces == used.spaces)
    return next((made.name for made in built_in), "+".join(used.spaces))


@router.get("/collection/problems")
def problems(
    service: Serving,
    offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> ProblemsOut:
    """Files that could not be used, with the reason."""
    rows = service.collection.problems()
    items = [ProblemOut(path=r.path, problem=r.problem or "") for r in rows[offset:][:limit]]
    return ProblemsOut(total=len(rows), items=items)


@router.post("/collection/add", status_code=202)
def add(request: Request, service: Serving, said: AddIn) -> JobOut:
    """Take in a folder of this machine; progress comes as events."""
    folder = os.path.expanduser(said.folder)
    if not os.path.isabs(folder) or "\0" in folder:
        raise InvalidInput(f"{said.folder!r} is not an absolute path; start it with /")
    if not os.path.exists(folder):
        raise InvalidInput(f"{folder} does not exist on the server's machine")
    return start_job(request, service, "add", lambda col, report: col.add(folder, report=report))


@router.post("/collection/sync", status_code=202)
def sync(request: Request, service: Serving) -> JobOut:
    """Follow what changed in the folders that were added."""
    return start_job(request, service, "sync", lambda col, report: col.sync(report=report))


@router.post("/collection/describe", status_code=202)
def describe(request: Request, service: Serving) -> JobOut:
    """Describe every picture by visual words, colours and edges too, where that is missing."""
    return start_job(request, service, "describe", _describe)


def _describe(col: Collection, report: Report) -> dict[str, Any]:
    before = set(col.spaces)
    try:
        made = col.spaces.add_missing(report=report)
    except JobStopped:
        # Words that were not learned to the end have no rows, and would be learned by every later
        # add: whoever stops it does not want that.
        for name, space in col.spaces.items():
            if name not in before and not space.generation:
                col.spaces.drop(name)
        raise
    return {"pictures": len(col), "spaces": ", ".join(made)}


@router.post("/collection/stop")
def stop(request: Request, said: StopIn) -> StoppingOut:
    """End a job of this server at its next step; what it has done is kept."""
    work: Work = request.app.state.work
    return StoppingOut(stopping=work.cancel(said.job))


def start_job(request: Request, service: Service, what: str, job: Job) -> JobOut:
    """Begin long work on a collection of its own; what comes of it is told as an event."""
    work: Work = request.app.state.work
    # Another process's job is told at once; ours would only fail a moment later.
    if work.running is None and (busy := service.collection.running_job()) is not None:
        raise CollectionBusy(f"the collection is busy: {busy}; wait for it to end")
    own = service.collection.open_again()
    try:
        number = work.start(what, own, job)
    except BaseException:
        own.close()
        raise
    return JobOut(job=number)


@router.post("/collection/verify")
def verify(service: Serving) -> WrongOut:
    """Check every byte; what is wrong, in sentences."""
    return WrongOut(wrong=service.collection.verify())


@router.get("/events", response_class=StreamingResponse, responses=_EVENTS)
async def events(request: Request, service: Serving, caller: Calling) -> StreamingResponse:
    """Server-sent events: progress, done, failed, changed."""
    told: Events = request.app.state.events
    key = caller.key
    stream = told.listen(
        lambda: service.collection.revision,
        request.headers.get("last-event-id", ""),
        None if key is None else lambda: service.collection.keys.of_id(key.id) is not None,
    )
    return StreamingResponse(
        stream, media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


@router.get("/health")
async def health() -> HealthOut:
    """Whether the server answers."""
    return HealthOut(ok=True, version=__version__)


@router.get("/metrics", response_class=Response, responses=_TEXT)
def metrics(request: Request, service: Serving) -> Response:
    """Counters since the start, in the text format of Prometheus."""
    found: Metrics = request.app.state.metrics
    text = found.text({"pictures": len(service.collection)})
    return Response(text, media_type="text/plain; version=0.0.4")
