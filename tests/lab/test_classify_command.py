"""``likewise models classify``: trained, asked, and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.app import whole_app
from likewise.errors import InvalidInput
from tests.product.collection.pictures import small_scenes, write

RUN = CliRunner()
APP = whole_app()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("classes")
    for label in ("chelsea", "rocket"):
        for i in range(6):
            write(root / label / f"{i}.jpg", small_scenes()[label][2 * i : 150 + i, i:])
    return root


@pytest.fixture(scope="module")
def model(folders: Path) -> Path:
    path = folders.parent / "it.lwm"
    words = ("--words", "6", "--workers", "0")
    done = RUN.invoke(APP, ["models", "classify", "train", str(folders), "-m", str(path), *words])
    assert done.exit_code == 0, done.output
    assert "chelsea  2 of 2  100 %" in done.stdout
    assert "100.0 % right on 4 pictures held out" in done.stdout
    return path


def test_train_says_it_as_json(folders: Path, tmp_path: Path) -> None:
    made = tmp_path / "other.lwm"
    arguments = ["models", "classify", "train", str(folders), "--model", str(made), "--json"]
    done = RUN.invoke(APP, [*arguments, "--words", "4", "--workers", "0", "--held-out", "0.5"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["pictures"], said["held_out"], said["accuracy"]) == (12, 6, 1.0)
    assert said["labels"]["rocket"] == {"right": 3, "of": 3}
    assert made.is_file()


def test_predict_names_pictures(model: Path, folders: Path) -> None:
    pictures = [str(folders / "rocket" / "0.jpg"), str(folders / "chelsea" / "1.jpg")]
    done = RUN.invoke(APP, ["models", "classify", "predict", str(model), *pictures])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{pictures[0]}: rocket (+")
    assert lines[1].startswith(f"{pictures[1]}: chelsea (+")
    said = json.loads(
        RUN.invoke(
            APP, ["models", "classify", "predict", str(model), pictures[0], "--json", "--top", "2"]
        ).stdout
    )
    assert [one["label"] for one in said[0]["labels"]] == ["rocket", "chelsea"]


def test_a_bad_picture_does_not_stop_the_others(model: Path, folders: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_bytes(b"nothing")
    good = str(folders / "rocket" / "2.jpg")
    done = RUN.invoke(APP, ["models", "classify", "predict", str(model), str(bad), good])
    assert done.exit_code == 1
    assert "rocket" in done.stdout
    assert "bad.jpg: is not a picture" in done.stderr


def test_refusals(folders: Path, tmp_path: Path) -> None:
    done = RUN.invoke(APP, ["models", "classify", "train", str(folders), "--held-out", "2"])
    assert done.exit_code == 2
    done = RUN.invoke(
        APP, ["models", "classify", "train", str(folders), "-m", str(tmp_path / "no" / "x")]
    )
    assert done.exit_code == 2
    done = RUN.invoke(APP, ["models", "classify", "train", str(folders / "rocket")])
    assert isinstance(done.exception, InvalidInput)
    assert "one folder for each label" in str(done.exception)
