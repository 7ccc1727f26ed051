"""Describers: the example of docs/plugins.md as an installed package, and packages that fail."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from likewise import Collection
from likewise.cli.app import app
from likewise.describers import Fact, check_facts, open_describer
from likewise.errors import InvalidInput
from likewise.ingest import pool
from likewise.plugins import PluginBroken, PluginMissing
from tests.product.collection.pictures import write
from tests.product.collection.space_package import install

PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"

FAILING = '''
import os
import time

from likewise.describers import Describer, Fact


class Failing(Describer):
    """What it does depends on the height of the picture."""

    name = "failing"
    version = "1"

    def describe(self, pixels):
        height = pixels.shape[0]
        if height == 101:
            os._exit(3)
        if height == 102:
            while True:
                pass
        if height == 103:
            raise RuntimeError("no such height")
        if height == 104:
            return [Fact("wrong", 7.0)]
        return [Fact(f"height {height}", 0.5)]


class Needy(Failing):
    name = "needy"

    def missing(self):
        return "the program tesseract"


class Misnamed(Failing):
    name = "other"
'''
POINTS = {
    "failing": "failing_describers:Failing",
    "needy": "failing_describers:Needy",
    "misnamed": "failing_describers:Misnamed",
    "absent": "no_such_module:Nothing",
}


def create(root: Path) -> Collection:
    return Collection.create(root, words={"n_words": 100}, deep=False)


def put_on_path(folder: Path, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)
    open_describer.cache_clear()
    pool.stop_idle()  # workers of an earlier test have its path


@pytest.fixture
def qr_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the page, installed."""
    section = PAGE.read_text().partition("## Describers\n")[2]
    source = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    point = re.search(r'"likewise.describers"\]\n([\w-]+) = "([\w:]+)"', section)
    assert source is not None
    assert point is not None
    module = point[2].partition(":")[0]
    folder = install(
        tmp_path / "site", "likewise-qr-codes", module, source[1], {point[1]: point[2]},
        group="likewise.describers",
    )  # fmt: skip
    put_on_path(folder, module, monkeypatch)


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "failing_describers"
    folder = install(
        tmp_path / "site", "failing", module, FAILING, POINTS, group="likewise.describers"
    )
    put_on_path(folder, module, monkeypatch)


def write_plain(path: Path, height: int) -> None:
    rng = np.random.default_rng(height)
    write(path, np.repeat(rng.integers(0, 255, (height, 2, 3)), 60, axis=1).astype(np.uint8))


def write_code(path: Path, text: str) -> None:
    code = cv2.QRCodeEncoder.create().encode(text)
    grey = np.full((300, 400), 230, np.uint8)
    side = 8 * len(code)
    grey[20 : 20 + side, 40 : 40 + side] = np.kron(code, np.ones((8, 8), np.uint8))
    write(path, np.repeat(grey[:, :, None], 3, axis=2))


def ids_of(col: Collection, text: str) -> list[int]:
    """The pictures whose reasons name a fact, best first."""
    hits = col.search(text=text, k=20)
    return [hit.id for hit in hits if any(reason.kind == "fact" for reason in hit.reasons)]


def test_the_example_of_the_page(qr_codes: None, tmp_path: Path) -> None:
    """Install, turn on, find by a word, add more pictures, drop."""
    folder = tmp_path / "photos"
    write_code(folder / "a.png", "Zanzibar ferry 2041")
    write_plain(folder / "b.png", 90)
    with create(tmp_path / "photos.lw") as col:
        col.add(folder, workers=1)
        assert col.describers.installed() == ["qr-codes"]
        assert col.describers.active() == {}
        assert ids_of(col, "zanzibar") == []

        said = []
        state = col.describers.add("qr-codes", workers=1, report=said.append)
        assert state == (2, 0, 1)
        assert [one.done for one in said if "qr-codes" in one.stage] == [1, 2]
        first = col.id_of(folder / "a.png")
        assert ids_of(col, "zanzibar") == [first]
        assert ids_of(col, "ferr") == [first]
        reasons = [str(one) for one in col.search(text="Zanzibar")[0].reasons]
        assert "in the picture: Zanzibar ferry 2041" in reasons
        assert first not in [hit.id for hit in col.search(text="ferry -zanzibar")]
        (fact,) = col.describers.facts(first)
        assert (fact.describer, fact.text, fact.score) == ("qr-codes", "Zanzibar ferry 2041", 1.0)
        assert fact.box is not None
        assert fact.box[0] == pytest.approx(40 / 400, abs=0.1)

        # A picture that comes later is described by the add itself.
        write_code(folder / "c.png", "Lisbon tram")
        assert col.add(folder, workers=1).remarks == []
        assert ids_of(col, "lisbon") == [col.id_of(folder / "c.png")]
        assert col.verify() == []

        # A removed picture takes its facts along, and undoing brings them back.
        col.remove(first)
        assert ids_of(col, "zanzibar") == []
        col.actions.undo()
        assert len(ids_of(col, "zanzibar")) == 1
        assert col.verify() == []

        col.describers.drop("qr-codes")
        assert ids_of(col, "lisbon") == ids_of(col, "zanzibar") == []
        assert col.describers.active() == {}
        assert col.describers.facts(first) == []
        tables = ("describers", "described_images", "facts", "fact_words")
        assert all(col._store.one(f"SELECT count(*) FROM {name}") == 0 for name in tables)
        assert col.verify() == []


