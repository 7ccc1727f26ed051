"""The commands tag (suggest, set, remove), accept and reject."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from likewise.cli.options import (
    DEFAULT,
    Json,
    Scheduler,
    Usage,
    Where,
    open_collection,
    picture,
    stoppable,
    workers_of,
)
from likewise.cli.output import echo_json, plural, print_line, printable, progress_bar
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.collection.collection import Collection
    from likewise.tags.bulk import TagRun
    from likewise.tags.suggest import Suggestion

_BEHIND = 3
_LISTED = 20
_ABOVE = 0.6
_GOES_ON = "what was tagged is kept; run the same command again to continue"

Image = Annotated[str, typer.Argument(help="A picture, or the id of one.", metavar="IMAGE|ID")]
Names = Annotated[list[str], typer.Argument(help="Tags; quote one with spaces.", metavar="TAG…")]


def tag(
    image: Annotated[
        str | None, typer.Argument(help="A picture, or the id of one.", metavar="[IMAGE|ID]")
    ] = None,
    collection: Where = DEFAULT,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of suggestions.")] = 5,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="TAG", help="Add this tag.")
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Remove this tag; no file adds it again."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Suggest tags for all untagged pictures.")
    ] = False,
    above: Annotated[
        float | None,
        typer.Option(help=f"With --all: minimum confidence (default {_ABOVE})."),
    ] = None,
    also_tagged: Annotated[
        bool, typer.Option("--also-tagged", help="With --all: include pictures that have tags.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --all: only show what would be done.")
    ] = False,
    scheduler: Scheduler = None,
    json_: Json = False,
) -> None:
    """Suggest tags for a picture, with the pictures behind them; or set and remove tags.

    With --all it covers the whole collection; a run that was stopped continues where it left off.
    Such tags are marked as suggested, and nothing is learned from them until they are accepted.
    """
    given = bool(set_ or remove)
    if all_ == (image is not None) or (all_ and given):
        raise Usage("name a picture, or use --all")
    if not all_ and (above is not None or dry_run or also_tagged):
        raise Usage("--above, --also-tagged and --dry-run go with --all")
    if not all_ and scheduler is not None:
        raise Usage("--scheduler goes with --all")
    if all_:
        wish = _AllOptions(_ABOVE if above is None else above, k, also_tagged, dry_run)
        _all(collection, wish, scheduler, json_)
        return
    assert image is not None
    with stoppable("nothing was changed"), open_collection(collection, image) as col:
        if given:
            _change(col, image, set_ or [], remove or [], json_)
        else:
            _suggest(col, image, k, json_)


def accept(image: Image, tags: Names, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Accept suggested tags: from now on they count like your own, for suggestions too."""
    with open_collection(collection, image) as col:
        one = col.id_of(picture(image))
        # One command makes one line of the log, so one undo reverts all of it.
        _print(col, one, col.tags.change([one], tags, source="accepted"), json_)


