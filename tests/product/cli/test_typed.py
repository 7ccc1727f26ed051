"""``search``, ``judge`` and ``tags save`` with words; ``models``; ``space add --clip``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from likewise.cli.app import read_minus_words
from likewise.search.typed import meaning
from tests.product.cli.process import Likewise
from tests.product.vision.text_cases import tower_folder


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here, these commands are about tags and names."""
    monkeypatch.setattr(meaning, "open_words", lambda: None)


@pytest.fixture
def likewise(built: Likewise, tmp_path: Path) -> Likewise:
    shutil.copytree(built.folder, tmp_path / "own")
    return Likewise(tmp_path / "own")


@pytest.mark.slow
def test_what_is_no_file_and_no_id_is_text(likewise: Likewise) -> None:
    likewise("tag", "1", "--set", "red garden")
    found = likewise.json("search", "gardens", "-k", "5")
    assert found["text"] == "gardens"
    assert found["query"] is None
    assert [hit["id"] for hit in found["hits"]] == [1]
    assert found["hits"][0]["reasons"] == [{"key": "tag:red garden", "text": "tagged red garden"}]
    assert "likewise admin spaces add deep-dense" in found["hint"]
    done = likewise("search", "chelsea")
    assert done.returncode == 0
    assert "file name chelsea-0" in done.stdout
    assert "why" in done.stdout
    assert "\nNote: only tags, names and dates were searched" in done.stderr


def test_ids_and_files_are_pictures_still(likewise: Likewise) -> None:
    assert "text" not in likewise.json("search", "1", "-k", "2")
    picture = next(likewise.pictures.glob("china-0*"))
    assert "text" not in likewise.json("search", picture, "-k", "2")
    assert likewise.json("search", "--text", "1")["text"] == "1"


def test_a_year_is_an_id_and_the_message_says_how_to_mean_words(likewise: Likewise) -> None:
    said = likewise.refused("search", "2019")
    assert "no picture with id 2019" in said
    assert "likewise search --text 2019" in said
    assert likewise.json("search", "--text", "2019")["text"] == "2019"


def test_a_word_with_a_minus_in_front_is_no_option(likewise: Likewise) -> None:
    likewise("tag", "1", "--set", "people")
    found = likewise.json("search", "-people", "-k", "20")
    assert found["text"] == "-people"
    assert 1 not in [hit["id"] for hit in found["hits"]]
    assert likewise.json("search", "-kitchen")["text"] == "-kitchen"
    for arguments in (
        ["search", "-k", "5", "cat"], ["search", "-k5", "cat"], ["search", "-Cx.lw", "cat"],
        ["search", "--json", "cat"], ["search", "cat", "-k", "5"], ["tag", "-x"], ["search"], [],
    ):  # fmt: skip
        assert read_minus_words(arguments) == arguments


@pytest.mark.parametrize("name", ["nowhere.jpg", "no/such", "~/nothing", "./gone"])
def test_a_path_that_is_not_there_is_no_text(likewise: Likewise, name: str) -> None:
    assert "No such file" in likewise.refused("search", name) or "not there" in likewise.refused(
        "search", name
    )


def test_words_beside_a_picture_and_reasons_struck_out(likewise: Likewise) -> None:
    likewise("tag", "3", "--set", "garden")
    found = likewise.json("search", "1", "--text", "garden", "-k", "3")
    assert found["query"] == 1
    assert found["hits"][0]["id"] == 3
    assert [one["key"] for one in found["hits"][0]["reasons"]] == ["tag:garden", "like"]
    assert likewise.json("search", "garden", "--without", "tag:garden")["hits"] == []
    assert "KIND or KIND:VALUE" in likewise.refused("search", "garden", "--without", "x")
    likewise.refused("search", "1", "--without", "tag", code=2)
    likewise.refused("search", "garden", "--explain", code=2)
    likewise.refused("search", code=2)


def test_a_filter_narrows_words(likewise: Likewise) -> None:
    names = likewise.json("search", "china", "-k", "5")["hits"]
    assert len(names) == 2
    kept = names[1]["id"]
    likewise("tag", kept, "--set", "kept")
    found = likewise.json("search", "china", "--where", "tag=kept")
    assert [hit["id"] for hit in found["hits"]] == [kept]


def test_judging_words_and_saving_them_as_a_tag(likewise: Likewise) -> None:
    made = likewise.json("judge", "--text", "nice things", "--liked", "3,5", "--disliked", "1")
    assert made["text"] == "nice things"
    assert [hit["id"] for hit in made["hits"]][:2] in ([3, 5], [5, 3])
    found = likewise.json("search", "nice things", "-k", "12")
    assert found["hits"][0]["reasons"][0]["text"] == "liked for: nice things"
    assert found["hits"][-1]["id"] == 1
    assert "about 'nice things': liked 3, 5; disliked 1" in likewise("log").stdout
    saved = likewise.json("tags", "save", "nice things", "nice", "-k", "2")
    assert saved["tagged"] == [3, 5]
    assert len(saved["suggested"]) == 2
    assert likewise.json("tags")[0] == {
        "tag": "nice", "pictures": 2, "sources": {"accepted": 2, "suggested": 2},
    }  # fmt: skip
    assert likewise.json("tags", "undo", saved["line"]) == {"withdrawn": saved["line"]}
    assert likewise.json("tags") == []
    assert likewise.json("undo")["undone"] == made["number"]
    assert likewise.json("search", "nice things")["hits"] == []
    assert "nothing was liked" in likewise.refused("tags", "save", "nice things", "nice")
    likewise.refused("judge", "--liked", "3", code=2)


def test_models_say_what_is_here(likewise: Likewise) -> None:
    found = {one["model"]: one for one in likewise.json("models")}
    assert set(found) == {"pictures' network", "text model", "image-text network"}
    for one in found.values():
        assert one["available"] or (one["missing"] and one["command"])
    assert found["image-text network"]["command"] == "likewise admin spaces add NAME --clip FOLDER"
    assert "image-text network" in likewise("models").stdout


def test_an_image_text_network_of_ones_own(likewise: Likewise, tmp_path: Path) -> None:
    for needed in ("onnxruntime", "onnx", "tokenizers"):
        pytest.importorskip(needed)
    towers = tower_folder(tmp_path / "towers")
    made = likewise.json("space", "add", "mine", "--clip", towers, "--workers", "0")
    assert made["recipe"]["feature"] == "clip"
    shutil.rmtree(towers)
    found = likewise.json("search", "dog on a beach", "-k", "20")
    assert len(found["hits"]) == 12
    assert found["hint"] is None
    assert found["hits"][0]["reasons"][0]["text"] == "looks like: dog on a beach"
    own = next(one for one in likewise.json("models") if one["model"] == "image-text network")
    assert (own["name"], own["available"]) == ("mine", True)
    assert likewise("verify").returncode == 0
    assert len(likewise.json("search", "1", "--by", "mine", "-k", "3")["hits"]) == 3
    likewise.refused("space", "add", "other", "--clip", towers, "--size", "64", code=2)
    assert "lacks visual/model.onnx" in likewise.refused("space", "add", "x", "--clip", tmp_path)
