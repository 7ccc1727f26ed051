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

from likewise.cli.app import app
from tests.product.cli.process import Likewise


def every_command() -> Iterator[tuple[str, Any]]:
    """Commands and groups of commands with what is typed for them."""
    waiting: list[tuple[str, Any]] = [("likewise", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        inner = getattr(command, "commands", {})
        waiting += [(f"{name} {word}", one) for word, one in inner.items()]


def test_every_command_and_every_option_says_what_it_is_for() -> None:
    commands = dict(every_command())
    assert len(commands) > 60
    for name, command in commands.items():
        told = (command.help or "").strip()
        assert re.match(r"[A-Z].*[.)]", told, flags=re.DOTALL), f"{name}: {told!r}"
        for one in command.params:
            assert (getattr(one, "help", None) or "").strip(), f"{name}: {one.name} has no help"


@pytest.mark.parametrize("words", [["search"], ["tags", "read"], ["link"]], ids=" ".join)
def test_lines_of_help_are_as_long_as_the_terminal(words: list[str], empty: Likewise) -> None:
    """Not as long as those of the source: a paragraph ends where it ends."""
    said = empty(*words, "--help").stdout.split("╭")[0]
    lines = [line.strip() for line in said.splitlines()]
    for line, following in itertools.pairwise(lines):
        if line and following and not line.startswith("Usage"):
            assert len(line) + len(following.split()[0]) > 150, line


def test_the_readme_names_every_command() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    listed = readme.split("## On the command line")[1].split("\n## ")[0]
    for name, _ in every_command():
        words = name.split()
        if len(words) == 2:
            assert re.search(rf"[`|, ]{re.escape(words[1])}[` ,|…]", listed), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("sea", {"search"}),
        ("profile me", {"merge"}),
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
        "COMP_WORDS=(likewise prob) COMP_CWORD=1\n"
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
    assert done.stdout.split() == ["problems"], done.stderr


def test_a_pipe_that_does_not_know_a_sign_is_no_error(tmp_path: Path) -> None:
    """As pipes on Windows: a name in another script is shown by its numbers."""
    (tmp_path / "写真").mkdir()
    (tmp_path / "写真" / "a.jpg").write_bytes(b"no picture")
    done = Likewise(tmp_path).alone("check", "写真", PYTHONIOENCODING="cp1252")
    assert done.returncode == 1, done.stderr
    assert "\\u5199\\u771f" in done.stdout
    assert "Traceback" not in done.stderr
