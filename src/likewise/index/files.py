"""A saved index: a folder of immutable block files and one manifest that names them.

Blocks are named by their checksum, so a second save writes only what is new.  The manifest is
replaced by rename after everything it names has reached the disk: a crash leaves the old index.
It carries a copy of each block's header, so headers are as well guarded as the manifest itself.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import InvalidInput
from likewise.index.blocks import Block
from likewise.index.errors import DamagedIndex
from likewise.index.layout import (
    HEADER_BYTES,
    Array,
    Damage,
    pack_header,
    places,
    unpack_header,
)

MANIFEST = "manifest.lwx"
_SUFFIX = ".lwb"
_MAGIC = b"LWINDEX\x00"
_VERSION = 1
# magic, version, length of the JSON part, length of the file, digest of all that follows
_HEAD = struct.Struct("<8sIIQ16s")


class State(NamedTuple):
    """What an index is, apart from its machinery."""

    blocks: tuple[Block, ...]
    width: int
    next_id: int
    quantised: bool
    drop: Array | None  # boolean over words: lists compacted away


def _write(path: Path, *parts: Any) -> None:
    """Write a file and see it on the disk under its name, or not at all."""
    new = path.with_name(path.name + ".new")
    try:
        with open(new, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _block_name(block: Block) -> str:
    header = pack_header(block.sizes, block.checksum)
    return hashlib.blake2b(header, digest_size=12).hexdigest() + _SUFFIX


def save(folder: Path, state: State) -> None:
    if folder.exists():
        known = folder.is_dir() and (
            (folder / MANIFEST).exists()
            or all(p.name.endswith((_SUFFIX, ".new")) for p in folder.iterdir())
        )
        if not known:
            raise InvalidInput(f"{folder} exists and is not an index; choose another name")
    folder.mkdir(parents=True, exist_ok=True)
    names = [_block_name(block) for block in state.blocks]
    for name, block in zip(names, state.blocks, strict=True):
        path = folder / name
        # A file of that name and size may be damaged: trust it only if it is the one in use.
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
            "impacts": "uint8" if state.quantised else "float32",
            "drop": None if state.drop is None else len(state.drop),
            "blocks": described,
        }
    ).encode()
    tail = b"".join([payload, *dead_bits, drop])
    digest = hashlib.blake2b(tail, digest_size=16).digest()
    head = _HEAD.pack(_MAGIC, _VERSION, len(payload), _HEAD.size + len(tail), digest)
    _sync_folder(folder)
    _write(folder / MANIFEST, head, tail)
    _sync_folder(folder)
    for path in folder.iterdir():
        if path.name.endswith((_SUFFIX, ".new")) and path.name not in names:
            path.unlink(missing_ok=True)


def _read_manifest(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DamagedIndex(str(path), "there is no such file") from None
    if len(data) < _HEAD.size:
        raise DamagedIndex(str(path), f"{len(data)} bytes; at least {_HEAD.size} expected")
    magic, version, n_payload, length, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise DamagedIndex(str(path), f"it begins with {magic!r}; {_MAGIC!r} expected")
    if version != _VERSION:
        raise DamagedIndex(str(path), f"format version {version}; this release reads {_VERSION}")
    if length != len(data):
        raise DamagedIndex(str(path), f"{len(data)} bytes; {length} expected")
    tail = data[_HEAD.size :]
    if hashlib.blake2b(tail, digest_size=16).digest() != digest or n_payload > len(tail):
        raise DamagedIndex(str(path), "its checksum does not fit its content")
    try:
        payload = json.loads(tail[:n_payload])
    except ValueError:
        raise DamagedIndex(str(path), "its description is not JSON") from None
    if not isinstance(payload, dict):
        raise DamagedIndex(str(path), "its description is not an object")
    return payload, tail[n_payload:]


def _map_block(path: Path, header: bytes, dead: Array | None) -> Block:
    sizes, checksum = unpack_header(header)
    _, _, length = places(sizes)
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found != length:
                raise Damage(f"{found} bytes; {length} expected")
            # Read, not mapped: the first touch of a mapping may bring in megabytes.
            if file.read(HEADER_BYTES) != header:
                raise Damage("its header is not the one the manifest names")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise Damage("there is no such file") from None
    return Block.of_buffer(sizes, checksum, np.frombuffer(mapped, np.uint8), path.resolve(), dead)


def _read_blocks(folder: Path, described: list[Any], bits: bytes) -> tuple[list[Block], int]:
    blocks = []
    used = 0
    for entry in described:
        path = folder / Path(str(entry["file"])).name
        try:
            header = bytes.fromhex(entry["header"])
            n_dead = int(entry["dead"])
            dead = None
            if n_dead:
                pictures = unpack_header(header)[0].pictures
                if n_dead != (pictures + 7) // 8 or used + n_dead > len(bits):
                    raise Damage("the manifest marks a wrong number of its pictures as dead")
                raw = np.frombuffer(bits, np.uint8, n_dead, used)
                dead = np.unpackbits(raw, count=pictures)
                dead.flags.writeable = False
                used += n_dead
            blocks.append(_map_block(path, header, dead))
        except Damage as damage:
            raise DamagedIndex(str(path), str(damage)) from None
    return blocks, used


def _open_once(folder: Path) -> State:
    manifest = folder / MANIFEST
    payload, bits = _read_manifest(manifest)
    try:
        blocks, used = _read_blocks(folder, payload["blocks"], bits)
        width = int(payload["width"])
        n_drop = payload["drop"]
        drop = None
        if n_drop is not None:
            raw = np.frombuffer(bits, np.uint8, offset=used)
            drop = np.unpackbits(raw, count=int(n_drop)).astype(bool)
        next_id = int(payload["next_id"])
        quantised = {"uint8": True, "float32": False}[payload["impacts"]]
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedIndex(str(manifest), f"its description is incomplete ({error})") from None
    if any(b.sizes.quantised != quantised or b.sizes.width > width for b in blocks):
        raise DamagedIndex(str(manifest), "it does not fit its blocks")
    return State(tuple(blocks), width, next_id, quantised, drop)


def open_folder(folder: Path) -> State:
    """Map every block; only manifest, sizes and headers are read."""
    if not folder.is_dir():
        raise DamagedIndex(str(folder), "there is no such folder")
    try:
        return _open_once(folder)
    except DamagedIndex:
        # Another process may have saved, and swept, between our two reads: look once more.
        return _open_once(folder)
