"""Plug-ins: every example of docs/plugins.md as an installed package, and packages that fail."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise import Collection
from likewise.cli.app import _app_for, whole_app
from likewise.engines import open_engine
from likewise.errors import CatalogRefused, InvalidInput
from likewise.plugins import (
    COMMANDS,
    ENGINES,
    GROUPS,
    PluginBroken,
    PluginMissing,
    list_plugins,
    load,
    load_all,
)
from tests.product.collection.pictures import write
from tests.product.collection.space_package import install

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
Install = Callable[..., None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs the example of a section, or a package of a group, until the test ends."""

    def put(section: str = "", *, source: str = "", group: str = "", **points: str) -> None:
        if section:
            text = PAGE.partition(f"## {section}\n")[2]
            source = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]  # type: ignore[index]
            found = re.search(r'entry-points\."([\w.]+)"\]\n([\w-]+) = "([\w:]+)"', text)
            assert found is not None
            group, points = found[1], {found[2]: found[3]}
        module = next(iter(points.values())).partition(":")[0]
        folder = install(tmp_path / module, module, module, source, points, group=group)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A collection of stripes of six directions, the first two tagged."""
    rows, columns = np.mgrid[:48, :48]
    for i in range(6):
        waves = np.sin((columns * np.cos(i * np.pi / 6) + rows * np.sin(i * np.pi / 6)) / 2)
        grey = (127 + 120 * waves).astype(np.uint8)
        write(tmp_path / "pictures" / f"{i}.png", np.repeat(grey[:, :, None], 3, axis=2))
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        for image in (1, 2):
            col.tag(image, "first")
    return tmp_path / "photos.lw"


def test_the_page_lists_every_group() -> None:
    listed = re.findall(r"^\| `(likewise\.\w+)` \|", PAGE, re.MULTILINE)
    assert listed == list(GROUPS)
    assert sorted(re.findall(r'entry-points\."(likewise\.\w+)"', PAGE)) == sorted(GROUPS)


@pytest.mark.parametrize("contract", sorted({one.contract for one in GROUPS.values()}))
def test_a_contract_is_small(contract: str) -> None:
    """At most six methods must be written; those of a space have defaults."""
    module, _, name = contract.rpartition(".")
    found = getattr(importlib.import_module(module), name) if module else None
    if found is None:
        assert contract == "typer"
    elif inspect.isabstract(found):
        assert len(found.__abstractmethods__) <= 6
    else:
        own = [one for one in vars(found).values() if inspect.isfunction(one)]
        assert len([one for one in own if not one.__name__.startswith("_")]) <= 6


def test_the_example_of_a_space(installed: Install, root: Path) -> None:
    installed("Spaces")
    with Collection.open(root) as col:
        col.spaces.add("edges", {"feature": "edge-directions", "bins": 8}, workers=0)
        hits = col.search(1, 5, by="edges")
        assert len(hits) == 5
        # Stripes that are turned least are the most alike; half a turn further is the same.
        assert {hits[0].id, hits[1].id} == {2, 6}
        assert col.verify() == []


def test_the_example_of_an_engine(installed: Install, root: Path) -> None:
    pytest.importorskip("likewise_cluster", reason="likewise-cluster brings the sync")
    installed("Engines")
    with Collection.open(root) as col:
        spaces = [name for name, one in col.spaces.items() if one.generation]
        due = {name: col.search(1, 5, by=name) for name in spaces}
        tagged = col.search(1, 5, by=spaces[0], where={"tag": "first"})
        done = col.engine_sync.push("memory://photos")
        assert [(one.space, one.pictures, one.wrong) for one in done] == [
            (name, 6, ()) for name in spaces
        ]
        col.engine_sync.answer_from("memory://photos")
        store = open_engine("memory://photos").store(f"{spaces[0]}-1", done[0])  # type: ignore
        asked, search = [], store.search
        store.search = lambda *values, **named: asked.append(1) or search(*values, **named)
        assert {name: col.search(1, 5, by=name) for name in spaces} == due
        assert col.search(1, 5, by=spaces[0], where={"tag": "first"}) == tagged
        assert len(asked) == 2
        # A change is found at once, and sent.
        col.tag(3, "first")
        assert len(col.search(1, 5, by=spaces[0], where={"tag": "first"})) == 2
        assert col.engine_sync.send_changes() == {}
        assert col.engine_sync.compare("memory://photos") == {name: [] for name in spaces}


def test_the_example_of_a_catalog(installed: Install, root: Path, tmp_path: Path) -> None:
    installed("Catalogs")
    address = f"local://{tmp_path}/fast"
    moved = Collection.move(root, address)
    assert moved.place == address
    assert (tmp_path / "fast" / "catalog.sqlite").is_file()
    assert not (root / "catalog.sqlite").exists()
    with Collection.open(root) as col:
        assert col.tags.of(1) == ["first"]
        col.tag(4, "moved")
    Collection.move(root, "sqlite")
    with Collection.open(root) as col:
        assert col.tags.of(4) == ["moved"]
        assert col.verify() == []
    assert not (root / "catalog.postgresql").exists()


def test_the_example_of_a_command(installed: Install, root: Path) -> None:
    installed("Commands")
    done = CliRunner().invoke(_app_for(["tag-counts"]), ["tag-counts", "-C", str(root)])
    assert (done.exit_code, done.stdout) == (0, "      2  first\n")
    assert "how many pictures have each tag" in CliRunner().invoke(whole_app(), ["--help"]).stdout


def test_a_command_in_a_group(installed: Install, root: Path) -> None:
    source = "def hello() -> None:\n    '''Greet.'''\n    print('hello')\n"
    installed(source=source, group=COMMANDS, **{"admin.hello": "greetings:hello"})
    done = CliRunner().invoke(_app_for(["admin", "hello"]), ["admin", "hello"])
    assert done.stdout == "hello\n"
    listed = CliRunner().invoke(whole_app(), ["admin", "--help"]).stdout
    assert "hello" in listed
    assert "verify" in listed


def test_a_plugin_that_fails_is_named_and_skipped(installed: Install, root: Path) -> None:
    installed(source="import no_such_module", group=COMMANDS, broken="broken_one:run")
    loaded, skipped = load_all(COMMANDS)
    assert "broken" not in loaded
    assert [(one.name, one.package) for one in skipped] == [("broken", "broken_one")]
    assert "no_such_module" in str(skipped[0].error)
    with pytest.raises(PluginBroken, match=r"'broken' of broken_one .* ModuleNotFoundError"):
        load(COMMANDS, "broken")
    done = CliRunner().invoke(whole_app(), ["--help"])
    assert done.exit_code == 0
    assert "search" in done.stdout
    info = CliRunner().invoke(_app_for(["info"]), ["info", "-C", str(root)])
    assert info.exit_code == 0
    listed = CliRunner().invoke(_app_for(["admin"]), ["admin", "plugins"])
    assert listed.exit_code == 1
    assert "no_such_module" in listed.stdout
    assert {one.name for one in list_plugins() if one.error} == {"broken"}


def test_two_packages_that_bring_the_same_name(installed: Install) -> None:
    for module in ("first_one", "second_one"):
        installed(source="def run(): ...", group=COMMANDS, same=f"{module}:run")
    with pytest.raises(PluginBroken, match=r"(first|second)_one, (first|second)_one; uninstall"):
        load(COMMANDS, "same")


def test_a_plugin_that_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr("likewise.plugins._find_points", lambda group, path: {})
    with pytest.raises(PluginMissing, match=r"pip install 'likewise-cluster\[qdrant\]'"):
        load(ENGINES, "qdrant")
    with pytest.raises(Exception, match=r"qdrant://host/x .*'likewise-cluster\[qdrant\]'"):
        open_engine("qdrant://host/x")
    with pytest.raises(InvalidInput, match=r"'elsewhere://x' is no address.*installed are none"):
        open_engine("elsewhere://x")
    with pytest.raises(CatalogRefused, match=r"pip install 'likewise-cluster\[postgres\]'"):
        Collection.move(root, "postgresql://host/x")
    with pytest.raises(InvalidInput, match="an address like postgresql://"):
        Collection.move(root, "elsewhere")
    with pytest.raises(PluginMissing, match="pip install 'likewise-cluster'"):
        _app_for(["admin", "push", "--to", "qdrant://host/x"])
    for words in ("demo", "classify train", "models classify train", "evaluate dataset planted"):
        with pytest.raises(PluginMissing, match="pip install 'likewise-lab'"):
            _app_for(words.split())
    # The name of a data set without the command, as in the last release.
    done = CliRunner().invoke(_app_for(["evaluate", "planted"]), ["evaluate", "planted", "there"])
    assert "pip install 'likewise-lab'" in str(done.exception)
