"""Learned metrics and maps: what there is, how good each is, learn now, and forget."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from likewise.catalog.jobs import Report
from likewise.catalog.log_tables import Model
from likewise.collection.collection import Collection
from likewise.server.routes_collection import start_job
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import JobOut, Name, Strict
from likewise.server.service import Service

router = APIRouter(prefix="/api", tags=["models"])


class ModelOut(BaseModel):
    """``agreement`` is on what was held out, ``agreement_plain`` that of the space alone on the
    same; ``since`` counts lines of the log it has not learned from; ``told`` is one sentence."""

    name: str
    kind: Literal["metric", "map"]
    space: str
    profile: str
    made: str
    stale: bool
    since: int
    learned: bool
    agreement: float | None
    agreement_plain: float | None
    held_out: int
    figures: dict[str, Any]
    told: str


class ModelsOut(BaseModel):
    items: list[ModelOut]


class LearnIn(Strict):
    kind: Literal["metric", "map"]
    name: Name
    space: Name | None = None
    profile: Name = "default"
    labels: Literal["folders", "tags"] | None = Field(
        None, description="For a map without comparisons: what makes them."
    )


class RenameIn(Strict):
    name: Name


@router.get("/models")
def models(service: Serving) -> ModelsOut:
    """Every learned metric and map."""
    found = service.collection.models.values()
    return ModelsOut(items=[_out(service, one) for one in found])


@router.post("/models", status_code=202)
def learn(request: Request, service: Serving, said: LearnIn) -> JobOut:
    """Learn a metric or a map now, from the log; progress comes as events."""

    def job(col: Collection, report: Report) -> dict[str, Any]:
        given: dict[str, Any] = {"space": said.space, "profile": said.profile, "report": report}
        if said.kind == "metric":
            made = col.models.learn_metric(said.name, **given)
        else:
            made = col.models.learn_map(said.name, labels=said.labels, **given)
        return {"name": made.name, "kind": made.kind, "told": sentence(made)}

    return start_job(request, service, f"learn {said.kind}", job)


@router.post("/models/{name}/rename")
def rename(service: Serving, name: str, said: RenameIn) -> ModelsOut:
    """Give a metric or map another name."""
    service.collection.models.rename(name, said.name)
    return models(service)


@router.delete("/models/{name}")
def forget(service: Serving, name: str) -> ModelsOut:
    """Forget a metric or map; the log it was learned from stays."""
    service.collection.models.delete(name)
    return models(service)


def _out(service: Service, made: Model) -> ModelOut:
    figures = dict(made.figures)
    space = service.collection.spaces.get(made.space)
    return ModelOut(
        name=made.name,
        kind="map" if made.kind == "map" else "metric",
        space=made.space,
        profile=made.profile,
        made=made.made,
        stale=space is None or space.generation != made.generation,
        since=service.collection.models.count_new_lines(made.name),
        learned=bool(figures.get("learned", True)),
        agreement=figures.get("agreement"),
        agreement_plain=figures.get("agreement_plain"),
        held_out=int(figures.get("held_out") or 0),
        figures=figures,
        told=sentence(made),
    )


def sentence(made: Model) -> str:
    """What a model was made of and how good it is, for a person."""
    figures = made.figures
    if figures.get("reason"):
        text = str(figures["reason"])
        return f"{text[0].upper()}{text[1:]}."
    right, plain = figures.get("agreement"), figures.get("agreement_plain")
    measured = ""
    if right is not None:
        measured = f" It agrees with {right:.0%} of the answers that were left out"
        measured += f", {plain:.0%} without learning." if plain is not None else "."
    if made.kind == "metric":
        pairs = int(figures.get("similar", 0)) + int(figures.get("dissimilar", 0))
        return f"Learned from {_some(pairs, 'pair')} of pictures.{measured}"
    looks = "how the pictures look"
    if figures.get("made_from") not in (None, "space"):
        looks = f"the {figures['made_from']} of the pictures"
    said = _some(int(figures.get("comparisons", 0)), "comparison")
    if figures.get("source") == "people":
        return f"Drawn from {said}.{measured}"
    if figures.get("comparisons"):
        return f"Drawn from {said} and from {looks}.{measured}"
    return f"There are no comparisons yet: drawn from {looks}."


def _some(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
