"""The ``likewise`` command.

Every command parses its arguments, calls a lower room and renders what comes back; this file
lists them and decides how a run ends.  An error is one line on standard error and exit code 1
(``--debug`` shows the traceback), wrong usage is exit code 2, Ctrl-C is 130 (``entry.py``).
Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import copy
import gc
import inspect
import io
import os
import sys
import warnings
from typing import Annotated

import typer
from typer.models import CommandInfo

from likewise.cli import (
    actions,
    classify,
    compare,
    demo,
    describers,
    evaluate,
    feedback,
    keys,
    library,
    link,
    maintenance,
    map,
    model_status,
    models,
    moving,
    pictures,
    profiles,
    search,
    serve,
    shipping,
    spaces,
    tag_pictures,
    tags,
)
from likewise.cli.entry import is_interrupted
from likewise.cli.output import printable, say
from likewise.cli.plain_values import read_plain_values
from likewise.cli.typed import read_minus_words
from likewise.errors import LikewiseError, tell_os_error
from likewise.plugins import COMMANDS, load, load_all, points_of
from likewise_methods.kernels import call_before_compile

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Image search and tagging that learns what you mean by alike.",
)
_debug = False
BRIEF = {
    "accept", "actions", "info", "judge", "learned", "log", "problems", "reject", "search", "tags",
    "undo",
}  # fmt: skip
"""Commands that look something up or write a line, and are over before a learner would start."""
BESIDE_WORKERS = {"add", "sync"}
"""Commands whose other cores describe pictures."""
_GARBAGE = (10_000, 20)
"""New objects before Python looks for circles among them, and how often before it looks further."""

app.command("open", rich_help_panel="Browser")(serve.open_)
app.command(rich_help_panel="Browser")(serve.serve)
app.command(rich_help_panel="Browser")(link.link)
app.add_typer(keys.keys, name="keys", rich_help_panel="Browser")
for _panel, _commands in {
    "Pictures": (pictures.add, pictures.sync, pictures.remove, pictures.problems, pictures.check),
    "Search": (search.search, search.duplicates),
    "Library": (library.star, library.favourite, library.hide),
    "Tags": (tag_pictures.tag, tag_pictures.accept, tag_pictures.reject),
    "Learning": (
        feedback.judge,
        feedback.undo,
        feedback.log,
        feedback.learn,
        feedback.compact,
        feedback.learned,
        compare.compare,
    ),
    "Maintenance": (
        maintenance.info,
        maintenance.verify,
        maintenance.backup,
        maintenance.restore,
        maintenance.export,
        maintenance.refresh,
        maintenance.retrain,
        maintenance.plugins,
        shipping.push,
        shipping.engine,
        moving.move,
        model_status.models,
    ),
    "Evaluation": (evaluate.evaluate, demo.demo),
}.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(library.album, name="album", rich_help_panel="Library")
app.add_typer(tags.tags, name="tags", rich_help_panel="Tags")
app.add_typer(actions.actions, name="actions", rich_help_panel="Pictures")
app.command("map", rich_help_panel="Learning")(map.map_)
app.add_typer(compare.comparisons, name="comparisons", rich_help_panel="Learning")
app.add_typer(models.model, name="model", rich_help_panel="Learning")
app.add_typer(classify.classify, name="classify", rich_help_panel="Learning")
app.add_typer(profiles.profile, name="profile", rich_help_panel="Learning")
app.add_typer(spaces.space, name="space", rich_help_panel="Maintenance")
app.add_typer(describers.describer, name="describer", rich_help_panel="Maintenance")
app.add_typer(spaces.similarity, name="similarity", rich_help_panel="Maintenance")


def main() -> None:
    """Run the command line, for the entry point of the package."""
    # What is imported stays: to look through all of it again and again for what can be freed takes
    # a tenth of a short command.
    gc.set_threshold(*_GARBAGE)
    # A pipe on Windows may not know every sign of a name: such a sign is shown by its number.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # Pillow's remarks on odd metadata name no file; what matters is reported with its path.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    if set(sys.argv[1:2]) <= BRIEF | BESIDE_WORKERS:
        # Before NumPy is imported: a thread a core, each of which waits busily for work, costs
        # more than the small products of these commands.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A log needs no such line, and a program that reads errors none that is no error.
    if sys.stderr.isatty():
        call_before_compile(_say_preparing)
    sys.argv[1:] = read_minus_words(sys.argv[1:])
    read_plain_values()
    try:
        _app_for(sys.argv[1:])(prog_name="likewise")
    except Exception as error:
        if is_interrupted():
            raise KeyboardInterrupt from error
        _fail(error, describe_error(error))


def describe_error(error: Exception) -> str:
    """The sentence that a person sees."""
    if isinstance(error, LikewiseError):
        return str(error)
    if isinstance(error, OSError):
        return tell_os_error(error)
    return f"{type(error).__name__}: {error} (a bug in Likewise; --debug shows where)"


def _say_preparing(kept: bool) -> None:
    """Compiling takes seconds in which nothing else would be said."""
    if "--json" not in sys.argv:
        say(f"preparing{' (once)' if kept else ''} …", err=True, dim=True)


def _app_for(arguments: list[str]) -> typer.Typer:
    """The app, with nothing but the command that is asked for where that is plain.

    typer looks at every parameter of every command before it runs one, which takes longer than
    most of them do.
    """
    wanted = arguments[0] if arguments else ""
    commands = [one for one in app.registered_commands if _name_of(one) == wanted]
    groups = [one for one in app.registered_groups if one.name == wanted]
    if not commands and not groups:
        return whole_app(wanted)
    for command in commands:
        command.help = _help_of(command)
    for group in groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            command.help = _help_of(command)
    small = copy.copy(app)
    small.registered_commands, small.registered_groups = commands, groups
    return small


def whole_app(wanted: str = "") -> typer.Typer:
    """The app with the command that a plug-in provides, or with all of them for the list."""
    if not wanted.startswith("-") and wanted in points_of(COMMANDS):
        provided = {wanted: load(COMMANDS, wanted)}
    else:
        provided, skipped = load_all(COMMANDS)
        for one in skipped:
            say(f"skipped: {printable(one.error or one.name)}", err=True, dim=True)
    whole = copy.copy(app)
    whole.registered_commands = list(app.registered_commands)
    whole.registered_groups = list(app.registered_groups)
    for name, value in provided.items():
        if isinstance(value, typer.Typer):
            whole.add_typer(value, name=name, rich_help_panel="Plug-ins")
        else:
            whole.command(name, rich_help_panel="Plug-ins")(value)
    return whole


def _help_of(command: CommandInfo) -> str:
    """What a command says of itself, a paragraph in one line: typer keeps the line ends of all but
    the first, which are those of this source and not of who reads."""
    said = command.help or inspect.getdoc(command.callback) or ""
    return "\n\n".join(" ".join(part.split()) for part in said.split("\n\n"))


def _name_of(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__


def _fail(error: Exception, text: str) -> None:
    if _debug:
        raise error
    say(f"likewise: {printable(' '.join(text.split()))}", err=True)
    sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        from likewise import __version__

        say(f"likewise {__version__}")
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
