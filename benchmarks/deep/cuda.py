"""``make bench-deep-cuda``: forward passes of the picture network in batches on a CUDA device.

Through onnxruntime's CUDA provider where it is there; the same graph by torch beside it, as the
floor; the processor with one thread and with all.  Pictures are prepared before, and that is timed
apart: it stays on the processor.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep.torch_graph import torch_network
from likewise.errors import LikewiseError
from likewise.vision.deep.graph import POOLED
from likewise.vision.deep.network import (
    MODEL,
    PREPARATION,
    REFERENCE_CHANNELS,
    REFERENCE_SIZE,
    cache_folder,
    read_cache,
    reference_pixels,
)
from likewise.vision.deep.runtime import Network

Row = dict[str, object]
BATCHES = (1, 8, 64, 256)


def built() -> bytes:
    """The graph from the cache: made there by whatever described a picture on this machine."""
    for path in sorted(cache_folder().glob(f"{MODEL}-*.onnx")):
        if (model := read_cache(path)) is not None:
            return model
    raise LikewiseError(f"no built graph in {cache_folder()}: describe one picture first")


def measure(run: Callable[[NDArray[np.float32]], Any], batch: int, seconds: float) -> float:
    """ms a picture, the mean of as many passes as fit the time."""
    pixels = np.random.default_rng(0).random((batch, 3, 224, 224), np.float32) * 2 - 1
    for _ in range(3):
        run(pixels)
    start, passes = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        run(pixels)
        passes += 1
    return 1e3 * (time.perf_counter() - start) / passes / batch


def off(run: Callable[[NDArray[np.float32]], Any]) -> float:
    """How far the pooled activations are from the reference numbers."""
    (pooled,) = run(reference_pixels(REFERENCE_SIZE)[None])
    kept = list(REFERENCE_CHANNELS)
    return float(np.abs(pooled[kept] - np.array(list(REFERENCE_CHANNELS.values()))).max())


def with_torch(model: bytes, tf32: bool) -> Callable[[NDArray[np.float32]], Any]:
    """Pixels from the processor's memory and activations back to it, as onnxruntime does."""
    torch = importlib.import_module("torch")
    torch.backends.cudnn.benchmark = True
    network = torch_network(model, "cuda")

    def run(pixels: NDArray[np.float32]) -> Any:
        torch.backends.cudnn.allow_tf32 = tf32
        with torch.inference_mode():
            return network(torch.from_numpy(pixels).cuda()).cpu().numpy()

    return run


def prepared() -> Row:
    """The processor's part: pixels to the network's input."""
    picture = np.random.default_rng(0).integers(0, 256, (448, 600, 3), np.uint8)
    timing = harness.cpu_times(PREPARATION, [picture] * 50)
    return {
        "what": "preparation, 448 x 600 pixels, one thread",
        "ms a picture": 1e3 * timing.median,
    }


def main() -> None:
    harness.arguments(__doc__ or "")
    model, threads = built(), os.cpu_count() or 1
    ways: dict[str, Callable[[NDArray[np.float32]], Any]] = {}
    left_out = []
    for name, n, device in (
        ("onnxruntime, processor, one thread", 1, "cpu"),
        (f"onnxruntime, processor, {threads} threads", threads, "cpu"),
        ("onnxruntime, CUDA", 1, "cuda"),
    ):
        network = Network(model, MODEL, n_threads=n, device=device)
        if network.device != device:
            left_out.append("onnxruntime's CUDA provider (not in this onnxruntime)")
            continue
        ways[name] = partial(network.run, output=POOLED)
    parameters: dict[str, object] = {"model": MODEL, "pixels": "224 x 224"}
    try:
        torch = importlib.import_module("torch")
        parameters |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        ways["torch, CUDA, the same graph"] = with_torch(model, False)
        ways["torch, CUDA, the same graph, TF32"] = with_torch(model, True)
    except (ImportError, RuntimeError, AssertionError) as error:
        left_out.append(f"torch ({error})")
    parameters["onnxruntime"] = importlib.import_module("onnxruntime").__version__
    report = harness.Report(
        "deep-cuda",
        "The picture network in batches on a CUDA device",
        "default",
        parameters,
        page="deep",
    )
    report.left_out += left_out
    rows: list[Row] = []
    for name, run in ways.items():
        far = float(f"{off(run):.1e}")
        for batch in BATCHES if "CUDA" in name else BATCHES[:3]:
            ms = measure(run, batch, 0.5)
            rows.append(
                {"way": name, "batch": batch, "ms a picture": ms, "pictures a second": 1e3 / ms,
                 "from the reference": far}
            )  # fmt: skip
            print(rows[-1], flush=True)
    report.add("Forward passes", rows)
    report.add("Before them", [prepared()])
    report.write()


if __name__ == "__main__":
    main()
