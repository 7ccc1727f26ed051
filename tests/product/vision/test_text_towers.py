"""Image-text networks of one's own: a tiny pair of towers, and folders that are none.

A real export cannot be had without a download; the layout, the inputs and their types are those of
the published ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.vision.deep.libraries import UnusableModel
from likewise.vision.text import EmptyText, ImageTextModel
from likewise.vision.text.towers import FILES
from tests.product.vision.text_cases import (
    VOCABULARY,
    needs_tokenizers,
    tokenizer_json,
    tower_folder,
)

pytestmark = needs_tokenizers


def words_of(seed: int, width: int) -> np.ndarray:
    """The rows of the tokens in the tower of this seed."""
    rng = np.random.default_rng(seed)
    rng.standard_normal((3, width))
    return rng.standard_normal((len(VOCABULARY), width)).astype(np.float32)


def unit(row: np.ndarray) -> np.ndarray:
    return row / np.linalg.norm(row)


@pytest.mark.parametrize("inputs", ["clip", "masked"])
def test_texts_become_rows_of_the_pictures_space(tmp_path: Path, inputs: str) -> None:
    opened = ImageTextModel.open(tower_folder(tmp_path / "towers", inputs=inputs))
    assert opened.width == 6
    rows = opened.embed_text(["a dog", "snowy mountains"])
    assert rows.shape == (2, 6)
    table = words_of(0, 6)
    # [CLS] a dog [SEP], then padding up to eight tokens.
    there = [2, 8, 9, 3] + [0] * (4 if inputs == "clip" else 0)
    np.testing.assert_allclose(rows[0], unit(table[there].sum(axis=0)), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert opened.embed_text([]).shape == (0, 6)


def test_pictures_are_prepared_as_the_folder_says(tmp_path: Path) -> None:
    opened = ImageTextModel.open(tower_folder(tmp_path / "towers"))
    prepared = opened.visual.preparation
    assert (prepared.size, prepared.scale) == (16, 255.0)
    assert (prepared.mean, prepared.std) == ((0.5,) * 3, (0.25,) * 3)
    picture = np.full((40, 30, 3), (255, 0, 51), np.uint8)
    colours = np.random.default_rng(0).standard_normal((3, 6))
    expected = (np.array([1.0, 0.0, 0.2]) - 0.5) / 0.25 @ colours
    np.testing.assert_allclose(opened.embed_picture(picture), unit(expected), atol=1e-5)


def test_the_digest_tells_towers_apart(tmp_path: Path) -> None:
    first = ImageTextModel.open(tower_folder(tmp_path / "a"))
    same = ImageTextModel.open(tower_folder(tmp_path / "b"))
    other = ImageTextModel.open(tower_folder(tmp_path / "c", seed=1))
    assert first.digest == same.digest != other.digest


def test_odd_texts(tmp_path: Path) -> None:
    opened = ImageTextModel.open(tower_folder(tmp_path / "towers"))
    with pytest.raises(EmptyText):
        opened.embed_text([" "])
    long = opened.embed_text(["dog " * 10_000])
    assert np.isfinite(long).all()
    assert opened.embed_text("a dog").shape == (1, 6)  # type: ignore[arg-type]


@pytest.mark.parametrize("lacking", FILES)
def test_a_missing_file_is_named(tmp_path: Path, lacking: str) -> None:
    folder = tower_folder(tmp_path / "towers")
    (folder / lacking).unlink()
    with pytest.raises(UnusableModel, match=lacking):
        ImageTextModel.open(folder)


@pytest.mark.parametrize("name", ["visual/model.onnx", "textual/model.onnx"])
@pytest.mark.parametrize("content", [b"", b"no graph", b"\xff" * 100])
def test_a_tower_that_is_none_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    folder = tower_folder(tmp_path / "towers")
    (folder / name).write_bytes(content)
    with pytest.raises(UnusableModel):
        ImageTextModel.open(folder)


RECORDS: dict[str, tuple[str, Any, str]] = {
    "no JSON": ("config.json", "{", "cannot be read as JSON"),
    "deep JSON": ("textual/tokenizer_config.json", "[" * 100_000, "cannot be read as JSON"),
    "a list": ("visual/preprocess_cfg.json", "[]", "no record"),
    "no bytes of text": ("config.json", b"\xff\xfe\x00", "JSON"),
    "a size of nothing": ("visual/preprocess_cfg.json", {"size": 0}, "size is 0"),
    "a huge size": ("visual/preprocess_cfg.json", {"size": 10**9}, "size is"),
    "no square": ("visual/preprocess_cfg.json", {"size": [16, 32]}, "size is"),
    "a deviation of 0": ("visual/preprocess_cfg.json", {"size": 16, "std": [0, 0, 0]}, "std"),
    "two means": ("visual/preprocess_cfg.json", {"size": 16, "mean": [0, 0]}, "mean is"),
    "grey pictures": ("visual/preprocess_cfg.json", {"size": 16, "mode": "L"}, "mode 'L'"),
    "a huge context": ("config.json", {"text_cfg": {"context_length": 10**9}}, "context_length"),
    "no context": ("config.json", {"text_cfg": {"context_length": None}}, "context_length None"),
    "text_cfg is a text": ("config.json", {"text_cfg": "x"}, "context_length"),
    "another context": ("config.json", {"text_cfg": {"context_length": 9}}, "does not run"),
    "padding by a number": ("textual/tokenizer_config.json", {"pad_token": 5}, "pad_token"),
    "no tokenizer": ("textual/tokenizer.json", {}, "tokenizer"),
    "a tokenizer that is a list": ("textual/tokenizer.json", "[]", "tokenizer"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_that_cannot_be_used_is_refused(tmp_path: Path, case: str) -> None:
    name, record, said = RECORDS[case]
    folder = tower_folder(tmp_path / "towers")
    content = record if isinstance(record, str | bytes) else json.dumps(record)
    raw = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(raw)
    with pytest.raises(UnusableModel, match=said):
        ImageTextModel.open(folder)


def test_towers_of_two_networks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableModel, match="not of one network"):
        ImageTextModel.open(tower_folder(tmp_path / "towers", text_width=5))


def test_a_tokenizer_of_another_network_is_refused(tmp_path: Path) -> None:
    folder = tower_folder(tmp_path / "towers")
    more = [*VOCABULARY[:4], *(f"w{i}" for i in range(40)), "photograph"]
    (folder / "textual/tokenizer.json").write_text(tokenizer_json(more))
    with pytest.raises(UnusableModel, match="does not run"):
        ImageTextModel.open(folder)


def test_towers_in_each_others_place_are_refused(tmp_path: Path) -> None:
    folder = tower_folder(tmp_path / "towers")
    visual, textual = (folder / part / "model.onnx" for part in ("visual", "textual"))
    text = textual.read_bytes()
    textual.write_bytes(visual.read_bytes())
    with pytest.raises(UnusableModel, match="whole numbers"):
        ImageTextModel.open(folder)
    visual.write_bytes(text)
    with pytest.raises(UnusableModel, match="one input of pictures"):
        ImageTextModel.open(folder)


def test_weights_beside_a_tower_are_refused(tmp_path: Path) -> None:
    from onnx import load_model, save_model

    folder = tower_folder(tmp_path / "towers")
    path = folder / "textual" / "model.onnx"
    save_model(
        load_model(path), path, save_as_external_data=True, location="weights", size_threshold=0
    )
    with pytest.raises(UnusableModel, match="other files next to it"):
        ImageTextModel.open(folder)
