"""``likewise library tags``: all tags with their counts, their import, and the log of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.feedback_output import format_time
from likewise.cli.options import (
    DEFAULT,
    Json,
    Usage,
    Where,
    open_collection,
    picture,
    refuse_early_options,
    stoppable,
)
from likewise.cli.output import echo_json, echo_table, plural, print_line, printable, progress_bar

_LISTED = 20

tags = typer.Typer(help="List tags, import them from folders and files, show and undo changes.")


@tags.callback(invoke_without_command=True)
def list_(
    context: typer.Context,
    collection: Where = DEFAULT,
    prefix: Annotated[str, typer.Option(help="Only tags that start with this.")] = "",
    json_: Json = False,
) -> None:
    """List tags with the number of their pictures and where they come from."""
    if context.invoked_subcommand is not None:
        refuse_early_options(context, prefix="--prefix only filters the list of tags")
        return
    with open_collection(collection) as col:
        found = col.tags.all(prefix)
    if json_:
        echo_json([{"tag": r.tag, "pictures": r.pictures, "sources": r.sources} for r in found])
        return
    if not found:
        print_line(f"No tag begins with {prefix!r}." if prefix else "No picture has tags yet.")
        return
    rows = [
        (printable(row.tag), f"{row.pictures:,}",
         ", ".join(f"{source} {n:,}" for source, n in row.sources.items()))
        for row in found
    ]  # fmt: skip
    echo_table(("tag", "pictures", "from"), rows, right=" r")


@tags.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="CSV (path, tags…) or JSON ({path: [tags]}).")],
    collection: Where = DEFAULT,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the tags earlier files gave these pictures.")
    ] = False,
    json_: Json = False,
) -> None:
    """Import tags from a CSV or JSON file; pictures not in the collection are listed."""
    with open_collection(collection) as col:
        done = col.tags.import_file(file, replace=replace)
    if json_:
        echo_json(
            {
                "pictures": done.pictures, "tags": done.tags, "refused": done.refused,
                "unknown": [{"where": where, "picture": name} for where, name in done.unknown],
            }
        )  # fmt: skip
        return
    for where, name in done.unknown[:_LISTED]:
        print_line(f"{where}: not in the collection: {printable(name)}")
    if len(done.unknown) > _LISTED:
        print_line(f"... and {len(done.unknown) - _LISTED:,} more; --json lists them all")
    print_line(f"{plural(done.tags, 'tag')} for {plural(done.pictures, 'picture')}")
    if done.refused:
        print_line(f"{done.refused:,} of them were rejected by hand before, and stay rejected")


@tags.command("from-folders")
def from_folders(
    collection: Where = DEFAULT,
    levels: Annotated[
        int, typer.Option(min=1, help="How many folders above a picture to use.")
    ] = 1,
    off: Annotated[bool, typer.Option("--off", help="Stop, and remove these tags.")] = False,
    json_: Json = False,
) -> None:
    """Use folder names as tags, now and in every add and sync.

    Folders above those that were added, camera folders and names without a letter are skipped.
    """
    with open_collection(collection) as col:
        moved = col.tags.from_folders(None if off else levels)
        named = sum("folder" in row.sources for row in col.tags.all())
    if json_:
        echo_json({"changed": moved, "levels": None if off else levels, "tags": named})
    elif off:
        print_line(f"{plural(moved, 'tag')} removed; folder names are no longer used")
    else:
        print_line(f"{plural(moved, 'tag')} changed; {plural(named, 'folder name')} in use")


@tags.command()
def read(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Read the keywords inside and next to all pictures again (XMP, IPTC, sidecars).

    'add' and 'sync' do that for new pictures and changed sidecars; use this for pictures added
    by an older version of Likewise.
    """
    stopped = stoppable("what was read is kept")
    with stopped, open_collection(collection) as col, progress_bar() as report:
        found = col.tags.read_files(report=report)
    if json_:
        problems = [{"path": path, "reason": reason} for path, reason in found.problems]
        echo_json({"pictures": found.pictures, "tags": found.tags, "problems": problems})
        return
    for path, reason in found.problems[:_LISTED]:
        print_line(f"{printable(path)}: {printable(reason)}")
    print_line(f"{plural(found.tags, 'keyword')} in {plural(found.pictures, 'picture')}")


