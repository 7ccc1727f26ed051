"""A saved index: a folder of immutable block files and one manifest that lists them.

Blocks are named by their checksum, so a second save writes only new ones.  The manifest is replaced
by rename after all its blocks were synced: a crash leaves the old index.  It has a copy of each
block's header, which its checksum covers.  Any number of processes may open a folder while one
saves to it; two must not save at once.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import struct
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise_methods.durable_files import sync_folder, write_whole
from likewise_methods.errors import InvalidInput
from likewise_methods.index import version1
from likewise_methods.index.blocks import Block
from likewise_methods.index.layout import (
    HEADER_BYTES,
    Array,
    Damage,
    DamagedIndex,
    Sizes,
    header_version,
    pack_header,
    places,
    unpack_header,
)

MANIFEST = "manifest.lwx"
_SUFFIX = ".lwb"
_MAGIC = b"LWINDEX\x00"
_VERSION = 2
# Version 1 is the format of the first release.
_READ = (1, _VERSION)
# magic, version, length of the JSON part, length of the file, digest of all that follows
_HEAD = struct.Struct("<8sIIQ16s")
_MOST_WORDS = 1 << 32
_MOST_IDS = 1 << 63
# Files that save writes and may remove: blocks, and unfinished files ("NAME.PID.new").
_BLOCK_NAME = re.compile(r"[0-9a-f]{24}\.lwb")
_UNFINISHED = re.compile(r"(?:[0-9a-f]{24}\.lwb|manifest\.lwx)(?:\.(\d+))?\.new")
_STALE_SECONDS = 24 * 3600
# Retries of open while another process replaces the manifest.
_LOOKS = 20


class State(NamedTuple):
    """The content of an index."""

    blocks: tuple[Block, ...]
    width: int
    next_id: int
    drop: Array | None  # boolean over words: lists compacted away


def _write(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file of the folder; the folder is synced later."""
    new = f"{path.name}.{os.getpid()}.new"
    write_whole(path, *parts, unfinished=new, sync_name=False)


def _block_name(block: Block) -> str:
    header = pack_header(block.sizes, block.checksum)
    return hashlib.blake2b(header, digest_size=12).hexdigest() + _SUFFIX


