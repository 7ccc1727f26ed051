"""A user's own network (CLIP, DINO …): an ONNX file, how to prepare pictures, which layer to read.

The layer is an output of the graph or any tensor inside it.  What it gives for a picture becomes
one vector: as it is, or pooled over the cells of a map (n, c, h, w) or the tokens of a sequence
(n, tokens, c).  The file is data: no library of operators is loaded for it, and no other file.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.errors import ChangedModel, UnusableModel
from likewise.vision.deep.libraries import import_library
from likewise.vision.deep.runtime import Network, Preparation
from likewise.vision.deep.wire import check_whole
from likewise.vision.pixels import Pixels
from likewise_methods.validation import one_of

Floats = NDArray[np.float32]
MAX_BYTES = 2_000_000_000
"""ONNX files end here: larger models keep their weights in other files."""
MAX_WIDTH = 65_536
"""Numbers in a vector, at most: a map that was flattened makes more, and nothing finds by them."""
SECONDS = 30.0
"""How long a network of the user's may take for a picture, by the clock."""
_KEPT = 2


@dataclass(frozen=True)
class OnnxModel:
    """A network of the user's.

    Parameters
    ----------
    path : str
        An ONNX file.
    preparation : Preparation, optional
        How pixels become its input.
    layer : str, optional
        An output of the graph or any tensor inside it; by default its first output.
    pool : {"mean", "first"}, default="mean"
        What becomes of a sequence of tokens: their mean, or the first of them (the class token of a
        vision transformer).
    sha256 : str, optional
        With it any other file is refused.

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
        """What the layer gives for a picture, as one vector.

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
        """Numbers in a vector, found out by a trial on a grey picture."""
        width = len(self.activations(np.full((64, 64, 3), 127, np.uint8)))
        if width > MAX_WIDTH:
            raise UnusableModel(
                f"layer {self.layer or 'the first output'!r} of {Path(self.path).name} gives "
                f"{width:,} numbers a picture; at most {MAX_WIDTH:,} are taken: name another layer"
            )
        return width


def read_model(path: str | Path) -> bytes:
    """The bytes of an ONNX file, or a clear refusal."""
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise UnusableModel(f"{path} has more than {MAX_BYTES:,} bytes")
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableModel(f"{path} cannot be read: {reason}") from error


def hash_of(model: bytes) -> str:
    """What a model is known by."""
    return hashlib.sha256(model).hexdigest()


_open: dict[tuple[object, str | None], Network] = {}
_opening = threading.RLock()


def open_model(path: str, layer: str | None, sha256: str | None = None) -> Network:
    """A model by its file, kept open; a layer inside the graph is made an output of it.

    Kept by content: by ``sha256``, which the file must have when it is read, else by what the
    file system says of the file now, so that a file that was written again is read again.
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
    """A model by its bytes, kept open under ``key``: its hash."""
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
        return path  # reading it will say what is wrong
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
