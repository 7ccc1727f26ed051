"""What can go wrong with a network, each with what to do about it."""

from __future__ import annotations

from likewise.errors import LikewiseError

INSTALL = 'pip install ".[deep]" in the checkout, or "likewise[deep]"'
OFFER = (
    f"With the extra 'deep' ({INSTALL}; no torch) a small network finds what pictures show, "
    "not only how they look."
)


class DeepMissing(LikewiseError):
    """The extra ``deep`` (onnxruntime, onnx, the weights) is not installed here."""


class DamagedWeights(LikewiseError):
    """A weights file that is cut short, altered, or not what it says it is."""


class UnusableModel(LikewiseError):
    """A network that cannot be loaded, or whose numbers are not the ones expected of it."""


class ChangedModel(UnusableModel):
    """A network's file that is not the one it was, by its hash."""
