"""Tensors from a ``.safetensors`` file: a length, a table in JSON, then the numbers, raw.

Nothing in such a file is run.  What the table says is checked against the file before a number is
read: the parts lie one after the other, cover all of it and are as long as their shapes say, so
that no table can ask for more memory than the file has bytes.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.errors import DamagedWeights
from likewise_methods.validation import is_whole

MAX_BYTES = 1_500_000_000
"""A graph with its weights inside must stay below the two billion bytes of a protocol buffer."""
MAX_TABLE = 8 << 20
_LENGTH = 8
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}

Tensors = dict[str, NDArray[Any]]


def tensors_in(content: bytes) -> Tensors:
    """The tensors of a file's bytes by name; numbers of 16 bits come as float32."""
    if len(content) < _LENGTH:
        raise DamagedWeights("cut short: there is no table of tensors")
    size = int.from_bytes(content[:_LENGTH], "little")
    if size > min(MAX_TABLE, len(content) - _LENGTH):
        raise DamagedWeights(
            f"its table of tensors is to have {size:,} bytes, of {len(content):,} in all"
        )
    table = _table(content[_LENGTH : _LENGTH + size])
    numbers = memoryview(content)[_LENGTH + size :]
    found: Tensors = {}
    end = 0
    for name, kind, shape, first, last in sorted(table, key=lambda entry: entry[3:]):
        # Parts that overlap would let a small file stand for much memory.
        if first != end or last > len(numbers):
            raise DamagedWeights(f"tensor {name!r} lies outside its place in the file")
        if last - first != np.dtype(_TYPES[kind]).itemsize * math.prod(shape):
            raise DamagedWeights(f"tensor {name!r} has {last - first:,} bytes for shape {shape}")
        end = last
        raw = np.frombuffer(numbers[first:last], _TYPES[kind]).reshape(shape)
        found[name] = _widened(raw, kind)
    if end != len(numbers):
        raise DamagedWeights(f"{len(numbers) - end:,} bytes more than the tensors need")
    return found


def _widened(raw: NDArray[Any], kind: str) -> NDArray[Any]:
    if kind == "BF16":  # the upper half of a float32
        return (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.astype(np.float32) if kind == "F16" else raw


def _table(content: bytes) -> list[tuple[str, str, tuple[int, ...], int, int]]:
    try:
        read = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DamagedWeights(f"its table of tensors cannot be read ({error})") from error
    if not isinstance(read, dict):
        raise DamagedWeights("its table of tensors is no record")
    read.pop("__metadata__", None)
    return [_entry(name, entry) for name, entry in read.items()]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name that is there twice")
    return made


def _entry(name: str, entry: Any) -> tuple[str, str, tuple[int, ...], int, int]:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or kind not in _TYPES:
        raise DamagedWeights(f"tensor {name!r} is of {kind!r}; {', '.join(_TYPES)} are read")
    sides = isinstance(shape, list) and len(shape) <= 8 and all(is_whole(n, 0) for n in shape)
    ends = isinstance(offsets, list) and len(offsets) == 2 and all(is_whole(n, 0) for n in offsets)
    if not sides or not ends:
        raise DamagedWeights(f"tensor {name!r} has shape {shape!r} at {offsets!r}")
    return name, kind, tuple(shape), offsets[0], offsets[1]


def read_bytes(path: Path, most: int) -> bytes:
    """A file of at most so many bytes, or a clear refusal."""
    try:
        size = path.stat().st_size
        if size > most:
            raise DamagedWeights(f"{path} has {size:,} bytes; at most {most:,} are read")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DamagedWeights(f"{path} cannot be read: {reason}") from error