def test_a_failing_describer_costs_its_own_facts(
    failing: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "0.4")
    folder = tmp_path / "photos"
    for height in (100, 101, 103, 102, 104, 105):
        write_plain(folder / f"{height}.png", height)
    with create(tmp_path / "photos.lw") as col:
        col.add(folder, workers=1)
        state = col.describers.add("failing", workers=1)
        assert state == (2, 4, 2)
        problems = {
            Path(row[0]).stem: row[1]
            for row in col._store.all(
                "SELECT f.path, d.problem FROM described_images d JOIN files f USING (image)"
            )
        }
        assert problems["100"] is problems["105"] is None
        assert "crash" in problems["101"]
        assert "takes more than" in problems["102"]
        assert "no such height" in problems["103"]
        assert "score is 7" in problems["104"]
        assert ids_of(col, "105") == [col.id_of(folder / "105.png")]
        assert col.describers.problems("failing") == {
            problem: 1 for problem in problems.values() if problem is not None
        }

        # What failed is not tried with each add.
        write_plain(folder / "106.png", 106)
        result = col.add(folder, workers=1)
        assert (result.added, result.skipped, result.remarks) == (1, [], [])
        assert col.describers.active()["failing"] == (3, 4, 3)


def test_crashes_in_a_row_stop_a_describer_and_not_the_add(failing: None, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    with create(tmp_path / "photos.lw") as col:
        col.describers.add("failing", workers=1)
        for number in range(5):
            rng = np.random.default_rng(number)
            write(folder / f"{number}.png", rng.integers(0, 255, (101, 90, 3), np.uint8))
        result = col.add(folder, workers=1)
        assert result.added == 5
        ((name, problem),) = result.remarks
        assert name == "describer failing"
        assert "3 pictures in a row" in problem
        assert col.describers.active()["failing"].failed == 3


def test_a_describer_that_cannot_run_is_refused(failing: None, tmp_path: Path) -> None:
    with create(tmp_path / "photos.lw") as col:
        for name, error, says in (
            ("nothing", PluginMissing, "'nothing' is not installed; installed are absent, failing"),
            ("needy", PluginBroken, "needs the program tesseract"),
            ("misnamed", PluginBroken, "^describer 'misnamed' has the name 'other'"),
            ("absent", PluginBroken, "^plug-in 'absent' of failing .*no_such_module"),
        ):
            with pytest.raises(error, match=says):
                col.describers.add(name, workers=1)
        assert col.describers.active() == {}


def test_a_package_that_is_gone_is_a_remark(
    failing: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plain(tmp_path / "photos" / "a.png", 100)
    with create(tmp_path / "photos.lw") as col:
        col.describers.add("failing", workers=0)
        monkeypatch.undo()
        result = col.add(tmp_path / "photos", workers=1)
        assert result.added == 1
        assert [name for name, _ in result.remarks] == ["describer failing"]
        assert "'failing' is not installed" in result.remarks[0][1]


def test_a_fact_that_is_no_fact_is_refused() -> None:
    assert check_facts([("sign", 0.5)]) == [Fact("sign", 0.5)]  # type: ignore[list-item]
    for wrong in ("a text alone", ("sign", 0.5, None, "more"), 7):
        with pytest.raises(InvalidInput, match=r"a fact is .*Fact\(text, score, box\) expected"):
            check_facts([wrong])  # type: ignore[list-item]


def test_the_command_prints_why_pictures_failed(failing: None, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    for width in (60, 61):
        noise = np.random.default_rng(width).integers(0, 255, (103, width, 3)).astype(np.uint8)
        write(folder / f"{width}.png", noise)
    with create(tmp_path / "photos.lw") as col:
        col.add(folder, workers=1)
    command = ["admin", "describers", "add", "failing", "-C", str(tmp_path / "photos.lw")]
    done = CliRunner().invoke(app, [*command, "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "2 pictures failed\n  2 pictures: RuntimeError: no such height\n" in done.stdout
    answer = json.loads(CliRunner().invoke(app, [*command, "--workers", "1", "--json"]).stdout)
    assert answer["problems"] == {"RuntimeError: no such height": 2}


def test_the_commands(qr_codes: None, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    write_code(folder / "a.png", "Lisbon tram")
    with create(tmp_path / "photos.lw") as col:
        col.add(folder, workers=1)
    run, where = CliRunner(), ["-C", str(tmp_path / "photos.lw")]

    def said(*command: str) -> str:
        result = run.invoke(app, ["admin", "describers", *command, *where])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert json.loads(said("list", "--json")) == {"qr-codes": {"installed": True, "on": False}}
    assert "1 fact in 1 picture" in said("add", "qr-codes", "--workers", "1")
    assert json.loads(said("list", "--json"))["qr-codes"]["facts"] == 1
    assert json.loads(said("show", "1", "--json"))[0]["text"] == "Lisbon tram"
    assert "Lisbon tram" in said("show", str(folder / "a.png"))
    assert "qr-codes" in said("drop", "qr-codes")
    assert json.loads(said("show", "1", "--json")) == []
