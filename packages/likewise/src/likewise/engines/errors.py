"""What can go wrong between us and an engine, each with what to do about it."""

from __future__ import annotations

from likewise.errors import LikewiseError


class EngineError(LikewiseError):
    """An engine that holds rows did not do what it was asked."""


class EngineMissing(EngineError):
    """The package that reaches an engine is not installed here."""


class EngineAway(EngineError):
    """An engine that cannot be reached, or that failed again and again; trying later may help."""


class EngineRefused(EngineError):
    """An engine that answered, and said no; trying again would not help."""


class EngineWrong(EngineError):
    """An engine whose answer cannot be right; nothing of it was used."""
