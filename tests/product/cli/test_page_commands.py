"""Every command that a page shows exists, with the options it is shown with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from likewise.cli.app import whole_app

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    path
    for folder in ("", "docs", "docs/start", "docs/methods", "deploy")
    for path in (ROOT / folder).glob("*.md")
    if path.name != "CHANGELOG.md"
)


def shown(text: str) -> list[str]:
    """Return what follows ``likewise`` in code blocks and in inline code."""
    fence = re.compile(r"^ *```(\w*)\n(.*?)^ *```", flags=re.DOTALL | re.MULTILINE)
    blocks = [block for language, block in fence.findall(text) if language in ("", "sh")]
    lines = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(likewise [^`]+)`", fence.sub("", text))
    found = [re.search(r"(?:^|.*\s)likewise (.*)", line) for line in [*lines, *inline]]
    return [match[1] for match in found if match]


def wrong(words: list[str]) -> str | None:
    """Return what is wrong with a typed command, or None."""
    command: Any = typer.main.get_command(whole_app())
    context = command.make_context("likewise", ["info"], resilient_parsing=True)
    options: set[str] = set()
    for word in words:
        if word.startswith("-"):
            options.add(word.split("=")[0])
        elif hasattr(command, "get_command") and (inner := command.get_command(context, word)):
            if inner.hidden:
                return f"{word!r} is the name of an earlier release"
            command = inner
        elif hasattr(command, "get_command") and not options and not word.isupper():
            return f"there is no command {word!r}"
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "--version", "--install-completion"}
    missing = {one for one in options if re.fullmatch(r"--?[a-z-]+", one)} - known
    return f"has no {sorted(missing)}" if missing else None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_of_a_page_exist(page: Path) -> None:
    lines = shown(page.read_text(encoding="utf-8"))
    found = {line: wrong(re.sub(r'"[^"]*"', "TEXT", line).split()) for line in lines}
    assert not {line: problem for line, problem in found.items() if problem}


def test_commands_are_found_and_mistakes_noticed() -> None:
    readme = shown((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(readme) > 12
    assert wrong(["search", "1", "--also", "2"]) is None
    assert wrong(["serch", "1"]) == "there is no command 'serch'"
    assert wrong(["judge", "1"]) == "'judge' is the name of an earlier release"
    assert wrong(["admin", "keys", "add", "Anna", "--rule", "look"]) == "has no ['--rule']"
