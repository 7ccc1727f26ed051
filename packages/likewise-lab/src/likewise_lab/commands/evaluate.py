"""``likewise evaluate dataset``: measure a search on a labelled data set."""

from __future__ import annotations

import enum
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import Json, stoppable
from likewise.cli.output import echo_json, echo_table, plural, print_line, progress_bar

if TYPE_CHECKING:
    from likewise.collection.collection import Collection


class Dataset(enum.StrEnum):
    """Data sets that can be measured."""

    folders = "folders"
    planted = "planted"


def dataset(
    name: Annotated[Dataset, typer.Argument(help="Name of the data set.")],
    path: Annotated[
        Path, typer.Argument(help="Its folder; planted views are written there.")
    ],
    distractors: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of other pictures to search as well."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="A similarity; default: all there are.")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Number of queries, drawn at random; default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for drawing queries.")] = 0,
    views: Annotated[int, typer.Option(min=2, help="Planted views of each scene.")] = 16,
    collection: Annotated[
        Path | None,
        typer.Option(
            "-C", "--collection", metavar="PATH",
            help="Collection to build or continue, and keep; default: a temporary one.",
        ),
    ] = None,
    json_: Json = False,
) -> None:  # fmt: skip
    """Measure how well search finds what belongs together, by the data set's own protocol."""
    from likewise_lab.evaluation.retrieval import Ranker, read_task, some

    task = read_task(name.value, path, n_views=views)
    if queries is not None:
        task = some(task, queries, seed=seed)
    kept = "nothing was measured" + (f"; {collection} keeps what was added" if collection else "")
    with stoppable(kept), ExitStack() as stack:
        col = stack.enter_context(_collection(collection, stack))
        with progress_bar() as report:
            added = col.add(*task.paths.values(), *(distractors or []), report=report)
            if {"words", "holistic", "both"} & set(by or []):
                col.spaces.add_missing(report=report)
        ranker = Ranker(col, task)
        ready = {name for name, space in col.spaces.items() if space.generation}
        names = by or [
            one.name
            for one in col.similarities.built_in()
            if one.name != "default" and set(one.spaces) <= ready
        ]
        rows: list[dict[str, Any]] = []
        for similarity in names:
            start = time.perf_counter()
            scores = ranker.score(task, similarity)
            spent = time.perf_counter() - start
            rows.append(
                {
                    "by": similarity,
                    "mAP": scores.mean,
                    "mAP_of_groups": scores.mean_of_groups,
                    "ms_per_query": 1000 * spent / len(ranker.queries),
                }
            )
        said: dict[str, Any] = {
            "dataset": task.name,
            "protocol": task.protocol,
            "average_precision": "trapezoid" if task.trapezoid else "plain",
            "pictures": len(col),
            "queries": len(ranker.queries),
            "missing": sorted(ranker.missing),
            "add_seconds": round(added.seconds, 3),
            "results": rows,
        }
    if json_:
        echo_json(said)
        return
    print_line(
        f"{task.name}: {plural(len(ranker.queries), 'query', 'queries')} over "
        f"{plural(said['pictures'], 'picture')}; {task.protocol}; "
        f"{said['average_precision']} average precision"
    )
    if ranker.missing:
        print_line(f"{plural(len(ranker.missing), 'picture')} could not be used")
    echo_table(
        ("similarity", "mAP", "mean of groups", "ms per query"),
        [
            (r["by"], f"{r['mAP']:.4f}", f"{r['mAP_of_groups']:.4f}", f"{r['ms_per_query']:.1f}")
            for r in rows
        ],
        right=" rrr",
    )


def _collection(path: Path | None, stack: ExitStack) -> Collection:
    from likewise.cli.pictures import open_or_create
    from likewise.collection.collection import Collection

    if path is None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="likewise-"))
        return Collection.create(Path(folder) / "evaluate.lw")
    return open_or_create(path)[0]
