"""The site's page of commands has all of them, each with all that can be typed."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

from likewise.cli.app import whole_app
from tests.product.cli.test_help import every_command

DOCS = Path(__file__).parents[3] / "docs"


@cache
def parts() -> dict[str, str]:
    """What the page says of each command, by its heading."""
    file = DOCS / "_ext" / "command_page.py"
    found = importlib.util.spec_from_file_location("command_page", file)
    assert found is not None
    assert found.loader is not None
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    cut = re.split(r"^#{2,3} (.+)$", module.command_page(whole_app()), flags=re.MULTILINE)
    return dict(zip(cut[1::2], cut[2::2], strict=True))


def test_every_command_has_its_place() -> None:
    assert set(parts()) == {name.removeprefix("likewise ") for name, _ in every_command()}


def test_everything_that_can_be_typed_is_there() -> None:
    everywhere = {"--help", "--install-completion", "--show-completion"}
    for name, command in every_command():
        said = parts()[name.removeprefix("likewise ")]
        assert f"\n{name} " in said
        for one in command.params:
            if getattr(one, "hidden", False):
                continue
            typed = {*one.opts, *one.secondary_opts} - everywhere
            if one.param_type_name == "argument":
                typed = {one.metavar.replace("|", "\\|") if one.metavar else one.name}
            for word in typed:
                assert re.search(rf"^\| `.*{re.escape(word)}.*` \|", said, flags=re.MULTILINE), (
                    f"{name}: {word}"
                )


def test_no_cell_breaks_its_table() -> None:
    for name, said in parts().items():
        for row in re.findall(r"^\|.*$", said, flags=re.MULTILINE):
            assert len(re.findall(r"(?<!\\)\|", row)) == 3, f"{name}: {row}"


def test_the_site_shows_it() -> None:
    assert re.search(r"^api/cli$", (DOCS / "index.md").read_text(), flags=re.MULTILINE)
    assert '"cli.md"' in (DOCS / "_ext" / "made_pages.py").read_text()
