"""Files: read their content, hash it, and check the names that a catalog stores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from likewise.errors import DamagedCollection, UnreadableImage
from likewise.images.decode import read_recognised

MAX_IN_MEMORY = 64 << 20
"""Bytes of a file that is read at once; larger ones are read while they are decoded."""


def digest_of(content: bytes | Path) -> bytes:
    """Return the digest of a file's content, which identifies a picture."""
    if isinstance(content, Path):
        try:
            return digest_of_file(content)
        except OSError as error:
            raise UnreadableImage(str(content), f"cannot be read: {error.strerror}") from error
    return hashlib.blake2b(content, digest_size=20).digest()


def digest_of_file(path: str | Path) -> bytes:
    """Return the digest of a file."""
    digest = hashlib.blake2b(digest_size=20)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()


def read_content(path: str) -> bytes | Path:
    """Return the content of a picture file, or the path of a large one."""
    return read_recognised(path, MAX_IN_MEMORY)


def is_text(path: str) -> bool:
    """Return whether a path is valid Unicode; file systems allow other bytes."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def plain_name(name: str) -> str:
    """Return a relative path below the collection, or refuse it: a catalog may come from anyone.

    >>> plain_name("words/look-1.lwf")
    'words/look-1.lwf'
    """
    parts = name.split("/") if isinstance(name, str) else []
    if len(parts) < 2 or any(
        part in ("", ".", "..") or ":" in part or "\\" in part or not part.isprintable()
        for part in parts
    ):
        raise DamagedCollection(
            f"the catalog names a file {name!r}; a plain name below the collection expected"
        )
    return name


def check_names(files: Mapping[str, str]) -> Mapping[str, str]:
    """Check the file names of a generation or model; with a slash they are below the collection."""
    if not isinstance(files, Mapping) or not all(isinstance(one, str) for one in files.values()):
        raise DamagedCollection(f"the catalog names files {files!r}; names expected")
    for name in files.values():
        if "/" in name or "\\" in name or name in (".", ".."):
            plain_name(name)
    return files
