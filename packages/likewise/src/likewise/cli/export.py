"""``likewise export``: the list of pictures, sidecars, profiles, comparisons and the library."""

from __future__ import annotations

import csv
import enum
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli import compare, library, profiles
from likewise.cli.options import (
    DEFAULT,
    Json,
    Usage,
    Where,
    open_collection,
    refuse_early_options,
    stoppable,
)
from likewise.cli.output import echo_json, plural, print_line, printable, progress_bar
from likewise.errors import LikewiseError

_LISTED = 8
_COLUMNS = (
    "id", "path", "format", "width", "height", "date", "date_source", "bytes", "tags", "metadata",
)  # fmt: skip

export = typer.Typer(
    help="Write the list of pictures as CSV or JSON; with a command: sidecars, profiles and more."
)
export.command("profile")(profiles.export)
export.command("comparisons")(compare.export)
export.command("library")(library.export)


class Format(enum.StrEnum):
    """Format of the list of pictures."""

    csv = "csv"
    json = "json"


@export.callback(invoke_without_command=True)
def export_list(
    context: typer.Context,
    collection: Where = DEFAULT,
    format_: Annotated[Format, typer.Option("--format", help="csv or json.")] = Format.csv,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; default standard output.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    xmp: Annotated[
        str | None,
        typer.Option(metavar="beside|DIR", hidden=True, help="Use 'likewise export xmp' instead."),
    ] = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", hidden=True, help="With --xmp: as 'export xmp' has it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", hidden=True, help="With --xmp: as 'export xmp' has it.")
    ] = False,
) -> None:
    """Write the list of pictures: id, path, size, date, tags, metadata.

    With a command, write tags as XMP sidecars, a profile, comparisons, or stars and albums.
    Pictures are never written.
    """
    if context.invoked_subcommand is not None:
        refuse_early_options(context, output="-o goes with the list of pictures")
        return
    if xmp is not None:
        if output is not None:
            raise Usage("--xmp writes sidecars; -o goes with csv and json")
        export_xmp(xmp, collection, suggested, dry_run, json_)
        return
    if suggested or dry_run:
        raise Usage("--suggested and --dry-run go with --xmp")
    with open_collection(collection) as col:
        tags = col.tags.of_many(row.id for row in col.images())
        rows = [
            {
                "id": row.id, "path": row.path, "format": row.format, "width": row.width,
                "height": row.height, "date": row.date, "date_source": row.date_source,
                "bytes": row.n_bytes, "tags": tags.get(row.id, []),
                "metadata": dict(row.metadata),
            }
            for row in col.images()
        ]  # fmt: skip
    as_json = json_ or format_ is Format.json
    text = json.dumps(rows, indent=2) + "\n" if as_json else _format_csv(rows)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise LikewiseError(f"{output} cannot be written: {error.strerror}") from error
    print_line(f"{output}: {plural(len(rows), 'picture')}", err=True)


@export.command("xmp")
def export_xmp(
    place: Annotated[
        str,
        typer.Argument(
            metavar="beside|DIR", help="Next to the pictures ('beside'), or below a folder."
        ),
    ],
    collection: Where = DEFAULT,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="Include suggested tags that are not accepted yet.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many sidecars, and where.")
    ] = False,
    json_: Json = False,
) -> None:
    """Write tags as XMP sidecars; in an existing sidecar only the keywords change."""
    if dry_run:
        _plan_xmp(collection, place, suggested, json_)
        return
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
        print_line(f"{printable(path)}: {printable(reason)}")
    if len(done.problems) > _LISTED:
        print_line(f"... and {len(done.problems) - _LISTED:,} more; --json lists them all")
    print_line(f"{plural(done.written, 'sidecar')} written, {done.unchanged:,} up to date")
    if done.action is not None:
        print_line(f"'likewise library actions undo {done.action}' takes them back")


def _plan_xmp(collection: Path | None, place: str, suggested: bool, json_: bool) -> None:
    with open_collection(collection) as col:
        plan = col.tags.plan_xmp(place, suggested=suggested)
    if json_:
        problems = [{"path": path, "reason": reason} for path, reason in plan.problems]
        echo_json({**vars(plan), "problems": problems})
        return
    for folder, n in list(plan.folders.items())[:_LISTED]:
        print_line(f"{n:>6,}  {printable(folder)}")
    if len(plan.folders) > _LISTED:
        print_line(f"... and {len(plan.folders) - _LISTED:,} more folders; --json lists them all")
    print_line(
        f"would write {plural(plan.new, 'new sidecar')} and change {plan.changed:,}; "
        f"{plan.unchanged:,} up to date"
    )


def _format_csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO(newline="")
    table = csv.DictWriter(buffer, _COLUMNS)
    table.writeheader()
    for row in rows:
        # JSON: a tag may hold any character, and no cell starts like a formula of a spreadsheet.
        cells = {"tags": json.dumps(row["tags"]), "metadata": json.dumps(row["metadata"])}
        table.writerow({**row, **cells})
    return buffer.getvalue()
