"""The embedded demo: pictures in, a collection, searches, figures and something to look at out.

On planted views the truth is known.  What views of one photograph are alike is found without any
teaching, and mean average precision is printed by similarity and by kind of view; what belongs to
a theme is not, and is taught by a few clicks (``lesson.py``).  On a folder of one's own there is no
truth, and a few pictures drawn by seed are searched instead.  A second run uses the collection of
the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from likewise.catalog.filters import absolute
from likewise.catalog.jobs import Report, silent
from likewise.catalog.store import ImageRow
from likewise.collection.collection import Collection
from likewise.errors import CollectionError
from likewise.images.decode import decode
from likewise.ingest.add import AddResult
from likewise.ingest.walk import candidates
from likewise.search.rank import Hit
from likewise.spaces.base import DECODE_SIDE
from likewise_lab.demo.lesson import JudgedQuery, Lesson, OtherQuery, teach
from likewise_lab.demo.themes import judged_views, scene_of, theme_queries
from likewise_lab.demo.typed import TypedQuery, type_words
from likewise_lab.evaluation.retrieval import Ranker, planted_task
from likewise_methods.evaluation import RetrievalQuery

SIMILARITIES = ("words", "holistic", "both", "deep", "look")
"""Ways to rank that are shown, the best last, where a collection has them."""
MOST_PICTURES = 1_000
"""Pictures of a folder of one's own the demo looks at, so that it takes minutes at most."""
_SHOWN_QUERIES = 8
SHOWN_WORST = 4
_SHOWN_OWN = 6
_SHOWN_HITS = 8
_TIMED = 40

Say = Callable[[str], object]


@dataclass(frozen=True)
class DemoHit:
    """One hit; ``right`` is None where nobody knows.

    See Also
    --------
    DemoQuery : has them.
    """

    hit: Hit
    row: ImageRow
    right: bool | None


@dataclass(frozen=True)
class DemoQuery:
    """One query and what was found by each similarity shown; AP of the last where known.

    See Also
    --------
    DemoResult : has them.
    """

    row: ImageRow
    found: Mapping[str, Sequence[DemoHit]]
    average_precision: float | None = None


@dataclass(frozen=True)
class TaughtGroup:
    """What was clicked about one theme: each query with the pictures liked and disliked."""

    name: str
    clicks: Sequence[tuple[ImageRow, Sequence[ImageRow], Sequence[ImageRow]]]


@dataclass(frozen=True)
class LearnedQuery:
    """A query nobody judged, before and after: the first answers from other scenes that nobody
    clicked."""

    other: OtherQuery
    row: ImageRow
    before: Sequence[DemoHit]
    after: Sequence[DemoHit]


@dataclass(frozen=True)
class TypedWords:
    """Words that were typed, with the first answers before and after three likes."""

    query: TypedQuery
    before: Sequence[DemoHit]
    after: Sequence[DemoHit]


@dataclass(frozen=True)
class DemoResult:
    """What happened, for whoever prints it or draws it.

    Attributes
    ----------
    collection : Path
        Where it is.
    pictures, added : int
        Pictures in it, and those that this run added.
    seconds : float
        What adding took.
    search_ms : mapping of str to float
        A search by each similarity.
    new_picture_ms : float
        A search with a picture that is not in the collection.
    asked : sequence of DemoQuery
        Some queries.
    means : mapping of str to float
        Mean average precision by similarity, where answers are known.
    by_kind : mapping of str to mapping of str to float
        The same by kind of view.
    lesson : Lesson or None
        What judgements did for queries nobody judged.
    taught : sequence of TaughtGroup
        What was clicked.
    gained : sequence of LearnedQuery
        Of each theme the query that gained most, of those nobody clicked; the most first.
    lost : LearnedQuery or None
        The query that lost most, if one did.
    typed : sequence of TypedWords
        Searches by words.
    hint : str
        What would show more.

    See Also
    --------
    run : gives it.
    """

    collection: Path
    pictures: int
    added: int
    seconds: float
    search_ms: Mapping[str, float]
    new_picture_ms: float
    asked: Sequence[DemoQuery]
    means: Mapping[str, float] = field(default_factory=dict)
    by_kind: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lesson: Lesson | None = None
    taught: Sequence[TaughtGroup] = ()
    gained: Sequence[LearnedQuery] = ()
    lost: LearnedQuery | None = None
    typed: Sequence[TypedWords] = ()
    hint: str = ""

    @property
    def reused(self) -> bool:
        """Whether the collection of an earlier run was there already."""
        return self.added == 0


