"""Commands about kinds of vectors (``space``) and ways to rank (``similarity``)."""

from __future__ import annotations

import enum
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.maintenance import default_of
from likewise.cli.models import record
from likewise.cli.options import (
    DEFAULT,
    Json,
    PathMaps,
    Scheduler,
    Usage,
    Where,
    Workers,
    open_collection,
    pairs,
    stoppable,
    value_of,
    workers_of,
)
from likewise.cli.output import echo_json, echo_table, plural, print_line, progress_bar
from likewise.errors import InvalidInput

space = typer.Typer(no_args_is_help=True, help="Kinds of vectors every picture has.")
similarity = typer.Typer(no_args_is_help=True, help="Ways to rank.")

Name = Annotated[str, typer.Argument(help="Name of the space.")]


class Pool(enum.StrEnum):
    """How ``--onnx`` reduces a sequence of tokens to one vector."""

    mean = "mean"
    first = "first"


class Kind(enum.StrEnum):
    """How the output of a network is stored."""

    dense = "dense"
    sparse = "sparse"


@space.command("list")
def list_spaces(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the spaces with their recipes."""
    with open_collection(collection) as col:
        found = {
            name: {
                "kind": one.row_format_name,
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
        rest = " ".join(
            f"{key}={value}" for key, value in recipe.items() if key not in ("feature", "of")
        )
        rows.append((name, recipe["feature"], said["kind"], said["width"] or "none yet", rest))
    echo_table(("space", "feature", "kind", "width", "recipe"), rows, right="   r")


@space.command("add")
def add_space(
    name: Name,
    feature: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What it is made of (default: its name): words, holistic, deep, deep-dense, "
            "look, deep-words, psc, vlad, onnx, own (your vectors), or another package's kind.",
        ),
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option(help="The .onnx file of your own network; it is copied.")
    ] = None,
    clip: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder of your own image-text network (visual/, textual/); it is copied.",
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Fit a dense space there is to the collection: vectors of your own, or of --onnx.",
        ),
    ] = None,
    size: Annotated[int | None, typer.Option(help="Side of its input in pixels.")] = None,
    scale: Annotated[
        float | None, typer.Option(help="Pixels are divided by this first; default: 255.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option(help="Then subtracted: a number or R,G,B; default: 0.")
    ] = None,
    std: Annotated[
        str | None, typer.Option(help="Then divided by: a number or R,G,B; default: 1.")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(help="The output or inner layer to use; default: its first output."),
    ] = None,
    pool: Annotated[Pool | None, typer.Option(help="For tokens: their mean, or the first.")] = None,
    kind: Annotated[
        Kind | None, typer.Option(help="Keep all activations, or only the strongest.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="The licence of the network, for its card.")
    ] = None,
    collection: Where = DEFAULT,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the recipe."),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    path_map: PathMaps = None,
    json_: Json = False,
) -> None:
    """Add another kind of vector for every picture, present and future.

    'likewise admin spaces add words' uses visual words, 'add holistic' colours and edges, both
    without a network.  'add psc' (or vlad) codes and pools local descriptors into one short vector,
    over codebooks learned from the collection.  'add deep-words' makes words from the features of
    a network.  'add NAME --onnx model.onnx --size 224 --mean 0.485,0.456,0.406 --std
    0.229,0.224,0.225' uses your own network.  'add NAME --fit OTHER' fits the vectors of another
    space to the collection.  'add NAME --clip FOLDER' uses your own image-text network, which then
    also answers typed words.
    """
    network = {
        "path": str(onnx) if onnx else None,
        "size": size,
        "scale": scale,
        "mean": _channels(mean, "--mean"),
        "std": _channels(std, "--std"),
        "layer": layer,
        "pool": pool.value if pool else None,
        "kind": kind.value if kind else None,
        "licence": licence,
    }
    if clip is not None:
        feature = _clip_feature(feature, network, fit)
        network["path"] = str(clip)
    else:
        feature = _feature(name, feature, network, fit)
    recipe = {key: value_of(value) for key, value in pairs(set_, "--set").items()}
    recipe |= {key: value for key, value in network.items() if value is not None}
    if fit is not None:
        recipe["source"] = fit
    with stoppable("the same command goes on from there"), open_collection(collection) as col:
        with workers_of(workers, scheduler, path_map) as who, progress_bar() as report:
            made = {**recipe, "feature": feature}
            col.spaces.add(name, made, workers=who, report=report)
        one = col.spaces[name]
    if json_:
        echo_json({"space": name, "width": one.width, "recipe": dict(one.recipe)})
    elif not one.generation and one.must_learn:
        least = one.next_growth()
        print_line(f"Created space {name}: it is learned once {least:,} pictures have vectors")
    elif not one.describes_pictures and not one.takes_rows_of:
        print_line(
            f"Created space {name}; fill it: likewise admin spaces fill {name} vectors.npy --ids"
        )
    else:
        print_line(f"Created space {name}: search with --by {name}")


@space.command("card")
def card(name: Name, collection: Where = DEFAULT) -> None:
    """Show how the vectors of a deep space are made: model, hash, preprocessing, licence (JSON)."""

    with open_collection(collection) as col:
        if name not in col.spaces:
            raise InvalidInput(f"there is no space {name!r}; there are {', '.join(col.spaces)}")
        found = col.spaces[name].card()
    if found is None:
        raise InvalidInput(f"space {name!r} is not made by a network; it has no card")
    echo_json(found)


@space.command("drop")
def drop_space(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Delete a space and its vectors."""
    with open_collection(collection) as col:
        col.spaces.drop(name)
    if json_:
        echo_json({"dropped": name})
    else:
        print_line(f"Deleted space {name}")


@space.command("fill")
def fill(
    name: Name,
    vectors: Annotated[Path, typer.Argument(help="A .npy file, one row per picture.")],
    ids: Annotated[
        Path | None, typer.Option(help="Text file: the picture id of each row, one per line.")
    ] = None,
    paths: Annotated[
        Path | None, typer.Option(help="Text file: the picture path of each row, one per line.")
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
    with stoppable("run it again to store all vectors"), open_collection(collection) as col:
        images = _ids(lines, listing) if ids else [col.id_of(line) for line in lines]
        stored = col.spaces.add_vectors(name, images, matrix)
        width = col.spaces[name].width
    if json_:
        echo_json({"space": name, "stored": stored, "width": width})
    else:
        print_line(f"{plural(stored, 'vector')} of {plural(width, 'number')} stored in {name}")


@similarity.command("list")
def list_similarities(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List every way to rank, for --by."""
    with open_collection(collection) as col:
        default = default_of(col)
        similarities = col.similarities
        found = {name: dict(one.spaces) for name, one in similarities.items() if name != "default"}
        learned = {name: one.model for name, one in similarities.items() if one.model is not None}
    if json_:
        rows = [
            {"name": name, "spaces": spaces, "default": name == default}
            | ({"learned": record(learned[name])} if name in learned else {})
            for name, spaces in found.items()
        ]
        echo_json(rows)
        return
    for name, spaces in sorted(found.items()):
        mark = "  (default)" if name == default else ""
        if name in learned:
            mark = f"  (learned {learned[name].kind})"
        print_line(f"{name}: {' + '.join(spaces)}{mark}")


@similarity.command("use")
def use(
    name: Annotated[str, typer.Argument(help="Name of the similarity.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Use a similarity whenever none is named."""
    with open_collection(collection) as col:
        col.use(name)
        default = default_of(col)
    if json_:
        echo_json({"default": default})
    else:
        print_line(f"search ranks by {default} by default")


def _clip_feature(feature: str | None, network: dict[str, Any], fit: str | None) -> str:
    """Read the feature from ``--clip``, which leaves open only the licence."""
    given = [key for key, value in network.items() if value is not None and key != "licence"]
    if feature not in (None, "clip") or given or fit is not None:
        raise Usage("--clip FOLDER has it all; give no --feature, --onnx, --fit or --size")
    return "clip"


def _feature(name: str, feature: str | None, network: dict[str, Any], fit: str | None) -> str:
    """Return the feature of a space: given, implied by --onnx or --fit, or by its name."""
    from likewise.spaces.registry import kind_names

    if fit is not None:
        if feature not in (None, "fitted", "look") or network["path"] is not None:
            raise Usage("--fit makes a space of feature fitted; name no other, and no --onnx")
        return "look" if name == "look" else "fitted"
    if network["path"] is not None:
        if feature not in (None, "onnx"):
            raise Usage(f"--onnx makes a space of feature onnx, not {feature}")
        return "onnx"
    if feature is None:
        if name not in kind_names() or name in ("onnx", "own", "fitted", "clip"):
            raise Usage(
                f"what is {name} made of? give --feature, --onnx for your own network, or --fit"
            )
        feature = name
    if feature not in kind_names():
        raise Usage(f"--feature {feature}: one of {', '.join(kind_names())} expected")
    given = [key for key, value in network.items() if value is not None]
    if given and feature != "own":
        raise Usage(f"--{given[0]} belongs to --onnx; a recipe's parameters are given by --set")
    if feature == "clip":
        raise Usage("a space of feature clip needs --clip and the folder of the network")
    if feature == "onnx":
        raise Usage("a space of feature onnx needs --onnx and the .onnx file")
    return feature


def _channels(text: str | None, option: str) -> float | list[float] | None:
    """Read one number, or one for each of three channels."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise Usage(f"{option} {text}: a number or three (R,G,B) expected") from None
    return numbers[0] if len(numbers) == 1 else numbers


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
        raise InvalidInput(f"{path}: {error}; one id per line expected") from None


def _check_header(path: Path) -> None:
    """Refuse a header larger than the file: NumPy would allocate the memory."""
    from numpy.lib import format as npy

    with open(path, "rb") as file:
        if file.read(6) != npy.MAGIC_PREFIX:
            return
        file.seek(0)
        major, _ = npy.read_magic(file)
        read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, _, dtype = read(file)
        due, there = math.prod(shape) * dtype.itemsize, os.path.getsize(path) - file.tell()
    if due > there:
        raise ValueError(f"it promises {due:,} bytes and holds {there:,}")


def _matrix(path: Path) -> Any:
    import numpy as np

    try:
        # Never pickled objects: loading those could run code from the file.
        _check_header(path)
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, OverflowError, MemoryError, SyntaxError) as error:
        raise InvalidInput(f"{path} is not a plain .npy array: {error}") from error
    if not isinstance(loaded, np.ndarray):
        raise InvalidInput(f"{path} is an archive of arrays; one .npy array expected")
    return loaded
