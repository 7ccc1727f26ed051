"""``likewise admin spaces`` with networks: by name, by --onnx, cards, refused options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.cli import serve
from likewise.cli.app import app
from likewise.collection.collection import Collection
from likewise.errors import InvalidInput
from likewise.spaces import deep as deep_kind
from tests.product.collection.pictures import small_scenes, write
from tests.product.private import views_of
from tests.product.vision.deep_cases import needs_deep
from tests.product.vision.test_deep_onnx import small_model

pytestmark = needs_deep


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of eight pictures, without deep spaces."""
    root = tmp_path_factory.mktemp("cli-deep")
    for name, pixels in small_scenes().items():
        write(root / "pictures" / f"{name}.jpg", pixels)
    with Collection.create(root / "photos.lw", words={"n_words": 100}, deep=False) as col:
        col.add(root / "pictures", workers=0)
    return root / "photos.lw"


def said(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_space_by_its_name(place: Path) -> None:
    made = json.loads(said("space", "add", "deep", "-C", place, "--workers", 0, "--json"))
    assert made["width"] == 1280
    assert made["recipe"]["keep"] == 128
    assert "deep: deep  (default)" in said("similarity", "list", "-C", place)
    card = json.loads(said("space", "card", "deep", "-C", place))
    assert card["licence"] == "Apache-2.0"
    with pytest.raises(InvalidInput, match="has no card"):
        said("space", "card", "holistic", "-C", place)


def test_a_network_of_ones_own(place: Path, tmp_path: Path) -> None:
    net = small_model(tmp_path / "net.onnx")
    said(
        "space", "add", "mine", "--onnx", net, "--size", 16, "--mean", "0.5,0.4,0.3", "--std",
        0.25, "--layer", "vector", "--licence", "MIT", "-C", place, "--workers", 0,
    )  # fmt: skip
    card = json.loads(said("space", "card", "mine", "-C", place))
    assert card["preprocessing"]["mean"] == [0.5, 0.4, 0.3]
    assert card["preprocessing"]["std"] == [0.25] * 3
    assert (card["layer"], card["licence"]) == ("vector", "MIT")
    with Collection.open(place) as col:
        row = views_of(col).view("mine").row_of(1)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["thing"], "what is thing made of?"),
        (["x", "--feature", "onnx"], "needs --onnx"),
        (["x", "--feature", "deep", "--onnx", "net.onnx"], "not deep"),
        (["x", "--feature", "deep", "--size", "224"], "--size belongs to --onnx"),
        (["x", "--onnx", "net.onnx", "--mean", "a,b"], "--mean a,b"),
    ],
)
def test_options_that_make_no_sense(place: Path, arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["space", "add", *arguments, "-C", str(place)])
    assert done.exit_code == 2
    assert says in " ".join(done.output.replace("│", " ").split())


def test_a_machine_without_the_extra_is_told_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "pictures" / "rocket.jpg", small_scenes()["rocket"])
    monkeypatch.setattr(deep_kind, "is_installed", lambda: False)
    monkeypatch.setattr(serve, "_serve", lambda *_: None)
    for told in (True, False):
        done = CliRunner().invoke(app, ["open", str(tmp_path / "pictures"), "--no-browser"])
        assert done.exit_code == 0, done.output
        assert ("pip install onnxruntime" in done.stderr) is told


def test_add_says_in_json_what_could_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "pictures" / "rocket.jpg", small_scenes()["rocket"])
    Collection.create(tmp_path / "photos.lw", deep=True).close()
    monkeypatch.setattr(deep_kind, "is_installed", lambda: False)
    where = ("-C", tmp_path / "photos.lw", "--workers", 0, "--json")
    made = json.loads(said("add", tmp_path / "pictures", *where))
    assert made["unmade"] == ["deep", "deep-dense"]
    monkeypatch.undo()
    assert json.loads(said("add", tmp_path / "pictures", *where))["unmade"] == []
