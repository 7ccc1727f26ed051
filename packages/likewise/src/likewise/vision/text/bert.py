"""A BERT encoder (Devlin et al. 2019) as an ONNX graph, built from its tensors.

Embeddings of word, position and kind are added and normalised; each layer is attention over all
tokens and two full connections, each with its input added and normalised (the original,
"post-norm" order).  The text's vector is the mean of the last layer over its tokens (or that of
the first token, where the model says so), at unit length.

The table of words, half of all numbers, is not in the graph: a text needs only a few of its rows.
So the inputs are ``words``, (n, tokens, width), and ``mask``, (n, tokens), 0 for padding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.graph import GraphBuilder
from likewise.vision.deep.libraries import DamagedWeights, UnusableModel
from likewise_methods.validation import is_number, is_whole

WORDS, MASK, OUTPUT = "words", "mask", "texts"
_MAX_SIZE = 1_000_000
# Added to the attention of padding: its share becomes 0 in float32.
_MASKED = -1e9

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """The sizes of a BERT, as its config.json names them."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    layer_norm_eps: float = 1e-12
    pool: Literal["mean", "first"] = "mean"

    @classmethod
    def of(cls, config: Any, pool: Literal["mean", "first"] = "mean") -> Shape:
        """Return the sizes in a parsed config.json; raise UnusableModel for another network."""
        if not isinstance(config, dict) or config.get("model_type") != "bert":
            kind = config.get("model_type") if isinstance(config, dict) else config
            raise UnusableModel(f"config.json has model_type {kind!r}; 'bert' expected")
        for key, wanted in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
            if config.get(key, wanted) != wanted:
                raise UnusableModel(f"config.json has {key} {config[key]!r}; {wanted!r} expected")
        names = [name for name in cls.__annotations__ if name not in ("layer_norm_eps", "pool")]
        for name in names:
            if not is_whole(config.get(name), 1, _MAX_SIZE):
                raise UnusableModel(f"config.json has {name} {config.get(name)!r}; a size expected")
        epsilon = config.get("layer_norm_eps", 1e-12)
        if not is_number(epsilon) or not 0 < epsilon < 1:
            raise UnusableModel(
                f"config.json has layer_norm_eps {epsilon!r}; a small number expected"
            )
        made = cls(**{name: config[name] for name in names}, layer_norm_eps=epsilon, pool=pool)
        if made.hidden_size % made.num_attention_heads:
            raise UnusableModel(
                f"config.json has hidden_size {made.hidden_size}, which "
                f"{made.num_attention_heads} heads cannot share"
            )
        return made


def build(tensors: Mapping[str, NDArray[Any]], shape: Shape) -> bytes:
    """Return the graph as the bytes of an ``.onnx`` file; the same tensors give the same bytes."""
    return _Bert(tensors, shape).build()


def word_table(tensors: Mapping[str, NDArray[Any]], shape: Shape) -> Floats:
    """Return the row of each token, (vocabulary, width), as a copy that frees the file's bytes."""
    sides = (shape.vocab_size, shape.hidden_size)
    return np.array(_Bert(tensors, shape).tensor("embeddings.word_embeddings.weight", sides))


