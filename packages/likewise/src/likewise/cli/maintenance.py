"""Commands that look after a collection: info, verify, refresh, retrain, backup, export."""

from __future__ import annotations

import csv
import enum
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli import shipping
from likewise.cli.options import (
    DEFAULT,
    Json,
    PathMaps,
    Scheduler,
    Usage,
    Where,
    Workers,
    open_collection,
    stoppable,
    workers_of,
)
from likewise.cli.output import echo_json, echo_table, plural, printable, say, size
from likewise.cli.progress import progress_bar
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

_LISTED = 8
_UNCHANGED = "the collection is as it was before"


class Format(enum.StrEnum):
    """What export writes."""

    csv = "csv"
    json = "json"


def info(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show what a collection holds and how large it is."""
    with open_collection(collection) as col:
        said = col.info()
        said["default"] = default_of(col)
    if json_:
        echo_json(said)
        return
    say(f"{said['path']}: {plural(said['pictures'], 'picture')}, {size(said['bytes'])}")
    for root in said["roots"][:_LISTED]:
        say(f"  from {root}")
    if len(said["roots"]) > _LISTED:
        say(f"  and {len(said['roots']) - _LISTED:,} more places")
    if said["problems"]:
        files = plural(said["problems"], "file")
        say(f"  {files} could not be used ('likewise problems' lists them)")
    if said["job"]:
        say(f"  now: {said['job']}")
    for name, space in said["spaces"].items():
        if space["gaps"]:
            say(f"  {plural(space['gaps'], 'picture')} could not be described in {name}")
    say(f"  search ranks by {said['default']} by default")
    _tell_places(said)
    say("")
    rows = [
        (
            name, space["feature"], space["kind"], space["width"] or "none yet",
            space["generation"], f"{space['sealed'] + space['fresh']:,}", space["segments"],
        )
        for name, space in said["spaces"].items()
    ]  # fmt: skip
    heads = ("space", "feature", "kind", "width", "generation", "vectors", "segments")
    echo_table(heads, rows, right="   rrrr")


def _tell_places(said: dict[str, Any]) -> None:
    """Where the catalog and the rows are."""
    inside = said["catalog"].startswith(said["path"])
    where = "in its folder" if inside else f"in {printable(said['catalog'])}"
    say(f"  the catalog is {where}; {shipping.who_answers(said['engine'])}")
    for address, there in said["pushed"].items():
        spaces = ", ".join(f"{name} {number}" for name, number in there["spaces"].items())
        say(
            f"  its vectors are in {printable(address)} too ({spaces}); "
            f"{plural(there['waiting'], 'changed picture')} to send"
        )


def plugins(json_: Json = False) -> None:
    """List the installed plug-ins; exit code 1 if one cannot be loaded."""
    from likewise.plugins import list_plugins

    found = list_plugins()
    if json_:
        echo_json([vars(one) for one in found])
    elif not found:
        say("no plug-ins are installed")
    else:
        rows = [
            (one.group.removeprefix("likewise."), one.name, one.package, one.error or "ok")
            for one in found
        ]
        echo_table(("kind", "name", "package", "state"), rows)
    if any(one.error for one in found):
        raise typer.Exit(1)


def verify(
    collection: Where = DEFAULT,
    against: Annotated[
        str | None,
        typer.Option(
            metavar=shipping.ADDRESS, help="Compare with what 'likewise push' put there instead."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Check the collection's files for damage; exit code 1 if something is wrong."""
    if against is not None:
        shipping.compare(collection, against, json_)
        return
    with open_collection(collection) as col:
        wrong = col.verify()
        pictures = len(col)
    if json_:
        echo_json({"ok": not wrong, "pictures": pictures, "wrong": wrong})
    elif wrong:
        for text in wrong:
            say(printable(text))
        say(f"{plural(len(wrong), 'thing')} wrong; restore a backup, or rebuild the collection")
    else:
        say(f"No damage found: {plural(pictures, 'picture')}.")
    if wrong:
        raise typer.Exit(1)


def refresh(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Update the weights of the visual words to the pictures there are now."""
    with stoppable(_UNCHANGED), open_collection(collection) as col:
        with progress_bar() as report:
            col.refresh(report=report)
        _tell_words(col, json_)


def retrain(
    collection: Where = DEFAULT,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Learn new visual words, and fit fitted spaces, from the pictures there are now."""
    with stoppable(_UNCHANGED), open_collection(collection) as col:
        with workers_of(workers, scheduler, path_map) as who, progress_bar() as report:
            col.retrain(workers=who, seed=seed, report=report)
        _tell_words(col, json_)


def backup(
    path: Annotated[Path, typer.Argument(help="Folder to create; it must not exist yet.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Copy the collection (not the pictures), even while it is in use."""
    with stoppable("no backup was made"), open_collection(collection) as col:
        made = col.backup(path)
        pictures = len(col)
    if json_:
        echo_json({"backup": str(made), "pictures": pictures})
    else:
        say(f"{made} holds {plural(pictures, 'picture')}")
        say(f"Restore it with: likewise restore {path} NEW.lw")


def restore(
    backup: Annotated[Path, typer.Argument(help="What 'likewise backup' made.")],
    path: Annotated[Path, typer.Argument(help="Collection to create; it must not exist yet.")],
    json_: Json = False,
) -> None:
    """Create a collection from a verified backup; its keys and links for guests are closed."""
    from likewise.catalog.filters import absolute
    from likewise.collection import backups
    from likewise.collection.collection import Collection

    with stoppable("nothing was restored"):
        closed = backups.restore(absolute(backup), absolute(path))
    with Collection.open(path) as col:
        root, pictures = str(col.root), len(col)
    if json_:
        made = {"collection": root, "pictures": pictures}
        echo_json(made | {"keys_revoked": closed.keys, "links_closed": closed.links})
        return
    say(f"{root} holds {plural(pictures, 'picture')}, verified")
    if any(closed):
        said = f"{plural(closed.keys, 'key')} and {plural(closed.links, 'link')} for guests"
        say(f"{said} of the backup do not open it; make new ones for those who should come in")


def export(
    collection: Where = DEFAULT,
    format_: Annotated[Format, typer.Option("--format", help="csv or json.")] = Format.csv,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; default standard output.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    xmp: Annotated[
        str | None,
        typer.Option(
            metavar="beside|DIR",
            help="Write tags as XMP sidecars instead: beside the pictures, or below a folder.",
        ),
    ] = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="With --xmp: include tags nobody accepted.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --xmp: only say how many and where.")
    ] = False,
) -> None:
    """Write the list of pictures: id, path, size, date, tags, metadata; or XMP sidecars.

    Pictures are never written.  In an existing sidecar only the keywords change.
    """
    if xmp is not None:
        if output is not None:
            raise Usage("--xmp writes sidecars; -o goes with csv and json")
        if dry_run:
            _plan_xmp(collection, xmp, suggested, json_)
        else:
            _export_xmp(collection, xmp, suggested, json_)
        return
    if suggested or dry_run:
        raise Usage("--suggested and --dry-run go with --xmp")
    with open_collection(collection) as col:
        every = col.tags.of_many(row.id for row in col.images())
        rows = [
            {
                "id": row.id,
                "path": row.path,
                "format": row.format,
                "width": row.width,
                "height": row.height,
                "date": row.date,
                "date_source": row.date_source,
                "bytes": row.n_bytes,
                "tags": every.get(row.id, []),
                "metadata": dict(row.metadata),
            }
            for row in col.images()
        ]
    text = _as_json(rows) if json_ or format_ is Format.json else _as_csv(rows)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise LikewiseError(f"{output} cannot be written: {error.strerror}") from error
    say(f"{output}: {plural(len(rows), 'picture')}", err=True)


def _export_xmp(collection: Path | None, place: str, suggested: bool, json_: bool) -> None:
    stopped = stoppable("the sidecars written so far are complete")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        done = col.tags.export_xmp(place, suggested=suggested, report=report)
    if json_:
        problems = [{"path": path, "reason": reason} for path, reason in done.problems]
        said = {
            "written": done.written, "unchanged": done.unchanged, "action": done.action,
            "problems": problems,
        }  # fmt: skip
        echo_json(said)
        return
    for path, reason in done.problems[:_LISTED]:
        say(f"{printable(path)}: {printable(reason)}")
    if len(done.problems) > _LISTED:
        say(f"... and {len(done.problems) - _LISTED:,} more; --json lists them all")
    say(f"{plural(done.written, 'sidecar')} written, {done.unchanged:,} up to date")
    if done.action is not None:
        say(f"'likewise actions undo {done.action}' takes them back")


def _plan_xmp(collection: Path | None, place: str, suggested: bool, json_: bool) -> None:
    with open_collection(collection) as col:
        plan = col.tags.plan_xmp(place, suggested=suggested)
    if json_:
        problems = [{"path": path, "reason": reason} for path, reason in plan.problems]
        echo_json({**vars(plan), "problems": problems})
        return
    for folder, n in list(plan.folders.items())[:_LISTED]:
        say(f"{n:>6,}  {printable(folder)}")
    if len(plan.folders) > _LISTED:
        say(f"... and {len(plan.folders) - _LISTED:,} more folders; --json lists them all")
    say(
        f"would write {plural(plan.new, 'new sidecar')} and change {plan.changed:,}; "
        f"{plan.unchanged:,} up to date"
    )


def default_of(col: Collection) -> str:
    """The name of the similarity that is meant when none is named."""
    if col.profiles.in_use != "default":
        return col.profiles.in_use
    spaces = col.similarities.find("default").spaces
    return next(iter(spaces)) if len(spaces) == 1 else "both"


def _tell_words(col: Collection, json_: bool) -> None:
    spaces = {
        name: {"generation": space.generation, "words": space.width}
        for name, space in col.spaces.items()
        if space.idf is not None
    }
    if json_:
        echo_json(spaces)
        return
    for name, said in spaces.items():
        say(f"{name}: {said['words']:,} words, generation {said['generation']}")


def _as_json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=2) + "\n"


def _as_csv(rows: list[dict[str, Any]]) -> str:
    heads = (
        "id", "path", "format", "width", "height", "date", "date_source", "bytes", "tags",
        "metadata",
    )  # fmt: skip
    buffer = io.StringIO(newline="")
    table = csv.DictWriter(buffer, heads)
    table.writeheader()
    for row in rows:
        # As JSON, a tag may hold any sign, and no cell starts like a spreadsheet's formula.
        table.writerow(
            {**row, "tags": json.dumps(row["tags"]), "metadata": json.dumps(row["metadata"])}
        )
    return buffer.getvalue()
