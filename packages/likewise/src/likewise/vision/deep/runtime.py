"""Run ONNX networks with onnxruntime: pixels in, activations out.

A session runs on one thread: there is a worker process for each core already, and one thread gives
the same bits every time on one machine.  ``LIKEWISE_DEVICE=cuda`` uses a CUDA device instead of the
processor (extra ``gpu``); its numbers differ in the last digits.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.lazy_imports import cv2
from likewise.vision.deep.libraries import UnusableModel, import_library
from likewise.vision.pixels import Pixels, as_pixels
from likewise_methods.validation import is_number, one_of, whole

Floats = NDArray[np.float32]
Card = dict[str, Any]
MAX_SIZE = 2048
DEVICES = ("cpu", "cuda")
_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
# TF32 rounds the factors of products to 10 bits, which would change rankings.
_CUDA_OPTIONS = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}


@dataclass(frozen=True)
class Preparation:
    """How pixels become a network's input: size, then ``(x / scale - mean) / std`` a channel.

    Parameters
    ----------
    size : int, default=224
        Side of the square, at least 16; the picture is resized as it is and nothing is cut off.
    scale : float, default=255.0
        Pixels are divided by it.
    mean, std : (float, float, float), default=(0.0, 0.0, 0.0) and (1.0, 1.0, 1.0)
        Of the channels, red first.

    See Also
    --------
    OnnxModel : takes it.
    """

    size: int = 224
    scale: float = 255.0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        whole(self.size, "size", 16, MAX_SIZE)
        for name in ("mean", "std"):
            values = getattr(self, name)
            three_of = isinstance(values, Sequence) and len(values) == 3
            if not (three_of and all(map(is_number, values))):
                raise InvalidInput(f"{name} is {values!r}; three numbers (R, G, B) expected")
        if not (is_number(self.scale) and self.scale > 0 and min(self.std) > 0):
            raise InvalidInput(
                f"scale is {self.scale!r} and std {self.std!r}; positive numbers expected"
            )

    def __call__(self, picture: Pixels) -> Floats:
        """Return the input of one picture: (3, size, size)."""
        pixels = as_pixels(picture)
        if pixels.ndim == 2:
            pixels = np.repeat(pixels[:, :, None], 3, axis=2)
        square = _to_square(pixels, self.size)
        # A table of the 256 values of a channel gives the same numbers in less time.
        made = np.empty((3, self.size, self.size), np.float32)
        for plane, values, place in zip(cv2.split(square), self._values, made, strict=True):
            cv2.LUT(plane, values, dst=place)
        return made

    @cached_property
    def _values(self) -> list[Floats]:
        """The input value of each byte, by channel."""
        bytes_ = np.arange(256, dtype=np.float32) / np.float32(self.scale)
        pairs = zip(self.mean, self.std, strict=True)
        return [(bytes_ - np.float32(mean)) / np.float32(std) for mean, std in pairs]


def _to_square(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Resize pixels to a square, by averaging where that shrinks both sides."""
    if min(pixels.shape[:2]) < side:
        return np.asarray(cv2.resize(pixels, (side, side), interpolation=cv2.INTER_LINEAR))
    if pixels.shape[:2] == (2 * side, 2 * side):
        # For means of four bytes OpenCV has a fast path, which rounds halves up.
        return np.asarray(cv2.resize(pixels, (side, side), interpolation=cv2.INTER_AREA))
    # OpenCV averages bytes in float32 too, but is slower at reading them; the sums are the same.
    means = cv2.resize(pixels.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.convertScaleAbs(means))


def card(
    name: str, sha256: str, preparation: Preparation, layer: str, licence: str, **more: Any
) -> Card:
    """Return the record of a deep space: the model, how pictures are prepared, and the licence.

    It is what must be known to make the same vectors again.
    """
    prepared = asdict(preparation)
    return {
        "model": name,
        "sha256": sha256,
        "preprocessing": {
            "resize": "to a square, nothing cut off",
            **{key: list(v) if isinstance(v, tuple) else v for key, v in prepared.items()},
            "formula": "(x / scale - mean) / std",
        },
        "layer": layer,
        "licence": licence,
        **more,
    }