class _Bert(GraphBuilder):
    """The graph of a BERT encoder."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], shape: Shape) -> None:
        super().__init__()
        # Checkpoints of a model with a head name the encoder "bert".
        self.prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""
        self.tensors, self.shape = tensors, shape

    def build(self) -> bytes:
        x = self._embeddings()
        self._mask()
        for layer in range(self.shape.num_hidden_layers):
            x = self._layer(x, f"encoder.layer.{layer}")
        self._pool(x)
        width = self.shape.hidden_size
        return self.serialise(
            "bert",
            {WORDS: (np.float32, ["n", "tokens", width]), MASK: (np.int64, ["n", "tokens"])},
            {OUTPUT: (np.float32, ["n", width])},
        )

    def _embeddings(self) -> str:
        width = self.shape.hidden_size
        places = self.tensor(
            "embeddings.position_embeddings.weight", (self.shape.max_position_embeddings, width)
        )
        kinds = self.tensor("embeddings.token_type_embeddings.weight", (None, width))
        # One text alone is always of the first kind.
        self.weight("places", places + kinds[0])
        for name, number in (("zero", 0), ("one", 1), ("two", 2)):
            self.weight(name, np.array([number], np.int64))
        size = self.node("Shape", [MASK], "size")
        tokens = self.node("Slice", [size, "one", "two", "zero"], "n_tokens")
        place = self.node("Slice", ["places", "zero", tokens, "zero"], "place")
        return self._norm(self.node("Add", [WORDS, place], "embedded"), "embeddings.LayerNorm")

    def _mask(self) -> None:
        """Add ``away``, (n, 1, 1, tokens), the term that masks the attention to padding."""
        from onnx import TensorProto

        self.weight("unit", np.array(1, np.float32))
        self.weight("far", np.array(_MASKED, np.float32))
        self.weight("heads_and_tokens", np.array([1, 2], np.int64))
        self.node("Cast", [MASK], "present", to=TensorProto.FLOAT)
        absent = self.node("Sub", ["unit", "present"], "absent")
        far = self.node("Mul", [absent, "far"], "far_absent")
        self.node("Unsqueeze", [far, "heads_and_tokens"], "away")

    def _layer(self, x: str, name: str) -> str:
        width, heads = self.shape.hidden_size, self.shape.num_attention_heads
        a_head = width // heads
        self.weight(f"{name}.heads", np.array([0, 0, heads, a_head], np.int64))
        self.weight(f"{name}.joined", np.array([0, 0, width], np.int64))
        own = f"{name}.attention.self"
        # The scale of the products goes into the queries' weights.
        query = self._split(x, f"{own}.query", name, [0, 2, 1, 3], 1 / math.sqrt(a_head))
        key = self._split(x, f"{own}.key", name, [0, 2, 3, 1])
        value = self._split(x, f"{own}.value", name, [0, 2, 1, 3])
        products = self.node("MatMul", [query, key], f"{own}.products")
        shares = self.node("Add", [products, "away"], f"{own}.masked")
        shares = self.node("Softmax", [shares], f"{own}.shares", axis=-1)
        mixed = self.node("MatMul", [shares, value], f"{own}.mixed")
        mixed = self.node("Transpose", [mixed], f"{own}.turned", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, f"{name}.joined"], f"{own}.rows")
        out = self._dense(mixed, f"{name}.attention.output.dense", width, width)
        out = self.node("Add", [out, x], f"{name}.attention.sum")
        x = self._norm(out, f"{name}.attention.output.LayerNorm")
        inner = self._dense(x, f"{name}.intermediate.dense", width, self.shape.intermediate_size)
        inner = self._gelu(inner, f"{name}.gelu")
        out = self._dense(inner, f"{name}.output.dense", self.shape.intermediate_size, width)
        return self._norm(self.node("Add", [out, x], f"{name}.sum"), f"{name}.output.LayerNorm")

    def _split(self, x: str, dense: str, layer: str, order: list[int], scale: float = 1.0) -> str:
        width = self.shape.hidden_size
        x = self._dense(x, dense, width, width, scale)
        x = self.node("Reshape", [x, f"{layer}.heads"], f"{dense}.split")
        return self.node("Transpose", [x], f"{dense}.turned", perm=order)

    def _dense(self, x: str, name: str, inputs: int, outputs: int, scale: float = 1.0) -> str:
        weight = self.tensor(f"{name}.weight", (outputs, inputs))
        bias = self.tensor(f"{name}.bias", (outputs,))
        self.weight(f"{name}.w", np.ascontiguousarray(weight.T) * np.float32(scale))
        self.weight(f"{name}.b", bias * np.float32(scale))
        x = self.node("MatMul", [x, f"{name}.w"], f"{name}.product")
        return self.node("Add", [x, f"{name}.b"], name)

    def _gelu(self, x: str, name: str) -> str:
        """Add x (1 + erf(x / sqrt 2)) / 2."""
        if name.startswith("encoder.layer.0."):
            self.weight("half", np.array(0.5, np.float32))
            self.weight("root", np.array(math.sqrt(0.5), np.float32))
        inner = self.node("Mul", [x, "root"], f"{name}.scaled")
        inner = self.node("Erf", [inner], f"{name}.erf")
        inner = self.node("Add", [inner, "unit"], f"{name}.share")
        inner = self.node("Mul", [x, inner], f"{name}.twice")
        return self.node("Mul", [inner, "half"], name)

    def _norm(self, x: str, name: str) -> str:
        width = (self.shape.hidden_size,)
        self.weight(f"{name}.w", self.tensor(f"{name}.weight", width))
        self.weight(f"{name}.b", self.tensor(f"{name}.bias", width))
        return self.node(
            "LayerNormalization",
            [x, f"{name}.w", f"{name}.b"],
            name,
            axis=-1,
            epsilon=self.shape.layer_norm_eps,
        )

    def _pool(self, x: str) -> None:
        if self.shape.pool == "first":
            self.weight("first", np.array(0, np.int64))
            pooled = self.node("Gather", [x, "first"], "pooled", axis=1)
        else:
            # Lengths do not matter: the sum over the tokens has the direction of their mean.
            present = self.node("Unsqueeze", ["present", "two"], "present_columns")
            kept = self.node("Mul", [x, present], "kept")
            pooled = self.node("ReduceSum", [kept, "one"], "pooled", keepdims=0)
        self.node("LpNormalization", [pooled], OUTPUT, axis=-1, p=2)

    def tensor(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        found = self.tensors.get(self.prefix + name)
        if found is None:
            raise DamagedWeights(f"there is no tensor {name!r}; not a BERT of this config.json")
        fits = len(found.shape) == len(shape) and all(
            wanted in (None, n) for n, wanted in zip(found.shape, shape, strict=True)
        )
        if not fits or not found.size:
            raise DamagedWeights(f"tensor {name!r} has shape {found.shape}; {shape} expected")
        if not np.issubdtype(found.dtype, np.floating) or not np.isfinite(found).all():
            raise DamagedWeights(f"tensor {name!r} has values that are not finite")
        return np.asarray(found, np.float32)
