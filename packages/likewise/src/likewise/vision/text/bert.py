"""A BERT encoder (Devlin et al. 2019) as an ONNX graph, built from its tensors.

Embeddings of word, position and kind are added and normalised; each layer is attention over all
tokens and two full connections, each with its input added and normalised (the original,
"post-norm" order).  The text's vector is the mean of the last layer over its tokens (or that of
the first token, where the model says so), at unit length.

The table of words, half of all numbers, stays outside of the graph: a text needs a few of its rows.
So the inputs are ``words``, (n, tokens, width), and ``mask``, (n, tokens); a mask of 0 is padding
and takes no part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.errors import DamagedWeights, UnusableModel
from likewise_methods.validation import is_number, is_whole

WORDS, MASK, OUTPUT = "words", "mask", "texts"
_OPSET, _IR = 17, 8
_MOST = 100_000
# What is added to the attention of padding: its share becomes 0 in float32.
_AWAY = -1e9

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
        """From a config.json that was read; UnusableModel where it is no BERT of this form."""
        if not isinstance(config, dict) or config.get("model_type") != "bert":
            kind = config.get("model_type") if isinstance(config, dict) else config
            raise UnusableModel(f"config.json has model_type {kind!r}; 'bert' expected")
        for key, wanted in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
            if config.get(key, wanted) != wanted:
                raise UnusableModel(f"config.json has {key} {config[key]!r}; {wanted!r} expected")
        names = [name for name in cls.__annotations__ if name not in ("layer_norm_eps", "pool")]
        for name in names:
            if not is_whole(config.get(name), 1, _MOST * 10):
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
    """The graph as the bytes of an ``.onnx`` file; the same tensors give the same bytes."""
    return _Graph(tensors, shape).whole()


def word_table(tensors: Mapping[str, NDArray[Any]], shape: Shape) -> Floats:
    """The row of each token, (vocabulary, width); a copy, so that the rest can be let go."""
    return np.array(_Graph(tensors, shape).words())


class _Graph:
    """Nodes and weights as they are put down, one layer after the other."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], shape: Shape) -> None:
        # Checkpoints of a model with a head keep the encoder under a name of its own.
        prefix = "bert." if "bert.embeddings.word_embeddings.weight" in tensors else ""
        self.tensors, self.prefix, self.shape = tensors, prefix, shape
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def whole(self) -> bytes:
        from onnx import TensorProto, checker, helper

        x = self._embeddings()
        self._mask()
        for layer in range(self.shape.num_hidden_layers):
            x = self._layer(x, f"encoder.layer.{layer}")
        self._pool(x)
        width, real = self.shape.hidden_size, TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [
                helper.make_tensor_value_info(WORDS, real, ["n", "tokens", width]),
                helper.make_tensor_value_info(MASK, TensorProto.INT64, ["n", "tokens"]),
            ],
            [helper.make_tensor_value_info(OUTPUT, real, ["n", width])],
            self.weights,
        )
        made = helper.make_model(
            graph,
            producer_name="likewise",
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR,
        )
        checker.check_model(made)
        return bytes(made.SerializeToString(deterministic=True))

    def words(self) -> Floats:
        of = self.shape
        return self._tensor("embeddings.word_embeddings.weight", (of.vocab_size, of.hidden_size))

    def _embeddings(self) -> str:
        of, width = self.shape, self.shape.hidden_size
        places = self._tensor(
            "embeddings.position_embeddings.weight", (of.max_position_embeddings, width)
        )
        kinds = self._tensor("embeddings.token_type_embeddings.weight", (None, width))
        # One text alone is always of the first kind.
        self._weight("places", places + kinds[0])
        for name, number in (("zero", 0), ("one", 1), ("two", 2)):
            self._weight(name, np.array([number], np.int64))
        size = self._node("Shape", [MASK], "size")
        tokens = self._node("Slice", [size, "one", "two", "zero"], "n_tokens")
        place = self._node("Slice", ["places", "zero", tokens, "zero"], "place")
        return self._norm(self._node("Add", [WORDS, place], "embedded"), "embeddings.LayerNorm")

    def _mask(self) -> None:
        """``away``, (n, 1, 1, tokens): what is added to the attention that padding gets."""
        from onnx import TensorProto

        self._weight("unit", np.array(1, np.float32))
        self._weight("far", np.array(_AWAY, np.float32))
        self._weight("heads_and_tokens", np.array([1, 2], np.int64))
        self._node("Cast", [MASK], "present", to=TensorProto.FLOAT)
        absent = self._node("Sub", ["unit", "present"], "absent")
        far = self._node("Mul", [absent, "far"], "far_absent")
        self._node("Unsqueeze", [far, "heads_and_tokens"], "away")

    def _layer(self, x: str, name: str) -> str:
        width, heads = self.shape.hidden_size, self.shape.num_attention_heads
        a_head = width // heads
        self._weight(f"{name}.heads", np.array([0, 0, heads, a_head], np.int64))
        self._weight(f"{name}.joined", np.array([0, 0, width], np.int64))
        own = f"{name}.attention.self"
        # The scale of the products goes into the queries' weights.
        query = self._split(x, f"{own}.query", name, [0, 2, 1, 3], 1 / math.sqrt(a_head))
        key = self._split(x, f"{own}.key", name, [0, 2, 3, 1])
        value = self._split(x, f"{own}.value", name, [0, 2, 1, 3])
        products = self._node("MatMul", [query, key], f"{own}.products")
        shares = self._node("Add", [products, "away"], f"{own}.masked")
        shares = self._node("Softmax", [shares], f"{own}.shares", axis=-1)
        mixed = self._node("MatMul", [shares, value], f"{own}.mixed")
        mixed = self._node("Transpose", [mixed], f"{own}.turned", perm=[0, 2, 1, 3])
        mixed = self._node("Reshape", [mixed, f"{name}.joined"], f"{own}.rows")
        out = self._dense(mixed, f"{name}.attention.output.dense", width, width)
        out = self._node("Add", [out, x], f"{name}.attention.sum")
        x = self._norm(out, f"{name}.attention.output.LayerNorm")
        inner = self._dense(x, f"{name}.intermediate.dense", width, self.shape.intermediate_size)
        inner = self._gelu(inner, f"{name}.gelu")
        out = self._dense(inner, f"{name}.output.dense", self.shape.intermediate_size, width)
        return self._norm(self._node("Add", [out, x], f"{name}.sum"), f"{name}.output.LayerNorm")

    def _split(self, x: str, dense: str, layer: str, order: list[int], scale: float = 1.0) -> str:
        width = self.shape.hidden_size
        x = self._dense(x, dense, width, width, scale)
        x = self._node("Reshape", [x, f"{layer}.heads"], f"{dense}.split")
        return self._node("Transpose", [x], f"{dense}.turned", perm=order)

    def _dense(self, x: str, name: str, inputs: int, outputs: int, scale: float = 1.0) -> str:
        weight = self._tensor(f"{name}.weight", (outputs, inputs))
        bias = self._tensor(f"{name}.bias", (outputs,))
        self._weight(f"{name}.w", np.ascontiguousarray(weight.T) * np.float32(scale))
        self._weight(f"{name}.b", bias * np.float32(scale))
        x = self._node("MatMul", [x, f"{name}.w"], f"{name}.product")
        return self._node("Add", [x, f"{name}.b"], name)

    def _gelu(self, x: str, name: str) -> str:
        """x (1 + erf(x / sqrt 2)) / 2."""
        if name.startswith("encoder.layer.0."):
            self._weight("half", np.array(0.5, np.float32))
            self._weight("root", np.array(math.sqrt(0.5), np.float32))
        inner = self._node("Mul", [x, "root"], f"{name}.scaled")
        inner = self._node("Erf", [inner], f"{name}.erf")
        inner = self._node("Add", [inner, "unit"], f"{name}.share")
        inner = self._node("Mul", [x, inner], f"{name}.twice")
        return self._node("Mul", [inner, "half"], name)

    def _norm(self, x: str, name: str) -> str:
        width = (self.shape.hidden_size,)
        self._weight(f"{name}.w", self._tensor(f"{name}.weight", width))
        self._weight(f"{name}.b", self._tensor(f"{name}.bias", width))
        return self._node(
            "LayerNormalization",
            [x, f"{name}.w", f"{name}.b"],
            name,
            axis=-1,
            epsilon=self.shape.layer_norm_eps,
        )

    def _pool(self, x: str) -> None:
        if self.shape.pool == "first":
            self._weight("first", np.array(0, np.int64))
            pooled = self._node("Gather", [x, "first"], "pooled", axis=1)
        else:
            # Lengths do not matter: the sum over the tokens has the direction of their mean.
            present = self._node("Unsqueeze", ["present", "two"], "present_columns")
            kept = self._node("Mul", [x, present], "kept")
            pooled = self._node("ReduceSum", [kept, "one"], "pooled", keepdims=0)
        self._node("LpNormalization", [pooled], OUTPUT, axis=-1, p=2)

    def _tensor(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        found = self.tensors.get(self.prefix + name)
        if found is None:
            raise DamagedWeights(f"there is no tensor {name!r}; not a BERT of this config.json")
        fits = len(found.shape) == len(shape) and all(
            wanted in (None, n) for n, wanted in zip(found.shape, shape, strict=True)
        )
        if not fits or not found.size:
            raise DamagedWeights(f"tensor {name!r} has shape {found.shape}; {shape} expected")
        if not np.issubdtype(found.dtype, np.floating) or not np.isfinite(found).all():
            raise DamagedWeights(f"tensor {name!r} has values that are no finite numbers")
        return np.asarray(found, np.float32)

    def _weight(self, name: str, values: NDArray[Any]) -> None:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(values, name))

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output
