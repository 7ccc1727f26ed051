"""Find copies of pictures by their pixels: re-saved, resized, cropped a little, mirrored.

A network sees past such changes and finds pictures of the same sort, so its scores cannot tell a
copy from a look-alike.  Here kept thumbnails are compared in two steps.  A *signature* (12 x 12
coloured cells, blurred, of the picture and of its mirror image) nominates a few pictures for each;
then each pair is *aligned*: one slides over the other at sizes from 88 % to 100 %, as in a crop,
its place is refined to a fraction of a pixel, and the rest is compared block by block.  One block
that differs is enough to say no: in two photographs of one scene something moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.lazy_imports import cv2

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]

CELLS = 12
"""Side of a signature."""
NOMINEES = 6
"""Pictures that are nominated for each, and as many for its mirror image."""
NOMINATED_FROM = 0.86
"""The lowest agreement of signatures of a nominated pair."""
SIDE = 96
"""Longer side of the pictures that are compared."""
COARSE = 48
"""Longer side of the pictures that slide over each other."""
SIZES = (1.0, 0.97, 0.94, 0.91, 0.88)
"""Sides of a crop, as shares of the whole."""
REFINED_FROM = 0.8
"""Correlation from which the place is refined."""
AGREES_FROM = 0.96
"""Correlation of aligned pixels from which two pictures are copies."""
WORST_BLOCK = 0.28
"""Largest difference of any block, in standard deviations of the picture."""
BENT = 0.03
"""How far an alignment may turn, shear or stretch; a crop does not."""
BLOCKS = 6
_KEPT = 4_000
_ROWS = 512
_FLAT = 4.0
"""Standard deviation of levels below which a picture is blank."""


class Copy(NamedTuple):
    """Two pictures that show the same pixels; ``score`` is the correlation when aligned."""

    one: int
    other: int
    score: float
    mirrored: bool


class Alignment(NamedTuple):
    """The best agreement of two pictures: correlation, and difference of the worst block."""

    score: float
    worst: float


def signature(pixels: Pixels) -> Floats | None:
    """Return blurred cells of unit length; None for a blank picture."""
    if pixels.std(axis=(0, 1)).max() < _FLAT:
        return None
    cells = cv2.resize(pixels, (CELLS, CELLS), interpolation=cv2.INTER_AREA).astype(np.float32)
    soft = np.asarray(cv2.GaussianBlur(cells, (0, 0), 0.8, borderType=cv2.BORDER_REPLICATE))
    centred = soft - soft.mean()
    length = float(np.linalg.norm(centred))
    return None if length < 1e-3 else np.asarray(centred / length, np.float32)


def find_copies(
    images: Sequence[int],
    load: Callable[[int], Pixels | None],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Copy]:
    """Find pairs of copies among pictures; ``load`` returns pixels, or None if there are none."""
    ids: list[int] = []
    rows: list[Floats] = []
    total = 2 * len(images)
    for done, image in enumerate(images):
        pixels = load(image)
        made = None if pixels is None else signature(pixels)
        if made is not None:
            ids.append(image)
            rows.append(made)
        if done % 100 == 0:
            report(done, total)
    if len(ids) < 2:
        return []

    @lru_cache(_KEPT)
    def kept(image: int) -> Pixels | None:
        pixels = load(image)
        return None if pixels is None else _shrink(pixels, SIDE)

    found: list[Copy] = []
    for begun, (i, j, mirrored) in _nominate(np.stack(rows)):
        report(len(images) + begun, total)
        one, other = kept(ids[i]), kept(ids[j])
        if one is None or other is None:
            continue
        best = align(one, other[:, ::-1] if mirrored else other)
        if is_copy(best):
            found.append(Copy(ids[i], ids[j], best.score, mirrored))
    return found


def is_copy(found: Alignment) -> bool:
    return found.score >= AGREES_FROM and found.worst <= WORST_BLOCK


def _nominate(cells: Floats) -> Iterator[tuple[int, tuple[int, int, bool]]]:
    """Yield pairs to compare, each once and mirrored once, with the number of rows done."""
    n = len(cells)
    plain = cells.reshape(n, -1)
    mirror = np.ascontiguousarray(cells[:, :, ::-1]).reshape(n, -1)
    met: set[tuple[int, int, bool]] = set()
    wanted = min(NOMINEES + 1, n)
    for start in range(0, n, _ROWS):
        for mirrored, asked in ((False, plain), (True, mirror)):
            scores = asked[start : start + _ROWS] @ plain.T
            best = np.argpartition(scores, -wanted, axis=1)[:, -wanted:]
            for row, columns in enumerate(best):
                i = start + row
                for j in columns.tolist():
                    if j == i or scores[row, j] < NOMINATED_FROM:
                        continue
                    pair = (min(i, j), max(i, j), mirrored)
                    if pair not in met:
                        met.add(pair)
                        yield start, pair


def align(one: Pixels, other: Pixels) -> Alignment:
    """Align two small pictures, of which one may be a crop of the other."""
    greys = [
        np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8) for picture in (one, other)
    ]
    coarse = [_shrink(grey, COARSE) for grey in greys]
    best = max(
        (
            (*_slide(coarse[whole], coarse[1 - whole], share), whole, share)
            for whole in (0, 1)
            for share in SIZES
        ),
        key=lambda found: found[0],
    )
    score, (x, y), whole, share = best
    if score < REFINED_FROM:
        return Alignment(score, np.inf)
    pictures = (one, other)
    inner = pictures[1 - whole]
    scale = share * pictures[whole].shape[1] / inner.shape[1]
    step = pictures[whole].shape[1] / coarse[whole].shape[1]
    start = np.array([[scale, 0, x * step], [0, scale, y * step]], np.float32)
    warp = _refine(greys[whole], greys[1 - whole], start)
    size = (inner.shape[1], inner.shape[0])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    seen = cv2.warpAffine(pictures[whole], warp, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return _compare(np.asarray(seen, np.uint8), inner)


def _shrink(pixels: Pixels, side: int) -> Pixels:
    """Resize a picture so that its longer side is ``side``."""
    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _slide(whole: Pixels, part: Pixels, share: float) -> tuple[float, tuple[int, int]]:
    """Find where the part fits best in the whole if its width is this share."""
    height, width = whole.shape
    w = round(width * share)
    h = round(w * part.shape[0] / part.shape[1])
    # Sides are whole pixels: one pixel too tall is the same shape.
    h = height if height < h <= height + 1 else h
    if h > height or h < height * (SIZES[-1] - 0.03) or w < 8 or h < 8:
        return -1.0, (0, 0)
    template = cv2.resize(part, (w, h), interpolation=cv2.INTER_AREA)
    _, score, _, place = cv2.minMaxLoc(cv2.matchTemplate(whole, template, cv2.TM_CCOEFF_NORMED))
    return (float(score), (place[0], place[1])) if np.isfinite(score) else (-1.0, (0, 0))


def _refine(whole: Pixels, part: Pixels, start: Floats) -> Floats:
    """Refine the place of the part to a fraction of a pixel, unless the result is not a crop."""
    often = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 40, 1e-4)
    every = np.full(whole.shape, 255, np.uint8)
    try:
        _, warp = cv2.findTransformECC(
            part, whole, start.copy(), cv2.MOTION_AFFINE, often, every, 3
        )
    except cv2.error:
        return start  # it did not converge
    (a, b), (c, d) = warp[0, :2], warp[1, :2]
    crooked = max(abs(b), abs(c), abs(a - d))
    size = start[0, 0]
    return start if crooked > BENT or abs(a - size) > 2 * BENT else np.asarray(warp, np.float32)


def _compare(one: Pixels, other: Pixels) -> Alignment:
    """Compare two pictures of one shape after equalising brightness and contrast."""
    a, b = one.astype(np.float32), other.astype(np.float32)
    spread, others = float(a.std()), float(b.std())
    if spread < _FLAT or others < _FLAT:
        return Alignment(-1.0, np.inf)
    a, b = (a - a.mean()) / spread, (b - b.mean()) / others
    # Blurred, because edges fall between other pixels in each copy.
    gap = cv2.GaussianBlur(a - b, (0, 0), 1.0)
    blocks = cv2.resize((gap**2).mean(axis=2), (BLOCKS, BLOCKS), interpolation=cv2.INTER_AREA)
    return Alignment(float((a * b).mean()), float(np.sqrt(blocks.max())))
