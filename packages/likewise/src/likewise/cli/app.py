"""The ``likewise`` command: the list of commands, and how a run ends.

Eight commands and a few groups are shown; ``_OLD_NAMES`` keeps every earlier name working, hidden.
An error is one line on standard error and exit code 1 (``--debug`` shows the traceback), wrong
usage is exit code 2, Ctrl-C is 130 (``entry.py``).  Nothing heavy is imported before a command
needs it.
"""

from __future__ import annotations

import copy
import gc
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

from likewise.cli import (
    compare,
    describers,
    export,
    feedback,
    keys,
    library,
    maintenance,
    map,
    models,
    pictures,
    profiles,
    search,
    serve,
    spaces,
    tag_pictures,
    tags,
)
from likewise.cli.entry import is_interrupted
from likewise.cli.output import print_line, printable
from likewise.cli.plain_values import read_plain_values
from likewise.errors import LikewiseError, tell_os_error
from likewise.plugins import COMMANDS, PluginError, load, package_for, points_of
from likewise_methods.kernels import call_before_compile

SINGLE_THREADED = {
    "accept", "actions", "add", "info", "judge", "learned", "library", "log", "problems", "reject",
    "search", "sync", "tags", "teach", "undo",
}  # fmt: skip
"""Commands too short for threads of linear algebra, or whose worker processes use the cores."""
_GC_THRESHOLD = (10_000, 20)
"""Collect garbage rarely: scanning the imported objects takes a tenth of a short command."""
_debug = False


