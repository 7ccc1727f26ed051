"""Networks of somebody else's that never end, or ask for all memory: they cost a worker at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.collection.collection import Collection
from likewise.errors import CollectionError, LikewiseError
from likewise.vision.deep import onnx_model
from likewise.vision.deep.libraries import UnusableModel
from likewise.vision.deep.onnx_model import OnnxModel
from likewise.vision.deep.runtime import Preparation
from tests.product.trust.stored_cases import write_small
from tests.product.vision.deep_cases import needs_deep
from tests.product.vision.test_deep_onnx import small_model

pytestmark = needs_deep


def save_model(path: Path, nodes: list[Any], given: list[Any]) -> Path:
    from onnx import TensorProto, helper

    kind = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info("x", kind, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("vector", kind, None)],
        given,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def endless(path: Path) -> Path:
    """The mean of a picture, doubled and halved for ever."""
    from onnx import TensorProto, helper

    kind, truth = TensorProto.FLOAT, TensorProto.BOOL
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["value", "value"], ["twice"]),
            helper.make_node("Mul", ["twice", "half"], ["again"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", truth, []),
            helper.make_tensor_value_info("value", kind, None),
        ],
        [
            helper.make_tensor_value_info("go_on", truth, []),
            helper.make_tensor_value_info("again", kind, None),
        ],
        [helper.make_tensor("half", kind, [], [0.5])],
    )
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Loop", ["times", "", "mean"], ["vector"], body=body),
    ]
    return save_model(path, nodes, [helper.make_tensor("times", TensorProto.INT64, [], [2**62])])


def greedy(path: Path) -> Path:
    """The mean of a picture, after eight gigabytes of copies of it."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Expand", ["mean", "shape"], ["many"]),
        helper.make_node("ReduceMean", ["many"], ["one"], axes=[0], keepdims=1),
        helper.make_node("Reshape", ["one", "flat"], ["vector"]),
    ]
    given = [
        helper.make_tensor("shape", TensorProto.INT64, [2], [1 << 31, 1]),
        helper.make_tensor("flat", TensorProto.INT64, [2], [1, 1]),
    ]
    return save_model(path, nodes, given)


def test_a_network_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_model, "SECONDS", 0.5)
    model = OnnxModel(str(endless(tmp_path / "endless.onnx")), Preparation(16))
    with pytest.raises(UnusableModel, match=r"takes more than 0\.5 s"):
        model.activations(np.zeros((16, 16, 3), np.uint8))
    # And one that ends is not.
    small = OnnxModel(str(small_model(tmp_path / "small.onnx")), Preparation(16))
    assert len(small.activations(np.zeros((16, 16, 3), np.uint8))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("make", [endless, greedy])
def test_a_hostile_network_costs_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setenv("LIKEWISE_PICTURE_SECONDS", "2")
    write_small(tmp_path / "pictures", 3)
    path = make(tmp_path / "net.onnx")
    with Collection.create(tmp_path / "c.lw", deep=False) as col:
        col.add(tmp_path / "pictures", workers=0)
        with pytest.raises(LikewiseError, match=r"takes more than|does not run") as caught:
            col.spaces.add("theirs", {"feature": "onnx", "path": str(path), "size": 16}, workers=1)
        assert isinstance(caught.value, CollectionError | UnusableModel)
        assert "theirs" not in col.spaces
        assert col.verify() == []
        small = str(small_model(tmp_path / "small.onnx"))
        col.spaces.add("mine", {"feature": "onnx", "path": small, "size": 16}, workers=1)
        assert len(col.search(1, by="mine")) == 2
