"""Tags, suggestions and sidecars, and bulk actions with their undo."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from likewise.collection.actions import Action
from likewise.errors import CollectionError, InvalidInput
from likewise.server.roles import Calling
from likewise.server.routes_collection import start_job
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import (
    JobOut,
    Line,
    Name,
    PictureId,
    PictureOut,
    ProblemOut,
    Strict,
    Words,
)
from likewise.server.service import Service

router = APIRouter(prefix="/api", tags=["tags"])

Tag = Annotated[str, Field(min_length=1, max_length=200)]


class TagOut(BaseModel):
    """``pictures`` counts confirmed tags; ``sources`` also counts suggestions."""

    tag: str
    pictures: int
    sources: dict[str, int]


class AllTagsOut(BaseModel):
    items: list[TagOut]


class BehindOut(BaseModel):
    picture: PictureOut
    weight: float


class SuggestionOut(BaseModel):
    """``confidence`` is measured on this collection where ``calibrated``."""

    tag: str
    confidence: float
    calibrated: bool
    because: list[BehindOut]


class TaggedOut(BaseModel):
    """A picture's tags with their sources, its refused tags, and suggestions."""

    picture: PictureOut
    tags: dict[str, list[str]]
    refused: list[str]
    suggestions: list[SuggestionOut]


class TagManyIn(Strict):
    pictures: list[PictureId] = Field(min_length=1, max_length=10_000)
    add: list[Tag] = Field(default=[], max_length=50)
    remove: list[Tag] = Field(default=[], max_length=50)


class TagOneIn(Strict):
    picture: PictureId
    tag: Tag


class TagUndoIn(Strict):
    lines: list[Line] = Field(min_length=1, max_length=10)


class TagLinesOut(BaseModel):
    """Lines of the log, for undo; empty where nothing changed.

    ``action`` undoes all of them, where several pictures changed.
    """

    lines: list[int]
    action: int | None = None


class SaveIn(Strict):
    """``text`` becomes ``tag``: ``k`` pictures at most are suggested."""

    text: Words
    tag: Tag
    k: int = Field(50, ge=0, le=10_000)
    above: float | None = Field(None, allow_inf_nan=False)
    profile: Name = "default"


class SavedOut(TagLinesOut):
    """How many pictures were tagged, and for how many the tag is suggested."""

    tag: str
    tagged: int
    suggested: int


class TagAllIn(Strict):
    above: float = Field(0.6, gt=0, le=1)


class ExportIn(Strict):
    """``place``: a folder of this machine, or "beside" for the folders of the pictures."""

    place: str = Field("beside", min_length=1, max_length=4096)


class UntaggedOut(BaseModel):
    total: int
    items: list[PictureOut]


@router.get("/tags")
def tags(
    service: Serving,
    prefix: Annotated[str, Query(max_length=200, description="What tags begin with.")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000, description="Tags, at most.")] = 1000,
) -> AllTagsOut:
    """Tags with their pictures counted, the most frequent first; ``prefix`` completes one."""
    found = service.collection.tags.all(prefix, limit)
    return AllTagsOut(
        items=[TagOut(tag=r.tag, pictures=r.pictures, sources=dict(r.sources)) for r in found]
    )


@router.get("/tags/untagged")
def untagged(
    service: Serving,
    offset: Annotated[int, Query(ge=0, le=1 << 40, description="Pictures to pass over.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Pictures, at most.")] = 20,
) -> UntaggedOut:
    """List pictures without tags, in the order they were added."""
    total, rows = service.collection.pictures.page(
        sort="added", descending=False, where={"tagged": False}, offset=offset, limit=limit
    )
    return UntaggedOut(total=total, items=[service.picture_out(row) for row in rows])


@router.get("/pictures/{picture}/tags")
def of_picture(
    service: Serving,
    picture: str,
    k: Annotated[int, Query(ge=1, le=50, description="Suggestions, at most.")] = 6,
) -> TaggedOut:
    """Return a picture's tags and suggestions, with the pictures that support them."""
    col = service.collection
    row = service.row_of(picture)
    found = col.suggest_tags(row.id, k) if len(col) else []
    shown = service.pictures_out({one.id for some in found for one in some.because})
    return TaggedOut(
        picture=service.picture_out(row),
        tags=col.tags.sources(row.id),
        refused=col.tags.refused(row.id),
        suggestions=[
            SuggestionOut(
                tag=one.tag,
                confidence=one.confidence,
                calibrated=one.calibrated,
                because=[
                    BehindOut(picture=shown[b.id], weight=b.weight)
                    for b in one.because
                    if b.id in shown
                ],
            )
            for one in found
        ],
    )


