"""What can be checked of the page's files without node; ``make check-page`` checks their types."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from likewise.server.routes_page import PAGE
from tests.product.server.conftest import Client

CLI = PAGE.parents[1] / "cli"
TOOLS = Path(__file__).parents[3] / "tools" / "page"
MODULES = sorted(PAGE.glob("*.js"))
CHECKED = [*MODULES, *sorted(CLI.glob("*.js"))]
ONLY_TYPES = {"types.js"}
PLAIN = {"entrance.js", "theme.js"}
"""A script of its own, before anything is shown; not a module."""

_IMPORT = re.compile(r'^import (?:\{(.+?)\}|\* as \w+) from "(.+?)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_what_the_page_names_is_there() -> None:
    named = re.findall(r'(?:href|src)="/page/([^"]+)"', text(PAGE / "index.html"))
    assert {"main.js", "theme.js", "base.css"} <= set(named)
    assert [name for name in named if not (PAGE / name).is_file()] == []


@pytest.mark.parametrize("path", CHECKED, ids=lambda path: path.name)
def test_imports_find_what_they_name(path: Path) -> None:
    for names, place in _IMPORT.findall(text(path)):
        module = (path.parent / place).resolve()
        assert module.is_file(), place
        wanted = {name.split(" as ")[0].strip() for name in names.split(",") if name.strip()}
        assert wanted <= set(_EXPORT.findall(text(module))), place
    # Nothing but these two ways to import is used, so that nothing escapes this test.
    assert len(_IMPORT.findall(text(path))) == len(re.findall(r"^import\b", text(path), re.M))


def test_every_module_is_used() -> None:
    seen, waiting = set(), ["main.js"]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [Path(place).name for _, place in _IMPORT.findall(text(PAGE / name))]
    assert {path.name for path in MODULES} - seen == ONLY_TYPES | PLAIN


def test_the_map_of_one_file_can_hold_the_chart() -> None:
    """It is put in as it is: it may import nothing, and a page of one file ends no script early."""
    chart = text(PAGE / "chart.js")
    assert not _IMPORT.search(chart)
    assert _EXPORT.findall(chart) == ["Chart"]
    assert "</script" not in chart


def test_the_shapes_of_the_json_are_the_server_s(reader: Client) -> None:
    described = reader.get_json("/api/openapi.json")
    asked = re.findall(r'call\("(\w+)", "(/api/[^"]+)"', text(PAGE / "api.js"))
    assert len(asked) > 30
    for method, place in asked:
        assert method in described["paths"][place], (method, place)
    shapes = set(described["components"]["schemas"])
    for path in MODULES:
        assert set(re.findall(r'Shapes\["(\w+)"\]', text(path))) <= shapes, path.name
    # No copy by hand of what is described, and nothing that switches the checking off.
    assert "@property" not in text(PAGE / "types.js")
    for path in CHECKED:
        assert "@ts-" not in text(path), path.name
        types = " ".join(re.findall(r"@\w+ \{[^\n]*\}", " ".join(_COMMENT.findall(text(path)))))
        assert not re.search(r"[{<(|:\s]any[}>)|,\[\]\s]", types), path.name


def test_every_shape_of_an_answer_is_described(reader: Client) -> None:
    """Two models of one name would be told apart by their modules; a page cannot name those."""
    schemas = reader.get_json("/api/openapi.json")["components"]["schemas"]
    assert [name for name in schemas if "__" in name] == []
    events = schemas["EventsOut"]["properties"]
    assert set(events) == {"progress", "done", "failed", "changed"}


def test_the_tools_are_pinned_and_the_lock_names_no_place() -> None:
    """Versions and hashes say what is installed; from where is everybody's own affair."""
    wanted = json.loads(text(TOOLS / "package.json"))
    assert "dependencies" not in wanted, "the page ships with nothing of it"
    assert all(re.fullmatch(r"[\d.]+", pin) for pin in wanted["devDependencies"].values())
    locked = json.loads(text(TOOLS / "package-lock.json"))["packages"]
    for place, one in locked.items():
        assert "resolved" not in one, place
        if place:
            assert one["integrity"].startswith("sha512-"), place
    for name, pin in wanted["devDependencies"].items():
        assert locked[f"node_modules/{name}"]["version"] == pin
