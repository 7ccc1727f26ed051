"""Help is whole, and a shell can complete what is typed."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from likewise.cli.app import _app_for, app, whole_app
from tests.product.cli.process import Likewise


def every_command() -> Iterator[tuple[str, Any]]:
    """Commands and groups that help shows, with what is typed for them."""
    waiting: list[tuple[str, Any]] = [("likewise", typer.main.get_command(whole_app()))]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        inner = getattr(command, "commands", {})
        waiting += [(f"{name} {word}", one) for word, one in inner.items() if not one.hidden]


def test_every_command_and_every_option_says_what_it_is_for() -> None:
    commands = dict(every_command())
    assert len(commands) > 60
    for name, command in commands.items():
        told = (command.help or "").strip()
        assert re.match(r"[A-Z].*[.)]", told, flags=re.DOTALL), f"{name}: {told!r}"
        for one in command.params:
            assert (getattr(one, "help", None) or "").strip(), f"{name}: {one.name} has no help"


@pytest.mark.parametrize(
    "words", [["search"], ["library", "tags", "read"], ["admin", "link"]], ids=" ".join
)
def test_lines_of_help_are_as_long_as_the_terminal(words: list[str], empty: Likewise) -> None:
    """Not as long as those of the source: a paragraph ends where it ends."""
    said = empty(*words, "--help").stdout.split("╭")[0]
    lines = [line.strip() for line in said.splitlines()]
    for line, following in itertools.pairwise(lines):
        if line and following and not line.startswith("Usage"):
            assert len(line) + len(following.split()[0]) > 150, line


def test_the_readme_names_every_command_and_group() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    listed = readme.split("## On the command line")[1].split("\n## ")[0]
    for name, _ in every_command():
        words = name.split()
        if len(words) in (2, 3):
            assert re.search(rf"[`|, ]{re.escape(words[-1])}[` ,|…]", listed), name


def test_help_shows_eight_commands_and_the_groups() -> None:
    shown = {name.split()[1] for name, _ in every_command() if name.count(" ") == 1}
    eight = {"open", "add", "search", "teach", "tag", "duplicates", "export", "info"}
    assert shown == eight | {"serve", "demo", "library", "models", "evaluate", "admin"}


OLD_NAMES = {
    "accept": "library accept", "actions": "library actions", "album": "library album",
    "album export": "export library", "backup": "admin backup", "check": "evaluate check",
    "classify": "models classify", "compact": "admin compact", "compare": "models compare",
    "comparisons": "models comparisons", "comparisons export": "export comparisons",
    "comparisons report": "evaluate comparisons", "engine": "admin engine",
    "favourite": "library favourite", "hide": "library hide", "judge": "teach",
    "keys": "admin keys", "learn": "models learn", "learned": "evaluate learned",
    "link": "admin link", "log": "models log", "map": "models map", "model": "models",
    "move": "admin move", "problems": "library problems", "profile": "models profile",
    "profile export": "export profile", "push": "admin push", "refresh": "models refresh",
    "reject": "library reject", "remove": "library remove", "restore": "admin restore",
    "retrain": "models retrain", "similarity": "models similarity", "space": "admin spaces",
    "star": "library star", "sync": "library sync", "tags": "library tags",
    "undo": "models undo", "verify": "admin verify",
}  # fmt: skip
"""Names of the last release, and what they are called now."""
PLUGINS = {"classify", "engine", "move", "push"}
"""Those of commands that likewise-cluster and likewise-lab add."""


def test_old_names_work_and_are_hidden() -> None:
    def find(words: str) -> tuple[Any, bool]:
        command: Any = typer.main.get_command(_app_for(words.split()))
        hidden = words in PLUGINS  # listed under its new name only
        for word in words.split():
            command = command.commands[word]
            hidden = hidden or command.hidden
        return command, hidden

    for old, new in OLD_NAMES.items():
        (before, was_hidden), (now, is_hidden) = find(old), find(new)
        assert was_hidden, old
        assert not is_hidden, new
        assert [one.opts for one in before.params] == [one.opts for one in now.params], old
    root: Any = typer.main.get_command(app)
    top = {name for name, one in root.commands.items() if one.hidden}
    assert top == {name for name in OLD_NAMES if " " not in name} - PLUGINS


def test_evaluate_takes_a_data_set_as_before(empty: Likewise) -> None:
    for words in (["evaluate"], ["evaluate", "dataset"]):
        refused = empty(*words, "folders", "nowhere")
        assert refused.returncode == 1
        assert "nowhere" in refused.stderr
        assert empty(*words, "holidays", "nowhere").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sea", {"search"}),
        ("models profile me", {"merge"}),
        ("search --hei", set()),
        ("add --al", {"--all-spaces"}),
    ],
)
def test_a_shell_is_told_how_a_word_may_go_on(typed: str, expected: set[str]) -> None:
    words = ["likewise", *typed.split()]
    done = subprocess.run(
        [sys.executable, "-m", "likewise"],
        env={
            **os.environ,
            "_LIKEWISE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert set(done.stdout.split()) == expected, done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes(tmp_path: Path) -> None:
    """The script that --show-completion prints, in a bash of its own."""
    program = tmp_path / "likewise"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m likewise "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_LIKEWISE_COMPLETE=source_bash likewise)"\n'
        "COMP_WORDS=(likewise dup) COMP_CWORD=1\n"
        "_likewise_completion likewise\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["duplicates"], done.stderr


def test_a_pipe_that_does_not_know_a_sign_is_no_error(tmp_path: Path) -> None:
    """As pipes on Windows: a name in another script is shown by its numbers."""
    (tmp_path / "写真").mkdir()
    (tmp_path / "写真" / "a.jpg").write_bytes(b"no picture")
    done = Likewise(tmp_path).alone("check", "写真", PYTHONIOENCODING="cp1252")
    assert done.returncode == 1, done.stderr
    assert "\\u5199\\u771f" in done.stdout
    assert "Traceback" not in done.stderr
