"""Judgements, similarities, profiles, explanations, and learned metrics and maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from likewise.catalog.jobs import Report
from likewise.catalog.log_tables import Model
from likewise.collection.collection import Collection
from likewise.learning.learned_directions import Direction, Example, Move
from likewise.learning.learned_report import LearnedWord
from likewise.learning.log import LogLine
from likewise.search.explain import HeatMap
from likewise.search.similarities import Similarity
from likewise.server import schemas
from likewise.server.roles import Calling
from likewise.server.routes_collection import start_job
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import Name, Strict
from likewise.server.service import Service, figures_out

router = APIRouter(prefix="/api", tags=["learning"])


@router.post("/judge")
def judge(service: Serving, said: schemas.JudgeIn) -> schemas.JudgeOut:
    """Record liked and disliked pictures.  The judgement is on disk when this returns."""
    col = service.collection
    query = service.resolve(said)
    liked, disliked = (service.images_of(some) for some in (said.liked, said.disliked))
    shown = None if said.shown is None else service.images_of(said.shown)
    made = col.judge(query, liked, disliked, text=said.text, shown=shown, profile=said.profile)
    return schemas.JudgeOut(
        judgement=made.number,
        contradicts=list(made.contradicts),
        learned=figures_out(col.profiles.figures(made.profile)),
    )


@router.post("/undo")
def undo(service: Serving, caller: Calling, said: schemas.UndoIn) -> schemas.UndoOut:
    """Undo the last or the given judgement; callers that may not manage, only their own."""
    col, number = service.collection, said.judgement
    if caller.key is not None and not caller.manages:
        if number is None:
            number = col.keys.last_judgement(caller.key, said.profile)
        col.keys.check_wrote(caller.key, [number])
    return schemas.UndoOut(judgement=col.undo(number, profile=said.profile))


@router.post("/explain")
def explain(service: Serving, asked: schemas.ExplainIn) -> schemas.ExplainOut:
    """Explain why a picture was found: shared words and their places, or heat maps."""
    col = service.collection
    query, region = service.query(asked.query)
    hit = service.row_of(asked.picture)
    resolved = col.searcher.resolve(service.resolve_query(asked.query))
    explainer = col.searcher.explainer(query, asked.by or "default", region, resolved)
    found = explainer.explain(hit.id, asked.top)
    if asked.query.picture is not None:
        row = service.row_of(asked.query.picture)
        size = (row.width, row.height)
    else:
        kept = service.find_upload(asked.query.upload or "")
        size = (kept.width, kept.height)
    return schemas.ExplainOut(
        score=found.score,
        space=found.space,
        shared=found.n_shared,
        words=[
            schemas.SharedOut(
                contribution=word.contribution,
                query=[(float(x), float(y)) for x, y in word.in_query],
                picture=[(float(x), float(y)) for x, y in word.in_hit],
            )
            for word in found.words
        ],
        in_query=_heat_out(found.in_query),
        in_picture=_heat_out(found.in_hit),
        exact=found.exact,
        query_size=size,
        picture_size=(hit.width, hit.height),
    )


def _heat_out(heat: HeatMap | None) -> schemas.HeatOut | None:
    if heat is None:
        return None
    return schemas.HeatOut(
        cells=heat.cells.tolist(),
        box=heat.box,
        rest=heat.rest,
        areas=[schemas.AreaOut(name=one.name, share=one.share) for one in heat.areas()],
    )


@router.get("/similarities")
def similarities(service: Serving) -> schemas.SimilaritiesOut:
    """List all similarities with their figures; ``default`` is the profile in use."""
    found = service.collection.similarities
    answers = service.collection.comparisons.profiles()
    return schemas.SimilaritiesOut(
        default=found["default"].profile or "default",
        items=[
            schemas.SimilarityOut(
                name=name,
                kind=_kind(made),
                learned=made.profile is not None,
                spaces=list(made.spaces),
                figures=figures_out(made.figures),
                answers=schemas.AnswersOut.model_validate(answers[name], from_attributes=True)
                if name in answers
                else None,
            )
            for name, made in found.items()
        ],
    )


def _kind(made: Similarity) -> Literal["space", "profile", "metric", "map"]:
    if made.model is not None:
        return "map" if made.model.kind == "map" else "metric"
    return "space" if made.profile is None else "profile"


@router.post("/similarities/use")
def use(service: Serving, said: schemas.UseIn) -> schemas.SimilaritiesOut:
    """Make a similarity the default."""
    service.collection.use(said.name)
    return similarities(service)


@router.post("/profiles", status_code=201)
def create(service: Serving, said: schemas.ProfileIn) -> schemas.SimilaritiesOut:
    """Create an empty profile, or copy another."""
    if said.copy_of is not None:
        service.collection.profiles.copy(said.copy_of, said.name)
    else:
        service.collection.profiles.create(said.name, said.base)
    return similarities(service)


@router.get("/profiles/{name}/log")
def log(
    service: Serving, name: str, limit: Annotated[int, Query(ge=1, le=10_000)] = 200
) -> schemas.LogOut:
    """Return the log of a profile, newest first."""
    lines = service.collection.log.entries(name, newest=limit)
    position = lines[-1].number if lines else 0
    return schemas.LogOut(items=_lines(service, lines[::-1]), position=position)


@router.post("/profiles/{name}/rollback")
def roll_back(service: Serving, name: str, said: schemas.RollbackIn) -> schemas.LogOut:
    """Return to an earlier version; another roll-back undoes this."""
    service.collection.profiles.roll_back(said.position, profile=name)
    return log(service, name)


@router.get("/profiles/{name}/learned")
def what_was_learned(service: Serving, name: str) -> schemas.LearnedOut:
    """Report the words or directions that changed most, moved pictures, curve and versions."""
    found = service.collection.profiles.report(name)
    return schemas.LearnedOut(
        profile=found.profile,
        space=found.space,
        version=found.position,
        figures=figures_out(found.figures) or schemas.FiguresOut.nothing(),
        gained=_words(service, found.gained),
        lost=_words(service, found.lost),
        directions=_directions(service, found.directions),
        moved=_moves(service, found.moved),
        curve=[
            schemas.CurveOut(n=p.judgement, learned=p.learned, plain=p.plain) for p in found.curve
        ],
        versions=_lines(service, found.log[::-1][:200]),
    )


def _words(service: Service, words: Iterable[LearnedWord]) -> list[schemas.WordOut]:
    made = []
    for word in words:
        shown = service.pictures_out(example.image for example in word.examples)
        examples = []
        for example in word.examples:
            picture = shown.get(example.image)
            if picture is None:
                continue
            box = None
            if example.box is not None:
                x, y, w, h = example.box
                # A word at the border can extend beyond the picture.
                left, right = (max(0, min(1, side)) * picture.width for side in (x, x + w))
                top, bottom = (max(0, min(1, side)) * picture.height for side in (y, y + h))
                box = (left, top, right - left, bottom - top)
            examples.append(schemas.ExampleOut(picture=picture, box=box))
        made.append(
            schemas.WordOut(
                word=word.word, weight=word.weight, change=word.change, frequency=word.pictures,
                examples=examples,
            )
        )  # fmt: skip
    return made


def _directions(service: Service, directions: Sequence[Direction]) -> list[schemas.DirectionOut]:
    shown = service.pictures_out(
        example.image for one in directions for example in (*one.one_end, *one.other_end)
    )

    def pictures(end: Iterable[Example]) -> list[schemas.PictureOut]:
        return [shown[example.image] for example in end if example.image in shown]

    return [
        schemas.DirectionOut(
            value=one.value, one_end=pictures(one.one_end), other_end=pictures(one.other_end)
        )
        for one in directions
    ]


def _moves(service: Service, moves: Sequence[Move]) -> list[schemas.MoveOut]:
    shown = service.pictures_out(
        example.image for move in moves for example in (move.query, move.picture)
    )
    return [
        schemas.MoveOut(
            query=shown[move.query.image], picture=shown[move.picture.image],
            before=move.before, after=move.after,
        )
        for move in moves
        if move.query.image in shown and move.picture.image in shown
    ]  # fmt: skip


def _lines(service: Service, lines: Iterable[LogLine]) -> list[schemas.LineOut]:
    lines = list(lines)
    wanted = {i for line in lines for i in (*line.liked, *line.disliked)}
    wanted |= {line.query for line in lines if line.query is not None}
    shown = service.pictures_out(wanted)
    return [
        schemas.LineOut.model_validate(
            line._asdict()
            | {
                "query": shown.get(line.query or 0),
                "liked": [shown[i] for i in line.liked if i in shown],
                "disliked": [shown[i] for i in line.disliked if i in shown],
            }
        )
        for line in lines
    ]


models_router = APIRouter(prefix="/api", tags=["models"])


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


@models_router.get("/models")
def models(service: Serving) -> ModelsOut:
    """List the learned metrics and maps."""
    found = service.collection.models.values()
    return ModelsOut(items=[_model_out(service, one) for one in found])


@models_router.post("/models", status_code=202)
def learn(request: Request, service: Serving, said: LearnIn) -> schemas.JobOut:
    """Learn a metric or a map from the log; events report the progress."""

    def job(col: Collection, report: Report) -> dict[str, Any]:
        given: dict[str, Any] = {"space": said.space, "profile": said.profile, "report": report}
        if said.kind == "metric":
            made = col.models.learn_metric(said.name, **given)
        else:
            made = col.models.learn_map(said.name, labels=said.labels, **given)
        return {"name": made.name, "kind": made.kind, "told": sentence(made)}

    return start_job(request, service, f"learn {said.kind}", job)


@models_router.post("/models/{name}/rename")
def rename(service: Serving, name: str, said: RenameIn) -> ModelsOut:
    """Rename a metric or map."""
    service.collection.models.rename(name, said.name)
    return models(service)


@models_router.delete("/models/{name}")
def forget(service: Serving, name: str) -> ModelsOut:
    """Delete a metric or map; its log stays."""
    service.collection.models.delete(name)
    return models(service)


def _model_out(service: Service, made: Model) -> ModelOut:
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
    """Describe what a model was learned from and how good it is, in a sentence."""
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
