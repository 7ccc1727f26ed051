"""SIFT's keypoints and descriptors: extrema of differences of Gaussians (Lowe 2004).

The scale space starts with the picture at twice its size.  An octave is six levels, each blurred
more than the one before; differences of neighbours are looked through for extrema and never kept.
Steps, constants and rounding follow OpenCV's, so that its descriptors and these are the same but
for the last digit; what differs is the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.vision import _sift_kernels as kernels

Floats = NDArray[np.float32]

_LAYERS = 3
_SIGMA = 1.6
# What the camera blurred already, in pixels of the doubled picture.
_CAMERA = 1.0
_PEAK = 0.8
_WIDTH = 128
# Extrema of an octave that there is room for at first; with more it is looked through twice.
_ROOM = 65_536


class Keypoints(NamedTuple):
    """What was found: a row of ``table`` and a descriptor each, strongest first.

    ``table`` has columns x, y, size (twice sigma), angle (degrees, clockwise), response.
    """

    table: NDArray[np.float64]
    descriptors: Floats


def keypoints(
    image: NDArray[np.uint8],
    max_features: int,
    *,
    contrast_threshold: float,
    edge_threshold: float,
    upright: bool,
    cap: float,
) -> Keypoints:
    """Detect, keep the ``max_features`` strongest, describe them."""
    sizes = _octave_sizes(*image.shape)
    with _room(sum((_LAYERS + 3) * rows * columns for rows, columns in sizes)) as room:
        octaves = _blur(np.ascontiguousarray(image), sizes, room)
        found = [np.empty((0, 7))]
        for octave, levels in enumerate(octaves):
            found.append(_detect(levels, contrast_threshold, edge_threshold, upright))
            # Pixels of this octave are 2 ** (octave - 1) pixels of the picture.
            found[-1][:, 0] = octave
        frames, table = _strongest(np.concatenate(found), max_features)
        return Keypoints(table, _describe(octaves, frames, cap))


def _strongest(
    found: NDArray[np.float64], max_features: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frames and rows of the table, strongest first; ties by place, so that the answer is one."""
    octave, _, y, x, sigma, turn, response = found.T
    pixel = 2.0 ** (octave - 1)
    # Table and picture count angles the other way round.
    degrees = np.where(turn == 0, 0, 360 * (1 - turn))
    table = np.column_stack([x * pixel, y * pixel, 2 * sigma * pixel, degrees, response])
    order = np.lexsort((degrees, table[:, 2], table[:, 0], table[:, 1], -response))
    # Two neighbours can lead to one extremum.
    again = (table[order[1:]] == table[order[:-1]]).all(axis=1)
    order = np.delete(order, 1 + np.flatnonzero(again))[:max_features]
    return found[order], table[order]


def _describe(octaves: list[Floats], frames: NDArray[np.float64], cap: float) -> Floats:
    """Descriptors of frames (octave, layer, y, x, sigma, turn, ..), made in the order of pixels."""
    order = np.lexsort((frames[:, 2], frames[:, 1], frames[:, 0]))
    in_order = frames[order]
    begins = np.searchsorted(in_order[:, 0], np.arange(len(octaves) + 1))
    made = np.empty((len(frames), _WIDTH), np.float32)
    for levels, a, z in zip(octaves, begins[:-1], begins[1:], strict=True):
        kernels.describe(levels, np.ascontiguousarray(in_order[a:z, 1:6]), cap, made[a:z])
    descriptors = np.empty_like(made)
    descriptors[order] = made
    return descriptors


# -- the scale space -----------------------------------------------------------------------------

_spare: list[Floats] = []
"""Room that was used before: the system takes as long to give it as a blur takes to fill it."""
_MOST_SPARE = 24_000_000


@contextmanager
def _room(n: int) -> Iterator[Floats]:
    """``n`` numbers; one such room is kept for the next picture, if it is not very large."""
    try:
        room = _spare.pop()
    except IndexError:
        room = np.empty(0, np.float32)
    if len(room) < n:
        room = np.empty(n, np.float32)
    yield room
    if not _spare and len(room) <= _MOST_SPARE:
        _spare.append(room)


def _octave_sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Of twice the picture's size, of its size, of half and so on, while keypoints find room."""
    sizes, rows, columns = [], 2 * rows, 2 * columns
    while min(rows, columns) > 2 * kernels.BORDER:
        sizes.append((rows, columns))
        rows, columns = rows // 2, columns // 2
    return sizes


def _blur(image: NDArray[np.uint8], sizes: list[tuple[int, int]], room: Floats) -> list[Floats]:
    """The octaves of a picture, one after another in ``room``."""
    octaves: list[Floats] = []
    begin = 0
    for rows, columns in sizes:
        end = begin + (_LAYERS + 3) * rows * columns
        levels = room[begin:end].reshape(_LAYERS + 3, rows, columns)
        if octaves:
            # Half the size, from the level that is blurred twice as much as the first.
            levels[0] = octaves[-1][_LAYERS, ::2, ::2][:rows, :columns]
        else:
            kernels.double(image, levels[1])
            kernels.blur(levels[1], levels[0], _weights(math.sqrt(_SIGMA**2 - _CAMERA**2)))
        step = 2 ** (1 / _LAYERS)
        for i in range(1, len(levels)):
            before = _SIGMA * step ** (i - 1)
            more = math.sqrt((before * step) ** 2 - before**2)
            kernels.blur(levels[i - 1], levels[i], _weights(more))
        octaves.append(levels)
        begin = end
    return octaves


@lru_cache(maxsize=16)
def _weights(sigma: float) -> Floats:
    """A Gaussian from its centre to four sigma; a zero makes the number of others even."""
    reach = (round(8 * sigma + 1) | 1) // 2
    # Python's own exponential and exact sum: numpy's differ between processors.
    values = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(reach + 1)]
    total = math.fsum(values + values[1:])
    return np.array([v / total for v in values] + [0.0] * (reach % 2), np.float32)


# -- keypoints of one octave ---------------------------------------------------------------------


def _detect(levels: Floats, contrast: float, edge: float, upright: bool) -> NDArray[np.float64]:
    """Rows (free for the octave, layer, y, x, sigma, turn, response), in pixels of the octave."""
    # Half of what the contrast must be in the end, between the pixels; in whole grey levels.
    threshold = math.floor(0.5 * contrast / _LAYERS * 255)
    found = _extrema(levels, np.float32(threshold))
    places = np.empty((len(found), 7))
    kept = kernels.localise(levels, found, _LAYERS, contrast, edge, places)
    layer, y, x, layer_off, y_off, x_off, response = places[:kept].T
    sigma = _SIGMA * 2 ** ((layer + layer_off) / _LAYERS)
    rows = np.column_stack([layer, layer, y + y_off, x + x_off, sigma, np.zeros(kept), response])
    if upright or not kept:
        return rows
    most = kept * (kernels.ANGLES // 2)
    owners, turns = np.empty(most, np.int64), np.empty(most)
    frames = np.column_stack([layer, y, x, sigma])
    count = kernels.orientations(levels, frames, _PEAK, owners, turns)
    rows = rows[owners[:count]]
    rows[:, 5] = turns[:count]
    return rows


def _extrema(levels: Floats, threshold: np.float32) -> NDArray[np.int32]:
    columns = levels.shape[2]
    eights = np.zeros(-(-columns // 8), np.int64)
    count, found = _ROOM, np.empty((0, 3), np.int32)
    while len(found) < count:
        found = np.empty((count, 3), np.int32)
        count = kernels.extrema(levels, threshold, eights.view(np.uint8), eights, found)
    return found[:count]