def run(
    out: Path,
    *,
    folder: Path | None = None,
    n_views: int = 16,
    fresh: bool = False,
    seed: int = 0,
    say: Say = lambda _: None,
    report: Report = silent,
) -> DemoResult:
    """Build (or use again) the collection below ``out`` and search it.

    Parameters
    ----------
    out : Path
        Where everything goes.
    folder : Path, optional
        Pictures of one's own; by default views of those that libraries ship.
    n_views : int, default=16
        Views of a scene.
    fresh : bool, default=False
        Begin anew.
    seed : int, default=0
        Of the views and the queries.
    say : callable, optional
        Hears what happens, in words.
    report : callable, optional
        Hears how far it is.

    Returns
    -------
    DemoResult
        What happened.

    See Also
    --------
    teach : the judgements of it.
    """
    if folder is None:
        return _on_planted(out, n_views, fresh, say, report)
    return _on_folder(out, folder, fresh, seed, say, report)


def _on_planted(out: Path, n_views: int, fresh: bool, say: Say, report: Report) -> DemoResult:
    say("Planting views of the photographs that scikit-image and scikit-learn ship ...")
    pictures = out / "pictures"
    _forget_other_views(pictures, n_views)
    task = planted_task(pictures, n_views)
    with _open_or_create(out / "planted.lw", [pictures], fresh, say) as col:
        # One worker takes pictures in one order, and what is learned from them depends on it.
        result = _add_pictures(col, [pictures], report, workers=1)
        say("Searching every view among all others, by each similarity ...")
        ranker = Ranker(col, task)
        scores = {by: ranker.score(task, by) for by in _ready(col)}
        kinds: dict[str, dict[str, list[float]]] = {}
        for by, score in scores.items():
            for name, value in score.average_precisions.items():
                kind = name.rsplit("-", 1)[1]
                kinds.setdefault(kind, {}).setdefault(by, []).append(value)
        ids = {name: col.id_of(path) for name, path in task.paths.items()}
        main = list(scores)[-1]
        chosen = _choose_queries(task.queries, scores[main].average_precisions)
        asked = []
        for query in chosen:
            right = {ids[name] for name in query.positives}
            value = scores[main].average_precisions[query.name]
            asked.append(
                replace(_ask(col, ids[query.query], (main,), right), average_precision=value)
            )
        say("Typing words, and liking three of what they find ...")
        typed, hint = type_words(col, ids)
        say("Judging a handful of answers, and asking what nobody judged before and after ...")
        queries = theme_queries(ids)
        lesson = teach(col, queries, ranker, judged_views(queries))
        taught, gained, lost = _shown_lesson(col, ids, lesson)
        search_ms, new_ms = _timings(col)
        return DemoResult(
            collection=col.root,
            pictures=len(col),
            added=result.added,
            seconds=result.seconds,
            search_ms=search_ms,
            new_picture_ms=new_ms,
            asked=asked,
            means={by: score.mean for by, score in scores.items()},
            by_kind={
                kind: {by: float(np.mean(values)) for by, values in found.items()}
                for kind, found in kinds.items()
            },
            lesson=lesson,
            taught=taught,
            gained=gained,
            lost=lost,
            typed=[_typed_words(col, one) for one in typed],
            hint=hint,
        )


def _typed_words(col: Collection, one: TypedQuery) -> TypedWords:
    before, after = (
        [DemoHit(hit, col.image(hit.id), hit.id in one.right) for hit in hits[:_SHOWN_HITS]]
        for hits in (one.hits, [hit for hit in one.after if hit.id not in one.liked])
    )
    return TypedWords(one, before, after)


def _shown_lesson(
    col: Collection, ids: Mapping[str, int], lesson: Lesson | None
) -> tuple[list[TaughtGroup], list[LearnedQuery], LearnedQuery | None]:
    """What a page shows of a lesson: what was clicked, what gained most and what lost most."""
    if lesson is None:
        return [], [], None
    clicks: dict[str, list[JudgedQuery]] = {}
    for one in lesson.judged:
        clicks.setdefault(one.query.group, []).append(one)
    taught = [
        TaughtGroup(
            name,
            [
                (col.image(one.image), _rows(col, one.liked), _rows(col, one.disliked))
                for one in judged
            ],
        )
        for name, judged in clicks.items()
    ]
    best = [
        other
        for name in lesson.groups
        if (other := lesson.best_of(name)) is not None and other.gain > 0
    ]
    best.sort(key=lambda other: -other.gain)
    clicked = lesson.clicked
    gained = [_learned_query(col, ids, other, clicked) for other in best]
    worst = lesson.worst
    lost = None if worst is None else _learned_query(col, ids, worst, clicked)
    return taught, gained, lost


def _learned_query(
    col: Collection, ids: Mapping[str, int], one: OtherQuery, clicked: AbstractSet[int]
) -> LearnedQuery:
    # Views of the same photograph come first before and after: what changes is behind them.
    scene = scene_of(one.query.query)
    left_out = clicked | {image for name, image in ids.items() if scene_of(name) == scene}
    before, after = (
        [
            DemoHit(hit, col.image(hit.id), hit.id in one.right)
            for hit in [hit for hit in hits if hit.id not in left_out][:_SHOWN_HITS]
        ]
        for hits in (one.before, one.after)
    )
    return LearnedQuery(one, col.image(one.image), before, after)


def _rows(col: Collection, images: Iterable[int]) -> list[ImageRow]:
    return [col.image(image) for image in images]


