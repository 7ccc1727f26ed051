"""A file (or blob) of named arrays with a header and a checksum.

Layout: 8 bytes of magic, the length of a JSON header, the header, the arrays (each starts at a
multiple of 64), and a 32-byte BLAKE2b digest of everything before it.  The digest is checked first,
so damage raises :class:`DamagedFile`.  It does not protect against malicious files.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise_methods.durable_files import Put, write_whole
from likewise_methods.errors import LikewiseError

MAGIC = b"LKWARR1\n"
ALIGN = 64
DIGEST = 32
_HEAD = struct.Struct("<8sQ")
_DTYPES = frozenset({"|u1", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8"})

_PIECE = 4 << 20
"""Bytes of a mapping to hash before their pages are released."""


class Streamed(NamedTuple):
    """An array to save in parts: ``fill(put)`` calls ``put`` with each part."""

    dtype: Any
    shape: tuple[int, ...]
    fill: Callable[[Callable[[Any], object]], object]


Arrays = Mapping[str, NDArray[Any]]


class DamagedFile(LikewiseError):
    """A saved file is truncated, altered, or of another kind."""


def save_arrays(
    path: str | Path,
    kind: str,
    meta: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any] | Streamed],
) -> None:
    """Write ``arrays`` as a file of this ``kind``, atomically."""
    digest = hashlib.blake2b(digest_size=DIGEST)

    def fill(put: Put) -> None:
        def put_both(piece: bytes | memoryview) -> None:
            digest.update(piece)
            put(piece)

        _put_body(put_both, kind, meta, arrays)
        put(digest.digest())

    write_whole(path, fill)


def pack_arrays(kind: str, meta: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return what ``save_arrays`` would write."""
    pieces: list[bytes | memoryview] = []
    _put_body(pieces.append, kind, meta, arrays)
    body = b"".join(pieces)
    return body + hashlib.blake2b(body, digest_size=DIGEST).digest()


def _put_body(
    put: Put, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Streamed]
) -> None:
    """Write everything but the digest."""
    blocks = [(name, _in_parts(a)) for name, a in arrays.items()]
    header = {
        "kind": kind,
        "meta": dict(meta),
        "arrays": [[name, np.dtype(a.dtype).str, list(a.shape)] for name, a in blocks],
    }
    text = json.dumps(header, sort_keys=True, default=np.generic.item).encode()
    put(_HEAD.pack(MAGIC, len(text)))
    put(text)
    at = _HEAD.size + len(text)

    def put_part(part: Any) -> None:
        nonlocal at
        made = np.asarray(part, a.dtype, order="C").reshape(-1).view(np.uint8)
        at += made.nbytes
        put(made.data)

    for name, a in blocks:
        gap = -at % ALIGN
        put(bytes(gap))
        at += gap
        due = at + math.prod(a.shape) * np.dtype(a.dtype).itemsize
        a.fill(put_part)
        if at != due:
            raise ValueError(f"the parts of {name} are no array of shape {a.shape}")


def _in_parts(array: NDArray[Any] | Streamed) -> Streamed:
    if isinstance(array, Streamed):
        return array
    whole = np.asarray(array)
    return Streamed(whole.dtype, whole.shape, lambda put: put(whole))


def open_arrays(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return ``meta`` and the arrays of a file of this ``kind``."""
    return _parse(np.fromfile(Path(path), np.uint8), kind, str(path))


def map_arrays(
    path: str | Path, kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]], mmap.mmap]:
    """Return ``meta``, the arrays as views of a memory-mapped file, and the mapping.

    The digest is checked once; the file must not change afterwards.
    """
    with open(path, "rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise DamagedFile(f"{path}: no bytes, too short for a saved {kind}") from error
    meta, arrays = _parse(np.frombuffer(mapped, np.uint8), kind, str(path), mapped)
    return meta, arrays, mapped


def release(mapped: mmap.mmap) -> None:
    """Release the pages of a mapping; they are read again when needed."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def unpack_arrays(blob: bytes, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return ``meta`` and the arrays of a blob from ``pack_arrays``."""
    return _parse(np.frombuffer(blob, np.uint8), kind, f"a saved {kind}")


def _parse(
    whole: NDArray[np.uint8], kind: str, where: str, mapped: mmap.mmap | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if whole.size < _HEAD.size + DIGEST:
        raise DamagedFile(f"{where}: {whole.size} bytes, too short for a saved {kind}")
    body, digest = whole[:-DIGEST], whole[-DIGEST:].tobytes()
    magic, length = _HEAD.unpack(body[: _HEAD.size].tobytes())
    if magic != MAGIC:
        raise DamagedFile(f"{where}: not a saved {kind} (magic {magic!r})")
    found = hashlib.blake2b(digest_size=DIGEST)
    for start in range(0, body.size, _PIECE):
        found.update(body[start : start + _PIECE].data)
        if mapped is not None:
            release(mapped)
    if found.digest() != digest:
        raise DamagedFile(f"{where}: the checksum does not agree; it is damaged or cut short")
    try:
        header = json.loads(body[_HEAD.size : _HEAD.size + length].tobytes())
        if header["kind"] != kind:
            raise DamagedFile(f"{where}: a saved {header['kind']}; a saved {kind} expected")
        return header["meta"], _arrays(body, _HEAD.size + length, header["arrays"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{where}: the header cannot be used ({error})") from error


def _arrays(body: NDArray[np.uint8], at: int, rows: list[Any]) -> dict[str, NDArray[Any]]:
    found = {}
    for name, dtype, shape in rows:
        if dtype not in _DTYPES or min(shape, default=0) < 0:
            raise ValueError(f"array {name} has type {dtype} and shape {shape}")
        at += -at % ALIGN
        size = np.dtype(dtype).itemsize
        for n in shape:
            size *= int(n)
        if at + size > body.size:
            raise ValueError(f"array {name} would end after the file")
        found[name] = body[at : at + size].view(dtype).reshape(shape)
        at += size
    if at != body.size:
        raise ValueError(f"{body.size - at} bytes more than the arrays need")
    return found