class _EvaluateGroup(TyperGroup):
    """The earlier form ``evaluate planted DIR`` means ``evaluate dataset planted DIR``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            _refuse_missing("evaluate.dataset")
            args = ["dataset", *args]
        return super().parse_args(ctx, args)


def _group(help_: str, *commands: Callable[..., Any], **options: Any) -> typer.Typer:
    """Return a group of commands."""
    return _extend(typer.Typer(no_args_is_help=True, help=help_, **options), *commands)


def _extend(group: typer.Typer, *commands: Callable[..., Any]) -> typer.Typer:
    for command in commands:
        group.command(command.__name__.rstrip("_"))(command)
    return group


_library = _group(
    "Organise pictures: files, tags, stars, albums; and undo.",
    pictures.sync, pictures.remove, pictures.problems, library.star, library.favourite,
    library.hide, tag_pictures.accept, tag_pictures.reject,
)  # fmt: skip
_library.add_typer(library.album, name="album")
_library.add_typer(tags.tags, name="tags")
_library.add_typer(library.actions, name="actions")

_admin = _group(
    "Look after a collection and its server: checks, backups, keys, spaces, other databases.",
    maintenance.verify, feedback.compact, maintenance.backup, maintenance.restore, keys.link,
    maintenance.plugins,
)  # fmt: skip
_admin.add_typer(keys.keys, name="keys")
_admin.add_typer(spaces.space, name="spaces")
_admin.add_typer(describers.describer, name="describers")

_models = _extend(
    models.models, feedback.learn, feedback.undo, feedback.log, maintenance.refresh,
    maintenance.retrain, compare.compare, map.map_,
)  # fmt: skip
_models.add_typer(profiles.profile, name="profile")
_models.add_typer(spaces.similarity, name="similarity")
_models.add_typer(compare.comparisons, name="comparisons")

_evaluate = _group(
    "Measure search, show what was learned, and check files.",
    feedback.learned, pictures.check, cls=_EvaluateGroup,
)  # fmt: skip
_evaluate.command("comparisons")(compare.report_)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Image search and tagging that learns what you mean by alike.",
)
_extend(
    app, serve.open_, pictures.add, search.search, feedback.teach, tag_pictures.tag,
    search.duplicates, maintenance.info,
)  # fmt: skip
app.add_typer(export.export, name="export")
for _name, _typer in {
    "library": _library, "models": _models, "evaluate": _evaluate, "admin": _admin,
}.items():  # fmt: skip
    app.add_typer(_typer, name=_name, rich_help_panel="More")
app.command(rich_help_panel="More")(serve.serve)

_OLD_NAMES: dict[str, Callable[..., Any] | typer.Typer] = {
    "accept": tag_pictures.accept, "actions": library.actions, "album": library.album,
    "backup": maintenance.backup, "check": pictures.check,
    "compact": feedback.compact, "compare": compare.compare, "comparisons": compare.comparisons,
    "favourite": library.favourite, "hide": library.hide,
    "judge": feedback.teach, "keys": keys.keys, "learn": feedback.learn,
    "learned": feedback.learned, "link": keys.link, "log": feedback.log, "map": map.map_,
    "model": models.models, "problems": pictures.problems,
    "profile": profiles.profile, "refresh": maintenance.refresh,
    "reject": tag_pictures.reject, "remove": pictures.remove, "restore": maintenance.restore,
    "retrain": maintenance.retrain, "similarity": spaces.similarity, "space": spaces.space,
    "star": library.star, "sync": pictures.sync, "tags": tags.tags, "undo": feedback.undo,
    "verify": maintenance.verify,
}  # fmt: skip
"""Names of the last release, hidden and kept for one more."""
_OLD_PLUGINS = {
    "classify": "models.classify", "engine": "admin.engine", "move": "admin.move",
    "push": "admin.push",
}  # fmt: skip
"""The same of commands that plug-ins provide."""
for _name, _old in _OLD_NAMES.items():
    if isinstance(_old, typer.Typer):
        app.add_typer(_old, name=_name, hidden=True)
    else:
        app.command(_name, hidden=True)(_old)


def main() -> None:
    """Run the command line, for the entry point of the package."""
    gc.set_threshold(*_GC_THRESHOLD)
    # A pipe on Windows may not encode every character of a name.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Pillow's warnings about odd metadata name no file; we report real problems with a path.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    if set(sys.argv[1:2]) <= SINGLE_THREADED:
        # Set before NumPy is imported: busy-waiting threads cost more than these small products.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Only for a terminal: logs and programs do not need this line.
    if sys.stderr.isatty():
        call_before_compile(_print_preparing)
    sys.argv[1:] = read_minus_words(sys.argv[1:])
    read_plain_values()
    try:
        _app_for(sys.argv[1:])(prog_name="likewise")
    except Exception as error:
        if is_interrupted():
            raise KeyboardInterrupt from error
        _fail(error, describe_error(error))


def read_minus_words(arguments: list[str]) -> list[str]:
    """Make a first query such as ``search -people`` a ``--text`` option: it excludes a word.

    The only options with one dash are ``-C`` and ``-k``.
    """
    if arguments[:1] != ["search"]:
        return arguments
    made = list(arguments)
    # Only the first argument can be the query; later ones may be values of options.
    if len(made) > 1 and re.fullmatch(r"-(?![C-]|k[\d=]|k$).+", made[1]):
        made[1] = f"--text={made[1]}"
    return made


def describe_error(error: Exception) -> str:
    """Return the message to print for an error."""
    if isinstance(error, LikewiseError):
        return str(error)
    if isinstance(error, OSError):
        return tell_os_error(error)
    return f"{type(error).__name__}: {error} (a bug in Likewise; --debug shows where)"


def _print_preparing(kept: bool) -> None:
    """Announce a compilation, which takes seconds."""
    if "--json" not in sys.argv:
        print_line(f"preparing{' (once)' if kept else ''} …", err=True, dim=True)


def _app_for(arguments: list[str]) -> typer.Typer:
    """Return the app with only the command that was typed: building all takes 0.1 s longer."""
    if "_LIKEWISE_COMPLETE" in os.environ:  # a shell asks what may come next
        return whole_app()
    if arguments in ([], ["--help"]):
        return _list_of_commands()
    wanted = arguments[0] if arguments else ""
    commands = [one for one in app.registered_commands if _name_of(one) == wanted]
    if not commands:
        _refuse_missing(_OLD_PLUGINS.get(wanted, wanted), ".".join(arguments[:2]))
    groups = [one for one in app.registered_groups if one.name == wanted]
    names = [one for one in points_of(COMMANDS) if one.startswith(f"{wanted}.")] if groups else []
    if not commands and not groups:
        names = [one for one in points_of(COMMANDS) if one in (wanted, _OLD_PLUGINS.get(wanted))]
        if not names or wanted.startswith("-"):
            return whole_app()
    small = copy.copy(app)
    small.registered_commands, small.registered_groups = commands, groups
    _add_plugins(small, names, at_top=not groups)
    _unwrap_help(small)
    return small


def _refuse_missing(*names: str) -> None:
    """Raise an error for a command of our other packages that cannot be used."""
    for name in names:
        if package_for(COMMANDS, name) is not None:
            load(COMMANDS, name)


def _list_of_commands() -> typer.Typer:
    """Return the app as its own help needs it: without hidden names and without inner commands."""
    shown = copy.copy(app)
    shown.registered_commands = [one for one in app.registered_commands if not one.hidden]
    shown.registered_groups = []
    for group in app.registered_groups:
        if not group.hidden and group.typer_instance is not None:
            shown.registered_groups.append(copy.copy(group))
            empty = shown.registered_groups[-1].typer_instance = copy.copy(group.typer_instance)
            empty.registered_commands, empty.registered_groups = [], []
    _add_plugins(shown, [one for one in points_of(COMMANDS) if one[0] != "-" and "." not in one])
    return shown


def whole_app() -> typer.Typer:
    """Return the app with all commands, for completion and the page of commands."""
    whole = copy.copy(app)
    whole.registered_commands = list(app.registered_commands)
    whole.registered_groups = list(app.registered_groups)
    _add_plugins(whole, [one for one in points_of(COMMANDS) if not one.startswith("-")])
    _unwrap_help(whole)
    return whole


def _add_plugins(to: typer.Typer, names: Iterable[str], *, at_top: bool = False) -> None:
    """Add commands of plug-ins: ``import`` to the app itself, ``admin.push`` to a group of it."""
    for name in names:
        group, _, own = name.rpartition(".")
        target = _copied_group(to, group) if group and not at_top else to
        panel = None if group else "More"
        try:
            command = load(COMMANDS, name)
        except PluginError as error:
            print_line(f"skipped: {printable(str(error))}", err=True, dim=True)
            continue
        if target is None:
            print_line(f"skipped: {printable(name)}, as there is no group {group}", err=True)
        elif isinstance(command, typer.Typer):
            target.add_typer(command, name=own, rich_help_panel=panel)
        else:
            target.command(own, rich_help_panel=panel)(command)


def _copied_group(to: typer.Typer, name: str) -> typer.Typer | None:
    """Replace a group of an app by a copy, to which commands can be added."""
    for at, info in enumerate(to.registered_groups):
        if info.name == name and info.typer_instance is not None:
            group = copy.copy(info.typer_instance)
            group.registered_commands = list(group.registered_commands)
            group.registered_groups = list(group.registered_groups)
            to.registered_groups[at] = copy.copy(info)
            to.registered_groups[at].typer_instance = group
            return group
    return None


def _unwrap_help(group: typer.Typer) -> None:
    """Join the lines of each paragraph of help: typer keeps the line ends of our source."""
    for command in group.registered_commands:
        text = command.help or inspect.getdoc(command.callback) or ""
        command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _unwrap_help(inner.typer_instance)


def _name_of(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__


def _fail(error: Exception, text: str) -> None:
    if _debug:
        raise error
    print_line(f"likewise: {printable(' '.join(text.split()))}", err=True)
    sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        from likewise import __version__

        print_line(f"likewise {__version__}")
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
