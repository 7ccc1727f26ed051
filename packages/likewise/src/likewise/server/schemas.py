"""The request and response models; FastAPI builds the OpenAPI description from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from likewise.search.similarities import ENOUGH, Verdict

PictureId = Annotated[str, Field(max_length=64, description="Opaque name of a picture.")]
Name = Annotated[str, Field(min_length=1, max_length=40)]
Side = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Words = Annotated[
    str, Field(min_length=1, max_length=10_000, description="Typed words; -word: not that.")
]
ReasonKey = Annotated[str, Field(min_length=1, max_length=1000)]
Line = Annotated[int, Field(ge=0, lt=1 << 62, description="Number of a line of the log.")]


class Strict(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


Colour = Annotated[str, Field(pattern="^#[0-9a-fA-F]{6}$", description="As #rrggbb.")]


class QueryIn(Strict):
    """A query: a picture of the collection or an upload, whole or a region; several pictures
    together (by the mean of their rows); or colours."""

    picture: PictureId | None = None
    upload: PictureId | None = None
    pictures: list[PictureId] | None = Field(None, min_length=1, max_length=100)
    colours: list[Colour] | None = Field(None, min_length=1, max_length=5)
    region: tuple[Side, Side, Side, Side] | None = Field(
        None, description="x, y, width, height in pixels of the upright picture."
    )

    @model_validator(mode="after")
    def _one(self) -> QueryIn:
        asked = (self.picture, self.upload, self.pictures, self.colours)
        if sum(one is not None for one in asked) != 1:
            raise ValueError("name one of: a picture, an upload, pictures, colours")
        if self.region is not None and self.picture is None and self.upload is None:
            raise ValueError("a region is part of one picture")
        return self


class WhereIn(Strict):
    """Filters; all must hold."""

    folder: (
        Annotated[str, Field(max_length=4096, description="A path, a name, or a part of a name.")]
        | None
    ) = None
    camera: Annotated[str, Field(max_length=200, description="A part is enough.")] | None = None
    tag: Annotated[str, Field(max_length=1000)] | None = None
    format: Annotated[str, Field(max_length=40)] | None = None
    after: Annotated[str, Field(max_length=40)] | None = None
    before: Annotated[str, Field(max_length=40)] | None = None
    stars: Annotated[int, Field(ge=0, le=5, description="So many at least.")] | None = None
    favourite: bool | None = None
    album: Annotated[str, Field(max_length=100)] | None = None
    hidden: (
        Annotated[Literal["only", "any"], Field(description="Hidden pictures too, or only those.")]
        | None
    ) = None
    box: (
        Annotated[str, Field(max_length=100, description="south,west,north,east in degrees.")]
        | None
    ) = None

    def plain(self) -> dict[str, Any]:
        found = {key: value for key, value in self.model_dump().items() if value}
        return found | {"hidden": True} if self.hidden == "only" else found


class Asked(Strict):
    """A query by picture, typed words, or both."""

    query: QueryIn | None = None
    text: Words | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.query is None and self.text is None:
            raise ValueError("ask with a query, a text, or both")
        if self.query is not None and self.query.colours is not None and self.text is not None:
            raise ValueError("colours can be combined with filters, not with words")
        return self


class SearchIn(Asked):
    without: list[ReasonKey] = Field(default=[], max_length=100)
    weight: float = Field(
        0.5, ge=0, le=1, description="Weight of the picture when words are given too."
    )
    by: Name = "default"
    limit: int = Field(200, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=10_000)
    above: float | None = Field(None, allow_inf_nan=False)
    where: WhereIn = WhereIn()
    sort: Literal["score", "date"] = "score"


class ExplainIn(Strict):
    query: QueryIn
    picture: PictureId
    by: Name | None = None
    top: int = Field(12, ge=1, le=100)


class JudgeIn(Asked):
    liked: list[PictureId] = Field(default=[], max_length=1000)
    disliked: list[PictureId] = Field(default=[], max_length=1000)
    shown: list[PictureId] | None = Field(None, max_length=10_000)
    profile: Name = "default"


class UndoIn(Strict):
    judgement: Line | None = None
    profile: Name = "default"


class UseIn(Strict):
    name: Name


class ProfileIn(Strict):
    name: Name
    base: Name | None = None
    copy_of: Name | None = None


class RollbackIn(Strict):
    position: Line


class StopIn(Strict):
    job: int = Field(ge=1, lt=1 << 62)


class AddIn(Strict):
    folder: str = Field(min_length=1, max_length=4096)


class Problem(BaseModel):
    kind: str
    message: str


class ErrorOut(BaseModel):
    """Every response with a status of 400 or more."""

    error: Problem


class PictureOut(BaseModel):
    """``date`` is local time, from ``date_source``: EXIF, the file's name or its time."""

    id: PictureId
    name: str
    folder: str
    width: int
    height: int
    date: str | None
    date_source: Literal["exif", "name", "file"] | None = None
    thumbnail: str
    image: str


