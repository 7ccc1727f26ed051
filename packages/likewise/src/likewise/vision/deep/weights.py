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
from collections.abc import Callable
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


class _Machine:
    """The stack machine of a pickle; every method is an instruction."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def since_mark(self) -> list[Any]:
        at = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def put(self, slot: Any) -> None:
        self.memo[int(slot)] = self.stack[-1]

    def get(self, slot: Any) -> None:
        self.push(self.memo[int(slot)])

    def take(self, count: int) -> None:
        values = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.push(values)

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict:
            raise TypeError("items of something that is no dictionary")
        target.update(zip(values[::2], values[1::2], strict=True))

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise TypeError("entries of something that is no list")
        target.extend(values)

    def call(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if function == _Global(_DICT) and arguments == ():
            self.push({})
        elif function == _Global(_TENSOR):
            storage, offset, shape, strides, *_ = arguments
            if not isinstance(storage, _Storage) or len(shape) != len(strides):
                raise TypeError("a tensor without a storage")
            numbers = (int(offset), tuple(map(int, shape)), tuple(map(int, strides)))
            self.push(_View(storage, *numbers))
        else:
            raise DamagedWeights(f"it wants to call {_describe(function)}, which no tensor needs")

    def name(self, text: str) -> None:
        if text not in (_DICT, _TENSOR, *_ELEMENTS):
            raise DamagedWeights(f"it names {text.replace(' ', '.')!r}, which no tensor needs")
        self.push(_Global(text))

    def storage(self) -> None:
        kind, element, key, _, length, *_ = self.stack.pop()
        if kind != "storage" or not isinstance(element, _Global) or element.name not in _ELEMENTS:
            raise TypeError("a storage of unknown elements")
        if not isinstance(length, int) or length < 0:
            raise TypeError(f"a storage of {length!r} elements")
        self.push(_Storage(str(key), _ELEMENTS[element.name], length))

    def attributes(self) -> None:
        """Ignore the attributes of the dictionary, which are torch's version numbers."""
        self.stack.pop()
        if type(self.stack[-1]) is not dict:
            raise DamagedWeights("it sets attributes of something that is no dictionary")


def _describe(function: Any) -> str:
    return repr(function.name if isinstance(function, _Global) else type(function).__name__)


_INSTRUCTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": lambda m, a: None,
    "MARK": lambda m, a: m.push(_MARK),
    "NONE": lambda m, a: m.push(None),
    "NEWTRUE": lambda m, a: m.push(True),
    "NEWFALSE": lambda m, a: m.push(False),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"), _Machine.push),
    "EMPTY_DICT": lambda m, a: m.push({}),
    "EMPTY_LIST": lambda m, a: m.push([]),
    "EMPTY_TUPLE": lambda m, a: m.push(()),
    "TUPLE": lambda m, a: m.push(tuple(m.since_mark())),
    "TUPLE1": lambda m, a: m.take(1),
    "TUPLE2": lambda m, a: m.take(2),
    "TUPLE3": lambda m, a: m.take(3),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.get),
    "SETITEM": lambda m, a: m.set_items([m.stack.pop(-2), m.stack.pop()]),
    "SETITEMS": lambda m, a: m.set_items(m.since_mark()),
    "APPEND": lambda m, a: m.append([m.stack.pop()]),
    "APPENDS": lambda m, a: m.append(m.since_mark()),
    "GLOBAL": _Machine.name,
    "REDUCE": lambda m, a: m.call(),
    "BINPERSID": lambda m, a: m.storage(),
    "BUILD": lambda m, a: m.attributes(),
}


def _value(file: io.BytesIO) -> Any:
    """Return the value of the next pickle of the file."""
    try:
        return _run(_Machine(), file)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise DamagedWeights(f"cut short or damaged ({error})") from error


def _run(machine: _Machine, file: io.BytesIO) -> Any:
    with warnings.catch_warnings():
        # Python warns of invalid escapes in texts that are refused next.
        warnings.simplefilter("ignore", DeprecationWarning)
        for code, argument, _ in pickletools.genops(file):
            if code.name == "STOP":
                (value,) = machine.stack
                return value
            if code.name not in _INSTRUCTIONS:
                raise DamagedWeights(f"it uses {code.name}, which no tensor needs")
            _INSTRUCTIONS[code.name](machine, argument)
    raise DamagedWeights("cut short")