class Network:
    """An opened ONNX model with one picture input; ``run`` takes a batch (n, 3, height, width).

    ``device`` is "cpu" or "cuda", by default that of ``LIKEWISE_DEVICE``; where CUDA is not
    available the processor is used, with a warning.  ``seconds`` limits the time of a run.
    """

    def __init__(
        self,
        model: bytes,
        name: str,
        *,
        n_threads: int = 1,
        device: str | None = None,
        seconds: float | None = None,
    ) -> None:
        self.name, self._seconds = name, seconds
        self._session = open_session(model, name, n_threads, wanted_device(device))
        self.device = "cuda" if self._session.get_providers()[0] == _CUDA else "cpu"
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            shapes = ", ".join(f"{one.name} {one.shape}" for one in inputs)
            raise UnusableModel(f"{name} takes {shapes}; one input of pictures (n, 3, h, w) needed")
        (taken,) = inputs
        self._input, self._type = taken.name, taken.type
        self.channels_last = taken.shape[1] != 3 and taken.shape[3] == 3
        if taken.type not in ("tensor(float)", "tensor(float16)"):
            raise UnusableModel(f"{name} takes {taken.type}; tensor(float) needed")
        self.outputs = [one.name for one in self._session.get_outputs()]

    def run(self, batch: Floats, output: str) -> Floats:
        """Return one output for a batch of prepared pictures."""
        if output not in self.outputs:
            raise InvalidInput(
                f"{self.name} has no output {output!r}; it has {', '.join(self.outputs)}"
            )
        fed: NDArray[Any] = batch.transpose(0, 2, 3, 1) if self.channels_last else batch
        if self._type == "tensor(float16)":
            fed = fed.astype(np.float16)
        options, watch = _run_options(self._seconds)
        try:
            (made,) = self._session.run([output], {self._input: np.ascontiguousarray(fed)}, options)
        except Exception as error:  # onnxruntime's errors share no other base
            if options is not None and options.terminate:
                raise UnusableModel(
                    f"{self.name} takes more than {self._seconds:g} s for a picture"
                ) from error
            raise UnusableModel(f"{self.name} does not run on {batch.shape}: {error}") from error
        finally:
            if watch is not None:
                watch.cancel()
        return np.asarray(made, np.float32)


def _run_options(seconds: float | None) -> tuple[Any, threading.Timer | None]:
    """Return options of a run and a timer that ends it, because a graph may hold endless loops.

    onnxruntime checks the option between two nodes; no signal and no other thread can end a run.
    """
    if seconds is None:
        return None, None
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.log_severity_level = 4
    watch = threading.Timer(seconds, lambda: setattr(options, "terminate", True))
    watch.daemon = True
    watch.start()
    return options, watch


def wanted_device(device: str | None = None) -> str:
    """Return and check the device: the argument, else ``LIKEWISE_DEVICE``, else "cpu"."""
    found = os.environ.get("LIKEWISE_DEVICE") or "cpu" if device is None else device
    one_of(found, "device" if device is not None else "LIKEWISE_DEVICE", DEVICES)
    return found


def providers(device: str, available: Sequence[str]) -> list[Any]:
    """Return onnxruntime's execution providers for a device, best first."""
    if device == "cuda" and _CUDA in available:
        return [(_CUDA, _CUDA_OPTIONS), _CPU]
    return [_CPU]


def open_session(model: bytes, name: str, n_threads: int = 1, device: str = "cpu") -> Any:
    """Open a session of onnxruntime over the bytes of a model."""
    onnxruntime = import_library("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    with_what = providers(device, onnxruntime.get_available_providers())
    try:
        session = onnxruntime.InferenceSession(model, options, providers=with_what)
    except Exception as error:
        raise UnusableModel(f"{name} cannot be opened as ONNX: {error}") from error
    # onnxruntime also falls back to the processor if CUDA's libraries or the device are missing.
    if device == "cuda" and session.get_providers()[0] != _CUDA:
        warnings.warn(
            f"{name} runs on the processor: this onnxruntime finds no CUDA device to work with "
            f"({', '.join(onnxruntime.get_available_providers())}); "
            "pip install 'likewise[gpu]' in place of onnxruntime",
            RuntimeWarning,
            stacklevel=2,
        )
    return session


def three_numbers(value: Any, name: str) -> tuple[float, float, float]:
    """Return a number for each of three channels, given three or one for all."""
    numbers = [value] * 3 if is_number(value) else value
    if isinstance(numbers, str) or not isinstance(numbers, Sequence) or len(numbers) != 3:
        raise InvalidInput(f"{name} is {value!r}; one number or three (R, G, B) expected")
    if not all(map(is_number, numbers)):
        raise InvalidInput(f"{name} is {value!r}; numbers expected")
    red, green, blue = map(float, numbers)
    return red, green, blue
