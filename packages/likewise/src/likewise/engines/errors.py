"""Errors of engines; each message says what to do."""

from __future__ import annotations

from likewise.errors import LikewiseError


class EngineError(LikewiseError):
    """An engine did not do what was requested."""


class EngineMissing(EngineError):
    """The package for an engine is not installed."""


class EngineAway(EngineError):
    """An engine cannot be reached, or keeps failing; trying later may help."""


class EngineRefused(EngineError):
    """An engine refused a request; trying again would not help."""


class EngineWrong(EngineError):
    """A result of an engine cannot be right and was not used."""
