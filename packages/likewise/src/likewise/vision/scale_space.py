"""SIFT's keypoints and descriptors: extrema of differences of Gaussians (Lowe 2004).

The scale space starts with the picture at twice its size.  An octave is six levels, each blurred
more than the one before; extrema are found in differences of adjacent levels, which are not stored.
Steps, constants and rounding follow OpenCV's, so that descriptors differ only in the last digit.
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
# The blur of the camera, in pixels of the doubled picture.
_CAMERA = 1.0
_PEAK = 0.8
_WIDTH = 128
# The first size of the array of extrema; an octave with more is searched twice.
_N_EXTREMA = 65_536


class Keypoints(NamedTuple):
    """Keypoints, strongest first: a row of ``table`` and a descriptor each.

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
    """Find keypoints, keep the ``max_features`` strongest and describe them."""
    sizes = _octave_sizes(*image.shape)
    with _buffer(sum((_LAYERS + 3) * rows * columns for rows, columns in sizes)) as buffer:
        octaves = _blur(np.ascontiguousarray(image), sizes, buffer)
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
    """Return frames and rows of the table, strongest first, ties by place."""
    octave, _, y, x, sigma, turn, response = found.T
    pixel = 2.0 ** (octave - 1)
    # Angles of the table are clockwise.
    degrees = np.where(turn == 0, 0, 360 * (1 - turn))
    table = np.column_stack([x * pixel, y * pixel, 2 * sigma * pixel, degrees, response])
    order = np.lexsort((degrees, table[:, 2], table[:, 0], table[:, 1], -response))
    # Two adjacent pixels can lead to one extremum.
    again = (table[order[1:]] == table[order[:-1]]).all(axis=1)
    order = np.delete(order, 1 + np.flatnonzero(again))[:max_features]
    return found[order], table[order]


def _describe(octaves: list[Floats], frames: NDArray[np.float64], cap: float) -> Floats:
    """Describe frames (octave, layer, y, x, sigma, turn, ..), in the order of pixels in memory."""
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
"""A buffer to use again: allocating it takes as long as a blur takes to fill it."""
_MAX_SPARE = 24_000_000


@contextmanager
def _buffer(n: int) -> Iterator[Floats]:
    """Yield ``n`` numbers, and keep them for the next picture if they are not too many."""
    try:
        buffer = _spare.pop()  # another thread may have taken it
    except IndexError:
        buffer = np.empty(0, np.float32)
    if len(buffer) < n:
        buffer = np.empty(n, np.float32)
    yield buffer
    if not _spare and len(buffer) <= _MAX_SPARE:
        _spare.append(buffer)


def _octave_sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the sizes of octaves, from twice the picture's, while keypoints fit in."""
    sizes, rows, columns = [], 2 * rows, 2 * columns
    while min(rows, columns) > 2 * kernels.BORDER:
        sizes.append((rows, columns))
        rows, columns = rows // 2, columns // 2
    return sizes


def _blur(image: NDArray[np.uint8], sizes: list[tuple[int, int]], buffer: Floats) -> list[Floats]:
    """Fill ``buffer`` with the octaves of a picture, one after another."""
    octaves: list[Floats] = []
    begin = 0
    for rows, columns in sizes:
        end = begin + (_LAYERS + 3) * rows * columns
        levels = buffer[begin:end].reshape(_LAYERS + 3, rows, columns)
        if octaves:
            # Half the size of the level that is blurred twice as much as the first.
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
    """Return a Gaussian from its centre to four sigma, with a zero if their number is odd."""
    reach = (round(8 * sigma + 1) | 1) // 2
    # NumPy's exponentials and sums differ between processors.
    values = [math.exp(-(i**2) / (2 * sigma**2)) for i in range(reach + 1)]
    total = math.fsum(values + values[1:])
    return np.array([v / total for v in values] + [0.0] * (reach % 2), np.float32)


# -- keypoints of one octave ---------------------------------------------------------------------


def _detect(levels: Floats, contrast: float, edge: float, upright: bool) -> NDArray[np.float64]:
    """Return rows (space for the octave, layer, y, x, sigma, turn, response)."""
    # Half of the contrast that an extremum needs in the end, in whole grey levels.
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
    count, found = _N_EXTREMA, np.empty((0, 3), np.int32)
    while len(found) < count:
        found = np.empty((count, 3), np.int32)
        count = kernels.extrema(levels, threshold, eights.view(np.uint8), eights, found)
    return found[:count]
