"""Files that an attack on the product was made of, written byte by byte."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def empty_scans(n_scans: int, side: int = 2048) -> bytes:
    """A progressive JPEG with scan after scan that says nothing; each is decoded all the same."""
    buffer = io.BytesIO()
    grey = Image.fromarray(np.zeros((side, side), np.uint8))
    grey.save(buffer, "JPEG", progressive=True, quality=30)
    whole = buffer.getvalue()
    first = whole.index(b"\xff\xda")
    # One refinement scan of one coefficient, without a bit of its own: all blocks end at once.
    refining = b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, 1, 0, 1, 63, 0x10)
    second = whole.index(b"\xff\xda", first + 2)
    return whole[:second] + refining * n_scans + b"\xff\xd9"


def filling(n_bytes: int) -> bytes:
    """A JPEG whose header is followed by bytes that may stand before any marker."""
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64)).save(buffer, "JPEG")
    whole = buffer.getvalue()
    return whole[:20] + b"\xff" * n_bytes + whole[20:]


def empty_chunks(count: int) -> bytes:
    """A PNG with very many chunks that nobody knows, and nothing in them."""
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64)).save(buffer, "PNG")
    whole = buffer.getvalue()
    chunk = struct.pack(">I", 0) + b"abCd" + struct.pack(">I", zlib.crc32(b"abCd"))
    return whole[:33] + chunk * count + whole[33:]


def huge_webp(width: int, height: int) -> bytes:
    """A WebP of forty bytes that announces a canvas of that size."""
    canvas = struct.pack("<I", 0) + (width - 1).to_bytes(3, "little")
    canvas += (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", len(canvas)) + canvas + b"VP8L" + struct.pack("<I", 0)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def float_tiff(side: int, *, whole: bool = True) -> bytes:
    """A small file that is a float picture of that side: one compressed strip of zeros."""
    buffer = io.BytesIO()
    packer = zlib.compressobj(1)
    packed = [packer.compress(bytes(4 * side)) for _ in range(side if whole else 1)]
    row = b"".join(packed) + packer.flush()
    entries = [
        (256, 4, 1, side),
        (257, 4, 1, side),
        (258, 3, 1, 32),
        (259, 3, 1, 8),
        (262, 3, 1, 1),
        (273, 4, 1, 8),
        (277, 3, 1, 1),
        (278, 4, 1, side),
        (279, 4, 1, len(row)),
        (339, 3, 1, 3),
    ]
    buffer.write(b"II*\x00" + struct.pack("<I", 8 + len(row)) + row)
    buffer.write(struct.pack("<H", len(entries)))
    for entry in entries:
        buffer.write(struct.pack("<HHII", *entry))
    buffer.write(struct.pack("<I", 0))
    return buffer.getvalue()


def sparse_file(path: Path, head: bytes, length: int) -> Path:
    """A file that is long and takes no room."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(length)
    return path