@tags.command()
def log(
    collection: Where = DEFAULT,
    newest: Annotated[int, typer.Option("-n", min=1, help="Number of lines, the newest.")] = 20,
    json_: Json = False,
) -> None:
    """Show the changes people made to tags, newest last; undone ones are marked."""
    with open_collection(collection) as col:
        found = col.tags.log(newest)
    if json_:
        echo_json([one._asdict() for one in found])
        return
    for one in found:
        if one.kind == "withdraw":
            said = f"undid line {one.withdraws}"
        else:
            what = "added" if one.kind == "accept" else "rejected"
            where = ", ".join(map(str, one.pictures[:8])) or "removed pictures"
            more = f" and {len(one.pictures) - 8} more" if len(one.pictures) > 8 else ""
            said = f"{what} {', '.join(map(repr, one.tags))} for {where}{more}"
        mark = "" if one.stands else "  (undone)"
        print_line(f"{one.number:>6}  {format_time(one.made)}  {printable(said)}{mark}")
    if not found:
        print_line("No tags were changed by hand yet.")


@tags.command()
def undo(
    number: Annotated[
        int | None, typer.Argument(help="A line of 'likewise library tags log'; default: the last.")
    ] = None,
    collection: Where = DEFAULT,
    json_: Json = False,
) -> None:
    """Undo the last change to tags, or the given one."""
    with open_collection(collection) as col:
        done = col.tags.undo(number)
    if json_:
        echo_json({"withdrawn": done})
    else:
        print_line(f"Undid line {done}.")


@tags.command("save")
def save(
    text: Annotated[str, typer.Argument(help="The words that were searched for.")],
    tag: Annotated[str, typer.Argument(help="The tag that they become.")],
    collection: Where = DEFAULT,
    k: Annotated[int, typer.Option("-k", min=0, help="Pictures to suggest it for, at most.")] = 50,
    above: Annotated[
        float | None, typer.Option(help="Suggest it only for hits with at least this score.")
    ] = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The profile whose likes count.")
    ] = "default",
    json_: Json = False,
) -> None:
    """Save a search for words as a tag for liked pictures, suggested for the best other hits."""
    with open_collection(collection) as col:
        done = col.tags.save_query(text, tag, k=k, above=above, profile=profile)
    if json_:
        echo_json(done._asdict())
        return
    print_line(
        f"{plural(len(done.tagged), 'picture')} tagged {printable(done.tag)!r}, suggested for "
        f"{len(done.suggested)} more"
        + (
            f" ('likewise library tags undo {done.line}' undoes this)"
            if done.line is not None
            else ""
        )
    )


@tags.command("accept-all")
def accept_all(
    tag: Annotated[str, typer.Argument(help="The tag whose suggestions are right.")],
    collection: Where = DEFAULT,
    but: Annotated[
        list[str] | None,
        typer.Option("--but", metavar="IMAGE|ID", help="A picture for which it is wrong."),
    ] = None,
    json_: Json = False,
) -> None:
    """Accept every suggestion of a tag; reject it for the pictures named with --but."""
    with open_collection(collection) as col:
        found = col.tags.suggested_for(tag)
        wrong = [col.id_of(picture(one)) for one in but or []]
        lost = next((one for one in wrong if one not in found), None)
        if lost is not None:
            raise Usage(f"{tag!r} is not suggested for picture {lost}")
        right = [one for one in found if one not in wrong]
        done = col.tags.settle_suggestions(tag, right, wrong) if found else None
    action = None if done is None else done.action
    if json_:
        echo_json({"accepted": len(right), "rejected": len(wrong), "action": action})
        return
    if done is None:
        print_line(f"{printable(tag)!r} has no suggestions; 'likewise tag --all' makes some.")
        return
    print_line(f"{printable(tag)!r}: {len(right):,} accepted, {len(wrong):,} rejected")
    if action is not None:
        print_line(f"'likewise library actions undo {action}' undoes this")


@tags.command()
def clear(collection: Where = DEFAULT, json_: Json = False) -> None:
    """Remove suggested tags that were not accepted."""
    with open_collection(collection) as col:
        gone = col.tags.clear_suggestions()
    if json_:
        echo_json({"cleared": gone})
    else:
        print_line(f"{plural(gone, 'suggestion')} removed")