def _on_folder(
    out: Path, folder: Path, fresh: bool, seed: int, say: Say, report: Report
) -> DemoResult:
    folder = absolute(folder)
    if not folder.exists():
        raise CollectionError(f"{folder} is not there; a folder of pictures expected")
    places = [folder]
    files = [Path(one.path) for one in candidates([folder])]
    rng = np.random.default_rng(seed)
    if len(files) > MOST_PICTURES:
        say(
            f"{folder} holds {len(files):,} pictures; the demo looks at {MOST_PICTURES:,} of "
            "them, drawn by seed (likewise add takes them all)."
        )
        picked = rng.choice(len(files), MOST_PICTURES, replace=False)
        places = [files[i] for i in sorted(picked.tolist())]
    with _open_or_create(out / "own.lw", places, fresh, say) as col:
        result = _add_pictures(col, places, report)
        rows = list(col.images())
        if len(rows) < 2:
            raise CollectionError(
                f"{folder} holds {len(rows)} usable pictures; at least 2 expected"
                + (f" ({result.skipped[0][0]}: {result.skipped[0][1]})" if result.skipped else "")
            )
        # Other pictures are asked for than were drawn, whatever the folder's size.
        chosen = np.random.default_rng([seed, 1]).choice(
            len(rows), min(_SHOWN_OWN, len(rows)), replace=False
        )
        search_ms, new_ms = _timings(col)
        return DemoResult(
            collection=col.root,
            pictures=len(rows),
            added=result.added,
            seconds=result.seconds,
            search_ms=search_ms,
            new_picture_ms=new_ms,
            asked=[_ask(col, rows[i].id, _ready(col), None) for i in chosen.tolist()],
        )


def _choose_queries(
    queries: Sequence[RetrievalQuery], values: Mapping[str, float]
) -> list[RetrievalQuery]:
    """Queries to show: some from everywhere, then those that went worst."""
    # A stride that is prime to the number of views walks through scenes and kinds alike.
    count = min(_SHOWN_QUERIES - SHOWN_WORST, len(queries))
    spread = [queries[i * 29 % len(queries)] for i in range(count)]
    rest = [query for query in queries if query not in spread]
    return spread + sorted(rest, key=lambda query: values[query.name])[:SHOWN_WORST]


def _forget_other_views(pictures: Path, n_views: int) -> None:
    """Take away views that a run with another number of views left behind."""
    for path in pictures.glob("*-[0-9][0-9]-*.jpg"):
        if int(path.stem.rsplit("-", 2)[1]) >= n_views:
            path.unlink()


def _open_or_create(path: Path, places: list[Path], fresh: bool, say: Say) -> Collection:
    """The collection of an earlier run on the same pictures, else a new one."""
    if path.exists():
        col = Collection.open(path)
        same = set(col.info()["roots"]) == {str(place.absolute()) for place in places}
        if same and not fresh:
            say(f"{path} is there from an earlier run and is used again (--fresh builds it anew).")
            return col
        say(f"{path} is built anew.")
        col.destroy()
    return Collection.create(path)


def _add_pictures(
    col: Collection, places: list[Path], report: Report, workers: int | None = None
) -> AddResult:
    """Take in the pictures; a collection that has them follows what changed."""
    if col.info()["roots"]:
        return col.sync(report=report, workers=workers)
    return col.add(*places, report=report, workers=workers)


def _ready(col: Collection) -> tuple[str, ...]:
    """What can be searched by; no words without a single keypoint, no look of too few pictures."""
    spaces = col.spaces
    found = [
        name
        for name in SIMILARITIES
        if name in col.similarities and (name not in spaces or spaces[name].generation)
    ]
    if "words" in spaces and not spaces["words"].generation:
        found = [name for name in found if name != "both"]
    return tuple(found)


def _ask(col: Collection, image: int, by: tuple[str, ...], right: set[int] | None) -> DemoQuery:
    found = {}
    for name in by:
        hits = col.search(image, _SHOWN_HITS, by=name)
        found[name] = [
            DemoHit(hit, col.image(hit.id), None if right is None else hit.id in right)
            for hit in hits
        ]
    return DemoQuery(col.image(image), found)


def _timings(col: Collection) -> tuple[dict[str, float], float]:
    """Milliseconds a search of 20 takes: by similarity, and for a picture never seen before."""
    rows = list(col.images())[:: max(1, len(col) // _TIMED)]
    by_similarity = {}
    for by in _ready(col):
        spent = []
        for row in rows:
            start = time.perf_counter()
            col.search(row.id, 20, by=by)
            spent.append(time.perf_counter() - start)
        by_similarity[by] = 1000 * float(np.median(spent))
    spent = []
    for row in rows[:5]:
        # Given as pixels it is a stranger, to be described like any other file.
        start = time.perf_counter()
        col.search(decode(row.path, max_side=DECODE_SIDE), 20)
        spent.append(time.perf_counter() - start)
    return by_similarity, 1000 * float(np.median(spent))
