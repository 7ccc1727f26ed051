"""Where networks run: the device asked for, or the processor, said in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.errors import InvalidInput
from likewise.vision.deep.graph import POOLED
from likewise.vision.deep.network import cache_folder, check_network, is_installed, network
from likewise.vision.deep.recipes import activations, activations_of
from likewise.vision.deep.runtime import Network, providers, wanted_device

needs_network = pytest.mark.skipif(not is_installed(), reason="the network is not installed")


def available() -> list[str]:
    found: list[str] = pytest.importorskip("onnxruntime").get_available_providers()
    return found


def pictures(n: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (40 + 7 * i, 60, 3), np.uint8) for i in range(n)]


def model() -> bytes:
    """The built graph as it lies in the cache, without its digest."""
    network()
    (kept,) = sorted(cache_folder().glob("efficientnet-lite0-*.onnx"))[:1]
    return kept.read_bytes()[:-32]


def test_a_device_is_asked_for_by_argument_or_environment(monkeypatch: Any) -> None:
    monkeypatch.delenv("LIKEWISE_DEVICE", raising=False)
    assert wanted_device() == "cpu"
    assert wanted_device("cuda") == "cuda"
    monkeypatch.setenv("LIKEWISE_DEVICE", "cuda")
    assert wanted_device() == "cuda"
    assert wanted_device("cpu") == "cpu"
    monkeypatch.setenv("LIKEWISE_DEVICE", "gpu")
    with pytest.raises(InvalidInput, match=r"LIKEWISE_DEVICE .*'gpu'"):
        wanted_device()


def test_cuda_comes_first_where_it_is_there_and_wanted() -> None:
    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert providers("cpu", both) == ["CPUExecutionProvider"]
    assert providers("cuda", both[1:]) == ["CPUExecutionProvider"]
    (first, options), last = providers("cuda", both)
    assert (first, last) == tuple(both)
    assert options["use_tf32"] == "0"


@needs_network
def test_without_cuda_the_network_runs_on_the_processor_and_says_so() -> None:
    if "CUDAExecutionProvider" in available():
        pytest.skip("onnxruntime has a CUDA provider here")
    with pytest.warns(RuntimeWarning, match=r"runs on the processor.*likewise\[gpu\]"):
        opened = Network(model(), "lite0", device="cuda")
    assert opened.device == network().device == "cpu"
    batch = np.zeros((1, 3, 224, 224), np.float32)
    np.testing.assert_array_equal(opened.run(batch, POOLED), network().run(batch, POOLED))


@needs_network
@pytest.mark.parametrize("batch", [1, 2, 8])
def test_batches_give_what_single_pictures_give(batch: int) -> None:
    some = pictures(5)
    rows = list(activations_of(iter(some), batch))
    assert len(rows) == 5
    np.testing.assert_allclose(rows, [activations(one) for one in some], atol=1e-4)


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="batch"):
        next(activations_of([], 0))


@needs_network
def test_a_device_gives_the_reference_numbers() -> None:
    if "CUDAExecutionProvider" not in available():
        pytest.skip("onnxruntime has no CUDA provider here")
    opened = Network(model(), "lite0", device="cuda")
    if opened.device == "cpu":
        pytest.skip("there is no CUDA device")
    check_network(opened)
