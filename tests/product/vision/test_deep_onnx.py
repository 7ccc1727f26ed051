"""A user's own ONNX file: layers, pooling, layouts, and files that are none."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.vision.deep import onnx_model as deep_onnx
from likewise.vision.deep.libraries import ChangedModel, UnusableModel
from likewise.vision.deep.onnx_model import (
    OnnxModel,
    check_whole,
    hash_of,
    model_card,
    open_model,
    read_model,
)
from likewise.vision.deep.recipes import Projection
from likewise.vision.deep.runtime import Preparation, three_numbers
from likewise_methods.neighbours.container import DamagedFile
from tests.product.vision.deep_cases import needs_deep

pytestmark = needs_deep


def small_model(
    path: Path, *, last: bool = False, out: str = "vector", dims: list[Any] | None = None
) -> Path:
    """doubled = 2 x; vector = mean of doubled over the cells; tokens = the channels in a row."""
    from onnx import TensorProto, helper, save

    kind = TensorProto.FLOAT
    shape = dims or (["n", 16, 16, 3] if last else ["n", 3, 16, 16])
    cells = [1, 2] if last else [2, 3]
    nodes = [
        helper.make_node("Add", ["x", "x"], ["doubled"]),
        helper.make_node("ReduceMean", ["doubled"], ["vector"], axes=cells, keepdims=0),
        helper.make_node("ReduceMean", ["doubled"], ["tokens"], axes=[3], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes[:1] if dims else nodes,
        "small",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(out, kind, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    save(model, str(path))
    return path


def weighted_model(path: Path, *, outside: bool, inner: bool = False, factor: float = 2.0) -> Path:
    """vector = mean of factor x over the cells; the factors in the file, or in one beside it."""
    from onnx import TensorProto, external_data_helper, helper, numpy_helper

    factors = numpy_helper.from_array(np.full((1, 3, 16, 16), factor, np.float32), "factors")
    if outside:
        (path.parent / "weights.bin").write_bytes(factors.raw_data)
        external_data_helper.set_external_data(factors, "weights.bin")
        factors.ClearField("raw_data")
        factors.data_location = TensorProto.EXTERNAL
    kind = TensorProto.FLOAT
    nodes = [
        helper.make_node("Mul", ["x", "factors"], ["product"]),
        helper.make_node("ReduceMean", ["product"], ["vector"], axes=[2, 3], keepdims=0),
    ]
    if inner:
        nodes.insert(0, helper.make_node("Constant", [], ["factors"], value=factors))
    graph = helper.make_graph(
        nodes,
        "weighted",
        [helper.make_tensor_value_info("x", kind, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("vector", kind, None)],
        [] if inner else [factors],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)


PREPARED = Preparation(16, 255.0, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


@pytest.mark.parametrize("last", [False, True])
def test_outputs_and_inner_layers_become_one_vector(tmp_path: Path, last: bool) -> None:
    path = str(small_model(tmp_path / "m.onnx", last=last))
    expected = 2 * ((pixels() / 255 - 0.5) / 0.25).mean(axis=(0, 1))
    for layer in (None, "vector", "doubled"):
        model = OnnxModel(path, PREPARED, layer)
        assert np.allclose(model.activations(pixels()), expected, atol=1e-4), layer
        assert model.width() == 3


def test_tokens_are_pooled_or_the_first_is_taken(tmp_path: Path) -> None:
    path = str(small_model(tmp_path / "m.onnx"))
    x = 2 * PREPARED(pixels()).mean(axis=2)  # channels are the tokens, rows the numbers
    mean = OnnxModel(path, PREPARED, "tokens").activations(pixels())
    first = OnnxModel(path, PREPARED, "tokens", "first").activations(pixels())
    assert np.allclose(mean, x.mean(axis=0), atol=1e-5)
    assert np.allclose(first, x[0], atol=1e-5)
    with pytest.raises(InvalidInput, match="pool"):
        OnnxModel(path, PREPARED, "tokens", "last")  # type: ignore[arg-type]


def test_what_is_no_usable_model_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"not a model at all")
    with pytest.raises(UnusableModel, match="cannot be opened as ONNX"):
        OnnxModel(str(bad)).width()
    with pytest.raises(UnusableModel, match="cannot be read"):
        read_model(tmp_path / "none.onnx")
    flat = str(small_model(tmp_path / "flat.onnx", dims=["n", 3], out="doubled"))
    with pytest.raises(UnusableModel, match="one input of pictures"):
        open_model(flat, None)
    path = str(small_model(tmp_path / "m.onnx"))
    with pytest.raises(InvalidInput, match=r"no layer 'nothing'.*tokens"):
        OnnxModel(path, PREPARED, "nothing").width()
    # The size is part of the graph here; another one does not run.
    with pytest.raises(UnusableModel, match="does not run"):
        OnnxModel(path, Preparation(32)).width()


@pytest.mark.parametrize("inner", [False, True])
def test_weights_in_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: bool
) -> None:
    whole = weighted_model(tmp_path / "whole.onnx", outside=False, inner=inner)
    check_whole(whole.read_bytes(), "whole.onnx")
    path = weighted_model(tmp_path / "parted.onnx", outside=True, inner=inner)
    # Where onnxruntime would find them.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnusableModel, match=r"parted.onnx keeps.*self-contained"):
        OnnxModel(str(path), PREPARED).width()


def test_a_file_cut_anywhere_gives_no_other_error(tmp_path: Path) -> None:
    content = weighted_model(tmp_path / "m.onnx", outside=True).read_bytes()
    for end in range(0, len(content), 7):
        with contextlib.suppress(UnusableModel):
            check_whole(content[:end], "m")
    with pytest.raises(UnusableModel, match="cannot be opened as ONNX"):
        check_whole(b"\xff" * 20, "m")


def test_a_file_written_again_is_read_again(tmp_path: Path) -> None:
    path = weighted_model(tmp_path / "m.onnx", outside=False)
    first = OnnxModel(str(path), PREPARED).activations(pixels())
    old = hash_of(read_model(path))
    weighted_model(tmp_path / "other.onnx", outside=False, factor=4.0).replace(path)
    again = OnnxModel(str(path), PREPARED).activations(pixels())
    assert np.allclose(again, 2 * first, atol=1e-4)
    with pytest.raises(ChangedModel, match="damaged or another file"):
        OnnxModel(str(path), PREPARED, sha256=old).width()


def test_a_vector_has_a_largest_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(small_model(tmp_path / "m.onnx"))
    monkeypatch.setattr(deep_onnx, "MAX_WIDTH", 2)
    with pytest.raises(UnusableModel, match="3 numbers a picture; at most 2"):
        OnnxModel(path, PREPARED).width()


@pytest.mark.parametrize(
    "wrong",
    [{"scale": "abc"}, {"scale": None}, {"scale": 0}, {"mean": 3.0}, {"std": "123"}, {"size": 8}],
)
def test_preparations_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Preparation(**wrong)


def test_the_card_names_the_model_by_its_hash(tmp_path: Path) -> None:
    path = small_model(tmp_path / "m.onnx")
    sha256 = hash_of(read_model(path))
    card = model_card(OnnxModel(str(path), PREPARED), "m.onnx", sha256, "vector", "MIT")
    assert card["sha256"] == sha256
    assert card["licence"] == "MIT"
    assert card["preprocessing"]["std"] == [0.25] * 3


def test_three_numbers() -> None:
    assert three_numbers(0.5, "mean") == (0.5, 0.5, 0.5)
    assert three_numbers([1, 2, 3], "mean") == (1.0, 2.0, 3.0)
    for wrong in ([1, 2], ["a", "b", "c"], None, "123", True, [True, 0, 0], 10**400, float("nan")):
        with pytest.raises(InvalidInput, match="mean"):
            three_numbers(wrong, "mean")


def test_a_projection_is_principal_components(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 12)) + 3
    made = Projection.fit([rows[:120], rows[120:]], 4)
    centred = rows - rows.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(made.directions @ directions[:4].T), np.eye(4), atol=1e-5)
    projected = made(rows)
    assert np.allclose(np.linalg.norm(projected, axis=1), 1, atol=1e-5)
    scores = centred @ made.directions.T
    unit = scores / np.linalg.norm(scores, axis=1, keepdims=True)
    assert np.allclose(projected, unit, atol=1e-4)
    path = tmp_path / "p.lwp"
    made.save(path)
    assert np.array_equal(Projection.open(path)(rows), projected)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFile):
        Projection.open(path)
    with pytest.raises(InvalidInput, match="rows"):
        Projection.fit([], 4)
