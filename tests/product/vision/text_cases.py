"""Shared by the tests of typed words: the skips, tiny models in folders, files written by hand."""

from __future__ import annotations

import importlib.util
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.vision.deep.network import is_installed
from likewise.vision.text.status import text_model_status

needs_tokenizers = pytest.mark.skipif(
    not (is_installed() and importlib.util.find_spec("tokenizers")),
    reason="the extra 'text' is not installed",
)
needs_model = pytest.mark.skipif(
    not (is_installed() and text_model_status().available),
    reason="the packaged text model is not installed",
)

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "snow",
    "##y",
    "mountain",
    "##s",
    "a",
    "dog",
    "lake",
]
CONFIG = {
    "model_type": "bert",
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 16,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}


def safetensors(tensors: dict[str, np.ndarray], **more: Any) -> bytes:
    """A file around these tensors; ``more`` are entries of the table as they stand."""
    names = {"<f4": "F32", "<f8": "F64", "<f2": "F16", "<i8": "I64"}
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at, parts = 0, []
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values).tobytes()
        table[name] = {
            "dtype": names[values.dtype.str],
            "shape": list(values.shape),
            "data_offsets": [at, at + len(raw)],
        }
        at += len(raw)
        parts.append(raw)
    table.update(more)
    header = json.dumps(table).encode()
    return b"".join([struct.pack("<Q", len(header)), header, *parts])


def bert_tensors(seed: int = 0, config: dict[str, Any] = CONFIG) -> dict[str, np.ndarray]:
    """Random weights of a BERT, by the names that checkpoints give them."""
    rng = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]

    def draw(*shape: int) -> np.ndarray:
        return (0.4 * rng.standard_normal(shape)).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": draw(config["vocab_size"], width),
        "embeddings.position_embeddings.weight": draw(config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": draw(2, width),
        "embeddings.position_ids": np.arange(config["max_position_embeddings"])[None],
        "embeddings.LayerNorm.weight": 1 + draw(width),
        "embeddings.LayerNorm.bias": draw(width),
    }
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        shapes = {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }
        for name, shape in shapes.items():
            made[f"{layer}.{name}.weight"] = draw(*shape)
            made[f"{layer}.{name}.bias"] = draw(shape[0])
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            made[f"{layer}.{name}.weight"] = 1 + draw(width)
            made[f"{layer}.{name}.bias"] = draw(width)
    return made


def forward(
    tensors: dict[str, np.ndarray], config: dict[str, Any], ids: list[int], pool: str = "mean"
) -> np.ndarray:
    """The vector of one text by the definition, in float64: the reference of the graph."""
    T = {name: np.asarray(values, np.float64) for name, values in tensors.items()}
    n, width, heads = len(ids), config["hidden_size"], config["num_attention_heads"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ T[f"{name}.weight"].T + T[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
        return centred / spread * T[f"{name}.weight"] + T[f"{name}.bias"]

    x = T["embeddings.word_embeddings.weight"][ids]
    x = x + T["embeddings.position_embeddings.weight"][:n]
    x = norm(x + T["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        query, key, value = (
            dense(x, f"{layer}.attention.self.{part}").reshape(n, heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        shares = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(width // heads))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(n, width)
        x = norm(x + dense(mixed, f"{layer}.attention.output.dense"),
                 f"{layer}.attention.output.LayerNorm")  # fmt: skip
        inner = dense(x, f"{layer}.intermediate.dense")
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    pooled = x.mean(axis=0) if pool == "mean" else x[0]
    return pooled / np.linalg.norm(pooled)


def tokenizer_json(vocabulary: list[str] = VOCABULARY) -> str:
    """A BERT tokenizer of these pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {piece: i for i, piece in enumerate(vocabulary)}
    made = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return str(made.to_str())


def text_folder(folder: Path, **files: bytes | str | None) -> Path:
    """A tiny text model; ``files`` replace parts of it (weights, config, tokenizer)."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, bytes | str | None] = {
        "weights": safetensors(bert_tensors()),
        "config": json.dumps(CONFIG),
        "tokenizer": tokenizer_json(),
    }
    parts.update(files)
    names = {"weights": "model.safetensors", "config": "config.json", "tokenizer": "tokenizer.json"}
    for part, content in parts.items():
        if content is not None:
            raw = content.encode() if isinstance(content, str) else content
            (folder / names[part]).write_bytes(raw)
    return folder


def tower_folder(
    folder: Path,
    *,
    seed: int = 0,
    width: int = 6,
    text_width: int | None = None,
    inputs: str = "clip",
) -> Path:
    """A tiny pair of towers in the layout of photo servers.

    Pictures: the mean colour times a matrix.  Texts: the sum of rows of their tokens, padding too
    (as in CLIP), or without it (``inputs="masked"``).
    """
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(seed)
    real = TensorProto.FLOAT
    colours = rng.standard_normal((3, width)).astype(np.float32)
    words = rng.standard_normal((len(VOCABULARY), text_width or width)).astype(np.float32)
    picture = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["image"], ["colour"], axes=[2, 3], keepdims=0),
            helper.make_node("MatMul", ["colour", "colours"], ["embedding"]),
        ],
        "visual",
        [helper.make_tensor_value_info("image", real, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("embedding", real, ["n", width])],
        [numpy_helper.from_array(colours, "colours")],
    )
    axes = numpy_helper.from_array(np.array([1], np.int64), "tokens")
    kind = TensorProto.INT32 if inputs == "clip" else TensorProto.INT64
    names = ["text"] if inputs == "clip" else ["input_ids", "attention_mask"]
    nodes = [helper.make_node("Gather", ["words", names[0]], ["rows"], axis=0)]
    if inputs == "masked":
        last = numpy_helper.from_array(np.array([2], np.int64), "last")
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["there"], to=real),
            helper.make_node("Unsqueeze", ["there", "last"], ["columns"]),
            helper.make_node("Mul", ["rows", "columns"], ["kept"]),
        ]
    summed = "kept" if inputs == "masked" else "rows"
    nodes.append(helper.make_node("ReduceSum", [summed, "tokens"], ["embedding"], keepdims=0))
    weights = [numpy_helper.from_array(words, "words"), axes]
    text = helper.make_graph(
        nodes,
        "textual",
        [helper.make_tensor_value_info(name, kind, [1, 8]) for name in names],
        [helper.make_tensor_value_info("embedding", real, [1, text_width or width])],
        weights + ([last] if inputs == "masked" else []),
    )
    for part, graph in (("visual", picture), ("textual", text)):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / "model.onnx").write_bytes(model.SerializeToString())
    records: dict[str, Any] = {
        "visual/preprocess_cfg.json": {
            "size": [16, 16], "mode": "RGB", "mean": [0.5] * 3, "std": [0.25] * 3,
            "interpolation": "bicubic", "resize_mode": "shortest",
        },
        "textual/tokenizer_config.json": {"pad_token": {"content": "[PAD]"}},
        "config.json": {"embed_dim": width, "text_cfg": {"context_length": 8}},
    }  # fmt: skip
    for name, record in records.items():
        (folder / name).write_text(json.dumps(record))
    (folder / "textual/tokenizer.json").write_text(tokenizer_json())
    return folder
