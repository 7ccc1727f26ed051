"""Tensors from torch's legacy ``.pth`` file, without torch and without running a pickle.

Such a file is five pickles (a magic number, a protocol number, facts about the machine, the
dictionary of tensors, the keys of their storages) followed by the raw storages.  A pickle is a
program, and the usual reader calls whatever it names.  This reader has only the instructions that a
dictionary of tensors needs; it accepts four names, imports none, and refuses everything else.

A tensor is a *view* of its storage: an offset, a shape and strides.  The strides are often not
those of a contiguous array (weights that came from TensorFlow are transposed views), so the storage
cannot be read in order.
"""

from __future__ import annotations

import io
import pickletools
import struct
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.libraries import DamagedWeights, read_at_most

MAX_BYTES = 1 << 30
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_SIDES = 8
_ELEMENTS = {"torch FloatStorage": "<f4", "torch LongStorage": "<i8"}
_DICT = "collections OrderedDict"
_TENSOR = "torch._utils _rebuild_tensor_v2"

Tensors = dict[str, NDArray[Any]]


class _Global(NamedTuple):
    """A name in the file; it is never imported."""

    name: str


class _Storage(NamedTuple):
    key: str
    dtype: str
    length: int


class _View(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_MARK = object()


def read_tensors(path: str | Path) -> Tensors:
    """Return the tensors of a legacy ``.pth`` file by name, each a contiguous array."""
    content = read_at_most(path, MAX_BYTES, DamagedWeights)
    try:
        return tensors_in(content)
    except DamagedWeights as error:
        raise DamagedWeights(f"{path}: {error}") from None


def tensors_in(content: bytes) -> Tensors:
    """Return the tensors in the bytes of a file, as :func:`read_tensors` does."""
    if content.startswith(b"PK"):
        raise DamagedWeights("a zip archive; weights in torch's legacy format expected")
    file = io.BytesIO(content)
    if _value(file) != _MAGIC or _value(file) != _PROTOCOL:
        raise DamagedWeights("not a legacy torch file (its magic number is another)")
    facts = _value(file)
    if not isinstance(facts, dict) or facts.get("little_endian") is not True:
        raise DamagedWeights("not written on a little-endian machine")
    views, keys = _value(file), _value(file)
    if not isinstance(views, dict) or not all(
        isinstance(name, str) and isinstance(view, _View) for name, view in views.items()
    ):
        raise DamagedWeights("not a dictionary of tensors")
    storages = _storages(content, file.tell(), views, keys)
    return {name: _array(name, view, storages) for name, view in views.items()}


def _storages(content: bytes, at: int, views: dict[str, _View], keys: Any) -> Tensors:
    """Return the raw storages that follow the pickles, by key: a length, then the elements."""
    named = {view.storage.key: view.storage for view in views.values()}
    texts = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
    if not texts or sorted(keys) != sorted(named):
        raise DamagedWeights("the storages are not those of the tensors")
    found: Tensors = {}
    for key in keys:
        storage = named[key]
        size = np.dtype(storage.dtype).itemsize * storage.length
        if at + 8 + size > len(content):
            raise DamagedWeights(f"cut short: storage {key} ends after the file")
        (length,) = struct.unpack_from("<q", content, at)
        if length != storage.length:
            raise DamagedWeights(f"storage {key} has {length} elements; {storage.length} expected")
        found[key] = np.frombuffer(content, storage.dtype, storage.length, at + 8)
        at += 8 + size
    if at != len(content):
        raise DamagedWeights(f"{len(content) - at} bytes more than the tensors need")
    return found


def _array(name: str, view: _View, storages: Tensors) -> NDArray[Any]:
    storage = storages[view.storage.key]
    offset, shape, strides = view.offset, view.shape, view.strides
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    empty = 0 in shape
    # The stride of a side of 0 or 1 is never used, but may be too large for an integer.
    largest = max((0, *shape, *strides))
    if min((offset, *shape, *strides)) < 0 or (not empty and last >= len(storage)):
        raise DamagedWeights(f"tensor {name} lies outside its storage")
    if largest > max(len(storage), 1) or len(shape) > _SIDES:
        raise DamagedWeights(f"tensor {name} has sides or strides that no storage of it needs")
    # A stride of 0 repeats an element; without a limit a small file could fill the memory.
    if np.prod(shape, dtype=np.float64) > max(len(storage), 1):
        raise DamagedWeights(f"tensor {name} is larger than its storage")
    size = storage.dtype.itemsize
    spread = np.lib.stride_tricks.as_strided(
        storage[offset:], shape, [size * s for s in strides], writeable=False
    )
    return np.ascontiguousarray(spread) if shape else spread.copy()


# -- the pickle machine -----------------------------------------------------------------------


def _value(file: io.BytesIO) -> Any:
    """Return the value of the next pickle of the file."""
    with warnings.catch_warnings():
        # Python warns of invalid escapes in texts that are refused next.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return _run(file)
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            OverflowError,
            RecursionError,
        ) as error:
            raise DamagedWeights(f"cut short or damaged ({error})") from error


