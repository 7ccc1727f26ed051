"""The content of files, and what names it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from likewise.errors import ImageTooLarge, UnreadableImage
from likewise.images import MAX_BYTES, recognise


def digest_of(content: bytes) -> bytes:
    """What makes two files the same picture."""
    return hashlib.blake2b(content, digest_size=20).digest()


def digest_of_file(path: str | Path) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def read_content(path: str) -> bytes:
    """The content, by way of the decoder's own checks for pipes, folders and permissions."""
    recognise(path)
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise ImageTooLarge(path, f"more than {MAX_BYTES:,} bytes")
        return Path(path).read_bytes()
    except OSError as error:
        raise UnreadableImage(path, f"cannot be read: {error.strerror}") from error


def is_text(path: str) -> bool:
    """Whether a path can be stored: file systems allow names that are no text at all."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