class PictureMore(PictureOut):
    tags: list[str]
    path: str
    metadata: dict[str, Any]
    format: str


class ReasonOut(BaseModel):
    """Why a picture matches typed words; a search ``without`` its key does not count it."""

    key: str
    kind: str
    text: str


class MarkedPictureOut(PictureOut):
    """A picture of a list, with its marks."""

    stars: int
    favourite: bool
    hidden: bool


class HitOut(MarkedPictureOut):
    score: float
    verdict: Literal["liked", "disliked"] | None
    reasons: list[ReasonOut]


class PageOut(BaseModel):
    total: int
    items: list[MarkedPictureOut]


class FiguresOut(BaseModel):
    """How much was learned, in ``units``, and how well it predicts judgements it has not learned.

    While more judgements are ``needed``, the shares mean nothing yet; after that, ``interval`` and
    ``gain`` contain the true shares in 95 of 100 cases."""

    judgements: int
    needed: int
    agreement: float | None
    agreement_plain: float | None
    interval: tuple[float, float] | None
    gain: tuple[float, float] | None
    verdict: Verdict
    changed: float
    sparsity: float
    space: str | None
    units: Literal["words", "directions"]

    @classmethod
    def nothing(cls) -> FiguresOut:
        """Before anything was learned."""
        return cls(
            judgements=0, needed=ENOUGH, agreement=None, agreement_plain=None, interval=None,
            gain=None, verdict="unknown", changed=0, sparsity=0, space=None, units="words",
        )  # fmt: skip


class VerdictsOut(BaseModel):
    """The number of pictures judged for this query."""

    liked: int
    disliked: int


class RangeOut(BaseModel):
    highest: float | None
    lowest: float | None


class SearchOut(BaseModel):
    """``behind`` counts judgements that the ranking has not learned yet.  ``away`` explains why the
    engine is unavailable: only pictures it does not hold were searched; null: all were."""

    total: int
    items: list[HitOut]
    by: str
    profile: str | None
    learned: VerdictsOut
    ms: float
    scores: RangeOut
    hint: str | None
    behind: int
    away: str | None


class SharedOut(BaseModel):
    contribution: float
    query: list[tuple[float, float]]
    picture: list[tuple[float, float]]


class AreaOut(BaseModel):
    name: str
    share: float


class HeatOut(BaseModel):
    """What each cell of a picture adds to the score: ``cells`` by row, over ``box`` (x, y, width,
    height in pixels).  ``rest`` has no place in the picture; ``areas`` hold most of the sum."""

    cells: list[list[float]]
    box: tuple[int, int, int, int]
    rest: float
    areas: list[AreaOut]


class ExplainOut(BaseModel):
    """Shared ``words``, or heat maps of both pictures that add up to the score in ``space``.

    ``exact``: nothing else contributed to the ranking."""

    score: float
    space: str
    shared: int
    words: list[SharedOut]
    in_query: HeatOut | None
    in_picture: HeatOut | None
    exact: bool
    query_size: tuple[int, int]
    picture_size: tuple[int, int]


class JudgeOut(BaseModel):
    judgement: int
    contradicts: list[int]
    learned: FiguresOut | None


class UndoOut(BaseModel):
    judgement: int


class UploadOut(BaseModel):
    upload: PictureId
    width: int
    height: int
    image: str


class FactsOut(BaseModel):
    """The camera's metadata of a file.  Seconds, millimetres, degrees (north and east positive),
    metres; ``can_reveal``: the server can show the file's folder to this client."""

    path: str
    format: str
    n_bytes: int
    camera: str | None
    lens: str | None
    exposure: float | None
    aperture: float | None
    iso: int | None
    bias: float | None
    flash: bool | None
    focal: float | None
    focal_35: int | None
    latitude: float | None
    longitude: float | None
    altitude: float | None
    software: str | None
    taken: str | None
    can_reveal: bool


class RevealedOut(BaseModel):
    folder: str


class AnswersOut(BaseModel):
    """The person whose comparisons a profile holds (None: the owner), and for which profile."""

    person: str | None
    into: str


class SimilarityOut(BaseModel):
    """``learned``: a profile, which judgements change; a metric or map is learned on request.
    ``answers``: a profile that holds comparisons until another profile applies them."""

    name: str
    kind: Literal["space", "profile", "metric", "map"]
    learned: bool
    spaces: list[str]
    figures: FiguresOut | None
    answers: AnswersOut | None = None


