"""Commands about kinds of vectors (``space``) and ways to rank (``similarity``)."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.keeping import default_of
from likewise.cli.options import (
    DEFAULT,
    Json,
    Usage,
    Where,
    Workers,
    opened,
    pairs,
    stoppable,
    value_of,
)
from likewise.cli.progress import shown
from likewise.cli.rendering import counted, echo_json, echo_table
from likewise.errors import InvalidInput

space = typer.Typer(no_args_is_help=True, help="Kinds of vectors every picture has.")
similarity = typer.Typer(no_args_is_help=True, help="Ways to rank.")

Name = Annotated[str, typer.Argument(help="Name of the space.")]


class Feature(enum.StrEnum):
    """What a space is made of."""

    words = "words"
    holistic = "holistic"
    own = "own"


@space.command("list")
def list_spaces(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the spaces with their recipes."""
    with opened(collection) as col:
        found = {
            name: {
                "kind": one.kind,
                "width": one.width,
                "generation": one.generation,
                "recipe": dict(one.recipe),
            }
            for name, one in col.spaces.items()
        }
    if json_:
        echo_json(found)
        return
    rows = []
    for name, said in found.items():
        recipe: dict[str, Any] = said["recipe"]  # type: ignore[assignment]
        rest = " ".join(f"{key}={value}" for key, value in recipe.items() if key != "feature")
        rows.append((name, recipe["feature"], said["kind"], said["width"] or "none yet", rest))
    echo_table(("space", "feature", "kind", "width", "recipe"), rows, right="   r")


@space.command("add")
def add_space(
    name: Name,
    feature: Annotated[Feature, typer.Option(help="What it is made of; own: your vectors.")],
    collection: Where = DEFAULT,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the recipe."),
    ] = None,
    workers: Workers = None,
    json_: Json = False,
) -> None:
    """Give every picture another kind of vector, those that are there already included."""
    recipe = {key: value_of(value) for key, value in pairs(set_, "--set").items()}
    stopped = f"'likewise space drop {name}' and add it again"
    with stoppable(stopped), opened(collection) as col:
        with shown() as report:
            made = {**recipe, "feature": feature.value}
            col.add_space(name, made, workers=workers, report=report)
        one = col.spaces[name]
    if json_:
        echo_json({"space": name, "width": one.width, "recipe": dict(one.recipe)})
    elif feature is Feature.own:
        typer.echo(f"Space {name} is there; fill it: likewise space fill {name} vectors.npy --ids")
    else:
        typer.echo(f"Space {name} is there: search with --by {name}")


@space.command("drop")
def drop_space(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Forget a space and its vectors."""
    with opened(collection) as col:
        col.drop_space(name)
    if json_:
        echo_json({"dropped": name})
    else:
        typer.echo(f"Space {name} is gone")


@space.command("fill")
def fill(
    name: Name,
    vectors: Annotated[Path, typer.Argument(help="A .npy file, one row a picture.")],
    ids: Annotated[
        Path | None, typer.Option(help="Text file: the id of each row's picture, one a line.")
    ] = None,
    paths: Annotated[
        Path | None, typer.Option(help="Text file: the path of each row's picture, one a line.")
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Store your own vectors in a space made with --feature own."""
    listing = ids or paths
    if listing is None or (ids and paths):
        raise Usage("give either --ids or --paths, so that each row has its picture")
    lines = _lines(listing)
    matrix = _matrix(vectors)
    with stoppable("run it again to store all vectors"), opened(collection) as col:
        images = _ids(lines, listing) if ids else [col.id_of(line) for line in lines]
        stored = col.add_vectors(name, images, matrix)
        width = col.spaces[name].width
    if json_:
        echo_json({"space": name, "stored": stored, "width": width})
    else:
        typer.echo(f"{counted(stored, 'vector')} of {counted(width, 'number')} stored in {name}")


@similarity.command("list")
def list_similarities(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List every way to rank, for --by."""
    with opened(collection) as col:
        default = default_of(col)
        found = {
            name: dict(one.spaces) for name, one in col.similarities.items() if name != "default"
        }
    if json_:
        rows = [
            {"name": name, "spaces": spaces, "default": name == default}
            for name, spaces in found.items()
        ]
        echo_json(rows)
        return
    for name, spaces in sorted(found.items()):
        mark = "  (default)" if name == default else ""
        typer.echo(f"{name}: {' + '.join(spaces)}{mark}")


@similarity.command("use")
def use(
    name: Annotated[str, typer.Argument(help="Name of the similarity.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a similarity the one that is meant when none is named."""
    with opened(collection) as col:
        col.use(name)
        default = default_of(col)
    if json_:
        echo_json({"default": default})
    else:
        typer.echo(f"search ranks by {default} unless told otherwise")


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text") from error
    return [line for line in text.splitlines() if line.strip()]


def _ids(lines: list[str], path: Path) -> list[int]:
    try:
        return [int(line) for line in lines]
    except ValueError as error:
        raise InvalidInput(f"{path}: {error}; one id a line expected") from None


def _matrix(path: Path) -> Any:
    import numpy as np

    try:
        # Never pickled objects: loading those would run code of whoever wrote the file.
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise InvalidInput(f"{path} is no plain .npy array: {error}") from error
    if not isinstance(loaded, np.ndarray):
        raise InvalidInput(f"{path} is an archive of arrays; one .npy array expected")
    return loaded
