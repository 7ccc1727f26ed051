"""The command that draws the collection as a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.models import describe_model, record
from likewise.cli.options import DEFAULT, Json, Where, open_collection, stoppable
from likewise.cli.output import echo_json, plural, print_line, progress_bar, size
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.cli.map_page import MapPicture
    from likewise.collection.collection import Collection

MOST = 4_000


def map_(
    out: Annotated[Path, typer.Argument(help="Page to write, such as map.html.")],
    name: Annotated[
        str, typer.Option(metavar="NAME", help="The map; learned first if there is none.")
    ] = "map",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of pictures.")] = MOST,
    title: Annotated[
        str | None, typer.Option(help="Title; default: the collection's name.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for drawing pictures if there are more.")
    ] = 0,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Draw the collection as a zoomable map: one HTML page, with the pictures inside.

    It holds small copies of the pictures and their file names: share it with care.
    """
    from likewise.cli.map_page import map_page

    stopped = stoppable("no page was written")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        made_now = name not in col.models
        if made_now:
            col.models.learn_map(name, report=report)
        pictures, total = _pictures(col, name, limit, seed)
        model = col.models[name]
        notes = _notes(model, len(pictures), total)
        page = map_page(title or col.root.stem, notes, pictures, _report_reading(report))
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise LikewiseError(f"{out} cannot be written: {error.strerror}") from error
    if json_:
        said = {"page": str(out), "pictures": len(pictures), "of": total, "learned": made_now}
        echo_json({**said, "bytes": len(page.encode()), "map": record(model)})
        return
    if made_now:
        for line in describe_model(model):
            print_line(line)
    drawn = plural(len(pictures), "picture")
    whole = "" if len(pictures) == total else f" of {total:,}, drawn at random (--limit draws more)"
    print_line(f"{drawn}{whole}; {size(len(page.encode()))}. Open {out}")


def _pictures(col: Collection, name: str, limit: int, seed: int) -> tuple[list[MapPicture], int]:
    import numpy as np

    from likewise.cli.map_page import MapPicture

    points = col.models.map_points(name)
    total = len(points.ids)
    kept = np.arange(total)
    if total > limit:
        kept = np.sort(np.random.default_rng(seed).choice(total, limit, replace=False))
    rows = col.pictures.rows(points.ids[kept].tolist())
    found = []
    for i in kept.tolist():
        row = rows.get(int(points.ids[i]))
        if row is not None:
            found.append(
                MapPicture(row.path, float(points.places[i, 0]), float(points.places[i, 1]))
            )
    if not found:
        raise LikewiseError("the collection is empty; there is nothing to draw")
    return found, total


def _notes(model: Any, drawn: int, total: int) -> list[str]:
    """Return the facts that the page shows; no paths and no host name."""
    how = [line.strip() for line in describe_model(model)[1:]]
    many = plural(drawn, "picture")
    first = many if drawn == total else f"{many} of {total:,}, drawn at random"
    return [
        f"{first}, by space {model.space}.",
        f"{how[0][:1].upper()}{how[0][1:]}.",
        "Near means alike. Drag to move, turn the wheel or pinch to zoom, click a picture for its "
        "name; keys: arrows, + and -, 0 for all, g for side by side or true places, / to find.",
    ]


def _report_reading(report: Any) -> Any:
    from likewise.catalog.jobs import Progress

    return lambda done, total: report(Progress("reading pictures", done, total))
