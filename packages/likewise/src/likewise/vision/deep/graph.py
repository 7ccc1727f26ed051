"""EfficientNet-lite0 as an ONNX graph, built from its tensors.

The network (Tan & Le 2019, in the "lite" form for small devices: no squeeze-and-excitation, ReLU6,
stem and head of fixed width) is a table of seven stages of inverted residual blocks.  Each
convolution is followed by a batch normalisation, which is folded into it:
``w' = w g / sqrt(v + e)``, ``b' = b - m g / sqrt(v + e)``, in float64.

The graph has two outputs: ``map``, the final activations (1280 channels, a cell for 32 x 32
pixels), and ``pooled``, their mean over the cells.  The classifier behind them is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.errors import DamagedWeights

INPUT, POOLED, MAP = "pixels", "pooled", "map"
N_CHANNELS = 1280
CELL = 32
"""Pixels a side that one cell of the final map stands for."""
_EPSILON = 1e-3
# 17 has Clip with limits as inputs and is read by every onnxruntime since 2022.
_OPSET, _IR = 17, 8


class Stage(NamedTuple):
    """Blocks of one resolution; only the first has the stride."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    width: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
_STEM = 32


def build(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """The graph as the bytes of an ``.onnx`` file; the same tensors give the same bytes."""
    return _Graph(tensors).whole()


class _Graph:
    """Nodes and weights as they are put down, one convolution after the other."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def whole(self) -> bytes:
        from onnx import TensorProto, checker, helper

        self._weight("zero", np.array(0, np.float32))
        self._weight("six", np.array(6, np.float32))
        x = self._conv(INPUT, "_conv_stem", "_bn0", (_STEM, 3, 3, 3), stride=2)
        width, number = _STEM, 0
        for stage in STAGES:
            for i in range(stage.blocks):
                x = self._block(x, f"_blocks.{number}", stage, width, stage.stride if not i else 1)
                width, number = stage.width, number + 1
        self._conv(x, "_conv_head", "_bn1", (N_CHANNELS, width, 1, 1), name=MAP)
        self.nodes += [
            helper.make_node("GlobalAveragePool", [MAP], ["pooled_map"]),
            helper.make_node("Flatten", ["pooled_map"], [POOLED], axis=1),
        ]
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "efficientnet-lite0",
            [helper.make_tensor_value_info(INPUT, kind, ["n", 3, "height", "width"])],
            [
                helper.make_tensor_value_info(POOLED, kind, ["n", N_CHANNELS]),
                helper.make_tensor_value_info(MAP, kind, ["n", N_CHANNELS, "rows", "columns"]),
            ],
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

    def _block(self, x: str, name: str, stage: Stage, width: int, stride: int) -> str:
        """An inverted residual block: widen, filter each channel alone, narrow, add."""
        start, inner = x, stage.expansion * width
        if stage.expansion != 1:
            x = self._conv(x, f"{name}._expand_conv", f"{name}._bn0", (inner, width, 1, 1))
        shape = (inner, 1, stage.kernel, stage.kernel)
        x = self._conv(x, f"{name}._depthwise_conv", f"{name}._bn1", shape, stride=stride)
        shape = (stage.width, inner, 1, 1)
        x = self._conv(x, f"{name}._project_conv", f"{name}._bn2", shape, clipped=False)
        if stride == 1 and stage.width == width:
            x = self._node("Add", [x, start], f"{name}.sum")
        return x

    def _conv(
        self,
        x: str,
        conv: str,
        norm: str,
        shape: tuple[int, int, int, int],
        *,
        stride: int = 1,
        clipped: bool = True,
        name: str | None = None,
    ) -> str:
        weight, bias = self._fold_batch_norm(conv, norm, shape)
        self._weight(f"{conv}.w", weight)
        self._weight(f"{conv}.b", bias)
        # TensorFlow's SAME: an odd pixel of padding goes to the right and the bottom.
        groups = shape[0] if shape[1] == 1 else 1
        x = self._node(
            "Conv",
            [x, f"{conv}.w", f"{conv}.b"],
            conv,
            kernel_shape=list(shape[2:]),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )
        return self._node("Clip", [x, "zero", "six"], name or f"{conv}.clip") if clipped else x

    def _fold_batch_norm(
        self, conv: str, norm: str, shape: tuple[int, ...]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        weight = self._tensor(f"{conv}.weight", shape)
        scale, shift, mean, variance = (
            self._tensor(f"{norm}.{part}", shape[:1])
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        if (variance < 0).any():
            raise DamagedWeights(f"{norm} has a negative variance")
        factor = scale / np.sqrt(variance + _EPSILON)
        folded = weight * factor[:, None, None, None]
        return folded.astype(np.float32), (shift - mean * factor).astype(np.float32)

    def _tensor(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        found = self.tensors.get(name)
        if found is None:
            raise DamagedWeights(f"there is no tensor {name!r}; not an EfficientNet-lite0")
        if found.shape != shape:
            raise DamagedWeights(f"tensor {name!r} has shape {found.shape}; {shape} expected")
        if not np.isfinite(found).all():
            raise DamagedWeights(f"tensor {name!r} has NaN or infinite values")
        return np.asarray(found, np.float64)

    def _weight(self, name: str, values: NDArray[np.float32]) -> None:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(values, name))

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output