@router.post("/tags/set")
def set_tags(service: Serving, said: TagManyIn) -> TagLinesOut:
    """Add and remove tags of pictures in one transaction."""
    images = service.images_of(said.pictures)
    done = service.collection.tags.change_many(images, said.add, said.remove)
    return TagLinesOut(lines=done.lines, action=done.action)


@router.post("/tags/accept")
def accept(service: Serving, said: TagOneIn) -> TagLinesOut:
    """Accept a suggested tag."""
    return _lines(service.collection.tags.accept(service.image_of(said.picture), said.tag))


@router.post("/tags/reject")
def reject(service: Serving, said: TagOneIn) -> TagLinesOut:
    """Reject a tag: it is removed and not suggested for this picture again."""
    return _lines(service.collection.tags.reject(service.image_of(said.picture), said.tag))


@router.post("/tags/save")
def save(service: Serving, said: SaveIn) -> SavedOut:
    """Save typed words as a tag: tag the liked pictures, suggest it for the rest."""
    done = service.collection.tags.save_query(
        said.text, said.tag, k=said.k, above=said.above, profile=said.profile
    )
    return SavedOut(
        lines=_lines(done.line).lines, action=done.action, tag=done.tag,
        tagged=len(done.tagged), suggested=len(done.suggested),
    )  # fmt: skip


@router.post("/tags/undo")
def undo(service: Serving, caller: Calling, said: TagUndoIn) -> TagLinesOut:
    """Undo tag changes, the last first; callers that may not manage undo only their own."""
    if caller.key is not None and not caller.manages:
        service.collection.keys.check_wrote(caller.key, said.lines)
    return TagLinesOut(
        lines=[service.collection.tags.undo(line) for line in sorted(said.lines, reverse=True)]
    )


@router.post("/tags/all", status_code=202)
def tag_all(request: Request, service: Serving, said: TagAllIn) -> JobOut:
    """Suggest tags for every untagged picture; events report the progress."""
    _needs_tags(service)
    return start_job(
        request,
        service,
        "tag",
        lambda col, report: col.tags.suggest_for_all(above=said.above, report=report),
    )


@router.post("/tags/export", status_code=202)
def export(request: Request, service: Serving, said: ExportIn) -> JobOut:
    """Write XMP sidecars; picture files are never changed.  Events report the progress."""
    place = whole_place(said.place)
    _needs_tags(service)
    return start_job(
        request, service, "export", lambda col, report: col.tags.export_xmp(place, report=report)
    )


def whole_place(said: str) -> str:
    """Return the folder for sidecars as an absolute path, or "beside"."""
    if said == "beside":
        return said
    place = os.path.expanduser(said)
    if not os.path.isabs(place) or "\0" in place:
        raise InvalidInput(f"{said!r} is not an absolute path; start it with /, or say 'beside'")
    return place


def _needs_tags(service: Service) -> None:
    if not any(one.pictures for one in service.collection.tags.all(limit=1)):
        raise CollectionError("no picture has a tag yet; tag some first")


def _lines(number: int | None) -> TagLinesOut:
    return TagLinesOut(lines=[] if number is None else [number])


actions_router = APIRouter(prefix="/api", tags=["actions"])

_MANY = 20_000
"""The most pictures of one action; their names must fit into a request."""
_NAMED = 20
"""The most folders and problems that a response lists; it counts the rest."""


class ActionOut(BaseModel):
    """``what`` describes it without the count; ``pictures`` counts files if it wrote sidecars."""

    id: int
    kind: str
    what: str
    pictures: int
    made: str
    who: str
    undone: str | None
    key: int | None


class ActionsOut(BaseModel):
    items: list[ActionOut]


class ActionUndoIn(Strict):
    action: Annotated[int, Field(ge=1, lt=1 << 62)]


class ActionUndoneOut(BaseModel):
    """``left``: changed later and left as is; ``problems``: files that could not be put back."""

    action: ActionOut
    restored: int
    left: int
    problems: list[ProblemOut]


class RemoveIn(Strict):
    """``from_disk`` moves the files too; ``sure`` must confirm it."""

    pictures: list[PictureId] = Field(min_length=1, max_length=_MANY)
    from_disk: bool = False
    sure: bool = False


