"""Check the results of an engine before they are used.

A server may be of another version, behind a proxy, or hostile.  A word beyond the width of a row
would be read beyond an array, a NaN score cannot be compared, and a page that does not advance
would be requested for ever.  Such a result is an error that names the server.  Only a push, which
compares both sides, finds pictures that an engine leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.engines.errors import EngineWrong
from likewise.engines.protocol import RowKind
from likewise_cluster.engines.points import (
    Candidate,
    Numbers,
    Payload,
    Point,
    SearchOptions,
    SparseNumbers,
)

LARGEST_ID = 2**63 - 1


def wrong(address: str, what: str) -> EngineWrong:
    """Return the error for an impossible answer."""
    return EngineWrong(
        f"{address} answered what cannot be: {what}; is it the server that was pushed to?"
    )


def candidate_of(address: str, record: Any, name: str, how: SearchOptions) -> Candidate:
    """Return what a client found, with the requested vector."""
    vector = vector_of(address, record, name) if how.with_vectors else None
    return Candidate(record.id, record.score, vector)


def vector_of(address: str, record: Any, name: str) -> Numbers:
    """Return one named vector of a client's record."""
    held = record.vector
    if not isinstance(held, dict) or held.get(name) is None:
        raise wrong(address, f"a picture without the vector {name!r} that was asked for")
    return numbers_of(address, held[name])


def numbers_of(address: str, vector: Any) -> Numbers:
    """Return a vector of a client as numbers."""
    try:
        if isinstance(vector, list):
            return np.array(vector, np.float32)
        words = np.array(vector.indices, np.int64)
        return SparseNumbers(words, np.array(vector.values, np.float32))
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise wrong(address, f"a vector that is none ({error})") from error


def point_of(address: str, record: Any) -> Point:
    """Return a point of a client with its vectors."""
    held = record.vector or {}
    if not isinstance(held, dict):
        raise wrong(address, "a vector without a name")
    made = {name: numbers_of(address, one) for name, one in held.items()}
    return Point(record.id, made, record.payload or {})


def check_candidates(
    address: str, found: Sequence[Candidate], kind: RowKind, limit: int
) -> Sequence[Candidate]:
    """Check found pictures: at most ``limit``, none twice, finite scores and rows."""
    if len(found) > limit:
        raise wrong(address, f"{len(found)} pictures where {limit} were asked for")
    if len({_check_id(address, one.id) for one in found}) < len(found):
        raise wrong(address, "a picture twice")
    for one in found:
        check_number(address, one.score, "a score")
        if one.vector is not None:
            check_numbers(address, one.vector, kind)
    return found


def check_numbers(address: str, vector: Numbers, kind: RowKind) -> Numbers:
    """Check a row of this kind."""
    if isinstance(vector, SparseNumbers):
        words, values = vector
        if not kind.is_sparse or words.ndim != 1 or words.shape != values.shape:
            raise wrong(address, "a row that is not of its kind")
        if len(words) and not 0 <= words.min() <= words.max() < kind.width:
            raise wrong(address, f"a row with words beyond the {kind.width} there are")
        if len(np.unique(words)) < len(words):
            raise wrong(address, "a row that has a word twice")
    else:
        values = vector
        if kind.is_sparse or values.shape != (kind.width,):
            raise wrong(address, f"a row of shape {values.shape} that is not of its kind")
    if not np.isfinite(values).all():
        raise wrong(address, "a row with NaN or infinite values")
    return vector


def check_page(address: str, page: Sequence[Point], first: int, limit: int) -> Sequence[Point]:
    """Check a page of points by id, from ``first`` on."""
    if len(page) > limit:
        raise wrong(address, f"{len(page)} pictures where {limit} were asked for")
    for one in page:
        if _check_id(address, one.id) < first:
            raise wrong(address, f"picture {one.id} where those from {first} on were asked for")
        first = one.id + 1
    return page


def check_among(address: str, found: Sequence[Point], asked: Sequence[int]) -> Sequence[Point]:
    """Check that all points were requested."""
    strangers = {_check_id(address, one.id) for one in found} - set(asked)
    if strangers:
        raise wrong(address, f"picture {min(strangers)}, which was not asked for")
    return found


def check_number(address: str, value: Any, what: str, *, least: float = -math.inf) -> float:
    """Check a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(address, f"{what} that is no number")
    if not math.isfinite(value) or value < least:
        raise wrong(address, f"{what} of {value}")
    return float(value)


def texts_in(address: str, payload: Payload, field: str) -> tuple[str, ...]:
    """Return the words of a field; none if it is missing."""
    found = payload.get(field, ())
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise wrong(address, f"{field} that are no list of words")
    return tuple(found)


def text_in(address: str, payload: Payload, field: str) -> str | None:
    """Return the text of a field; None if it is missing."""
    found = payload.get(field)
    if found is not None and not isinstance(found, str):
        raise wrong(address, f"a {field} that is no text")
    return found


def _check_id(address: str, image: Any) -> int:
    if isinstance(image, bool) or not isinstance(image, int) or not 0 <= image < LARGEST_ID:
        raise wrong(address, f"a picture {str(image)[:60]!r}; a whole number expected")
    return image
