"""The errors Likewise raises on purpose: bad arguments, pictures, collections.

All derive from :class:`LikewiseError`, so that one ``except`` catches what the library refuses and
lets real bugs through.  A message names what was wrong, the value seen, and what to do.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

from likewise_methods.errors import DatasetError as DatasetError
from likewise_methods.errors import InvalidInput as InvalidInput
from likewise_methods.errors import LikewiseError as LikewiseError


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


class CollectionError(LikewiseError):
    """A collection that cannot be opened, created or used as asked."""


class CollectionExists(CollectionError):
    """A collection that shall be created and is there, perhaps made by another a moment ago."""


class CollectionBusy(CollectionError):
    """Another long job (add, sync, refresh, retrain …) holds the lease."""


class DamagedCollection(CollectionError):
    """Files of the collection are missing or are not what the catalog says."""


class ReadOnlyCollection(CollectionError):
    """A collection that may be read and not written: another user's, or on a medium of its kind."""


class DiskFull(CollectionError):
    """The disk is full: what was asked for was not done, and nothing that was there is lost."""


class CatalogAway(CollectionError):
    """The database that holds the catalog cannot be reached, or was lost on the way."""


class CatalogRefused(CollectionError):
    """The database does not let us in, has no such catalog, or is too old."""


class RowRefused(CollectionError):
    """A row that contradicts others: of a kind that is there already, or of nothing that is."""


class UnknownName(CollectionError, KeyError):
    """A similarity, profile or model that is not there; a missing key of the part that holds it."""

    # A KeyError would print its message in quotes.
    __str__ = Exception.__str__


class UnknownFilter(InvalidInput):
    """A key of a ``where`` that is no filter and in no picture's metadata."""

    def __init__(self, key: str, keys: Iterable[str]) -> None:
        self.key, self.keys = key, tuple(keys)
        super().__init__(f"{key!r} is no filter; there are {', '.join(self.keys)}")


class UnknownPicture(CollectionError, LookupError):
    """An id or path that is not in the collection."""


class NotYours(CollectionError):
    """Something that was said with another key, and may be taken back by its owner only."""


class LostPicture(LikewiseError):
    """A picture whose file is not where it was, or not what it was."""


class NoPlaces(CollectionError):
    """A similarity that ranks by no words, and so cannot say where two pictures are alike."""


class CannotDescribe(CollectionError):
    """A space that fails to describe a picture, or gives a row that is none of its own."""


class UnknownSpaceKind(CollectionError, InvalidInput):
    """A recipe whose ``feature`` no installed package brings."""


class BrokenSpaceKind(CollectionError):
    """A package that says it brings a kind of space, and does not."""


class SpaceKindClash(CollectionError):
    """Several packages that bring a kind of space under one name."""


def tell_os_error(error: OSError) -> str:
    """What the system refused, for people: a disk that is full or fails is called so."""
    where = f" that holds {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk{where} is full; nothing that was there is lost"
    if error.errno == errno.EIO:
        return f"the disk{where} cannot be read or written: {error.strerror}"
    named = f"{error.filename}: " if error.filename else ""
    return f"{named}{error.strerror or error}"
