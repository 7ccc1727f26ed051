"""Judging and what comes of it: judge, undo, similarities, profiles, why it matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from likewise.learning.learned_directions import Direction, Example, Move
from likewise.learning.learned_report import LearnedWord
from likewise.learning.log import LogLine
from likewise.search.explain import HeatMap
from likewise.search.similarities import Similarity
from likewise.server.callers import Calling
from likewise.server.routes_pictures import Serving
from likewise.server.schemas import (
    AnswersOut,
    AreaOut,
    CurveOut,
    DirectionOut,
    ExampleOut,
    ExplainIn,
    ExplainOut,
    FiguresOut,
    HeatOut,
    JudgeIn,
    JudgeOut,
    LearnedOut,
    LineOut,
    LogOut,
    MoveOut,
    PictureOut,
    ProfileIn,
    RollbackIn,
    SharedOut,
    SimilaritiesOut,
    SimilarityOut,
    UndoIn,
    UndoOut,
    UseIn,
    WordOut,
)
from likewise.server.service import Service, figures_out

router = APIRouter(prefix="/api", tags=["learning"])


@router.post("/judge")
def judge(service: Serving, said: JudgeIn) -> JudgeOut:
    """Say what is alike and what is not.  When this answers, the judgement is on disk."""
    col = service.collection
    query = service.resolve(said)
    liked, disliked = ([service.image_of(p) for p in some] for some in (said.liked, said.disliked))
    shown = None if said.shown is None else [service.image_of(p) for p in said.shown]
    made = col.judge(query, liked, disliked, text=said.text, shown=shown, profile=said.profile)
    return JudgeOut(
        judgement=made.number,
        contradicts=list(made.contradicts),
        learned=figures_out(col.profiles.figures(made.profile)),
    )


@router.post("/undo")
def undo(service: Serving, caller: Calling, said: UndoIn) -> UndoOut:
    """Take back the last judgement, or the one named; who does not manage, one of their own."""
    col, number = service.collection, said.judgement
    if caller.key is not None and not caller.manages:
        if number is None:
            number = col.keys.last_judgement(caller.key, said.profile)
        col.keys.check_wrote(caller.key, [number])
    return UndoOut(judgement=col.undo(number, profile=said.profile))


@router.post("/explain")
def explain(service: Serving, asked: ExplainIn) -> ExplainOut:
    """Why a picture was found, by what ranked it: shared words and their places, or heat maps."""
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
    return ExplainOut(
        score=found.score,
        space=found.space,
        shared=found.n_shared,
        words=[
            SharedOut(
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


def _heat_out(heat: HeatMap | None) -> HeatOut | None:
    if heat is None:
        return None
    return HeatOut(
        cells=heat.cells.tolist(),
        box=heat.box,
        rest=heat.rest,
        areas=[AreaOut(name=one.name, share=one.share) for one in heat.areas()],
    )


@router.get("/similarities")
def similarities(service: Serving) -> SimilaritiesOut:
    """Every way to rank, learned ones with their figures; ``default`` is the profile in use."""
    found = service.collection.similarities
    answers = service.collection.comparisons.profiles()
    return SimilaritiesOut(
        default=found["default"].profile or "default",
        items=[
            SimilarityOut(
                name=name,
                kind=_kind(made),
                learned=made.profile is not None,
                spaces=list(made.spaces),
                figures=figures_out(made.figures),
                answers=AnswersOut(person=answers[name].person, into=answers[name].into)
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
def use(service: Serving, said: UseIn) -> SimilaritiesOut:
    """Make a similarity the default one."""
    service.collection.use(said.name)
    return similarities(service)


@router.post("/profiles", status_code=201)
def create(service: Serving, said: ProfileIn) -> SimilaritiesOut:
    """A new profile: empty, or a copy of another."""
    if said.copy_of is not None:
        service.collection.profiles.copy(said.copy_of, said.name)
    else:
        service.collection.profiles.create(said.name, said.base)
    return similarities(service)


@router.get("/profiles/{name}/log")
def log(service: Serving, name: str, limit: Annotated[int, Query(ge=1, le=10_000)] = 200) -> LogOut:
    """What was said in a profile, newest first."""
    lines = service.collection.log.entries(name, newest=limit)
    position = lines[-1].number if lines else 0
    return LogOut(items=_lines(service, lines[::-1]), position=position)


@router.post("/profiles/{name}/rollback")
def roll_back(service: Serving, name: str, said: RollbackIn) -> LogOut:
    """Return to an earlier version; the way forward again is another roll-back."""
    service.collection.profiles.roll_back(said.position, profile=name)
    return log(service, name)


@router.get("/profiles/{name}/learned")
def what_was_learned(service: Serving, name: str) -> LearnedOut:
    """Words or directions that gained and lost most, pictures that moved, curve and versions."""
    found = service.collection.profiles.report(name)
    return LearnedOut(
        profile=found.profile,
        space=found.space,
        version=found.position,
        figures=figures_out(found.figures) or FiguresOut.nothing(),
        gained=_words(service, found.gained),
        lost=_words(service, found.lost),
        directions=_directions(service, found.directions),
        moved=_moves(service, found.moved),
        curve=[CurveOut(n=p.judgement, learned=p.learned, plain=p.plain) for p in found.curve],
        versions=_lines(service, found.log[::-1][:200]),
    )


def _words(service: Service, words: Iterable[LearnedWord]) -> list[WordOut]:
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
                # A word at the border reaches beyond it; a picture cannot be shown there.
                left, right = (max(0, min(1, side)) * picture.width for side in (x, x + w))
                top, bottom = (max(0, min(1, side)) * picture.height for side in (y, y + h))
                box = (left, top, right - left, bottom - top)
            examples.append(ExampleOut(picture=picture, box=box))
        made.append(
            WordOut(
                word=word.word, weight=word.weight, change=word.change, frequency=word.pictures,
                examples=examples,
            )
        )  # fmt: skip
    return made


def _directions(service: Service, directions: Sequence[Direction]) -> list[DirectionOut]:
    shown = service.pictures_out(
        example.image for one in directions for example in (*one.one_end, *one.other_end)
    )

    def pictures(end: Iterable[Example]) -> list[PictureOut]:
        return [shown[example.image] for example in end if example.image in shown]

    return [
        DirectionOut(
            value=one.value, one_end=pictures(one.one_end), other_end=pictures(one.other_end)
        )
        for one in directions
    ]


def _moves(service: Service, moves: Sequence[Move]) -> list[MoveOut]:
    shown = service.pictures_out(
        example.image for move in moves for example in (move.query, move.picture)
    )
    return [
        MoveOut(
            query=shown[move.query.image], picture=shown[move.picture.image],
            before=move.before, after=move.after,
        )
        for move in moves
        if move.query.image in shown and move.picture.image in shown
    ]  # fmt: skip


def _lines(service: Service, lines: Iterable[LogLine]) -> list[LineOut]:
    lines = list(lines)
    wanted = {i for line in lines for i in (*line.liked, *line.disliked)}
    wanted |= {line.query for line in lines if line.query is not None}
    shown = service.pictures_out(wanted)
    return [
        LineOut(
            number=line.number, version=line.version, kind=line.kind, made=line.made,
            session=line.session, stands=line.stands, query=shown.get(line.query or 0),
            liked=[shown[i] for i in line.liked if i in shown],
            disliked=[shown[i] for i in line.disliked if i in shown],
            about=line.about, contradicts=list(line.contradicts), text=line.text,
            person=line.person, answers=line.answers, who=line.who,
        )
        for line in lines
    ]  # fmt: skip
