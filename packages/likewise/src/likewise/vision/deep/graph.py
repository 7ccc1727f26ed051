"""EfficientNet-lite0 as an ONNX graph, built from its tensors.

The network (Tan & Le 2019, in the "lite" form for small devices: no squeeze-and-excitation, ReLU6,
stem and head of fixed width) is a table of seven stages of inverted residual blocks.  Each
convolution is followed by a batch normalisation, which is folded into it:
``w' = w g / sqrt(v + e)``, ``b' = b - m g / sqrt(v + e)``, in float64.

The graph has two outputs: ``map``, the final activations (1280 channels, a cell for 32 x 32
pixels), and ``pooled``, their mean over the cells.  The classifier is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.libraries import DamagedWeights

INPUT, POOLED, MAP = "pixels", "pooled", "map"
N_CHANNELS = 1280
CELL = 32
"""The side of a cell of the final map, in pixels of the input."""
_EPSILON = 1e-3
# Every onnxruntime since 2022 reads 17, which has Clip with its limits as inputs.
_OPSET, _IR = 17, 8

Sides = Mapping[str, tuple[type, list[Any]]]


class Stage(NamedTuple):
    """The blocks of one resolution; only the first has the stride."""

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
    """Return the graph as the bytes of an ``.onnx`` file; the same tensors give the same bytes."""
    return _EfficientNet(tensors).build()


class GraphBuilder:
    """Collects the nodes and weights of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, values: NDArray[Any]) -> None:
        """Add a named constant."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(values, name))

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def serialise(self, name: str, inputs: Sides, outputs: Sides) -> bytes:
        """Check the graph and return it as the bytes of an ``.onnx`` file.

        ``inputs`` and ``outputs`` give the NumPy type and the sides of each.
        """
        from onnx import checker, helper

        taken, made = (
            [
                helper.make_tensor_value_info(
                    side, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape
                )
                for side, (kind, shape) in sides.items()
            ]
            for sides in (inputs, outputs)
        )
        model = helper.make_model(
            helper.make_graph(self.nodes, name, taken, made, self.weights),
            producer_name="likewise",
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR,
        )
        checker.check_model(model)
        return bytes(model.SerializeToString(deterministic=True))


class _EfficientNet(GraphBuilder):
    """The graph of EfficientNet-lite0."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        self.tensors = tensors

    def build(self) -> bytes:
        self.weight("zero", np.array(0, np.float32))
        self.weight("six", np.array(6, np.float32))
        x = self._conv(INPUT, "_conv_stem", "_bn0", (_STEM, 3, 3, 3), stride=2)
        width, number = _STEM, 0
        for stage in STAGES:
            for i in range(stage.blocks):
                x = self._block(x, f"_blocks.{number}", stage, width, stage.stride if not i else 1)
                width, number = stage.width, number + 1
        self._conv(x, "_conv_head", "_bn1", (N_CHANNELS, width, 1, 1), name=MAP)
        self.node("GlobalAveragePool", [MAP], "pooled_map")
        self.node("Flatten", ["pooled_map"], POOLED, axis=1)
        return self.serialise(
            "efficientnet-lite0",
            {INPUT: (np.float32, ["n", 3, "height", "width"])},
            {
                POOLED: (np.float32, ["n", N_CHANNELS]),
                MAP: (np.float32, ["n", N_CHANNELS, "rows", "columns"]),
            },
        )

    def _block(self, x: str, name: str, stage: Stage, width: int, stride: int) -> str:
        """Add an inverted residual block: widen, filter each channel alone, narrow, sum."""
        start, inner = x, stage.expansion * width
        if stage.expansion != 1:
            x = self._conv(x, f"{name}._expand_conv", f"{name}._bn0", (inner, width, 1, 1))
        shape = (inner, 1, stage.kernel, stage.kernel)
        x = self._conv(x, f"{name}._depthwise_conv", f"{name}._bn1", shape, stride=stride)
        shape = (stage.width, inner, 1, 1)
        x = self._conv(x, f"{name}._project_conv", f"{name}._bn2", shape, clipped=False)
        if stride == 1 and stage.width == width:
            x = self.node("Add", [x, start], f"{name}.sum")
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
        self.weight(f"{conv}.w", weight)
        self.weight(f"{conv}.b", bias)
        # TensorFlow's SAME: an odd pixel of padding goes to the right and the bottom.
        groups = shape[0] if shape[1] == 1 else 1
        x = self.node(
            "Conv",
            [x, f"{conv}.w", f"{conv}.b"],
            conv,
            kernel_shape=list(shape[2:]),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )
        return self.node("Clip", [x, "zero", "six"], name or f"{conv}.clip") if clipped else x

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