def _run(file: io.BytesIO) -> Any:
    """Run the few instructions of a dictionary of tensors, and refuse all others."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    argument: Any
    for code, argument, _ in pickletools.genops(file):
        match code.name:
            case "STOP":
                (value,) = stack
                return value
            case "PROTO":
                pass
            case "MARK":
                stack.append(_MARK)
            case "NONE":
                stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                stack.append(code.name == "NEWTRUE")
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINUNICODE":
                stack.append(argument)
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "EMPTY_TUPLE":
                stack.append(())
            case "TUPLE":
                stack.append(tuple(_since_mark(stack)))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(code.name[-1])
                stack[-count:] = [tuple(stack[-count:])]
            case "BINPUT" | "LONG_BINPUT":
                memo[int(argument)] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[int(argument)])
            case "SETITEM" | "SETITEMS":
                values = _since_mark(stack) if code.name == "SETITEMS" else _last(stack, 2)
                _last_of(stack, dict).update(zip(values[::2], values[1::2], strict=True))
            case "APPEND" | "APPENDS":
                values = _since_mark(stack) if code.name == "APPENDS" else _last(stack, 1)
                _last_of(stack, list).extend(values)
            case "GLOBAL":
                if argument not in (_DICT, _TENSOR, *_ELEMENTS):
                    name = argument.replace(" ", ".")
                    raise DamagedWeights(f"it names {name!r}, which no tensor needs")
                stack.append(_Global(argument))
            case "REDUCE":
                function, arguments = _last(stack, 2)
                stack.append(_call(function, arguments))
            case "BINPERSID":
                stack.append(_storage(*stack.pop()))
            case "BUILD":
                stack.pop()  # torch's version numbers, as attributes of the dictionary
                _last_of(stack, dict)
            case other:
                raise DamagedWeights(f"it uses {other}, which no tensor needs")
    raise DamagedWeights("cut short")


def _since_mark(stack: list[Any]) -> list[Any]:
    """Take the values since the last mark, and the mark, from the stack."""
    values = _last(stack, stack[::-1].index(_MARK))
    stack.pop()
    return values


def _last(stack: list[Any], count: int) -> list[Any]:
    """Take the last values from the stack."""
    at = len(stack) - count
    values = stack[at:]
    del stack[at:]
    return values


def _last_of(stack: list[Any], kind: type) -> Any:
    """Return the last value of the stack, which must be of a type."""
    if type(stack[-1]) is not kind:
        raise TypeError(f"{kind.__name__} expected")
    return stack[-1]


def _call(function: Any, arguments: Any) -> Any:
    """Return what one of the two known functions would return."""
    if function == _Global(_DICT) and arguments == ():
        return {}
    if function == _Global(_TENSOR):
        storage, offset, shape, strides, *_ = arguments
        if not isinstance(storage, _Storage) or len(shape) != len(strides):
            raise TypeError("a tensor without a storage")
        return _View(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))
    name = function.name if isinstance(function, _Global) else type(function).__name__
    raise DamagedWeights(f"it wants to call {name!r}, which no tensor needs")


def _storage(kind: Any, element: Any, key: Any, _: Any, length: Any, *more: Any) -> _Storage:
    if kind != "storage" or not isinstance(element, _Global) or element.name not in _ELEMENTS:
        raise TypeError("a storage of unknown elements")
    if not isinstance(length, int) or length < 0:
        raise TypeError(f"a storage of {length!r} elements")
    return _Storage(str(key), _ELEMENTS[element.name], length)
