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
from typing import Any, Generic, NamedTuple, TypeVar

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
K = TypeVar("K")
V = TypeVar("V")

MAX_RESULTS = 10_000
"""The number of results that pages can show."""
FIRST_RESULTS = 400
"""The number of results to find at first; a request for a later page finds the rest."""
KEPT_UPLOADS = 32
KEPT_BYTES = 256 << 20
KEPT_ANSWERS = 16
_PAGING = {"limit", "offset", "sort"}
"""Fields of a search that do not change its ranking."""
KEPT_QUESTIONS = 8
LARGEST_QUESTION = 64 << 20
"""The most bytes of pixels of a query that is kept."""
DRAWERS = max(2, min(4, os.cpu_count() or 2))
"""Pictures to decode for the page at a time; each may use what ``decoding_memory`` allows."""
_LOOK = 0.5
"""Seconds between two checks that the client is still connected."""


class UnknownUpload(LikewiseError):
    """The upload is no longer kept."""


class Upload(NamedTuple):
    content: bytes
    width: int
    height: int


class Answer(NamedTuple):
    """A ranking, kept so that its pages fit together; ``whole``: it has no more results.

    ``typed`` explains matches of typed words; ``behind`` and ``away`` are those of ``Hits``.
    """

    ids: list[int]
    scores: list[float]
    whole: bool
    typed: rank.Answer | None = None
    behind: int = 0
    away: str | None = None


class Recent(Generic[K, V]):
    """The last used values by key; ``most`` of them, and ``most_bytes`` if there are several."""

    def __init__(
        self, most: int, most_bytes: int = 0, size: Callable[[V], int] = lambda value: 0
    ) -> None:
        self._most, self._most_bytes, self._size = most, most_bytes, size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most or (
                len(self._values) > 1
                and sum(map(self._size, self._values.values())) > self._most_bytes
            ):
                self._values.popitem(last=False)


