"""The demo: add pictures to a collection, search it, teach it, and measure what was found.

On planted views the right answers are known.  Views of one photograph are found without teaching,
and mean average precision is reported by similarity and by kind of view.  Themes of several
photographs are taught by a few clicks (``lesson.py``).  On any other folder no answers are known,
and a few pictures drawn by seed are searched.  A second run uses the collection of the first.
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
"""The demo takes at most so many pictures of a folder, so that it ends within minutes."""
_SHOWN_QUERIES = 8
SHOWN_WORST = 4
_SHOWN_OWN = 6
_SHOWN_HITS = 8
_TIMED = 40

Say = Callable[[str], object]


@dataclass(frozen=True)
class DemoHit:
    """One hit; ``right`` is None where the right answers are not known.

    See Also
    --------
    DemoQuery : a query and its hits.
    """

    hit: Hit
    row: ImageRow
    right: bool | None


@dataclass(frozen=True)
class DemoQuery:
    """One query with its hits by each similarity; average precision of the last where known.

    See Also
    --------
    DemoResult : all queries and figures.
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
    """A query that was not judged: first answers from other scenes that were not clicked."""

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
    """What a run of the demo did and measured.

    Attributes
    ----------
    collection : Path
        Its folder.
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
        What judgements did for queries that were not judged.
    taught : sequence of TaughtGroup
        What was clicked.
    gained : sequence of LearnedQuery
        The query of each theme that gained most, of those not clicked; the largest gain first.
    lost : LearnedQuery or None
        The query that lost most, if one did.
    typed : sequence of TypedWords
        Searches by words.
    hint : str
        What to install so that typed words work.

    See Also
    --------
    run : run the demo.
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
    """Build or reuse the collection below ``out``, search it and teach it.

    Parameters
    ----------
    out : Path
        The folder for everything that is written.
    folder : Path, optional
        Pictures to use; by default planted views.
    n_views : int, default=16
        Views of a scene.
    fresh : bool, default=False
        Rebuild the collection.
    seed : int, default=0
        Of the views and the queries.
    say : callable, optional
        Called with a sentence at each step.
    report : callable, optional
        Called with the progress of each step.

    Returns
    -------
    DemoResult
        What was done and measured.

    See Also
    --------
    teach : judge queries and measure the others.
    """
    if folder is None:
        return _on_planted(out, n_views, fresh, say, report)
    return _on_folder(out, folder, fresh, seed, say, report)


def _on_planted(out: Path, n_views: int, fresh: bool, say: Say, report: Report) -> DemoResult:
    say("Making views of the photographs that scikit-image and scikit-learn ship ...")
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
        say("Judging a few answers, and measuring queries that were not judged ...")
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
    """Return what a page shows of a lesson: clicks, the largest gains and the largest loss."""
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
    # Views of the same photograph come first, before and after: changes are behind them.
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
    """Return queries to show: some from everywhere, then those with the worst answers."""
    # A stride that is prime to the number of views walks through scenes and kinds alike.
    count = min(_SHOWN_QUERIES - SHOWN_WORST, len(queries))
    spread = [queries[i * 29 % len(queries)] for i in range(count)]
    rest = [query for query in queries if query not in spread]
    return spread + sorted(rest, key=lambda query: values[query.name])[:SHOWN_WORST]


def _forget_other_views(pictures: Path, n_views: int) -> None:
    """Delete views that a run with more views has written."""
    for path in pictures.glob("*-[0-9][0-9]-*.jpg"):
        if int(path.stem.rsplit("-", 2)[1]) >= n_views:
            path.unlink()


def _open_or_create(path: Path, places: list[Path], fresh: bool, say: Say) -> Collection:
    """Open the collection of an earlier run on the same pictures, else create one."""
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
    """Add the pictures, or sync a collection that has them."""
    if col.info()["roots"]:
        return col.sync(report=report, workers=workers)
    return col.add(*places, report=report, workers=workers)


def _ready(col: Collection) -> tuple[str, ...]:
    """Return the similarities whose spaces are ready."""
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
    """Return the milliseconds of a search by similarity, and of one with a new picture."""
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
        # Pixels are described anew, although the picture is in the collection.
        start = time.perf_counter()
        col.search(decode(row.path, max_side=DECODE_SIDE), 20)
        spent.append(time.perf_counter() - start)
    return by_similarity, 1000 * float(np.median(spent))
