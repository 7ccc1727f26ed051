"""The errors the methods raise on purpose.

All derive from :class:`LikewiseError`, so that one ``except`` catches what the library refuses and
lets real bugs through.  A message names what was wrong, the value seen, and what to do.
"""


class LikewiseError(Exception):
    """Anything Likewise refuses on purpose."""


class InvalidInput(LikewiseError, ValueError):
    """An argument has the wrong shape, type or value."""


class DatasetError(LikewiseError):
    """A data set is not in the layout its reader expects, or a part of it is missing."""
