"""Comparisons: questions, answers, links for guests, and how far the answers agree."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from likewise.collection.keys import AccessKey
from likewise.errors import CollectionError, LikewiseError
from likewise.learning.models.comparisons import ComparisonRecord, ComparisonReport
from likewise.learning.pending_answers import PendingAnswers
from likewise.learning.shares import Share
from likewise.server.access import GUEST
from likewise.server.roles import GUEST_QUESTIONS, Calling
from likewise.server.routes_pictures import Serving, from_state
from likewise.server.schemas import Line, Name, PictureId, PictureOut, Strict
from likewise.server.service import Recent, Service

router = APIRouter(prefix="/api", tags=["compare"])
OFTEN = 5
"""The number of new answers after which the agreement is measured again."""
GOAL = 20
"""The number of new answers after which the map is learned again."""
REMEMBERED = 1000
"""The number of answers that are recognised when a client sends them again."""


class MeOut(BaseModel):
    """``name`` is that of a guest or of a key; empty for the owner."""

    guest: bool
    name: str
    role: Literal["guest", "look", "judge", "manage"]


class QuestionOut(BaseModel):
    """Is the anchor closer to the left or to the right picture?"""

    anchor: PictureOut
    left: PictureOut
    right: PictureOut


class ProgressOut(BaseModel):
    """``agreement``: of a map learned without them with ``tested`` answers, ``plain`` that of the
    pictures' looks alone, ``gain`` what the map adds (95 of 100 cases); measured now and then, None
    before there are enough.  ``since``: answers the map has not heard, towards the ``goal``."""

    yours: int
    all: int
    agreement: float | None
    plain: float | None
    gain: tuple[float, float] | None
    tested: int
    since: int
    goal: int


class QuestionsOut(BaseModel):
    questions: list[QuestionOut]
    progress: ProgressOut


class AnswerIn(Strict):
    anchor: PictureId
    nearer: PictureId
    farther: PictureId
    profile: Name = "default"
    once: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="A name made up by the client: sent again, it is one answer still."
    )


class AnswerOut(BaseModel):
    number: int
    progress: ProgressOut


class UndoAnswerIn(Strict):
    number: Line
    profile: Name = "default"


class PersonOut(BaseModel):
    """``agreement`` with a map that had not heard them, ``with_others`` on the same questions."""

    name: str
    answers: int
    agreement: float | None
    with_others: float | None


class RepeatedOut(BaseModel):
    questions: int
    agreement: float


class ReportOut(BaseModel):
    people: list[PersonOut]
    repeated: RepeatedOut | None
    progress: ProgressOut


class WaitingPersonOut(BaseModel):
    """``profile`` holds the answers; ``name`` is empty for the owner's own."""

    profile: str
    name: str
    answers: int


class WaitingOut(BaseModel):
    items: list[WaitingPersonOut]


class TakeInIn(Strict):
    answers: Name | None = Field(None, description="One profile of answers; none: all that wait.")
    profile: Name = "default"


class TakenOut(BaseModel):
    before: int
    items: list[WaitingPersonOut]


class ShareIn(Strict):
    name: Annotated[str, Field(min_length=1, max_length=40)]
    profile: Name = "default"


class UnshareIn(Strict):
    name: Annotated[str, Field(min_length=1, max_length=40)]


class ShareOut(BaseModel):
    """``address`` is shown this once; it begins after the server's own address."""

    name: str
    address: str


class OpenShareOut(BaseModel):
    name: str
    made: str
    answers: int


class SharesOut(BaseModel):
    items: list[OpenShareOut]


