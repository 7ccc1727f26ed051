"""Pictures inside a tar file, without unpacking it.

A tar is read once for its headers; what is kept are byte ranges of the unpacked stream, so that
every later pass only skips and reads.  Nothing is ever written, hence a hostile member name can
do no harm beyond looking odd.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.files import is_hidden, is_picture
from likewise.errors import DatasetError

MAX_MEMBER = 1 << 28
"""256 MiB: no photo is larger, and a header that claims more would be believed by read()."""

_PACKINGS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open))
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError)


@dataclass(frozen=True, eq=False)
class Archive:
    """Where the pictures lie: ``starts`` and ``sizes`` in the unpacked stream, one a row."""

    path: Path
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def read(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        """(row, content) of the given rows in the order of the archive: one forward pass."""
        wanted = rows[np.argsort(self.starts[rows], kind="stable")]
        try:
            with _decompress(self.path) as stream:
                for row in wanted.tolist():
                    size = int(self.sizes[row])
                    stream.seek(int(self.starts[row]))
                    content = stream.read(size)
                    if len(content) != size:
                        raise EOFError("it ends within a picture")
                    yield row, content
        except _BROKEN as error:
            raise _broken(self.path, error) from error


def list_pictures(path: Path) -> list[tuple[PurePosixPath, int, int]]:
    """(name, start, size) of every picture in a tar, in its order.

    Only regular files count: a link, a device or a folder has no bytes of its own.
    """
    found: list[tuple[PurePosixPath, int, int]] = []
    try:
        # errorlevel and encoding: a name that is no UTF-8 is kept with surrogates, not refused.
        with (
            _decompress(path) as stream,
            tarfile.open(fileobj=stream, mode="r:", encoding="utf-8") as tar,
        ):
            while (member := tar.next()) is not None:
                name = PurePosixPath(member.name)
                if member.isreg() and not member.issparse() and _is_wanted(name):
                    _check(path, name, member.size)
                    found.append((name, member.offset_data, member.size))
                # TarFile remembers all members, which for 60,000 is memory nobody asked for.
                tar.members = []  # type: ignore[attr-defined]
            # tarfile takes any unreadable header for the end; the real end is a block of zeros.
            stream.seek(tar.offset)
            if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise EOFError(f"no end mark after {len(found)} pictures")
            # Packed streams keep their checksum at the very end, behind the padding.
            while stream.read(1 << 16):
                pass
    except _BROKEN as error:
        raise _broken(path, error) from error
    return found


def _is_wanted(name: PurePosixPath) -> bool:
    return is_picture(name.name) and not any(is_hidden(p) and p != ".." for p in name.parts)


def _check(path: Path, name: PurePosixPath, size: int) -> None:
    if name.is_absolute() or ".." in name.parts:
        raise DatasetError(f"{path}: member {str(name)!r} points outside the archive; refused")
    if size > MAX_MEMBER:
        raise DatasetError(f"{path}: member {str(name)!r} claims {size:,} bytes; refused")


def _decompress(path: Path) -> IO[bytes]:
    """The unpacked stream; the first bytes tell the packing, not the name."""
    with path.open("rb") as file:
        magic = file.read(6)
    for start, opener in _PACKINGS:
        if magic.startswith(start):
            return cast("IO[bytes]", opener(path))
    return path.open("rb")


def _broken(path: Path, error: Exception) -> DatasetError:
    return DatasetError(
        f"{path}: not a whole tar archive ({error}); fetch it again, the copy may be cut short"
    )
