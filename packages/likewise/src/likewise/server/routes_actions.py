"""Bulk actions: what was done to many pictures at once, the way back, what is asked before."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from likewise.collection.actions import Action
from likewise.errors import InvalidInput
from likewise.server.callers import Calling
from likewise.server.routes_pictures import Serving
from likewise.server.routes_tags import ExportIn, Tag, TagLinesOut, whole_place
from likewise.server.schemas import PictureId, PictureOut, ProblemOut, Strict

router = APIRouter(prefix="/api", tags=["actions"])

_MANY = 20_000
"""Pictures of one action: their names must fit into a request."""
_NAMED = 20
"""Folders and problems that an answer names; of the others it counts."""


class ActionOut(BaseModel):
    """``what`` in words, without the count; ``pictures`` counts files where it wrote sidecars."""

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
    """``from_disk`` moves the files too; it is asked twice, and ``sure`` is the second answer."""

    pictures: list[PictureId] = Field(min_length=1, max_length=_MANY)
    from_disk: bool = False
    sure: bool = False


class RemovedOut(BaseModel):
    """``moved``: files that went into the collection's folder "removed"."""

    action: int
    pictures: int
    moved: int
    problems: list[ProblemOut]


class FolderCountOut(BaseModel):
    folder: str
    files: int


class SidecarPlanOut(BaseModel):
    """What writing sidecars would do; of ``n_folders`` folders the fullest are named."""

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
    """Of one tag's suggestions, those that are right and those that are not."""

    tag: Tag
    accept: list[PictureId] = Field(default=[], max_length=_MANY)
    reject: list[PictureId] = Field(default=[], max_length=_MANY)


@router.get("/actions")
def actions(
    service: Serving,
    limit: Annotated[int, Query(ge=1, le=1000, description="Actions, at most.")] = 50,
) -> ActionsOut:
    """What was done to many pictures at once, the newest first; what was undone is marked."""
    return ActionsOut(items=[_out(one) for one in service.collection.actions.list(limit)])


@router.post("/actions/undo")
def undo(service: Serving, caller: Calling, said: ActionUndoIn) -> ActionUndoneOut:
    """Restore exactly what an action changed; what was changed since is left alone.

    Who does not manage may undo what they did themselves.
    """
    caller.check_own(service.collection.actions[said.action].key)
    done = service.collection.actions.undo(said.action)
    return ActionUndoneOut(
        action=_out(done.action), restored=done.restored, left=done.left,
        problems=_problems(done.problems),
    )  # fmt: skip


@router.post("/pictures/remove")
def remove(service: Serving, said: RemoveIn) -> RemovedOut:
    """Take pictures out of the collection.  Files stay, unless that is asked for twice."""
    if said.from_disk and not said.sure:
        raise InvalidInput(
            "from_disk moves the files of these pictures out of their folders into the "
            "collection's folder 'removed'; say sure as well"
        )
    images = [service.image_of(picture) for picture in said.pictures]
    done = service.collection.actions.remove(images, from_disk=said.from_disk)
    return RemovedOut(
        action=done.action, pictures=done.pictures, moved=done.moved,
        problems=_problems(done.problems),
    )  # fmt: skip


@router.post("/tags/export/plan")
def plan_export(service: Serving, said: ExportIn) -> SidecarPlanOut:
    """How many sidecars an export would write, and where; nothing is written."""
    plan = service.collection.tags.plan_xmp(whole_place(said.place))
    fullest = sorted(plan.folders.items(), key=lambda one: (-one[1], one[0]))
    return SidecarPlanOut(
        new=plan.new, changed=plan.changed, unchanged=plan.unchanged,
        problems=len(plan.problems), n_folders=len(fullest),
        folders=[FolderCountOut(folder=name, files=n) for name, n in fullest[:_NAMED]],
    )  # fmt: skip


@router.get("/tags/suggested")
def suggested(
    service: Serving,
    tag: Annotated[str, Query(min_length=1, max_length=200, description="The tag.")],
    offset: Annotated[int, Query(ge=0, le=1 << 40, description="Pictures to pass over.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Pictures, at most.")] = 200,
) -> SuggestedOut:
    """Pictures with a suggested tag that was not accepted or rejected yet."""
    found = service.collection.tags.suggested_for(tag)
    page = found[offset:][:limit]
    shown = service.pictures_out(page)
    return SuggestedOut(total=len(found), items=[shown[i] for i in page if i in shown])


@router.post("/tags/settle")
def settle(service: Serving, said: SettleIn) -> TagLinesOut:
    """Accept many suggestions of one tag and reject others, as one action."""
    yes, no = ([service.image_of(one) for one in some] for some in (said.accept, said.reject))
    if not (yes or no):
        raise InvalidInput("name pictures to accept or to reject")
    done = service.collection.tags.settle_suggestions(said.tag, yes, no)
    return TagLinesOut(lines=done.lines, action=done.action)


def _out(action: Action) -> ActionOut:
    return ActionOut(**action._asdict())


def _problems(found: tuple[tuple[str, str], ...]) -> list[ProblemOut]:
    return [ProblemOut(path=path, problem=reason) for path, reason in found[:_NAMED]]
