"""``likewise models``: networks that are installed, and learned metrics and maps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.feedback_output import format_time
from likewise.cli.finding import find_collection, is_collection
from likewise.cli.options import (
    DEFAULT,
    Json,
    Where,
    open_collection,
    refuse_early_options,
    stoppable,
)
from likewise.cli.output import echo_json, echo_table, plural, print_line, progress_bar
from likewise.errors import LikewiseError

if TYPE_CHECKING:
    from likewise.catalog.log_tables import Model

models = typer.Typer(
    help="Learn and manage profiles, metrics, maps and classifiers; alone: show the networks."
)

Name = Annotated[str, typer.Argument(help="Name of the metric or map.")]
_STOPPED = "nothing was changed; what was learned before is still there"


def learn_model(
    kind: str,
    name: str | None,
    space: str | None,
    labels: str | None,
    profile: str,
    seed: int,
    collection: Any,
    json_: bool,
) -> None:
    """Run ``learn --metric`` and ``learn --map``."""
    with stoppable(_STOPPED), open_collection(collection) as col, progress_bar() as report:
        if kind == "metric":
            made = col.models.learn_metric(
                name or "metric", space=space, profile=profile, seed=seed, report=report
            )
        else:
            made = col.models.learn_map(
                name or "map", space=space, profile=profile, labels=labels, seed=seed, report=report
            )
    if json_:
        echo_json(record(made))
        return
    for line in describe_model(made):
        print_line(line)
    print_line(f"Rank by it with: likewise search IMAGE --by {made.name}")
    if made.kind == "map":
        print_line(f"Draw it with: likewise models map map.html --name {made.name}")


@models.command()
def metric(
    name: Annotated[str, typer.Option(metavar="NAME", help="Its name.")] = "metric",
    space: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Dense space; default: deep-dense, else holistic."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the profile; default: the one in use.")
    ] = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Learn a metric from the pairs in the log, for 'search --by'."""
    learn_model("metric", name, space, None, profile, seed, collection, json_)


