"""docs/map.md, word for word: every command and every line of Python of it, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.app import app
from tests.product.cli.test_map import here

__all__ = ["here"]

PAGE = Path(__file__).parents[3] / "docs" / "map.md"


@pytest.mark.slow
def test_every_command_of_the_page(here: Path) -> None:
    done = set()
    for python, block in re.findall(r"```(python)?\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if python:
            exec(compile(block, "map.md", "exec"), {})
            continue
        for line in block.splitlines():
            _, *arguments = shlex.split(line, comments=True)
            ended = CliRunner().invoke(app, arguments, input="l\nr\nl\nr\nq\n")
            assert ended.exit_code == 0, (line, ended.output, ended.exception)
            done |= set(arguments[:2])
    assert {"learn", "compare", "comparisons", "map", "models", "search"} <= done
    assert (here / "map.html").is_file()
    assert (here / "questions.html").is_file()