class Service:
    """An open collection, with the uploads, rankings and threads of its server."""

    def __init__(self, root: Path, catalog: str | None = None) -> None:
        self.collection = Collection.open(root, catalog=catalog)
        self.collection.actor = "the page"
        self._secret = self.collection.pictures.secret()
        self._uploads: Recent[str, Upload] = Recent(
            KEPT_UPLOADS, KEPT_BYTES, lambda one: len(one.content)
        )
        self._answers: Recent[Any, Answer] = Recent(KEPT_ANSWERS)
        self._questions: Recent[str, ResolvedQuery] = Recent(KEPT_QUESTIONS)
        self.decoders = Decoders(DRAWERS)
        self.shown_to_guests = ShownPictures()
        self.collection.searcher.decode_with(self.decoders.pixels)
        # Own threads: a page full of thumbnails does not delay searches.
        self._drawers = ThreadPoolExecutor(DRAWERS, "likewise-draw")
        # Slow uploads do not delay the collection's own pictures.
        self._takers = ThreadPoolExecutor(DRAWERS, "likewise-upload")
        # A sheet of a map reads hundreds of pictures: one sheet at a time.
        self._sheets = ThreadPoolExecutor(1, "likewise-sheet")
        self._engine_sync = _start_engine_sync(self.collection)
        # The time of use of a key is written outside the requests.
        self._notes = ThreadPoolExecutor(1, "likewise-note")
        self._key_uses: dict[int, str] = {}

    def note_key_use(self, key: AccessKey) -> None:
        """Record that a key was used, once an hour and in the background."""
        now = hour()
        if key.used == now or self._key_uses.get(key.id) == now:
            return
        self._key_uses[key.id] = now
        with suppress(RuntimeError):  # the server is stopping
            self._notes.submit(self._put_key_use, key)

    def _put_key_use(self, key: AccessKey) -> None:
        with suppress(LikewiseError, OSError):
            self.collection.keys.note_use(key)

    def warm_up(self) -> None:
        """Start the decoders; errors are reported when a picture is requested."""
        with suppress(LikewiseError, OSError):
            self.decoders.warm_up()

    def close(self) -> None:
        if self._engine_sync is not None:
            self._engine_sync.close()
        for threads in (self._drawers, self._takers, self._sheets, self._notes):
            threads.shutdown(wait=False, cancel_futures=True)
        self.collection.close()

    async def draw(self, work: Callable[[], T], request: Request) -> T:
        """Run work that decodes pictures of the collection, a few at a time."""
        return await _while_connected(self._drawers, work, request)

    async def take(self, work: Callable[[], T], request: Request) -> T:
        """Run work that decodes an upload."""
        return await _while_connected(self._takers, work, request)

    async def draw_sheet(self, work: Callable[[], T], request: Request) -> T:
        """Run work that draws a sheet of many pictures."""
        return await _while_connected(self._sheets, work, request)

    # -- names ------------------------------------------------------------------------------

    def name_of(self, image: int) -> str:
        """Return the opaque name of a picture: it cannot be guessed, and it survives a restart."""
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

    def images_of(self, names: Iterable[str]) -> list[int]:
        return [self.image_of(name) for name in names]

    def row_of(self, name: str) -> ImageRow:
        return self.collection.image(self.image_of(name))

    # -- uploads ----------------------------------------------------------------------------

    def upload(self, content: bytes) -> tuple[str, Upload]:
        """Keep the bytes of a picture for a while; refuse other files."""
        made = Upload(content, *self.decoders.size(content))
        name = secrets.token_urlsafe(12)
        self._uploads.put(name, made)
        return name, made

    def find_upload(self, name: str) -> Upload:
        found = self._uploads.get(name)
        if found is None:
            raise UnknownUpload("this upload is not kept any more; drop the picture again")
        return found

    # -- queries and rankings ---------------------------------------------------------------

    def query(self, asked: QueryIn) -> tuple[int | bytes | list[int], Region | None]:
        """Return the picture, upload or pictures of a query, and the region."""
        if asked.picture is not None:
            return self.image_of(asked.picture), asked.region
        if asked.pictures is not None:
            return self.images_of(asked.pictures), None
        if asked.upload is None:
            raise InvalidInput("colours alone cannot be compared with a picture; name a picture")
        return self.find_upload(asked.upload).content, asked.region

    def resolve_query(self, asked: QueryIn) -> Query:
        """Resolve a query; uploads and regions are kept, since each judgement searches again."""
        query, region = self.query(asked)
        if isinstance(query, int) and region is None:
            return query
        key = asked.model_dump_json()
        found = self._questions.get(key)
        if found is not None:
            return found
        made = self.collection.searcher.resolve(query, region=region)
        if made.pixels is not None and made.pixels.nbytes <= LARGEST_QUESTION:
            self._questions.put(key, made)
        return made

    def resolve(self, asked: Asked) -> Query | None:
        """Return the resolved query of a search, if it has one."""
        return None if asked.query is None else self.resolve_query(asked.query)

    def rank(self, asked: SearchIn, wanted: int) -> Answer:
        """Return at least the first ``wanted`` results, kept until the collection changes.

        A fused ranking depends on its length.  So that pages fit together, the first results keep
        their places, and later ones follow them.
        """
        revision, where = self.collection.revision, asked.where.plain()
        # The day too: a filter such as "last week" depends on it.
        key = (asked.model_dump_json(exclude=_PAGING), revision, date.today())
        found = self._answers.get(key)
        if found is None:
            # Only the whole ranking has the number of results that pass a filter.
            found = self._find(
                asked, MAX_RESULTS if wanted == MAX_RESULTS and where else FIRST_RESULTS
            )
        if wanted > len(found.ids) and not found.whole:
            found = _extend_answer(found, self._find(asked, MAX_RESULTS))
        if found.behind or found.away:
            return found  # not kept: a later one will be better
        self._answers.put(key, found)
        return found

    def _find(self, asked: SearchIn, k: int) -> Answer:
        searcher = self.collection.searcher
        where: Mapping[str, Any] | None = asked.where.plain() or None
        if asked.query is not None and asked.query.colours is not None:
            colours = self.collection.colours
            ids, scores = colours.rank(
                asked.query.colours, MAX_RESULTS, where=where, above=asked.above
            )
            return Answer(ids, scores, whole=True)
        query = self.resolve(asked)
        if asked.text is not None:
            typed = searcher.find(
                query, k, text=asked.text, by=asked.by, where=where, above=asked.above,
                without=asked.without, weight=asked.weight,
            )  # fmt: skip
            whole = len(typed.ids) < k or k == MAX_RESULTS
            away = typed.engine_unavailable
            return Answer(typed.ids, typed.scores, whole, typed, typed.behind, away)
        assert query is not None
        found = searcher.find(query, k, by=asked.by, where=where, above=asked.above)
        whole = len(found.ids) < k or k == MAX_RESULTS
        return Answer(found.ids, found.scores, whole, None, found.behind, found.engine_unavailable)

    def total(self, asked: SearchIn, found: Answer) -> int:
        """Return the number of results that pages can show."""
        if found.whole:
            return len(found.ids)
        if found.typed is not None:
            return min(MAX_RESULTS, found.typed.total)
        query, by = self.resolve(asked), asked.by
        own = (
            len(query.own_pictures) if isinstance(query, ResolvedQuery) else int(query is not None)
        )
        ranked = self.collection.searcher.count_ranked(by) - own
        return min(MAX_RESULTS, max(len(found.ids), ranked))

    # -- shapes -----------------------------------------------------------------------------

    def picture_record(self, row: ImageRow) -> dict[str, Any]:
        """Return a picture as the page draws it; the sides are those of the upright picture."""
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

    def picture_out(self, row: ImageRow) -> PictureOut:
        return PictureOut(**self.picture_record(row))

    def marked_records(self, rows: Sequence[ImageRow]) -> list[dict[str, Any]]:
        """Return pictures of a list with their stars, favourite and hidden marks."""
        marks = self.collection.library.marks(row.id for row in rows)
        return [self.picture_record(row) | marks.get(row.id, Marks())._asdict() for row in rows]

    def pictures_out(self, images: Iterable[int]) -> dict[int, PictureOut]:
        rows = self.collection.pictures.rows(images)
        return {image: self.picture_out(row) for image, row in rows.items()}


