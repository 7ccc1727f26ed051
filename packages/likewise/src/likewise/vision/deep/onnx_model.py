"""Describe pictures with a user's own network (CLIP, DINO …), an ONNX file.

The layer that is read is an output of the graph or any tensor inside it.  Its values for a picture
become one vector: as they are, or pooled over the cells of a map (n, c, h, w) or the tokens of a
sequence (n, tokens, c).  The file is data: no library of operators and no other file is loaded for
it, so its weights must be inside.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.libraries import (
    ChangedModel,
    UnusableModel,
    import_library,
    read_at_most,
)
from likewise.vision.deep.runtime import Card, Network, Preparation, card
from likewise.vision.pixels import Pixels
from likewise_methods.validation import one_of

Floats = NDArray[np.float32]
MAX_BYTES = 2_000_000_000
"""The largest ONNX file: larger models keep their weights in other files."""
MAX_WIDTH = 65_536
"""The most numbers in a vector; a flattened map has more, and no index can search that."""
SECONDS = 30.0
"""The time limit for a picture."""
_KEPT = 2


@dataclass(frozen=True)
class OnnxModel:
    """A user's own network.

    Parameters
    ----------
    path : str
        An ONNX file.
    preparation : Preparation, optional
        How pixels become its input.
    layer : str, optional
        An output of the graph or any tensor inside it; by default its first output.
    pool : {"mean", "first"}, default="mean"
        How a sequence of tokens becomes a vector: their mean, or the first of them (the class token
        of a vision transformer).
    sha256 : str, optional
        The expected hash; any other file is refused.

    See Also
    --------
    Preparation : size and scale of its input.
    DeepDense : the network that comes along.
    """

    path: str
    preparation: Preparation = field(default_factory=Preparation)
    layer: str | None = None
    pool: Literal["mean", "first"] = "mean"
    sha256: str | None = None

    def __post_init__(self) -> None:
        if self.layer is not None and not isinstance(self.layer, str):
            raise InvalidInput(f"layer is {self.layer!r}; the name of a layer expected")
        one_of(self.pool, "pool", ("mean", "first"))

    def activations(self, picture: Pixels) -> Floats:
        """Return the layer's values for a picture as one vector.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.

        Returns
        -------
        float32 array of shape (width(),)
        """
        network = open_model(self.path, self.layer, self.sha256)
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
        """Return the length of a vector, by running the network on a grey picture."""
        width = len(self.activations(np.full((64, 64, 3), 127, np.uint8)))
        if width > MAX_WIDTH:
            raise UnusableModel(
                f"layer {self.layer or 'the first output'!r} of {Path(self.path).name} gives "
                f"{width:,} numbers a picture; at most {MAX_WIDTH:,} are taken: name another layer"
            )
        return width


def read_model(path: str | Path) -> bytes:
    """Return the bytes of an ONNX file."""
    return read_at_most(path, MAX_BYTES, UnusableModel)


def hash_of(model: bytes) -> str:
    """Return the SHA-256 of a model."""
    return hashlib.sha256(model).hexdigest()


_open: dict[tuple[object, str | None], Network] = {}
_opening = threading.RLock()


def open_model(path: str, layer: str | None, sha256: str | None = None) -> Network:
    """Open a model file once, with ``layer`` as an output.

    Open models are kept by ``sha256``, which the file must have when it is read, else by the file's
    size and time, so that a rewritten file is read again.
    """
    with _opening:
        kept = _open.get((sha256 or _version(path), layer))
        if kept is not None:
            return kept
        content = read_model(path)
        if sha256 is not None and hash_of(content) != sha256:
            raise ChangedModel(f"{path} is damaged or another file (its sha256 is not {sha256})")
        return open_content(content, Path(path).name, layer, sha256 or _version(path))


def open_content(content: bytes, name: str, layer: str | None, key: object) -> Network:
    """Open a model from its bytes and keep it open under ``key``."""
    check_whole(content, name)
    network = Network(content, name, seconds=SECONDS)
    if layer is not None and layer not in network.outputs:
        network = Network(_with_output(content, name, layer), name, seconds=SECONDS)
    with _opening:
        while len(_open) >= _KEPT:
            del _open[next(iter(_open))]
        _open[key, layer] = network
    return network


def _version(path: str) -> object:
    """Return what identifies this version of a file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return path  # reading it will raise the proper error
    return path, status.st_ino, status.st_size, status.st_mtime_ns


def _with_output(model: bytes, name: str, layer: str) -> bytes:
    onnx = import_library("onnx")
    graph = onnx.load_model_from_string(model)
    made = [output for node in graph.graph.node for output in node.output]
    if layer not in made:
        some = ", ".join(made[-5:])
        raise InvalidInput(f"{name} has no layer {layer!r}; its last ones are {some}")
    graph.graph.output.append(onnx.ValueInfoProto(name=layer))
    return bytes(graph.SerializeToString())


def model_card(model: OnnxModel, name: str, sha256: str, layer: str, licence: str) -> Card:
    """Return the card of a user's own model."""
    return card(name, sha256, model.preparation, layer, licence, pool=model.pool)


def card_problem(found: object, sha256: str) -> str | None:
    """Return why a parsed record is not the card of a model; None if it is."""
    if not isinstance(found, dict):
        return "it is no record"
    texts = ("model", "sha256", "layer", "licence")
    lacking = [key for key in texts if not isinstance(found.get(key), str)]
    if not isinstance(found.get("preprocessing"), dict):
        lacking.append("preprocessing")
    if lacking:
        return f"it does not say {', '.join(lacking)}"
    return None if found["sha256"] == sha256 else "it is the card of another model"


# -- the check that weights are inside the file --------------------------------------------------

# An ONNX file is a protocol buffer, a tree of numbered fields.  Only the messages that can hold a
# tensor are parsed, so the package onnx is not needed and large weights are skipped.  By message
# (onnx.proto), the fields that lead to further messages: field number to message.
_LEADS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_DATA_LOCATION, _EXTERNAL, _LOWER = 14, 1, 0xFFFFFFFF
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def check_whole(model: bytes, name: str) -> None:
    """Refuse a model that keeps weights in other files, or is no protocol buffer."""
    try:
        outside = _keeps_outside(memoryview(model))
    except (ValueError, IndexError) as error:
        raise UnusableModel(f"{name} cannot be opened as ONNX: cut short or damaged") from error
    if outside:
        raise UnusableModel(
            f"{name} keeps its weights in other files next to it; only self-contained files are "
            "taken (onnx.load, then onnx.save, puts the weights inside)"
        )


def _keeps_outside(model: memoryview) -> bool:
    waiting = [("model", model)]
    while waiting:
        kind, message = waiting.pop()
        leads = _LEADS[kind]
        for number, value in _fields(message):
            if isinstance(value, int):
                # Readers use the lower 32 bits of an enumeration.
                if kind == "tensor" and (number, value & _LOWER) == (_DATA_LOCATION, _EXTERNAL):
                    return True
            elif number in leads:
                waiting.append((leads[number], value))
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield (number, value) of the fields of a message, except numbers of fixed size."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_EIGHT, _FOUR):
            size = 8 if wire == _EIGHT else 4
        else:
            raise ValueError(f"a field of kind {wire}")
        if at + size > len(message):
            raise ValueError("a field that ends after its message")
        if wire == _BYTES:
            yield number, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return a variable-length integer (seven bits a byte) and the position after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