@models.command("list")
def list_models(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the learned metrics and maps with their accuracy."""
    with open_collection(collection) as col:
        found = {name: (one, col.models.count_new_lines(name)) for name, one in col.models.items()}
    if json_:
        echo_json([{**record(one), "said_since": n} for one, n in found.values()])
        return
    if not found:
        print_line("No metric or map was learned yet: likewise models metric, or --map.")
        return
    rows = [
        (
            name, one.kind, one.space, one.profile, format_time(one.made),
            _describe_source(one.figures), _share(one.figures["agreement"]),
            _share(one.figures["agreement_plain"]), since,
        )
        for name, (one, since) in found.items()
    ]  # fmt: skip
    heads = (
        "name", "kind", "space", "profile", "made", "learned from", "agreement", "plain", "newer",
    )  # fmt: skip
    echo_table(heads, rows, right="      rrr")


@models.command("show")
def show(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show what a metric or map was learned from, and its accuracy."""
    with open_collection(collection) as col:
        since = col.models.count_new_lines(name)
        one = col.models[name]
    if json_:
        echo_json({**record(one), "said_since": since})
        return
    for line in describe_model(one):
        print_line(line)
    if since:
        print_line(f"{plural(since, 'newer line')} in the log: likewise models relearn {name}")


@models.command("relearn")
def relearn(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Learn a metric or map again, from the log as it is now."""
    with stoppable(_STOPPED), open_collection(collection) as col, progress_bar() as report:
        made = col.models.relearn(name, report=report)
    if json_:
        echo_json(record(made))
        return
    for line in describe_model(made):
        print_line(line)


@models.command("rename")
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="Its new name.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Rename a metric or map."""
    with open_collection(collection) as col:
        col.models.rename(name, new)
    if json_:
        echo_json({"name": new, "before": name})
    else:
        print_line(f"{name} is now called {new}")


@models.command("delete")
def delete(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Delete a metric or map; the log it was learned from stays."""
    with open_collection(collection) as col:
        col.models.delete(name)
    if json_:
        echo_json({"deleted": name})
    else:
        print_line(f"{name} is deleted")


def record(made: Model) -> dict[str, Any]:
    """Return a model as a JSON record."""
    return {
        "name": made.name, "kind": made.kind, "space": made.space, "generation": made.generation,
        "profile": made.profile, "version": made.position, "made": made.made,
        "options": dict(made.options), "figures": dict(made.figures),
    }  # fmt: skip


def describe_model(made: Model) -> list[str]:
    """Describe a model in sentences."""
    figures = made.figures
    when = format_time(made.made)
    first = f"{made.kind.capitalize()} {made.name} over space {made.space}, made {when}:"
    lines = _describe_metric(figures) if made.kind == "metric" else _describe_map(figures)
    if figures["agreement"] is not None:
        lines.append(
            f"{figures['agreement']:.1%} of {plural(figures['held_out'], 'triplet')} held out are "
            f"right, {figures['agreement_plain']:.1%} by the space alone"
        )
        lines += _describe_held_out(figures)
    else:
        lines.append("no triplets were left to test it")
    return [first, *(f"  {line}" for line in lines)]


def _describe_held_out(figures: Mapping[str, Any]) -> list[str]:
    """Describe the held-out triplets if that matters for the figures; old models lack it."""
    lines = []
    if figures.get("held_out_from") == "random":
        lines.append("their far pictures were drawn at random, since too few were disliked")
    if figures.get("chosen_by_held_out"):
        lines.append(
            "the same triplets chose how strongly pairs count, so the figure is slightly too high"
        )
    return lines


def _describe_metric(figures: Mapping[str, Any]) -> list[str]:
    said = (
        f"{plural(figures['similar'], 'similar pair')}, "
        f"{plural(figures['dissimilar'], 'dissimilar pair')} and "
        f"{plural(figures['unlabelled'], 'picture')} without judgements"
    )
    if not figures["learned"]:
        return [
            said,
            f"nothing was learned; the distance of the space is used as it is: {figures['reason']}",
        ]
    return [
        said,
        f"{figures['directions']} directions, {figures['sparsity']:.0%} of the entries zero, "
        f"duality gap {figures['gap']:.1e}",
    ]


def _describe_map(figures: Mapping[str, Any]) -> list[str]:
    made = f"{plural(figures['made_comparisons'], 'comparison')} made from {_made_from(figures)}"
    if not figures["comparisons"]:
        said = f"there are no comparisons yet: drawn from {made}"
    elif figures["source"] == "people":
        said = f"drawn from {plural(figures['comparisons'], 'comparison')} people made"
    else:
        said = f"drawn from {plural(figures['comparisons'], 'comparison')} people made, and {made}"
    return [
        said,
        f"{plural(figures['anchors'], 'picture')} embedded in {figures['dimensions']} dimensions, "
        f"{plural(figures['placed'] - min(figures['anchors'], figures['placed']), 'other')} "
        "placed by their features",
    ]


def _made_from(figures: Mapping[str, Any]) -> str:
    from_space = figures["made_from"] == "space"
    return "the space itself (neighbours are near)" if from_space else f"{figures['made_from']}"


def _describe_source(figures: Mapping[str, Any]) -> str:
    if "pairs" in figures:
        kept = "" if figures["learned"] else ", nothing learned"
        return plural(figures["pairs"], "pair") + kept
    people = plural(figures["comparisons"], "comparison")
    return people if figures["source"] == "people" else f"{people} + {figures['made_from']}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


@models.callback(invoke_without_command=True)
def show_networks(context: typer.Context, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show which networks are installed, what is missing, and how to get it.

    The pictures' network describes pictures, the text model understands typed words; an image-text
    network of your own ('likewise admin spaces add NAME --clip FOLDER') does both in its space.
    """
    if context.invoked_subcommand is not None:
        refuse_early_options(context)
        return
    found = [_pictures_network(), _text_model(), *_own_networks(collection)]
    if json_:
        echo_json(found)
        return
    echo_table(
        ("model", "for", "here", "missing"),
        [(one["model"], one["for"], "yes" if one["available"] else "no",
          ", ".join(one["missing"])) for one in found],
    )  # fmt: skip
    for one in found:
        if not one["available"] and one["command"]:
            print_line(f"Get the {one['model']}: {one['command']}")


def _pictures_network() -> dict[str, Any]:
    from likewise.vision.deep.libraries import INSTALL, broken_among
    from likewise.vision.deep.network import MODEL, NEEDS, can_run, what_it_needs

    here = can_run()
    wrong = [str(error) for error in broken_among(NEEDS)]
    lacks = not here and what_it_needs().endswith(INSTALL)
    return {
        "model": "pictures' network", "for": "looks of pictures", "name": MODEL, "available": here,
        "missing": [*wrong, *(["onnxruntime or its weights"] if lacks else [])],
        "command": INSTALL if lacks else None,
    }  # fmt: skip


def _text_model() -> dict[str, Any]:
    from likewise.vision.deep.libraries import DeepMissing, import_library
    from likewise.vision.text.status import LIBRARIES, text_model_status

    for name in LIBRARIES:
        with suppress(DeepMissing):  # the status tells it
            import_library(name)
    status = text_model_status()
    return {
        "model": "text model", "for": "typed words",
        "name": None if status.where is None else str(status.where),
        "available": status.available, "missing": list(status.missing), "command": status.command,
    }  # fmt: skip


def _own_networks(collection: Path | None) -> list[dict[str, Any]]:
    """Return the image-text networks of the collection's spaces; none without a collection."""
    nothing = {
        "model": "image-text network", "for": "both, where you have one", "name": None,
        "available": False, "missing": ["a folder of one"],
        "command": "likewise admin spaces add NAME --clip FOLDER",
    }  # fmt: skip
    try:
        if not is_collection(find_collection(collection).path):
            return [nothing]
    except LikewiseError:
        return [nothing]
    with open_collection(collection) as col:
        found = [
            {
                "model": "image-text network", "for": f"both, in space {name}", "name": name,
                "available": one.is_available(),
                "missing": [] if one.is_available() else [one.how_to_get()], "command": None,
            }
            for name, one in col.spaces.items()
            if one.has_own_text
        ]  # fmt: skip
    return found or [nothing]