def _start_engine_sync(collection: Collection) -> Any:
    """Send changes to engines in the background, if a package that does so is installed."""
    if SYNC not in points_of(ENGINES):
        return None
    try:
        return collection.engine_sync.start()
    except PluginError as error:
        logging.getLogger("likewise").warning("changes are not sent to engines: %s", error)
        return None


async def _while_connected(
    threads: ThreadPoolExecutor, work: Callable[[], T], request: Request
) -> T:
    """Run ``work`` in a thread; stop its decoding if the client disconnects."""
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
    """Return a ranking with the further results of a longer one after it."""
    seen = set(first.ids)
    floor = first.scores[-1] if first.scores else float("inf")
    rest = [
        (image, min(score, floor))
        for image, score in zip(more.ids, more.scores, strict=True)
        if image not in seen
    ]
    ids = [*first.ids, *(image for image, _ in rest)][:MAX_RESULTS]
    scores = [*first.scores, *(score for _, score in rest)][:MAX_RESULTS]
    behind = max(first.behind, more.behind)
    away = first.away or more.away
    return Answer(ids, scores, whole=True, typed=more.typed, behind=behind, away=away)


def figures_out(figures: Figures | None) -> FiguresOut | None:
    return None if figures is None else FiguresOut.model_validate(figures, from_attributes=True)