def reject(image: Image, tags: Names, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Reject tags: they are removed, and not suggested for this picture again."""
    with open_collection(collection, image) as col:
        one = col.id_of(picture(image))
        _print(col, one, col.tags.change([one], remove=tags), json_)


def _change(col: Collection, image: str, add: list[str], remove: list[str], json_: bool) -> None:
    one = col.id_of(picture(image))
    lost = sorted(set(remove) - set(col.tags.of(one)))
    lines = col.tags.change([one], add, remove)
    _print(col, one, lines, json_)
    if lost and not json_:
        print_line(f"it did not have {', '.join(map(repr, lost))}, and files will not add it")


def _print(col: Collection, image: int, lines: list[int], json_: bool) -> None:
    tags = col.tags.of(image)
    if json_:
        echo_json({"id": image, "tags": tags, "lines": lines})
        return
    if not lines:
        print_line("Nothing changed.")
    print_line(f"picture {image}: {', '.join(tags) if tags else 'no tags'}")
    if lines:
        print_line("'likewise library tags undo' reverts this")


def _suggest(col: Collection, image: str, k: int, json_: bool) -> None:
    one = picture(image)
    found = col.suggest_tags(one, k)
    has = _own(col, one)
    if json_:
        echo_json({"tags": has, "suggestions": [record(s) for s in found]})
        return
    if has:
        print_line(f"tags: {', '.join(has)}")
    if not found:
        said = "No picture has tags yet" if not col.tags.all(limit=1) else "No other tag fits"
        print_line(f"{said}; 'likewise tag IMAGE --set TAG' adds one.")
        return
    for suggestion in found:
        print_line(line(suggestion))
    if not found[0].calibrated:
        print_line("(too few tagged pictures to measure how reliable this is)")


def _own(col: Collection, one: int | str) -> list[str]:
    from likewise.errors import UnknownPicture

    try:
        return col.tags.of(one)
    except UnknownPicture:
        return []


def line(suggestion: Suggestion) -> str:
    """Format a suggestion: confidence, tag, and the pictures behind it."""
    behind = ", ".join(
        f"{printable(os.path.basename(b.path))} ({b.weight:.2f})"
        for b in suggestion.because[:_BEHIND]
    )
    return f"{suggestion.confidence:4.0%}  {printable(suggestion.tag)}  because of {behind}"


def record(suggestion: Suggestion) -> dict[str, Any]:
    """Return a suggestion as a JSON record."""
    return {
        "tag": suggestion.tag, "confidence": suggestion.confidence, "score": suggestion.score,
        "calibrated": suggestion.calibrated,
        "because": [{"id": b.id, "path": b.path, "weight": b.weight} for b in suggestion.because],
    }  # fmt: skip


class _AllOptions(NamedTuple):
    """Options of ``tag --all``."""

    above: float
    k: int
    also_tagged: bool
    dry_run: bool


def _all(collection: Path | None, wish: _AllOptions, scheduler: str | None, json_: bool) -> None:
    if not 0 < wish.above <= 1:
        raise Usage(f"--above {wish.above}: a confidence between 0 and 1 expected")
    with stoppable(_GOES_ON), open_collection(collection) as col:
        if not col.tags.all(limit=1):
            raise LikewiseError(
                "no picture has tags yet; add some with 'likewise tag IMAGE --set TAG' or "
                "'likewise library tags import'"
            )
        with workers_of(None, scheduler, None) as who, progress_bar() as report:
            run = col.tags.suggest_for_all(
                **wish._asdict(), workers=0 if who is None else who, report=report
            )
        _print_run(col, run, wish.above, wish.dry_run, json_)


def _print_run(col: Collection, run: TagRun, above: float, dry_run: bool, json_: bool) -> None:
    rows = col.pictures.rows(run.found)
    if json_:
        found = [
            {
                "id": i, "path": rows[i].path,
                "tags": [{"tag": tag, "confidence": sure} for tag, sure in tags],
            }
            for i, tags in run.found.items() if i in rows
        ]  # fmt: skip
        said: dict[str, Any] = {
            "pictures": run.pictures, "tagged": run.tagged, "tags": run.tags,
            "resumed": run.resumed > 0, "calibrated": run.measured,
        }  # fmt: skip
        echo_json(said | ({"found": found} if dry_run else {}))
        return
    for image, tags in list(run.found.items())[:_LISTED]:
        if image in rows:
            names = ", ".join(f"{printable(tag)} {sure:.0%}" for tag, sure in tags)
            print_line(f"{printable(rows[image].path)}: {names}")
    if len(run.found) > _LISTED:
        print_line(f"... and {len(run.found) - _LISTED:,} more; --json lists them all")
    if run.resumed and not run.pictures:
        print_line("Nothing is left to do: no picture and no tag is new since the last run.")
        return
    would = "would get" if dry_run else "got"
    print_line(
        f"{plural(run.pictures, 'picture')} checked: {run.tagged:,} {would} "
        f"{plural(run.tags, 'tag')} with a confidence of {above:.0%} or more"
    )
    if not run.measured:
        print_line("Too few pictures are tagged to measure confidence, so none is above 50%.")
