"""Spaces that read text: the pictures' network by its classes, others by towers of their own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, InvalidInput, LikewiseError
from likewise.search.typed import meaning
from likewise.spaces.registry import new_space, open_spaces, validate_recipe
from likewise.vision.deep.libraries import UnusableModel
from likewise.vision.text import EmptyText, TextQuery
from likewise.vision.text.words import picture_classes
from tests.product.collection.model_cases import N, template
from tests.product.private import store_of, views_of
from tests.product.vision.text_cases import tower_folder


class Classes:
    """Words of the pictures' network that mean whichever classes a test says."""

    def __init__(
        self, classes: list[int], weights: list[float], known: float = 1.0, near: float = 0.9
    ) -> None:
        self.query = TextQuery(
            "asked", np.array(classes), np.array(weights), ["from the model"], known, near
        )

    def ask(self, text: str) -> TextQuery:
        if not text.strip("?"):
            raise EmptyText("text is '?'; words expected")
        return self.query

    def deviations(self, rows: np.ndarray) -> np.ndarray:
        return rows.std(axis=0)

    def row(self, query: TextQuery, mean: Any, deviations: Any) -> np.ndarray:
        made = np.zeros(1280, np.float32)
        made[query.classes] = query.weights
        return made


@pytest.fixture
def space(tmp_path: Path) -> Any:
    recipe = validate_recipe({"feature": "deep-dense"})[1]
    return new_space(tmp_path, "deep-dense", recipe)


def read(space: Any, words: Any, text: str = "asked", struck: frozenset[str] = frozenset()) -> Any:
    state = space.text_state(lambda: words, np.eye(1280, dtype=np.float32)[:4])
    return space.read_text(lambda: words, text, state, struck)


def test_the_pictures_network_reads_text_by_its_classes(space: Any) -> None:
    words = Classes([3, 8, 5], [0.6, 0.3, 0.1])
    assert space.can_read_text(lambda: words)
    assert not space.can_read_text(lambda: None)
    made = read(space, words)
    assert np.flatnonzero(made.row).tolist() == [3, 5, 8]
    assert made.names == ("from the model",)
    assert not made.unsure


def test_a_class_that_was_struck_out_does_not_count(space: Any) -> None:
    name = [one.name for one in picture_classes()]
    words = Classes([3, 8, 5], [0.6, 0.3, 0.1])
    made = read(space, words, struck=frozenset({name[3]}))
    assert np.flatnonzero(made.row).tolist() == [5, 8]
    assert made.row[[8, 5]].tolist() == pytest.approx([0.75, 0.25])
    assert made.names == (name[8], name[5])
    assert read(space, words, struck=frozenset({name[3], name[8], name[5]})) is None


def test_what_has_no_meaning_is_no_row(space: Any) -> None:
    assert read(space, Classes([1], [1.0]), "???") is None
    # A script that was never taught is noise; a rare word is spelt as well, and means something.
    assert read(space, Classes([1], [1.0], known=0.0, near=0.1)) is None
    assert read(space, Classes([1], [1.0], known=0.0)) is not None


def test_statistics_are_a_function_of_the_pictures(tmp_path: Path) -> None:
    shutil.copytree(template() / "c.lw", tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as col:
        mine = open_spaces(store_of(col))["mine"]
        made: list[int] = []

        def count(rows: np.ndarray) -> int:
            made.append(len(rows))
            return len(rows)

        statistics = meaning.Statistics(views_of(col))
        assert statistics.compute(mine, count) == statistics.compute(mine, count) == N
        assert made == [N]
        col.tag(1, "anything")  # a change that is none of the rows
        statistics.compute(mine, count)
        assert made == [N]
        assert np.array_equal(meaning.Statistics(views_of(col)).rows(mine), statistics.rows(mine))
        col.remove(N)
        assert statistics.compute(mine, count) == 56  # 59 rounded down to four binary digits


def test_values_are_interleaved_with_the_texts_own() -> None:
    ids = np.array([1, 2, 3, 4, 5])
    values = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    assert meaning.interleave(ids, values, [5, 4]).tolist() == [0.9, 0.8, 0.7, 0.5, 0.6]


# -- an image-text network of one's own -------------------------------------------------------


@pytest.fixture
def towers(tmp_path: Path) -> Path:
    for needed in ("onnxruntime", "onnx", "tokenizers"):
        pytest.importorskip(needed)
    return tower_folder(tmp_path / "towers")


@pytest.fixture
def col(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(meaning, "open_words", lambda: None)
    shutil.copytree(template() / "c.lw", tmp_path / "c.lw")
    with Collection.open(tmp_path / "c.lw") as made:
        yield made


def test_its_towers_describe_pictures_and_read_text(
    col: Collection, towers: Path, tmp_path: Path
) -> None:
    col.spaces.add("clip", {"feature": "clip", "path": str(towers)}, workers=0)
    shutil.rmtree(towers)
    assert col.verify() == []
    hits = col.search(text="snowy mountains", k=N)
    assert len(hits) == N
    assert hits.hint is None
    assert str(hits[0].reasons[0]) == "looks like: snowy mountains"
    from likewise.vision.text.towers import ImageTextModel

    space = open_spaces(store_of(col))["clip"]
    model = ImageTextModel.open(col.root / space.files["towers"])
    row = model.embed_text(["snowy mountains"])[0]
    view = views_of(col).view("clip")
    assert meaning.text_space(open_spaces(store_of(col)), col.searcher.typed.texts) == space
    ids, _ = view.search_row(row, 3)
    assert set(ids.tolist()) & {hit.id for hit in hits[:12]}
    assert space.card() is not None
    col.backup(tmp_path / "kept")
    with Collection.restore(tmp_path / "kept", tmp_path / "again.lw") as again:
        assert [h.id for h in again.search(text="snowy mountains", k=N)] == [h.id for h in hits]
    assert col.search(text="🀄", k=3) is not None
    col.spaces.drop("clip")
    assert len(col.search(text="snowy mountains")) == 0


def test_a_damaged_network_is_found(col: Collection, towers: Path) -> None:
    col.spaces.add("clip", {"feature": "clip", "path": str(towers)}, workers=0)
    folder = col.root / open_spaces(store_of(col))["clip"].files["towers"]
    content = bytearray((folder / "textual/model.onnx").read_bytes())
    content[-9] ^= 1
    (folder / "textual/model.onnx").write_bytes(content)
    assert any("is damaged" in text for text in col.verify())


def test_folders_that_are_no_network_are_refused(col: Collection, towers: Path) -> None:
    for recipe in (
        {"path": None}, {"path": ""}, {"path": str(towers), "licence": 7},
        {"path": str(towers), "size": 3},
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            col.spaces.add("clip", {"feature": "clip", **recipe})
    (towers / "textual/tokenizer.json").write_text("{}")
    with pytest.raises((UnusableModel, CollectionError, LikewiseError)):
        col.spaces.add("clip", {"feature": "clip", "path": str(towers)})
    assert "clip" not in col.spaces