def save(folder: Path, state: State) -> None:
    if folder.exists():
        known = folder.is_dir() and (
            (folder / MANIFEST).exists() or all(_is_ours(p.name) for p in folder.iterdir())
        )
        if not known:
            raise InvalidInput(f"{folder} exists and is not an index; choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    names = [_block_name(block) for block in state.blocks]
    for name, block in zip(names, state.blocks, strict=True):
        path = folder / name
        # An existing file may be damaged: keep it only if it is the mapped one.
        if not (block.path is not None and block.path == path.resolve() and path.exists()):
            _write(path, block.buffer.data)
    described = []
    dead_bits = []
    for name, block in zip(names, state.blocks, strict=True):
        header = pack_header(block.sizes, block.checksum)
        bits = np.packbits(block.dead).tobytes() if block.has_dead else b""
        described.append({"file": name, "header": header.hex(), "dead": len(bits)})
        dead_bits.append(bits)
    drop = b"" if state.drop is None else np.packbits(state.drop).tobytes()
    payload = json.dumps(
        {
            "width": state.width,
            "next_id": state.next_id,
            "drop": None if state.drop is None else len(state.drop),
            "blocks": described,
        }
    ).encode()
    tail = b"".join([payload, *dead_bits, drop])
    digest = hashlib.blake2b(tail, digest_size=16).digest()
    head = _HEAD.pack(_MAGIC, _VERSION, len(payload), _HEAD.size + len(tail), digest)
    sync_folder(folder)
    _write(folder / MANIFEST, head, tail)
    sync_folder(folder)
    _sweep(folder, set(names))


def _is_ours(name: str) -> bool:
    return bool(_BLOCK_NAME.fullmatch(name) or _UNFINISHED.fullmatch(name))


def _sweep(folder: Path, names: set[str]) -> None:
    """Remove blocks that are not listed and unfinished files; nothing else."""
    for path in folder.iterdir():
        unfinished = _UNFINISHED.fullmatch(path.name)
        if unfinished and unfinished[1] not in (None, str(os.getpid())):
            # Another process may be writing it.
            try:
                gone = time.time() - path.stat().st_mtime > _STALE_SECONDS
            except FileNotFoundError:
                continue
        else:
            gone = path.name not in names and _is_ours(path.name)
        if gone:
            path.unlink(missing_ok=True)


def _manifest_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DamagedIndex(str(path), "there is no such file") from None
    except IsADirectoryError:
        raise DamagedIndex(str(path), "it is a folder; a file expected") from None


def is_current(folder: Path) -> bool:
    """Return whether a saved index has the current format; True if it cannot be read."""
    try:
        with open(folder / MANIFEST, "rb") as file:
            head = file.read(_HEAD.size)
    except OSError:
        return True
    return len(head) < _HEAD.size or _HEAD.unpack(head)[1] >= _VERSION


def _read_manifest(path: Path, data: bytes) -> tuple[dict[str, Any], bytes]:
    if len(data) < _HEAD.size:
        raise DamagedIndex(str(path), f"{len(data)} bytes; at least {_HEAD.size} expected")
    magic, version, n_payload, length, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedIndex(str(path), f"it begins with {magic!r}; {_MAGIC!r} expected")
    if version not in _READ:
        raise DamagedIndex(str(path), f"format version {version}; this release reads {_READ}")
    if length != len(data):
        raise DamagedIndex(str(path), f"{len(data)} bytes; {length} expected")
    tail = data[_HEAD.size :]
    if hashlib.blake2b(tail, digest_size=16).digest() != digest or n_payload > len(tail):
        raise DamagedIndex(str(path), "its checksum does not fit its content")
    try:
        payload = json.loads(tail[:n_payload])
    except (ValueError, RecursionError):
        raise DamagedIndex(str(path), "its description is not JSON") from None
    if not isinstance(payload, dict):
        raise DamagedIndex(str(path), "its description is not an object")
    return payload, tail[n_payload:]


def _map(path: Path, header: bytes, length: int) -> mmap.mmap:
    """Map a file with this header and length; raise Damage if it differs."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found != length:
                raise Damage(f"{found} bytes; {length} expected")
            # Read, not mapped: the first access to a mapping may read megabytes.
            if file.read(HEADER_BYTES) != header:
                raise Damage("its header is not the one the manifest names")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise Damage("there is no such file") from None
    except IsADirectoryError:
        raise Damage("it is a folder; a file expected") from None


def _read_block(path: Path, header: bytes, bits: bytes) -> Block:
    """Open a block; ``bits`` mark its dead pictures."""
    old = header_version(header) == version1.VERSION
    sizes: Sizes | version1.Sizes
    sizes, checksum = version1.unpack_header(header) if old else unpack_header(header)
    dead = None
    if bits:
        if len(bits) != (sizes.pictures + 7) // 8:
            raise Damage("the manifest marks a wrong number of its pictures as dead")
        dead = np.unpackbits(np.frombuffer(bits, np.uint8), count=sizes.pictures)
        dead.flags.writeable = False
    if isinstance(sizes, version1.Sizes):
        mapped = _map(path, header, version1.places(sizes)[2])
        rows = version1.read_rows(np.frombuffer(mapped, np.uint8), sizes, checksum)
        return Block.build(*rows, dead)
    mapped = _map(path, header, places(sizes)[2])
    buffer = np.frombuffer(mapped, np.uint8)
    return Block.of_buffer(sizes, checksum, buffer, path.resolve(), dead, mapped)


def _read_blocks(folder: Path, described: list[Any], bits: bytes) -> tuple[list[Block], int]:
    blocks = []
    used = 0
    for entry in described:
        name = str(entry["file"])
        if not _BLOCK_NAME.fullmatch(name):
            raise ValueError(f"no block is called {name[:60]!r}")
        path = folder / name
        try:
            header = bytes.fromhex(entry["header"])
            n_dead = int(entry["dead"])
            if not 0 <= n_dead <= len(bits) - used:
                raise Damage("the manifest marks a wrong number of its pictures as dead")
            blocks.append(_read_block(path, header, bits[used : used + n_dead]))
            used += n_dead
        except Damage as damage:
            raise DamagedIndex(str(path), str(damage)) from None
    return blocks, used


def _check_bounds(payload: dict[str, Any], name: str, most: int) -> int:
    value = payload[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{name} is not a number from 0 to {most}")
    return value


def _open_once(folder: Path, data: bytes) -> State:
    manifest = folder / MANIFEST
    payload, bits = _read_manifest(manifest, data)
    try:
        blocks, used = _read_blocks(folder, payload["blocks"], bits)
        width = _check_bounds(payload, "width", _MOST_WORDS)
        drop = None
        if payload["drop"] is not None:
            n_drop = _check_bounds(payload, "drop", width)
            if len(bits) - used != (n_drop + 7) // 8:
                raise ValueError("drop has another length than it says")
            raw = np.frombuffer(bits, np.uint8, offset=used)
            drop = np.unpackbits(raw, count=n_drop).astype(bool)
        next_id = _check_bounds(payload, "next_id", _MOST_IDS)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DamagedIndex(str(manifest), f"its description is incomplete ({error})") from None
    if any(b.sizes.width > width for b in blocks):
        raise DamagedIndex(str(manifest), "it does not fit its blocks")
    return State(tuple(blocks), width, next_id, drop)


def open_folder(folder: Path) -> State:
    """Open an index: map every block, read manifest and headers."""
    if not folder.is_dir():
        raise DamagedIndex(str(folder), "there is no such folder")
    data = _manifest_bytes(folder / MANIFEST)
    for _ in range(_LOOKS):
        try:
            return _open_once(folder, data)
        except DamagedIndex:
            # Another process may have saved after we read the manifest.
            now = _manifest_bytes(folder / MANIFEST)
            if now == data:
                raise
            data = now
    return _open_once(folder, data)
