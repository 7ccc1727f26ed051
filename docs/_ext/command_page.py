"""The page of commands, made of the command line itself: what ``--help`` says, on one page.

Imports no Sphinx, so that a test can make the page without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

# The same everywhere, and said once.
_EVERYWHERE = {"--help", "--install-completion", "--show-completion"}
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\|*_$`[]#"} | {"<": "&lt;"})


def every_command(app: typer.Typer) -> Iterator[tuple[str, Any]]:
    """Yield commands and groups that help shows, a group before its commands."""

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for word, inner in getattr(command, "commands", {}).items():
            if not inner.hidden:
                yield from walk(f"{name} {word}", inner)

    yield from walk("likewise", typer.main.get_command(app))


def _plain(text: str | None) -> str:
    return " ".join((text or "").split()).translate(_MARKS)


def _paragraphs(text: str | None) -> list[str]:
    made = []
    for part in (text or "").strip().split("\n\n"):
        made += [_plain(part), ""]
    return made


def _rows(command: Any) -> list[tuple[str, str]]:
    """What is typed and what it is for, as the help has it: arguments, then options."""
    context = command.context_class(command, info_name=command.name)
    rows = []
    for one in command.params:
        record = None if set(one.opts) & _EVERYWHERE else one.get_help_record(context)
        if record is not None:
            rows.append((f"`{' '.join(record[0].split())}`".replace("|", "\\|"), _plain(record[1])))
    return rows


def _usage(name: str, command: Any) -> str:
    pieces = command.collect_usage_pieces(command.context_class(command, info_name=command.name))
    return " ".join([name, *pieces])


def command_page(app: typer.Typer) -> str:
    """All of it as Markdown."""
    lines = [
        "# The command line", "",
        "Every command with its arguments and options, made from the commands themselves: the same",
        "that `likewise COMMAND --help` says. How they go together:",
        "[five minutes](../start/photos.md).", "",
        "`--json` prints data for programs. Exit codes: 0, 1 for an error (or something wrong, for",
        "`verify` and `check`), 2 for wrong usage, 130 after Ctrl-C. With",
        "`likewise --install-completion` your shell completes commands.", "",
    ]  # fmt: skip
    for name, command in every_command(app):
        words = name.split()
        if len(words) == 1:
            lines += ["## likewise", ""]
        else:
            lines += [f"{'##' if len(words) == 2 else '###'} {' '.join(words[1:])}", ""]
        lines += ["```text", _usage(name, command), "```", "", *_paragraphs(command.help)]
        rows = _rows(command)
        if rows:
            lines += ["| typed | |", "|---|---|"]
            lines += [f"| {typed} | {said} |" for typed, said in rows] + [""]
    return "\n".join(lines)
