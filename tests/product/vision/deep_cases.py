"""Shared by the tests of deep features: the skip, and legacy torch files written by hand."""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from likewise.vision.deep.network import is_installed

needs_deep = pytest.mark.skipif(not is_installed(), reason="the extra 'deep' is not installed")

MAGIC = 0x1950A86A20F9469CFC6C


class Storage:
    """A stand-in that pickles by reference, as torch's storages do."""

    def __init__(self, values: np.ndarray, key: str) -> None:
        self.values, self.key = values, key


class Named:
    """A global that is written by name only: ``module name``."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """Pickles as a call of a global."""

    def __init__(self, function: Named, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Writer(pickle._Pickler):  # type: ignore[name-defined,misc]
    """The plain Python pickler, which lets names be written that cannot be imported."""

    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, Storage):
            return None
        kind = "FloatStorage" if value.values.dtype == np.float32 else "LongStorage"
        return ("storage", Named("torch", kind), value.key, "cpu", len(value.values), None)

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Named):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


REBUILD = Named("torch._utils", "_rebuild_tensor_v2")


def tensor(storage: Storage, offset: int, shape: Any, strides: Any) -> Call:
    return Call(REBUILD, storage, offset, shape, strides, False, Call(Named(*ORDERED)))


ORDERED = ("collections", "OrderedDict")


def dumped(value: Any) -> bytes:
    out = BytesIO()
    Writer(out, 2).dump(value)
    return out.getvalue()


def legacy(
    tensors: Any, storages: list[Storage], *, facts: Any = None, magic: int = MAGIC
) -> bytes:
    """A legacy file around anything; ``tensors`` is usually a dictionary of calls."""
    facts = {"protocol_version": 1001, "little_endian": True} if facts is None else facts
    parts = [dumped(magic), dumped(1001), dumped(facts), dumped(tensors)]
    parts.append(dumped([storage.key for storage in storages]))
    parts += [struct.pack("<q", len(s.values)) + s.values.tobytes() for s in storages]
    return b"".join(parts)


def ordered(pairs: dict[str, Any]) -> Any:
    return OrderedDict(pairs)
