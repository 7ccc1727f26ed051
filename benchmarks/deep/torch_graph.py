"""The picture network's graph run by torch: what a device needs where onnxruntime cannot use it.

Five kinds of nodes are all that EfficientNet-lite0 is made of.  Never part of the package: the
benchmark takes it as the floor that onnxruntime's CUDA provider is to come near.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import onnx
from onnx import numpy_helper

from likewise.vision.deep.graph import POOLED


def torch_network(model: bytes, device: str) -> Callable[[Any], Any]:
    """A function from a batch (torch, on ``device``) to the pooled activations."""
    torch = importlib.import_module("torch")
    graph = onnx.load_from_string(model).graph
    fixed = {
        one.name: torch.tensor(numpy_helper.to_array(one).copy(), device=device)
        for one in graph.initializer
    }
    for name, value in fixed.items():
        if value.ndim == 4:
            fixed[name] = value.contiguous(memory_format=torch.channels_last)

    def conv(node: Any, x: Any, w: Any, b: Any) -> Any:
        said = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        strides, group = said["strides"], said["group"]
        pads = []
        for size, kernel, stride in zip(x.shape[:1:-1], w.shape[:1:-1], strides[::-1], strict=True):
            rest = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [rest // 2, rest - rest // 2]
        x = torch.nn.functional.pad(x, pads) if any(pads) else x
        return torch.nn.functional.conv2d(x, w, b, stride=strides, groups=group)

    def run(batch: Any) -> Any:
        held = {**fixed, graph.input[0].name: batch.contiguous(memory_format=torch.channels_last)}
        for node in graph.node:
            given = [held[name] for name in node.input]
            if node.op_type == "Conv":
                made = conv(node, *given)
            elif node.op_type == "Clip":
                made = given[0].clamp(0.0, 6.0)
            elif node.op_type == "Add":
                made = given[0] + given[1]
            elif node.op_type == "GlobalAveragePool":
                made = given[0].mean(dim=(2, 3), keepdim=True)
            else:
                made = given[0].flatten(1)
            held[node.output[0]] = made
        return held[POOLED]

    return run