class RemovedOut(BaseModel):
    """``moved`` counts files moved into the collection's folder "removed"."""

    action: int
    pictures: int
    moved: int
    problems: list[ProblemOut]


class FolderCountOut(BaseModel):
    folder: str
    files: int


class SidecarPlanOut(BaseModel):
    """The effect of an export; ``folders`` lists the fullest of ``n_folders``."""

    new: int
    changed: int
    unchanged: int
    problems: int
    n_folders: int
    folders: list[FolderCountOut]


class SuggestedOut(BaseModel):
    total: int
    items: list[PictureOut]


class SettleIn(Strict):
    """Suggestions of one tag to accept and to reject."""

    tag: Tag
    accept: list[PictureId] = Field(default=[], max_length=_MANY)
    reject: list[PictureId] = Field(default=[], max_length=_MANY)


@actions_router.get("/actions")
def actions(
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=1000, description="Actions, at most.")] = 50,
) -> ActionsOut:
    """List bulk actions, newest first; undone ones are marked."""
    return ActionsOut(items=[_action_out(one) for one in service.collection.actions.list(limit)])


@actions_router.post("/actions/undo", name="undo")
def undo_action(service: Serving, caller: Calling, said: ActionUndoIn) -> ActionUndoneOut:
    """Restore exactly what an action changed; later changes stay.

    Callers that may not manage can undo only their own actions.
    """
    caller.check_own(service.collection.actions[said.action].key)
    done = service.collection.actions.undo(said.action)
    return ActionUndoneOut(
        action=_action_out(done.action), restored=done.restored, left=done.left,
        problems=_problems(done.problems),
    )  # fmt: skip


@actions_router.post("/pictures/remove")
def remove(service: Serving, said: RemoveIn) -> RemovedOut:
    """Remove pictures from the collection.  Files stay unless ``from_disk`` is confirmed."""
    if said.from_disk and not said.sure:
        raise InvalidInput(
            "from_disk moves the files of these pictures out of their folders into the "
            "collection's folder 'removed'; say sure as well"
        )
    images = service.images_of(said.pictures)
    done = service.collection.actions.remove(images, from_disk=said.from_disk)
    return RemovedOut(
        action=done.action, pictures=done.pictures, moved=done.moved,
        problems=_problems(done.problems),
    )  # fmt: skip


@actions_router.post("/tags/export/plan")
def plan_export(service: Serving, said: ExportIn) -> SidecarPlanOut:
    """Count the sidecars an export would write, by folder; write nothing."""
    plan = service.collection.tags.plan_xmp(whole_place(said.place))
    fullest = sorted(plan.folders.items(), key=lambda one: (-one[1], one[0]))
    return SidecarPlanOut(
        new=plan.new, changed=plan.changed, unchanged=plan.unchanged,
        problems=len(plan.problems), n_folders=len(fullest),
        folders=[FolderCountOut(folder=name, files=n) for name, n in fullest[:_NAMED]],
    )  # fmt: skip


@actions_router.get("/tags/suggested")
def suggested(
    service: Serving,
    tag: Annotated[str, Query(min_length=1, max_length=200, description="The tag.")],
    offset: Annotated[int, Query(ge=0, le=1 << 40, description="Pictures to pass over.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Pictures, at most.")] = 200,
) -> SuggestedOut:
    """List pictures with a suggested tag that is neither accepted nor rejected."""
    found = service.collection.tags.suggested_for(tag)
    page = found[offset:][:limit]
    shown = service.pictures_out(page)
    return SuggestedOut(total=len(found), items=[shown[i] for i in page if i in shown])


@actions_router.post("/tags/settle")
def settle(service: Serving, said: SettleIn) -> TagLinesOut:
    """Accept many suggestions of one tag and reject others, as one action."""
    yes, no = (service.images_of(some) for some in (said.accept, said.reject))
    if not (yes or no):
        raise InvalidInput("name pictures to accept or to reject")
    done = service.collection.tags.settle_suggestions(said.tag, yes, no)
    return TagLinesOut(lines=done.lines, action=done.action)


def _action_out(action: Action) -> ActionOut:
    return ActionOut(**action._asdict())


def _problems(found: tuple[tuple[str, str], ...]) -> list[ProblemOut]:
    return [ProblemOut(path=path, problem=reason) for path, reason in found[:_NAMED]]
