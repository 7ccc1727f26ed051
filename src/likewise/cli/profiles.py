"""Commands about profiles: learned similarities, side by side, each with its history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import DEFAULT, Json, Where, opened
from likewise.cli.rendering import counted, echo_json, echo_table
from likewise.cli.saying import offer_sparse

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

profile = typer.Typer(no_args_is_help=True, help="What was learned, by name.")

Name = Annotated[str, typer.Argument(help="Name of the profile.")]
OrInUse = Annotated[str, typer.Argument(help="Name of the profile; default the one in use.")]


@profile.command("list")
def list_profiles(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the profiles with what each has learned."""
    with opened(collection) as col:
        found = _every(col)
    if json_:
        echo_json(found)
        return
    rows = [
        (
            one["name"], "yes" if one["in_use"] else "", " + ".join(one["spaces"]),
            one["judgements"], _share(one["agreement"]), _share(one["agreement_plain"]),
            _share(one["changed"]), _share(one["sparsity"]),
        )
        for one in found
    ]  # fmt: skip
    heads = (
        "profile", "in use", "ranks by", "judgements", "agreement", "plain", "changed", "zero"
    )  # fmt: skip
    echo_table(heads, rows, right="   rrrrr")


@profile.command("show")
def show(name: OrInUse = "default", collection: Where = DEFAULT, json_: Json = False) -> None:
    """Say what a profile is: its figures, its version, and the versions it can go back to."""
    with opened(collection) as col:
        version = col.version(name)
        said = _one(col, version.profile)
        said["version"] = version.position
        said["generations"] = dict(version.generation)
        lines = col.log(version.profile)
        said["versions"] = [0, *(line.number for line in lines)]
    if json_:
        echo_json(said)
        return
    typer.echo(f"Profile {said['name']}{', in use' if said['in_use'] else ''}")
    typer.echo(f"  ranks by {' + '.join(said['spaces'])}")
    typer.echo(f"  version {said['version']}, {counted(said['judgements'], 'judgement')} standing")
    if said["agreement"] is not None:
        typer.echo(
            f"  {_share(said['agreement'])} of the triplets were right before they were learned, "
            f"{_share(said['agreement_plain'])} with plain weights"
        )
    if said["space"] is not None:
        typer.echo(
            f"  {_share(said['changed'])} of the words of space {said['space']} changed, "
            f"{_share(said['sparsity'])} weigh nothing"
        )
    offer_sparse(said["triplets"], said["sparsity"])
    typer.echo(
        f"  {counted(len(said['versions']), 'version')} to go back to "
        "('likewise log' lists them, 0 is the beginning)"
    )


@profile.command("create")
def create(
    name: Name,
    base: Annotated[
        str | None,
        typer.Option(help="The built-in similarity it changes; default what search ranks by."),
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a profile that has learned nothing yet."""
    with opened(collection) as col:
        col.create_profile(name, base)
    _made(name, json_)


@profile.command("use")
def use(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Make a profile the one that is meant when none is named."""
    with opened(collection) as col:
        # Only profiles: a built-in similarity is chosen with 'likewise similarity use'.
        col.use(name if name == "default" else col.version(name).profile)
        in_use = col.version().profile
    if json_:
        echo_json({"in_use": in_use})
    else:
        typer.echo(f"search, judge and undo use profile {in_use} unless told otherwise")


@profile.command("rollback")
def rollback(
    version: Annotated[int, typer.Argument(min=0, help="A line of its log; 0 is the beginning.")],
    name: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile; default the one in use.")
    ] = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Return a profile to an earlier version; later lines stay in the log and can come back."""
    with opened(collection) as col:
        before = col.version(name)
        col.roll_back(version, profile=before.profile)
        now = _one(col, before.profile)
        position = col.version(before.profile).position
    if json_:
        echo_json({**now, "version": position, "rolled_back_to": version})
        return
    standing = counted(now["judgements"], "judgement")
    typer.echo(f"Profile {before.profile} is as it was at version {version}: {standing} standing")
    if before.position != version:
        which = f"{before.position} --profile {before.profile}"
        typer.echo(f"Forward again: likewise profile rollback {which}")


@profile.command("copy")
def copy(
    source: Annotated[str, typer.Argument(help="The profile to copy.")],
    name: Annotated[str, typer.Argument(help="Name of the copy.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a profile that begins with all another has learned."""
    with opened(collection) as col:
        col.copy_profile(source, name)
    _made(name, json_)


@profile.command("export")
def export(
    path: Annotated[Path, typer.Argument(help="File to write.")],
    name: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile; default the one in use.")
    ] = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Write the learned weights to a file: no pictures, no log."""
    with opened(collection) as col:
        version = col.version(name)
        made = col.export_profile(path, profile=version.profile)
    if json_:
        echo_json({"profile": version.profile, "version": version.position, "file": str(made)})
    else:
        typer.echo(f"{made}: the weights of profile {version.profile}")


@profile.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="What 'likewise profile export' wrote.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for it here.")
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a profile from a file; weights for another vocabulary are refused."""
    with opened(collection) as col:
        made = col.import_profile(path, name)
    _made(made, json_)


def _made(name: str, json_: bool) -> None:
    if json_:
        echo_json({"profile": name})
    else:
        typer.echo(f"Profile {name} is there: search with --by {name}, judge with --profile {name}")


def _every(col: Collection) -> list[dict[str, Any]]:
    return [_record(name, one, col.in_use) for name, one in sorted(col.profiles.items())]


def _one(col: Collection, name: str) -> dict[str, Any]:
    return next(one for one in _every(col) if one["name"] == name)


def _record(name: str, one: Any, in_use: str) -> dict[str, Any]:
    figures = one.figures
    return {
        "name": name, "in_use": name == in_use, "spaces": list(one.spaces),
        "judgements": figures.judgements, "agreement": figures.agreement,
        "agreement_plain": figures.agreement_plain, "changed": figures.changed,
        "triplets": figures.triplets,
        "sparsity": figures.sparsity, "space": figures.space,
    }  # fmt: skip


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
