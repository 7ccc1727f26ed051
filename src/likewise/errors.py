"""The errors Likewise raises on purpose.

All derive from :class:`LikewiseError`, so that one ``except`` catches what the library meant to
say and lets real bugs through.  A message names what was wrong, the value seen, and what to do.
"""

from __future__ import annotations

import errno


class LikewiseError(Exception):
    """Anything Likewise refuses on purpose."""


class InvalidInput(LikewiseError, ValueError):
    """An argument has the wrong shape, type or value."""


class DatasetError(LikewiseError):
    """A data set is not in the layout its reader expects, or a part of it is missing."""


class ImageError(LikewiseError):
    """A picture that cannot be used; ``source`` names it and ``reason`` says why.

    The subclasses let a caller tell what a person can mend (a missing permission) from what
    nobody can (half a file).
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source = source
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


class UnreadableImage(ImageError):
    """The bytes cannot be had: no such file, no permission, not a regular file."""


class MissingDecoder(UnreadableImage):
    """The library that decodes its format cannot be had here; nothing is wrong with the picture."""


class NotAnImage(ImageError):
    """The content is not in any format Likewise decodes."""


class DamagedImage(ImageError):
    """The format is known, but the content is truncated or corrupt."""


class ImageTooLarge(ImageError):
    """The header promises more pixels (or the file has more bytes) than the limit allows."""


class DecoderFailed(ImageError):
    """Its decoder ran for too long, or crashed."""


def tell_os_error(error: OSError) -> str:
    """What the system refused, for people: a disk that is full or fails is called so."""
    where = f" that holds {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk{where} is full; nothing that was there is lost"
    if error.errno == errno.EIO:
        return f"the disk{where} cannot be read or written: {error.strerror}"
    named = f"{error.filename}: " if error.filename else ""
    return f"{named}{error.strerror or error}"