class Agreement:
    """Measure how far comparisons agree, in the background."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, ComparisonReport]] = {}
        self._busy: set[str] = set()
        self._once: Recent[Any, int] = Recent(REMEMBERED)

    def last_report(self, profile: str, answers: int) -> ComparisonReport | None:
        """Return the last report; measure again in the background after enough new answers."""
        with self._lock:
            found = self._known.get(profile)
            fresh = found is not None and abs(found[0] - answers) < OFTEN
            if answers >= OFTEN and not fresh and profile not in self._busy:
                self._busy.add(profile)
                threading.Thread(target=self._measure, args=(profile, answers), daemon=True).start()
        return found[1] if found else None

    def current_report(self, profile: str, answers: int) -> ComparisonReport:
        """Return the report of exactly these answers."""
        with self._lock:
            found = self._known.get(profile)
        if found is not None and found[1].comparisons == answers == found[0]:
            return found[1]
        made = self._service.collection.comparisons.report(profile=profile)
        with self._lock:
            self._known[profile] = made.comparisons, made
        return made

    def find_answer(self, who: tuple[str | None, str], once: str | None) -> int | None:
        """Return the line of an answer that the client sends again, after it lost the reply."""
        return None if once is None else self._once.get((who, once))

    def remember(self, who: tuple[str | None, str], once: str | None, number: int) -> None:
        if once is not None:
            self._once.put((who, once), number)

    def _measure(self, profile: str, answers: int) -> None:
        try:
            made = self._service.collection.comparisons.report(profile=profile)
            with self._lock:
                self._known[profile] = answers, made
        except (LikewiseError, OSError):
            # The next answers measure again; until then there is no figure to show.
            return
        finally:
            with self._lock:
                self._busy.discard(profile)


async def _guest_of(request: Request) -> Share | None:
    found: Share | None = request.scope.get(GUEST)
    return found


Guest = Annotated[Share | None, Depends(_guest_of)]
Agreeing = Annotated[Agreement, from_state("agreement")]


@router.get("/me")
def me(guest: Guest, caller: Calling) -> MeOut:
    """The caller: the owner, a person with a named key, or a guest who may answer questions."""
    if guest is not None:
        return MeOut(guest=True, name=guest.name, role="guest")
    return MeOut.model_validate({"guest": False, "name": caller.name, "role": caller.role})


@router.get("/compare/questions")
def questions(
    service: Serving,
    guest: Guest,
    caller: Calling,
    agreeing: Agreeing,
    n: Annotated[int, Query(ge=1, le=50, description="How many.")] = 4,
    profile: Annotated[
        str, Query(max_length=40, description="Whose answers; a guest's own counts.")
    ] = "default",
    seed: Annotated[
        int | None, Query(ge=0, lt=1 << 31, description="Other questions for another number.")
    ] = None,
) -> QuestionsOut:
    """Suggest the questions whose answers improve a map most."""
    profile = _profile(guest, profile)
    if guest is not None:
        n = min(n, GUEST_QUESTIONS)
    asked = service.collection.comparisons.suggest(n, profile=profile, seed=seed)
    shown = service.pictures_out({image for question in asked for image in question})
    progress = _progress(service, guest or caller.key, agreeing, profile)
    if guest is not None:
        service.shown_to_guests.show(guest, shown, progress.yours)
        # A guest sees the pictures, not their names and folders.
        shown = {image: _nameless(one) for image, one in shown.items()}
    made = [
        QuestionOut(anchor=shown[one.anchor], left=shown[one.left], right=shown[one.right])
        for one in asked
        if all(image in shown for image in one)
    ]
    return QuestionsOut(questions=made, progress=progress)


@router.post("/compare/answers", status_code=201)
def answer(
    service: Serving, guest: Guest, caller: Calling, agreeing: Agreeing, said: AnswerIn
) -> AnswerOut:
    """Record which picture is closer.  It is on disk when this returns."""
    profile, person = _profile(guest, said.profile), guest or caller.key
    who = (person.name if person else None, profile)
    known = agreeing.find_answer(who, said.once)
    if known is not None:
        return AnswerOut(number=known, progress=_progress(service, person, agreeing, profile))
    anchor, nearer, farther = map(service.image_of, (said.anchor, said.nearer, said.farther))
    number = service.collection.compare(
        anchor, nearer, farther, profile=profile, person=person.name if person else None
    )
    agreeing.remember(who, said.once, number)
    return AnswerOut(number=number, progress=_progress(service, person, agreeing, profile))


@router.post("/compare/undo")
def undo(
    service: Serving, guest: Guest, caller: Calling, agreeing: Agreeing, said: UndoAnswerIn
) -> AnswerOut:
    """Undo an answer; callers that may not manage can undo only their own."""
    profile, person = _profile(guest, said.profile), guest or caller.key
    col = service.collection
    # Managers may undo all answers.
    whose = None if guest is None and caller.manages else person
    own = {one.number for one in col.comparisons.all(profile=profile) if _mine(one, whose)}
    if said.number not in own:
        raise CollectionError(f"line {said.number} is not one of your answers")
    col.comparisons.undo(said.number, profile=profile)
    return AnswerOut(number=said.number, progress=_progress(service, person, agreeing, profile))


@router.get("/compare/report")
def report(
    service: Serving,
    agreeing: Agreeing,
    profile: Annotated[str, Query(max_length=40, description="Whose answers.")] = "default",
) -> ReportOut:
    """Return the answers of each person, and the agreement with a map and with each other."""
    answers = sum(service.collection.comparisons.count_by_person(profile=profile).values())
    if not answers:
        return ReportOut(
            people=[], repeated=None, progress=_progress(service, None, agreeing, profile)
        )
    found = agreeing.current_report(profile, answers)
    asked = sum(pair.questions for pair in found.between)
    agreed = sum(pair.agreement * pair.questions for pair in found.between)
    return ReportOut(
        people=[
            PersonOut(
                name=one.person or "",
                answers=one.comparisons,
                agreement=one.agreement,
                with_others=one.agreement_repeated,
            )
            for one in found.annotators
        ],
        repeated=RepeatedOut(questions=asked, agreement=agreed / asked) if asked else None,
        progress=_progress(service, None, agreeing, profile),
    )


@router.get("/compare/waiting")
def waiting(
    service: Serving,
    profile: Annotated[str, Query(max_length=40, description="Which profile.")] = "default",
) -> WaitingOut:
    """List answers that a profile has not applied; they do not change its ranking yet."""
    return _waiting_out(service.collection.comparisons.waiting(profile))


@router.post("/compare/take-in")
def take_in(service: Serving, said: TakeInIn) -> TakenOut:
    """Apply pending answers to a profile; a roll-back to ``before`` removes them."""
    col = service.collection
    before = col.profiles.version(said.profile).position
    taken = col.comparisons.take_in(said.answers, profile=said.profile)
    return TakenOut(before=before, items=_waiting_out(taken).items)


def _waiting_out(found: list[PendingAnswers]) -> WaitingOut:
    return WaitingOut(
        items=[
            WaitingPersonOut(profile=one.profile, name=one.person or "", answers=one.answers)
            for one in found
        ]
    )


@router.get("/compare/shares")
def shares(service: Serving) -> SharesOut:
    """List the open links for guests."""
    col = service.collection
    said: dict[tuple[str, str], int] = {}
    found = list(col.shares)
    for profile in {one.profile for one in found}:
        for person, n in col.comparisons.count_by_person(profile=profile).items():
            said[profile, person or ""] = n
    return SharesOut(
        items=[
            OpenShareOut(name=one.name, made=one.made, answers=said.get((one.profile, one.name), 0))
            for one in found
        ]
    )


@router.post("/compare/shares", status_code=201)
def share(request: Request, service: Serving, said: ShareIn) -> ShareOut:
    """Make a link that only allows a guest to answer questions."""
    if request.app.state.access.key is None:
        raise CollectionError("a server without a key cannot recognise guests; start it with a key")
    token = service.collection.shares.create(said.name, said.profile)
    return ShareOut(name=said.name.strip(), address=f"/?token={token}")


@router.post("/compare/unshare")
def unshare(service: Serving, said: UnshareIn) -> SharesOut:
    """Close a link; its answers stay."""
    service.collection.shares.revoke(said.name)
    return shares(service)


def _nameless(picture: PictureOut) -> PictureOut:
    unsaid = {"name": "picture", "folder": "", "date": None, "date_source": None}
    return picture.model_copy(update=unsaid)


def _profile(guest: Share | None, asked: str) -> str:
    return guest.profile if guest else asked or "default"


def _mine(said: ComparisonRecord, person: Share | AccessKey | None) -> bool:
    if person is None:
        return True
    # Not the answers of an earlier, closed link or key of the same name.
    return said.person == person.name and said.at >= datetime.fromisoformat(person.made).timestamp()


def _progress(
    service: Service, person: Share | AccessKey | None, agreeing: Agreement, profile: str
) -> ProgressOut:
    counts = service.collection.comparisons.count_by_person(profile=profile)
    yours, total = counts.get(person.name if person else None, 0), sum(counts.values())
    found = agreeing.last_report(profile, total)
    agreement = found.agreement if found else None
    return ProgressOut(
        yours=yours,
        all=total,
        agreement=agreement,
        plain=found.agreement_plain if found else None,
        gain=found.gain if found else None,
        tested=found.comparisons if found and agreement is not None else 0,
        since=service.collection.comparisons.count_since_map(profile=profile),
        goal=GOAL,
    )
