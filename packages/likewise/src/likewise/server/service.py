"""The collection as the routes see it: opaque names, uploads, answers kept for paging."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import hmac
import logging
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request

from likewise.catalog.picture_marks import Marks
from likewise.catalog.store import ImageRow
from likewise.collection.collection import Collection
from likewise.collection.decoding import CLIENT_GONE, Decoders
from likewise.collection.keys import AccessKey, hour
from likewise.errors import InvalidInput, LikewiseError, UnknownPicture
from likewise.plugins import ENGINES, SYNC, PluginError, points_of
from likewise.search import rank
from likewise.search.query import Query, Region, ResolvedQuery
from likewise.search.similarities import Figures
from likewise.server.roles import ShownPictures
from likewise.server.schemas import Asked, FiguresOut, PictureOut, QueryIn, SearchIn

T = TypeVar("T")

MOST = 10_000
"""Results that can be paged through."""
FIRST = 400
"""Results found at first; the rest is looked for when somebody pages that far."""
KEPT_UPLOADS = 32
KEPT_BYTES = 256 << 20
KEPT_ANSWERS = 16
_PAGING = {"limit", "offset", "sort"}
"""What of a question does not change its answer."""
KEPT_QUESTIONS = 8
LARGEST_QUESTION = 64 << 20
"""Bytes of pixels of a question that is kept."""
DRAWERS = max(2, min(4, os.cpu_count() or 2))
"""Pictures decoded for the page at a time: each may take what ``decoding_memory`` allows."""
_LOOK = 0.5
"""Seconds after which it is looked whether somebody still waits."""


class UnknownUpload(LikewiseError):
    """An upload that is not kept any more."""


class Upload(NamedTuple):
    content: bytes
    width: int
    height: int


class Answer(NamedTuple):
    """A ranking kept so that its pages fit together; ``whole``: there are no more.

    ``typed`` knows why pictures answer to words; ``behind`` and ``away`` are those of ``Hits``.
    """

    ids: list[int]
    scores: list[float]
    whole: bool
    typed: rank.Answer | None = None
    behind: int = 0
    away: str | None = None


class Service:
    """One open collection and what belongs to serving it."""

    def __init__(self, root: Path, catalog: str | None = None) -> None:
        self.collection = Collection.open(root, catalog=catalog)
        self.collection.actor = "the page"
        self._secret = self.collection.pictures.secret()
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._answers: OrderedDict[Any, Answer] = OrderedDict()
        self._questions: OrderedDict[str, ResolvedQuery] = OrderedDict()
        self._lock = threading.Lock()
        self.decoders = Decoders(DRAWERS)
        self.shown_to_guests = ShownPictures()
        self.collection.searcher.decode_with(self.decoders.pixels)
        # Threads of their own, so that a page full of thumbnails does not keep searches waiting.
        self._drawers = ThreadPoolExecutor(DRAWERS, "likewise-draw")
        # What strangers send may take its time; the collection's own pictures do not wait for it.
        self._takers = ThreadPoolExecutor(DRAWERS, "likewise-upload")
        # A sheet of a map reads hundreds of pictures: one at a time, beside all else.
        self._sheets = ThreadPoolExecutor(1, "likewise-sheet")
        self._engine_sync = _start_engine_sync(self.collection)
        # That a key was used is written when nobody waits for it.
        self._notes = ThreadPoolExecutor(1, "likewise-note")
        self._key_uses: dict[int, str] = {}

    def note_key_use(self, key: AccessKey) -> None:
        """Have it written down that a key was used, once an hour and beside the requests."""
        now = hour()
        if key.used == now or self._key_uses.get(key.id) == now:
            return
        self._key_uses[key.id] = now
        with suppress(RuntimeError):  # the server ends
            self._notes.submit(self._put_key_use, key)

    def _put_key_use(self, key: AccessKey) -> None:
        with suppress(LikewiseError, OSError):
            self.collection.keys.note_use(key)

    def warm_up(self) -> None:
        """Start what decodes.  A server that cannot says so when somebody looks at a picture."""
        with suppress(LikewiseError, OSError):
            self.decoders.warm_up()

    def close(self) -> None:
        if self._engine_sync is not None:
            self._engine_sync.close()
        for threads in (self._drawers, self._takers, self._sheets, self._notes):
            threads.shutdown(wait=False, cancel_futures=True)
        self.collection.close()

    async def draw(self, work: Callable[[], T], request: Request) -> T:
        """Work that decodes pictures of the collection, a few at a time."""
        return await _while_somebody_waits(self._drawers, work, request)

    async def take(self, work: Callable[[], T], request: Request) -> T:
        """Work that decodes what was sent."""
        return await _while_somebody_waits(self._takers, work, request)

    async def draw_sheet(self, work: Callable[[], T], request: Request) -> T:
        """Work that reads very many pictures."""
        return await _while_somebody_waits(self._sheets, work, request)

    # -- names ------------------------------------------------------------------------------

    def name_of(self, image: int) -> str:
        """The opaque name of a picture: nobody can make one up, and it outlives a restart."""
        mark = hashlib.blake2b(str(image).encode(), key=self._secret, digest_size=6)
        return f"{image:x}-{mark.hexdigest()}"

    def image_of(self, name: str) -> int:
        number = name.partition("-")[0]
        try:
            image = int(number, 16)
        except ValueError:
            image = 0
        if not hmac.compare_digest(self.name_of(image).encode(), name.encode()):
            raise UnknownPicture(f"there is no picture {name[:64]!r}; it may have been removed")
        return image

    def row_of(self, name: str) -> ImageRow:
        return self.collection.image(self.image_of(name))

    # -- uploads ----------------------------------------------------------------------------

    def upload(self, content: bytes) -> tuple[str, Upload]:
        """Keep the bytes of a picture for a while; refuses what is none."""
        made = Upload(content, *self.decoders.size(content))
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._uploads[name] = made
            while len(self._uploads) > KEPT_UPLOADS or (
                len(self._uploads) > 1
                and sum(len(u.content) for u in self._uploads.values()) > KEPT_BYTES
            ):
                self._uploads.popitem(last=False)
        return name, made

    def find_upload(self, name: str) -> Upload:
        with self._lock:
            found = self._uploads.get(name)
            if found is None:
                raise UnknownUpload("this upload is not kept any more; drop the picture again")
            self._uploads.move_to_end(name)
            return found

    # -- questions and answers --------------------------------------------------------------

    def query(self, asked: QueryIn) -> tuple[int | bytes | list[int], Region | None]:
        """A query as the collection takes it."""
        if asked.picture is not None:
            return self.image_of(asked.picture), asked.region
        if asked.pictures is not None:
            return [self.image_of(one) for one in asked.pictures], None
        if asked.upload is None:
            raise InvalidInput("colours alone cannot be compared with a picture; name a picture")
        return self.find_upload(asked.upload).content, asked.region

    def resolve_query(self, asked: QueryIn) -> Query:
        """A query read once: an upload or a region is asked about again after each judgement."""
        query, region = self.query(asked)
        if isinstance(query, int) and region is None:
            return query
        key = asked.model_dump_json()
        with self._lock:
            found = self._questions.get(key)
            if found is not None:
                self._questions.move_to_end(key)
                return found
        made = self.collection.searcher.resolve(query, region=region)
        if made.pixels is not None and made.pixels.nbytes <= LARGEST_QUESTION:
            with self._lock:
                self._questions[key] = made
                while len(self._questions) > KEPT_QUESTIONS:
                    self._questions.popitem(last=False)
        return made

    def resolve(self, asked: Asked) -> Query | None:
        """The picture of a question, if it has one."""
        return None if asked.query is None else self.resolve_query(asked.query)

    def rank(self, asked: SearchIn, wanted: int) -> Answer:
        """At least the first ``wanted`` of a ranking, kept until something changes.

        A fused ranking depends on how far one looks.  So that pages fit together, what was found
        at first stays where it is, and the rest comes after it.
        """
        revision, where = self.collection.revision, asked.where.plain()
        # The day too: what was taken last week changes with it.
        key = (asked.model_dump_json(exclude=_PAGING), revision, date.today())
        with self._lock:
            found = self._answers.get(key)
        if found is None:
            # How many pass a filter is known only when all were asked for.
            found = self._find(asked, MOST if wanted == MOST and where else FIRST)
        if wanted > len(found.ids) and not found.whole:
            found = _extend_answer(found, self._find(asked, MOST))
        if found.behind or found.away:
            return found  # soon there is a better one
        with self._lock:
            self._answers[key] = found
            self._answers.move_to_end(key)
            while len(self._answers) > KEPT_ANSWERS:
                self._answers.popitem(last=False)
        return found

    def _find(self, asked: SearchIn, k: int) -> Answer:
        searcher = self.collection.searcher
        where: Mapping[str, Any] | None = asked.where.plain() or None
        if asked.query is not None and asked.query.colours is not None:
            colours = self.collection.colours
            ids, scores = colours.rank(asked.query.colours, MOST, where=where, above=asked.above)
            return Answer(ids, scores, whole=True)
        query = self.resolve(asked)
        if asked.text is not None:
            typed = searcher.find(
                query, k, text=asked.text, by=asked.by, where=where, above=asked.above,
                without=asked.without, weight=asked.weight,
            )  # fmt: skip
            whole = len(typed.ids) < k or k == MOST
            away = typed.engine_unavailable
            return Answer(typed.ids, typed.scores, whole, typed, typed.behind, away)
        assert query is not None
        found = searcher.find(query, k, by=asked.by, where=where, above=asked.above)
        whole = len(found.ids) < k or k == MOST
        return Answer(found.ids, found.scores, whole, None, found.behind, found.engine_unavailable)

    def total(self, asked: SearchIn, found: Answer) -> int:
        """How many results can be paged through."""
        if found.whole:
            return len(found.ids)
        if found.typed is not None:
            return min(MOST, found.typed.total)
        query, by = self.resolve(asked), asked.by
        inside = (
            len(query.own_pictures) if isinstance(query, ResolvedQuery) else int(query is not None)
        )
        return min(MOST, max(len(found.ids), self.collection.searcher.count_ranked(by) - inside))

    # -- shapes -----------------------------------------------------------------------------

    def picture_record(self, row: ImageRow) -> dict[str, Any]:
        """A picture as the page draws it: sides as they are seen, upright."""
        name = self.name_of(row.id)
        folder, _, file = row.path.rpartition(os.sep)
        return {
            "id": name,
            "name": file or f"picture {row.id}",
            "folder": "/".join(folder.split(os.sep)[-2:]).lstrip("/"),
            "width": row.width,
            "height": row.height,
            "date": row.date,
            "date_source": row.date_source,
            "thumbnail": f"/api/pictures/{name}/thumbnail",
            "image": f"/api/pictures/{name}/image",
        }

    def marked_records(self, rows: Sequence[ImageRow]) -> list[dict[str, Any]]:
        """Pictures of a list, with stars, favourites and what is hidden."""
        marks = self.collection.library.marks(row.id for row in rows)
        return [self.picture_record(row) | marks.get(row.id, Marks())._asdict() for row in rows]

    def pictures_out(self, images: Iterable[int]) -> dict[int, PictureOut]:
        rows = self.collection.pictures.rows(images)
        return {image: PictureOut(**self.picture_record(row)) for image, row in rows.items()}


def _start_engine_sync(collection: Collection) -> Any:
    """Send changes to engines in the background, if a package that does so is installed."""
    if SYNC not in points_of(ENGINES):
        return None
    try:
        return collection.engine_sync.start()
    except PluginError as error:
        logging.getLogger("likewise").warning("changes are not sent to engines: %s", error)
        return None


async def _while_somebody_waits(
    threads: ThreadPoolExecutor, work: Callable[[], T], request: Request
) -> T:
    """The answer of ``work`` in a thread; whatever it decodes is ended if the client leaves."""
    left = threading.Event()
    context = contextvars.copy_context()
    context.run(CLIENT_GONE.set, left)
    future = asyncio.get_running_loop().run_in_executor(threads, context.run, work)
    try:
        while not future.done():
            await asyncio.wait([future], timeout=_LOOK)
            if not future.done() and await request.is_disconnected():
                left.set()
                break
        return await future
    finally:
        left.set()


def _extend_answer(first: Answer, more: Answer) -> Answer:
    """A ranking and what a longer look adds to it, nothing twice."""
    seen = set(first.ids)
    floor = first.scores[-1] if first.scores else float("inf")
    rest = [
        (image, min(score, floor))
        for image, score in zip(more.ids, more.scores, strict=True)
        if image not in seen
    ]
    ids = [*first.ids, *(image for image, _ in rest)][:MOST]
    scores = [*first.scores, *(score for _, score in rest)][:MOST]
    behind = max(first.behind, more.behind)
    away = first.away or more.away
    return Answer(ids, scores, whole=True, typed=more.typed, behind=behind, away=away)


def figures_out(figures: Figures | None) -> FiguresOut | None:
    if figures is None:
        return None
    return FiguresOut(
        judgements=figures.judgements,
        needed=figures.needed,
        interval=figures.interval,
        gain=figures.gain,
        verdict=figures.verdict,
        agreement=figures.agreement,
        agreement_plain=figures.agreement_plain,
        changed=figures.changed,
        sparsity=figures.sparsity,
        space=figures.space,
        units=figures.units,
    )
