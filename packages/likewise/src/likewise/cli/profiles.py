"""Commands about profiles: learned similarities, each with its history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.feedback_output import describe_agreement, offer_sparse, settle
from likewise.cli.options import DEFAULT, Json, Where, open_collection, stoppable
from likewise.cli.output import echo_json, echo_table, plural, print_line

if TYPE_CHECKING:
    from likewise.collection.collection import Collection

profile = typer.Typer(
    no_args_is_help=True, help="Profiles: learned similarities, each with its history."
)

Name = Annotated[str, typer.Argument(help="Name of the profile.")]
OrInUse = Annotated[str, typer.Argument(help="Name of the profile; default: the one in use.")]


@profile.command("list")
def list_profiles(collection: Where = DEFAULT, json_: Json = False) -> None:
    """List the profiles with what each has learned."""
    with open_collection(collection) as col:
        found = _all_records(col)
    if json_:
        echo_json(found)
        return
    rows = [
        (
            one["name"], "yes" if one["in_use"] else "", " + ".join(one["spaces"]),
            one["judgements"], *_accuracy(one),
            _share(one["changed"]), _share(one["sparsity"]), _holds(one["answers"]),
        )
        for one in found
    ]  # fmt: skip
    heads = (
        "profile", "in use", "ranks by", "judgements", "accuracy", "without", "changed", "zero",
        "note",
    )  # fmt: skip
    # Only profiles of answers have a note.
    shown = len(heads) if any(one["answers"] for one in found) else -1
    echo_table(heads[:shown], [row[:shown] for row in rows], right="   rrrrr")


@profile.command("show")
def show(name: OrInUse = "default", collection: Where = DEFAULT, json_: Json = False) -> None:
    """Show a profile: its figures, its version, and the versions it can go back to."""
    with open_collection(collection) as col:
        version = col.profiles.version(name)
        said = _record_of(col, version.profile)
        figures = col.profiles.figures(version.profile)
        said["version"] = version.position
        said["generations"] = dict(version.generation)
        lines = col.log.entries(version.profile)
        said["versions"] = [0, *(line.number for line in lines)]
    if json_:
        echo_json(said)
        return
    print_line(f"Profile {said['name']}{', in use' if said['in_use'] else ''}")
    print_line(f"  ranks by {' + '.join(said['spaces'])}")
    print_line(f"  version {said['version']}, {plural(said['judgements'], 'judgement')} not undone")
    if figures.judgements:
        print_line(f"  {describe_agreement(figures)}")
    if figures.space is not None:
        changed = f"{figures.changed:.1%} of the {figures.units} of space {figures.space} changed"
        zero = f", {figures.sparsity:.1%} weigh nothing" if figures.units == "words" else ""
        print_line(f"  {changed}{zero}")
    offer_sparse(figures)
    print_line(
        f"  {plural(len(said['versions']), 'version')} to go back to "
        "('likewise models log' lists them, 0 is the beginning)"
    )


@profile.command("create")
def create(
    name: Name,
    base: Annotated[
        str | None,
        typer.Option(help="The similarity it starts from; default: what search ranks by."),
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Create a profile that has learned nothing yet."""
    with open_collection(collection) as col:
        col.profiles.create(name, base)
    _print_created(name, json_)


@profile.command("use")
def use(name: Name, collection: Where = DEFAULT, json_: Json = False) -> None:
    """Use a profile whenever none is named."""
    with open_collection(collection) as col:
        # Only profiles: a built-in similarity is chosen with 'likewise models similarity use'.
        col.use(name if name == "default" else col.profiles.version(name).profile)
        in_use = col.profiles.version().profile
    if json_:
        echo_json({"in_use": in_use})
    else:
        print_line(f"search, judge and undo use profile {in_use} by default")


