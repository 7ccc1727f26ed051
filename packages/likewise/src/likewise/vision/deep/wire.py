"""Whether an ONNX file is whole: its weights may also lie in other files, named inside it.

An ONNX file is a protocol buffer, a tree of numbered fields.  Only the branches that can hold a
tensor are walked, and of a tensor only the number that says where its values are; so the package
``onnx`` is not needed, and large weights are stepped over.
"""

from __future__ import annotations

from collections.abc import Iterator

from likewise.vision.deep.errors import UnusableModel

# Messages by name, each with the fields that lead on (onnx.proto): field number to message.
_LEADS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_DATA_LOCATION, _EXTERNAL, _LOWER = 14, 1, 0xFFFFFFFF
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def check_whole(model: bytes, name: str) -> None:
    """Refuse a file that keeps weights elsewhere, or is no protocol buffer at all."""
    try:
        outside = _keeps_outside(memoryview(model))
    except (ValueError, IndexError) as error:
        raise UnusableModel(f"{name} cannot be opened as ONNX: cut short or damaged") from error
    if outside:
        raise UnusableModel(
            f"{name} keeps its weights in other files next to it; only self-contained files are "
            "taken (onnx.load, then onnx.save, puts the weights inside)"
        )


def _keeps_outside(model: memoryview) -> bool:
    waiting = [("model", model)]
    while waiting:
        kind, message = waiting.pop()
        leads = _LEADS[kind]
        for field, value in _fields(message):
            if isinstance(value, int):
                # Readers take the lower 32 bits of such a number.
                if kind == "tensor" and (field, value & _LOWER) == (_DATA_LOCATION, _EXTERNAL):
                    return True
            elif field in leads:
                waiting.append((leads[field], value))
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(number, value) of the fields of a message; numbers of fixed size are left out."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _number(message, at)
            yield field, value
            continue
        if wire == _BYTES:
            size, at = _number(message, at)
        elif wire in (_EIGHT, _FOUR):
            size = 8 if wire == _EIGHT else 4
        else:
            raise ValueError(f"a field of kind {wire}")
        if at + size > len(message):
            raise ValueError("a field that ends after its message")
        if wire == _BYTES:
            yield field, message[at : at + size]
        at += size


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number, seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