class SimilaritiesOut(BaseModel):
    default: str
    items: list[SimilarityOut]


Role = Literal["look", "judge", "manage"]
"""The roles of named keys."""


class LineOut(BaseModel):
    """``version`` counts the lines of this profile, from 1; ``number`` is unique in the log.

    ``who`` is the named key that wrote it, null: the owner."""

    number: int
    version: int
    kind: str
    made: str
    session: int
    stands: bool
    query: PictureOut | None
    liked: list[PictureOut]
    disliked: list[PictureOut]
    about: int | None
    contradicts: list[int]
    text: str | None
    person: str | None
    answers: int
    who: str | None


class LogOut(BaseModel):
    items: list[LineOut]
    position: int


class ExampleOut(BaseModel):
    picture: PictureOut
    box: tuple[float, float, float, float] | None


class WordOut(BaseModel):
    word: int
    weight: float
    change: float
    frequency: int
    examples: list[ExampleOut]


class DirectionOut(BaseModel):
    """A direction whose weight is ``value`` times its start, with pictures at its two ends."""

    value: float
    one_end: list[PictureOut]
    other_end: list[PictureOut]


class MoveOut(BaseModel):
    """A picture's places among the results of a query, without learning and with it.

    Places begin at 1; null is after all that were ranked."""

    query: PictureOut
    picture: PictureOut
    before: int | None
    after: int | None


class CurveOut(BaseModel):
    n: int
    learned: float
    plain: float


class LearnedOut(BaseModel):
    profile: str
    space: str | None
    version: int
    figures: FiguresOut
    gained: list[WordOut]
    lost: list[WordOut]
    directions: list[DirectionOut]
    moved: list[MoveOut]
    curve: list[CurveOut]
    versions: list[LineOut]


class SpaceOut(BaseModel):
    name: str
    kind: str
    generation: int
    width: int
    pictures: int
    bytes: int


class ProgressEvent(BaseModel):
    """The progress of a job: ``left`` is in seconds, ``note`` describes parallel work."""

    job: int
    stage: str
    done: int
    total: int | None
    problems: int
    rate: float
    left: float | None
    note: str


class RunningOut(BaseModel):
    """``job`` is 0 for another process; all but ``what`` is then unknown."""

    job: int
    what: str
    since: str | None
    progress: ProgressEvent | None


class CollectionOut(BaseModel):
    name: str
    pictures: int
    problems: int
    folders: list[str]
    spaces: list[SpaceOut]
    bytes: int
    job: RunningOut | None
    similarity: str
    profile: str
    deep: bool
    hint: str | None


class ProblemOut(BaseModel):
    path: str
    problem: str


class ProblemsOut(BaseModel):
    total: int
    items: list[ProblemOut]


class JobOut(BaseModel):
    job: int


class StoppingOut(BaseModel):
    """``stopping``: false if that job had ended."""

    stopping: bool


class WrongOut(BaseModel):
    wrong: list[str]


class HealthOut(BaseModel):
    ok: bool
    version: str


class EndEvent(BaseModel):
    job: int
    seconds: float


class AddedEvent(EndEvent):
    what: Literal["add", "sync"]
    added: int
    known: int
    duplicates: int
    removed: int
    skipped: int
    videos: int
    closed: int
    unmade: int
    remarks: int


class TaggedEvent(EndEvent):
    what: Literal["tag"]
    pictures: int
    tagged: int
    tags: int
    resumed: int
    measured: bool
    action: int | None
    found: int


class ExportedEvent(EndEvent):
    what: Literal["export"]
    written: int
    unchanged: int
    action: int | None
    problems: int


class DescribedEvent(EndEvent):
    """``spaces``: names of the new ones."""

    what: Literal["describe"]
    pictures: int
    spaces: str


class ModelEvent(EndEvent):
    what: Literal["learn metric", "learn map"]
    name: str
    kind: str
    told: str


class DuplicatesEvent(EndEvent):
    what: Literal["duplicates"]
    groups: int
    pictures: int


class FailedEvent(EndEvent):
    """``stopped``: on request."""

    what: str
    message: str
    stopped: bool


class ChangedEvent(BaseModel):
    revision: int


class EventsOut(BaseModel):
    """The data of each kind of event, by the name of the event."""

    progress: ProgressEvent
    done: (
        AddedEvent | TaggedEvent | ExportedEvent | DescribedEvent | ModelEvent | DuplicatesEvent
    ) = Field(discriminator="what")
    failed: FailedEvent
    changed: ChangedEvent
