"""Rows of three object numbers: taken from a file, checked, counted from 0.

Every row is checked here, with its number in the message, so that learners may trust what they
get: whole numbers, objects that exist, three different ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.readers.files import read_lines, read_text
from benchmarks.readers.numbers import read_table
from likewise.errors import DatasetError


def csv_rows(path: Path) -> NDArray[Any]:
    """The rows of a CSV file of three numbers a line; the first line may be a heading."""
    lines = read_lines(path)
    if not lines:
        raise DatasetError(f"{path}: is empty; lines a,b,c expected")
    number, first = lines[0]
    # A heading has no number in it at all; a row with one bad field must not pass for one.
    heading = not any(_is_number(field) for field in first.split(","))
    # float64 holds every id exactly, and keeps 1.5 apart from 1 until it can be refused.
    return read_table(
        path, delimiter=",", skip_lines=number if heading else 0, dtype=np.float64, columns=3
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: not JSON ({error})") from error


def json_rows(content: Any, key: str, width: int, path: Path) -> NDArray[np.int64]:
    """A list of rows of whole numbers, or the one an object holds under a key."""
    if isinstance(content, dict):
        if key not in content:
            raise DatasetError(f"{path}: has no {key!r}; it holds {', '.join(sorted(content))}")
        content = content[key]
    if not isinstance(content, list):
        raise DatasetError(f"{path}: {key} is not a list")
    for number, row in enumerate(content, 1):
        if not (isinstance(row, list) and len(row) == width and all(type(v) is int for v in row)):
            raise DatasetError(
                f"{path}, {key}, row {number}: {str(row)[:60]} where {width} whole numbers were "
                "expected"
            )
    try:
        return np.array(content, dtype=np.int64).reshape(-1, width)
    except OverflowError as error:
        raise DatasetError(f"{path}: {key} holds a number beyond 64 bits") from error


def _whole(raw: NDArray[Any], source: Path) -> NDArray[np.int64]:
    """The same numbers as integers, or the row of the first that is none."""
    if raw.dtype.kind not in "iuf":
        raise DatasetError(f"{source}: holds {raw.dtype}, whole numbers were expected")
    if raw.dtype.kind == "f":
        bad = ~np.isfinite(raw) | (np.abs(raw) >= 2.0**53)
        bad |= np.where(bad, 0, raw) != np.rint(np.where(bad, 0, raw))
        _refuse_rows(bad.any(axis=1), raw, source, "whole numbers expected")
    return raw.astype(np.int64)


def check_triplets(
    raw: NDArray[Any], source: Path, first_id: int, n_objects: int | None
) -> NDArray[np.int64]:
    """(m, 3) triplets counted from 0, every row of three different objects that exist."""
    triplets = in_range(raw, source, first_id, n_objects)
    repeated = names_one_twice(triplets)
    _refuse_rows(repeated, triplets + first_id, source, "three different objects expected")
    return triplets


def in_range(
    raw: NDArray[Any], source: Path, first_id: int, n_objects: int | None
) -> NDArray[np.int64]:
    """(m, 3) rows counted from 0, whose objects exist but may be named twice."""
    if raw.ndim != 2 or raw.shape[1] != 3:
        raise DatasetError(
            f"{source}: triplets have the shape {raw.shape}; three columns expected "
            "(anchor, nearer, farther)"
        )
    if len(raw) == 0:
        raise DatasetError(f"{source}: holds no triplets")
    whole = _whole(raw, source)
    triplets = whole - first_id
    _refuse_rows(triplets.min(axis=1) < 0, whole, source, f"ids start at {first_id}")
    if n_objects is not None:
        last = n_objects - 1 + first_id
        _refuse_rows(triplets.max(axis=1) >= n_objects, whole, source, f"ids end at {last}")
    return triplets


def names_one_twice(triplets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows that compare an object with itself: they say nothing, or nothing possible."""
    i, j, k = triplets.T
    repeated: NDArray[np.bool_] = (i == j) | (i == k) | (j == k)
    return repeated


def _refuse_rows(bad: NDArray[np.bool_], rows: NDArray[Any], source: Path, wanted: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        shown = ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in rows[at].tolist())
        raise DatasetError(f"{source}, row {at + 1}: ({shown}); {wanted}")


def count_objects(triplets: NDArray[np.int64], n_objects: int | None) -> int:
    """The number of objects: as given, else the highest id plus one."""
    return int(triplets.max()) + 1 if n_objects is None else n_objects
