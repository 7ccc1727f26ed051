"""The ``likewise`` command.

Every command parses its arguments, calls one function of a lower room and renders what comes
back.  Errors that Likewise raises on purpose are one line on standard error and exit code 1;
``--debug`` shows the traceback instead.  Wrong usage is exit code 2.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from likewise.errors import LikewiseError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Image search and tagging that learns what you mean by alike.",
)
_debug = False

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Run the command line; the entry point of the package."""
    # Pillow's remarks on odd metadata name no file; what matters is reported with its path.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        app()
    except LikewiseError as error:
        if _debug:
            raise
        typer.echo(f"likewise: {error}", err=True)
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        from likewise import __version__

        typer.echo(f"likewise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    global _debug
    _debug = debug


@app.command()
def check(
    paths: Annotated[list[Path], typer.Argument(help="Pictures, or folders to look through.")],
    json_: Json = False,
) -> None:
    """Say which pictures can be used, and of each other file why not.

    Every picture is decoded in full, so that a truncated one is found.  Exit code 1 if any file
    was refused.
    """
    from likewise.errors import ImageError
    from likewise.images import decode

    refused = 0
    rows: list[dict[str, object]] = []
    for path in _files(paths):
        row: dict[str, object] = {"path": str(path), "usable": True}
        try:
            info = decode(path).info
        except ImageError as error:
            refused += 1
            row |= {"usable": False, "reason": error.reason}
        else:
            date = info.date.isoformat() if info.date else None
            row |= {"format": info.format, "width": info.width, "height": info.height}
            row |= {"mode": info.mode, "date": date}
        rows.append(row)
        if not json_:
            typer.echo(_line(row))
    if json_:
        typer.echo(json.dumps(rows, indent=2))
    else:
        typer.echo(f"{len(rows) - refused} usable, {refused} refused")
    if refused:
        raise typer.Exit(1)


@app.command()
def datasets(
    root: Annotated[
        Path | None,
        typer.Argument(help="Folder of data sets; default LIKEWISE_DATA, else ../shared/data."),
    ] = None,
    json_: Json = False,
) -> None:
    """Read every data set that is there and print what it holds."""
    from dataclasses import asdict

    from likewise.errors import DatasetError
    from likewise.evaluation import data_root
    from likewise.evaluation.readers import survey

    root = root or data_root()
    if root is None:
        raise DatasetError("no data sets here; set LIKEWISE_DATA to the folder that holds them")
    rows = survey(root)
    if json_:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("data set", "reader", "what it holds", "CPU s")
        for row in rows:
            seconds = f"{row.seconds:.2f}" if row.state == "read" else row.state
            table.add_row(row.folder, row.reader, row.text, seconds)
        Console().print(table)
    if any(row.state == "refused" for row in rows):
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where pictures and page are written.")] = Path("demo"),
    views: Annotated[int, typer.Option(min=2, help="Views of each scene.")] = 16,
) -> None:
    """Search several hundred planted views by their holistic vectors; ends with a page."""
    from likewise.demo import run

    result = run(out, n_views=views, say=typer.echo)
    typer.echo(f"Look at {result.page}")


def _files(paths: list[Path]) -> list[Path]:
    """Files as given; of folders all files below, hidden ones left out."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = (p for p in path.rglob("*") if p.is_file())
            found += sorted(
                p for p in below if not any(x.startswith(".") for x in p.relative_to(path).parts)
            )
        else:
            found.append(path)
    return found


def _line(row: dict[str, object]) -> str:
    if not row["usable"]:
        return f"{row['path']}: {row['reason']}"
    date = f", {row['date']}" if row["date"] else ""
    return f"{row['path']}: {row['format']} {row['width']} x {row['height']} {row['mode']}{date}"
