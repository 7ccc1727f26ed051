"""The content of files, and what names it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from likewise.errors import UnreadableImage
from likewise.images.decode import read_recognised

MOST_IN_MEMORY = 64 << 20
"""Bytes of a file that is read at once; a larger one is read as it is decoded."""


def digest_of(content: bytes | Path) -> bytes:
    """What makes two files the same picture."""
    if isinstance(content, Path):
        try:
            return digest_of_file(content)
        except OSError as error:
            raise UnreadableImage(str(content), f"cannot be read: {error.strerror}") from error
    return hashlib.blake2b(content, digest_size=20).digest()


def digest_of_file(path: str | Path) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def read_content(path: str) -> bytes | Path:
    """The content, by way of the decoder's own checks for pipes, folders and permissions.

    A large file is left where it is, and its path given instead: most of the two gigabytes that a
    file may have need never be in memory.
    """
    return read_recognised(path, MOST_IN_MEMORY)


def is_text(path: str) -> bool:
    """Whether a path can be stored: file systems allow names that are no text at all."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