@profile.command("rollback")
def rollback(
    version: Annotated[int, typer.Argument(min=0, help="A line of its log; 0 is the beginning.")],
    name: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile; default: the one in use.")
    ] = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Return a profile to an earlier version; later lines stay in the log and can come back."""
    written = "it is in the log ('likewise models log'), and the rest is learned later"
    with stoppable(written), open_collection(collection) as col:
        before = col.profiles.version(name)
        col.profiles.roll_back(version, profile=before.profile)
        settle(col, before.profile)
        now = _record_of(col, before.profile)
        position = col.profiles.version(before.profile).position
    if json_:
        echo_json({**now, "version": position, "rolled_back_to": version})
        return
    standing = plural(now["judgements"], "judgement")
    print_line(f"Profile {before.profile} is as it was at version {version}: {standing} not undone")
    if before.position != version:
        which = f"{before.position} --profile {before.profile}"
        print_line(f"To go forward again: likewise models profile rollback {which}")


@profile.command("copy")
def copy(
    source: Annotated[str, typer.Argument(help="The profile to copy.")],
    name: Annotated[str, typer.Argument(help="Name of the copy.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Copy a profile, with all it has learned."""
    with open_collection(collection) as col:
        col.profiles.copy(source, name)
    _print_created(name, json_)


@profile.command("merge")
def merge(
    sources: Annotated[list[str], typer.Argument(metavar="NAME...", help="Two profiles or more.")],
    into: Annotated[str, typer.Option(metavar="NAME", help="Name of the new profile.")],
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Make a new profile with all that others have learned, two people's for example.

    likewise models profile merge anna ben --into family
    """
    with open_collection(collection) as col:
        col.profiles.merge(sources, into)
        settle(col, into)
    _print_created(into, json_)


@profile.command("export", hidden=True)
def export(
    path: Annotated[Path, typer.Argument(help="File to write.")],
    name: Annotated[
        str, typer.Option("--profile", metavar="NAME", help="The profile; default: the one in use.")
    ] = "default",
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Write the learned weights to a file: no pictures, no log."""
    with open_collection(collection) as col:
        version = col.profiles.version(name)
        made = col.profiles.export(path, profile=version.profile)
    if json_:
        echo_json({"profile": version.profile, "version": version.position, "file": str(made)})
    else:
        print_line(f"{made}: what profile {version.profile} has learned")


@profile.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="What 'likewise export profile' wrote.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for it here.")
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Create a profile from a file; weights for another vocabulary are refused."""
    with open_collection(collection) as col:
        made = col.profiles.load(path, name)
    _print_created(made, json_)


def _print_created(name: str, json_: bool) -> None:
    if json_:
        echo_json({"profile": name})
    else:
        print_line(f"Created profile {name}: search with --by {name}, judge with --profile {name}")


def _all_records(col: Collection) -> list[dict[str, Any]]:
    answers = col.comparisons.profiles()
    made = []
    for name, one in sorted(col.profiles.items()):
        held = answers.get(name)
        said = None if held is None else {"person": held.person, "into": held.into}
        made.append(_record(name, one, col.profiles.in_use) | {"answers": said})
    return made


def _record_of(col: Collection, name: str) -> dict[str, Any]:
    return next(one for one in _all_records(col) if one["name"] == name)


def _record(name: str, one: Any, in_use: str) -> dict[str, Any]:
    figures = one.figures
    return {
        "name": name, "in_use": name == in_use, "spaces": list(one.spaces),
        "judgements": figures.judgements, "agreement": figures.agreement,
        "agreement_plain": figures.agreement_plain, "changed": figures.changed,
        "triplets": figures.triplets, "needed": figures.needed, "verdict": figures.verdict,
        "interval": figures.interval, "gain": figures.gain,
        "sparsity": figures.sparsity, "space": figures.space, "units": figures.units,
    }  # fmt: skip


def _accuracy(one: dict[str, Any]) -> tuple[str, str]:
    """Format the accuracy with and without learning; empty before there is enough data."""
    if one["interval"] is None:
        return f"after {one['needed']} more", ""
    low, high = one["interval"]
    return f"{one['agreement']:.0%} ({low:.0%} to {high:.0%})", _share(one["agreement_plain"])


def _holds(answers: dict[str, str | None] | None) -> str:
    """Describe a profile that only holds answers."""
    if answers is None:
        return ""
    whose = f"from {answers['person']}" if answers["person"] else "of yours"
    return f"answers {whose}, until {answers['into']} takes them in"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
