"""Errors of the methods; all derive from :class:`LikewiseError`.

A message names what was wrong, the value, and what to do.
"""


class LikewiseError(Exception):
    """Base class of all errors that Likewise raises on purpose."""


class InvalidInput(LikewiseError, ValueError):
    """An argument has the wrong shape, type or value."""


class DatasetError(LikewiseError):
    """A data set is not in the layout its reader expects, or a part of it is missing."""
