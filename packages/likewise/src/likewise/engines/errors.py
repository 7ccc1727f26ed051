"""What can go wrong with an engine; each message says what to do."""

from __future__ import annotations

from likewise.errors import LikewiseError


class EngineError(LikewiseError):
    """An engine did not do what was requested."""


class EngineMissing(EngineError):
    """The package that reaches an engine is not installed."""


class EngineAway(EngineError):
    """An engine cannot be reached, or failed again and again; trying later may help."""


class EngineRefused(EngineError):
    """An engine answered with a refusal; trying again would not help."""


class EngineWrong(EngineError):
    """An answer of an engine cannot be right; nothing of it was used."""
