"""Every ``make bench-NAME`` that anything here names can be run: a hyphen is a dot."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import benchmarks

ROOT = Path(benchmarks.__file__).parents[1]
# `make readers` reads and prints; it measures nothing.
FOLDERS = sorted(
    path.parent
    for path in (ROOT / "benchmarks").rglob("__main__.py")
    if path.parent.name != "readers"
)


def named() -> set[str]:
    places = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml"]
    for folder, ending in (("docs", "md"), ("benchmarks", "py"), ("packages", "py")):
        places += (ROOT / folder).rglob(f"*.{ending}")
    found = {
        name
        for path in places
        for name in re.findall(r"\bmake bench-([a-z0-9-]+)", path.read_text())
    }
    return found - {"setup"}


def test_what_is_named_is_there() -> None:
    assert named() >= {"siso-speed", "loop", "features"}
    for name in named():
        module = f"benchmarks.{name.replace('first-minute', 'first_minute').replace('-', '.')}"
        found = importlib.util.find_spec(module)
        assert found is not None, name
        if found.submodule_search_locations:
            assert importlib.util.find_spec(f"{module}.__main__"), name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_can_be_run_leaves_a_table_and_is_named_on_its_page(folder: Path) -> None:
    name = "-".join(folder.relative_to(ROOT / "benchmarks").parts).replace("_", "-")
    results = ROOT / "docs" / "results"
    assert (results / f"{name}.csv").is_file()
    (page,) = (p for p in results.glob("*.md") if f"({name}.csv)" in p.read_text())
    assert f"`make bench-{name}`" in page.read_text()
