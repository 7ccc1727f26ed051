"""A user's own network (CLIP, DINO …): an ONNX file, how to prepare pictures, which layer to read.

The layer is an output of the graph or any tensor inside it.  What it gives for a picture becomes
one vector: as it is, or pooled over the cells of a map (n, c, h, w) or the tokens of a sequence
(n, tokens, c).  The file is data: no library of operators is loaded for it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.features.deep_errors import INSTALL, DeepMissing, UnusableModel
from likewise.features.deep_runtime import Network, Preparation
from likewise.features.pixels import Pixels

Floats = NDArray[np.float32]
MAX_BYTES = 2_000_000_000
"""ONNX files end here: larger models keep their weights in other files beside them."""


@dataclass(frozen=True)
class OnnxModel:
    """A network of the user's; ``layer=None`` reads its first output.

    ``pool`` says what becomes of a sequence of tokens: their "mean", or the "first" of them (the
    class token of a vision transformer).
    """

    path: str
    preparation: Preparation = field(default_factory=Preparation)
    layer: str | None = None
    pool: Literal["mean", "first"] = "mean"

    def __post_init__(self) -> None:
        if self.pool not in ("mean", "first"):
            raise InvalidInput(f'pool is {self.pool!r}; "mean" or "first" expected')

    def activations(self, picture: Pixels) -> Floats:
        """What the layer gives for a picture, as one vector."""
        network = opened(self.path, self.layer)
        output = self.layer or network.outputs[0]
        made = network.run(self.preparation(picture)[None], output)
        if made.ndim == 4:
            cells = (1, 2) if network.channels_last else (2, 3)
            made = made.mean(axis=cells)
        elif made.ndim == 3:
            made = made.mean(axis=1) if self.pool == "mean" else made[:, 0]
        if made.ndim != 2 or len(made) != 1 or not made.size:
            raise UnusableModel(
                f"layer {output!r} of {network.name} gives shape {made.shape} for one picture; "
                "(1, n), (1, tokens, n) or (1, n, h, w) expected"
            )
        if not np.isfinite(made).all():
            raise UnusableModel(f"layer {output!r} of {network.name} gives NaN or infinite values")
        return np.asarray(made[0])

    def width(self) -> int:
        """Numbers in a vector, found out by a trial on a grey picture."""
        return len(self.activations(np.full((64, 64, 3), 127, np.uint8)))


def read_model(path: str | Path) -> bytes:
    """The bytes of an ONNX file, or a clear refusal."""
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise UnusableModel(f"{path} has more than {MAX_BYTES:,} bytes")
        return Path(path).read_bytes()
    except OSError as error:
        raise UnusableModel(f"{path} cannot be read: {error.strerror}") from error


def hash_of(model: bytes) -> str:
    """What a model is known by."""
    return hashlib.sha256(model).hexdigest()


@lru_cache(maxsize=2)
def opened(path: str, layer: str | None) -> Network:
    """A model by its file, kept open; a layer inside the graph is made an output of it."""
    model, name = read_model(path), Path(path).name
    network = Network(model, name)
    if layer is None or layer in network.outputs:
        return network
    return Network(_with_output(model, name, layer), name)


def _with_output(model: bytes, name: str, layer: str) -> bytes:
    try:
        import onnx
    except ImportError as error:
        raise DeepMissing(f"a layer inside a network needs onnx: {INSTALL}") from error
    graph = onnx.load_model_from_string(model)
    made = [output for node in graph.graph.node for output in node.output]
    if layer not in made:
        some = ", ".join(made[-5:])
        raise InvalidInput(f"{name} has no layer {layer!r}; its last ones are {some}")
    graph.graph.output.append(onnx.ValueInfoProto(name=layer))
    return bytes(graph.SerializeToString())
