"""The kernels of SIFT at keypoints: blurring, extrema, places, orientations, descriptors.

``levels`` is one octave of the scale space: an array (6, rows, columns) of increasingly blurred
pictures.  The compiler may not reorder additions nor fuse them with products, and angles come from
a polynomial here, so that processors agree on every bit of blur, places and descriptors; only
exponentials come from the system's library.
"""

from __future__ import annotations

import math

import numpy as np

from likewise_methods.kernels import kernel

BORDER = 5
"""Pixels at the margins of an octave that are not searched."""
ANGLES = 36
"""Bins of the histogram of a keypoint's orientations."""
_STEPS = 5
_CELLS = 4
_DIRECTIONS = 8
# Two more directions than there are, because votes are shared with the next one.
_ROUND = _DIRECTIONS + 2
_OUTSIDE = (_CELLS + 1) ** 2 * _ROUND * 4
# The widest window around a keypoint, 2 * 39 + 1 pixels: sigma is at most 1.6 * 2 ** (3.5 / 3).
_REACH = 80
_PATCH = _REACH * _REACH
# Unsigned indices need no check for negative values, and columns of one array at constant distances
# cannot overlap.
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(i) for i in range(1, 8))
_BORDER = np.uint64(BORDER)
_B, _C, _D, _E = (np.uint64(i * _PATCH) for i in (1, 2, 3, 4))
# atan(t) / (2 pi) for t in [0, 1] as an odd polynomial, least error over the interval: 3e-7 turns.
_A1, _A3, _A5 = 0.15915132, -0.05293857, 0.03080291
_A7, _A9, _A11 = -0.01852985, 0.00837908, -0.00186516


@kernel
def double(image, out):  # type: ignore[no-untyped-def]
    """Double rows and columns: pixel (y, x) goes to (2y, 2x), with means between."""
    rows, columns = image.shape
    half = np.float32(0.5)
    for y in range(rows):
        here = out[2 * y]
        for x in range(columns):
            here[2 * x] = image[y, x]
        for x in range(columns - 1):
            here[2 * x + 1] = half * (here[2 * x] + here[2 * x + 2])
        here[2 * columns - 1] = here[2 * columns - 2]
    for y in range(rows):
        above, below = out[2 * y], out[min(2 * y + 2, 2 * rows - 2)]
        here = out[2 * y + 1]
        for x in range(2 * columns):
            here[x] = half * (above[x] + below[x])


@kernel(cache=False)
def _reflect(i, n):  # type: ignore[no-untyped-def]
    """Mirror an index outside of 0 .. n - 1 at the outermost pixel."""
    while i < 0 or i >= n:
        i = -i if i < 0 else 2 * (n - 1) - i
    return i


@kernel
def blur(source, out, weights):  # type: ignore[no-untyped-def]
    """Apply a symmetric filter down the columns, then along the row while it is in the cache.

    ``weights`` are those of the centre and of an even number of pixels to either side: taking two
    at a time halves the reads and writes of partial sums.
    """
    rows, columns = source.shape
    reach = weights.shape[0] - 1
    line = np.empty(columns + 2 * reach, np.float32)
    middle = line[reach : reach + columns]
    centre = weights[0]
    for y in range(rows):
        for t in range(1, reach, 2):
            w1, w2 = weights[t], weights[t + 1]
            a1, z1 = source[_reflect(y - t, rows)], source[_reflect(y + t, rows)]
            a2, z2 = source[_reflect(y - t - 1, rows)], source[_reflect(y + t + 1, rows)]
            if t == 1:
                own = source[y]
                for x in range(columns):
                    middle[x] = centre * own[x] + (w1 * (a1[x] + z1[x]) + w2 * (a2[x] + z2[x]))
            else:
                for x in range(columns):
                    middle[x] += w1 * (a1[x] + z1[x]) + w2 * (a2[x] + z2[x])
        for x in range(1, reach + 1):
            line[reach - x] = middle[_reflect(-x, columns)]
            line[reach + columns - 1 + x] = middle[_reflect(columns - 1 + x, columns)]
        here = out[y]
        for t in range(1, reach, 2):
            w1, w2 = weights[t], weights[t + 1]
            a1, z1 = line[reach - t :][:columns], line[reach + t :][:columns]
            a2, z2 = line[reach - t - 1 :][:columns], line[reach + t + 1 :][:columns]
            if t == 1:
                for x in range(columns):
                    here[x] = centre * middle[x] + (w1 * (a1[x] + z1[x]) + w2 * (a2[x] + z2[x]))
            else:
                for x in range(columns):
                    here[x] += w1 * (a1[x] + z1[x]) + w2 * (a2[x] + z2[x])


@kernel
def extrema(levels, threshold, flags, eights, found):  # type: ignore[no-untyped-def]
    """Find (layer, y, x) of the extrema of differences of levels and return their number.

    The number may be larger than the rows of ``found``.  An extremum is compared with its 26
    neighbours in the same and the two adjacent differences, of which only three rows are stored.
    ``flags`` has a byte for each column, all zero; ``eights`` is a view of it as 64-bit integers.
    """
    n_levels, rows, columns = levels.shape
    pixels = levels.reshape(-1)
    n = n_levels - 1
    width, last = np.uint64(columns), np.uint64(columns - BORDER)
    # Three rows of differences for each layer; then the highest and lowest of the three.
    difference = np.empty(3 * n * columns, np.float32)
    highest = np.empty(n * columns, np.float32)
    lowest = np.empty(n * columns, np.float32)
    high = np.empty(columns, np.float32)
    low = np.empty(columns, np.float32)
    count = 0
    for y in range(BORDER - 1, rows - BORDER + 1):
        for k in range(n):
            a, b = np.uint64((k * rows + y) * columns), np.uint64(((k + 1) * rows + y) * columns)
            to = np.uint64((3 * k + y % 3) * columns)
            for x in range(width):
                difference[to + x] = pixels[b + x] - pixels[a + x]
        if y < BORDER + 1:
            continue
        for k in range(n):
            a, to = np.uint64(3 * k * columns), np.uint64(k * columns)
            b, c = a + width, a + width + width
            for x in range(width):
                highest[to + x] = _larger(
                    _larger(difference[a + x], difference[b + x]), difference[c + x]
                )
            for x in range(width):
                lowest[to + x] = _smaller(
                    _smaller(difference[a + x], difference[b + x]), difference[c + x]
                )
        for k in range(1, n - 1):
            b = np.uint64(k * columns)
            a, c, own = b - width, b + width, np.uint64((3 * k + (y - 1) % 3) * columns)
            for x in range(width):
                high[x] = _larger(_larger(highest[a + x], highest[b + x]), highest[c + x])
            for x in range(width):
                low[x] = _smaller(_smaller(lowest[a + x], lowest[b + x]), lowest[c + x])
            for x in range(_BORDER, last):
                v = difference[own + x]
                top = _larger(_larger(high[x - _1], high[x]), high[x + _1])
                bottom = _smaller(_smaller(low[x - _1], low[x]), low[x + _1])
                flags[x] = ((v > threshold) & (v >= top)) | ((v < -threshold) & (v <= bottom))
            for i in range(eights.shape[0]):
                # Few flags are set.
                if eights[i] == 0:
                    continue
                for x in range(8 * i, min(8 * i + 8, columns)):
                    if flags[x]:
                        if count < found.shape[0]:
                            found[count, 0], found[count, 1], found[count, 2] = k, y - 1, x
                        count += 1
    return count


@kernel(cache=False, inline="always")
def _larger(a, b):  # type: ignore[no-untyped-def]
    return a if a > b else b


@kernel(cache=False, inline="always")
def _smaller(a, b):  # type: ignore[no-untyped-def]
    return a if a < b else b


@kernel(cache=False)
def _difference(levels, k, y, x):  # type: ignore[no-untyped-def]
    return levels[k + 1, y, x] - levels[k, y, x]


@kernel
def localise(levels, found, n_layers, contrast, edge, out):  # type: ignore[no-untyped-def]
    """Locate extrema between the pixels and return the number of rows written to ``out``.

    A row is (layer, y, x, layer offset, y offset, x offset, response).  The extremum of a quadratic
    through the 27 values is taken (Lowe 2004, section 4); if it is nearer to another pixel, the
    next quadratic is fitted there.  Weak extrema and those along an edge are dropped.
    """
    _, rows, columns = levels.shape
    kept = 0
    for row in range(found.shape[0]):
        k, y, x = found[row, 0], found[row, 1], found[row, 2]
        settled = False
        for _ in range(_STEPS):
            v2 = 2.0 * _difference(levels, k, y, x)
            east, west = _difference(levels, k, y, x + 1), _difference(levels, k, y, x - 1)
            south, north = _difference(levels, k, y + 1, x), _difference(levels, k, y - 1, x)
            above, below = _difference(levels, k + 1, y, x), _difference(levels, k - 1, y, x)
            gx, gy, gs = 0.5 * (east - west), 0.5 * (south - north), 0.5 * (above - below)
            xx, yy, ss = east + west - v2, south + north - v2, above + below - v2
            xy = 0.25 * (
                _difference(levels, k, y + 1, x + 1)
                - _difference(levels, k, y + 1, x - 1)
                - _difference(levels, k, y - 1, x + 1)
                + _difference(levels, k, y - 1, x - 1)
            )
            xs = 0.25 * (
                _difference(levels, k + 1, y, x + 1)
                - _difference(levels, k + 1, y, x - 1)
                - _difference(levels, k - 1, y, x + 1)
                + _difference(levels, k - 1, y, x - 1)
            )
            ys = 0.25 * (
                _difference(levels, k + 1, y + 1, x)
                - _difference(levels, k + 1, y - 1, x)
                - _difference(levels, k - 1, y + 1, x)
                + _difference(levels, k - 1, y - 1, x)
            )
            # Cramer's rule for the symmetric system H o = -g.
            c0, c1, c2 = yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy
            det = xx * c0 + xy * c1 + xs * c2
            if det == 0.0:
                break
            ox = -(c0 * gx + c1 * gy + c2 * gs) / det
            oy = -(c1 * gx + (xx * ss - xs * xs) * gy + (xy * xs - xx * ys) * gs) / det
            os = -(c2 * gx + (xy * xs - xx * ys) * gy + (xx * yy - xy * xy) * gs) / det
            if abs(ox) < 0.5 and abs(oy) < 0.5 and abs(os) < 0.5:
                settled = True
                break
            # An offset beyond the picture may be too large to round.
            if abs(ox) > columns or abs(oy) > rows or abs(os) > n_layers:
                break
            x, y, k = x + round(ox), y + round(oy), k + round(os)
            if not (
                1 <= k <= n_layers
                and BORDER <= y < rows - BORDER
                and BORDER <= x < columns - BORDER
            ):
                break
        if not settled:
            continue
        response = abs(_difference(levels, k, y, x) + 0.5 * (gx * ox + gy * oy + gs * os)) / 255.0
        bent, flat = xx * yy - xy * xy, xx + yy
        if response * n_layers < contrast or bent <= 0.0:
            continue
        if flat * flat * edge >= (edge + 1.0) ** 2 * bent:
            continue
        out[kept, 0], out[kept, 1], out[kept, 2] = k, y, x
        out[kept, 3], out[kept, 4], out[kept, 5] = os, oy, ox
        out[kept, 6] = response
        kept += 1
    return kept


@kernel(cache=False)
def _window(radius, sigma, window):  # type: ignore[no-untyped-def]
    """Fill ``window`` with a Gaussian at -radius .. radius."""
    for i in range(radius + 1):
        window[radius + i] = window[radius - i] = math.exp(-i * i / (2.0 * sigma * sigma))


@kernel(error_model="numpy")
def orientations(levels, places, peak, owners, turns):  # type: ignore[no-untyped-def]
    """Find orientations of keypoints, every peak of at least ``peak`` of the highest.

    ``places`` are rows (layer, y, x, sigma); votes are weighted by a Gaussian of 1.5 sigma.  Fill
    ``owners`` (rows of ``places``) and ``turns`` (orientations) and return their number.
    """
    _, rows, columns = levels.shape
    pixels = levels.reshape(-1)
    votes = np.empty(ANGLES + 1, np.float32)
    bars = np.empty(ANGLES, np.float32)
    count = 0
    window = np.empty(_REACH, np.float32)
    s = np.empty(3 * _PATCH, np.float32)
    width = np.uint64(columns)
    for row in range(places.shape[0]):
        y0, x0, sigma = int(places[row, 1]), int(places[row, 2]), 1.5 * places[row, 3]
        radius = round(3.0 * sigma)
        _window(radius, sigma, window)
        first, last = max(x0 - radius, 1), min(x0 + radius, columns - 2)
        n = np.uint64(last - first + 1)
        to = np.uint64(0)
        for y in range(max(y0 - radius, 1), min(y0 + radius, rows - 2) + 1):
            weight = window[y - y0 + radius]
            at = np.uint64((int(places[row, 0]) * rows + y) * columns + first)
            across = np.uint64(first - x0 + radius)
            for j in range(n):
                s[to + j] = pixels[at + j + _1] - pixels[at + j - _1]
                s[to + j + _B] = pixels[at + j - width] - pixels[at + j + width]
            for j in range(n):
                s[to + j + _C] = weight * window[across + j]
            to += n
        for j in range(to):
            dx, dy = s[j], s[j + _B]
            s[j + _B] = np.float32(ANGLES) * _turns(dx, dy) + np.float32(0.5)
            s[j + _C] *= np.sqrt(dx * dx + dy * dy)
        votes[:] = 0
        for j in range(to):
            votes[np.uint32(s[j + _B])] += s[j + _C]
        # The last bin, a full turn, is the first.
        votes[0] += votes[ANGLES]
        highest = np.float32(0.0)
        for b in range(ANGLES):
            bars[b] = (
                (votes[(b - 2) % ANGLES] + votes[(b + 2) % ANGLES]) * np.float32(1 / 16)
                + (votes[(b - 1) % ANGLES] + votes[(b + 1) % ANGLES]) * np.float32(4 / 16)
                + votes[b] * np.float32(6 / 16)
            )
            highest = max(highest, bars[b])
        for b in range(ANGLES):
            before, own, after = bars[(b - 1) % ANGLES], bars[b], bars[(b + 1) % ANGLES]
            if own > before and own > after and own >= np.float32(peak) * highest:
                # The top of the parabola through three bars.
                top = b + 0.5 * (before - after) / (before - 2 * own + after)
                owners[count], turns[count] = row, (top % ANGLES) / ANGLES
                count += 1
    return count


@kernel(cache=False, error_model="numpy", inline="always")
def _turns(dx, dy):  # type: ignore[no-untyped-def]
    """Return the direction of a gradient in turns, counter-clockwise."""
    w, h = abs(dx), abs(dy)
    steep = h > w
    large, small = (h if steep else w), (w if steep else h)
    t = small / (large + np.float32(1e-30))
    q = t * t
    angle = np.float32(_A9) + q * np.float32(_A11)
    angle = np.float32(_A5) + q * (np.float32(_A7) + q * angle)
    angle = t * (np.float32(_A1) + q * (np.float32(_A3) + q * angle))
    angle = np.float32(0.25) - angle if steep else angle
    angle = np.float32(0.5) - angle if dx < np.float32(0.0) else angle
    return np.float32(1.0) - angle if dy < np.float32(0.0) else angle


@kernel(error_model="numpy")
def describe(levels, frames, cap, out):  # type: ignore[no-untyped-def]
    """Describe frames (layer, y, x, sigma, orientation in turns) by integers up to 255.

    Every gradient within reach votes for the nearest cells and directions, shared linearly.  A
    cell is three sigma wide; the Gaussian window of half the descriptor's width is symmetric, so it
    is a product of a number for the row and one for the column.

    Three loops gather pixels, compute their votes and add the votes up; only the last one, which is
    short, accesses memory at random.
    """
    _, rows, columns = levels.shape
    pixels = levels.reshape(-1)
    window = np.empty(_REACH, np.float32)
    s = np.empty(5 * _PATCH, np.float32)
    # Votes outside are added after the cells, which is faster than a branch.
    votes = np.empty(_OUTSIDE + 8, np.float32)
    reach = (_CELLS + 1) / 2
    width = np.uint64(columns)
    zero, one = np.float32(0.0), np.float32(1.0)
    for row in range(frames.shape[0]):
        y0, x0 = round(frames[row, 1]), round(frames[row, 2])
        cell = 3.0 * frames[row, 3]
        own = np.float32(frames[row, 4])
        cosine = math.cos(2 * math.pi * frames[row, 4]) / cell
        sine = math.sin(2 * math.pi * frames[row, 4]) / cell
        radius = round(cell * math.sqrt(2.0) * reach)
        _window(radius, cell * (_CELLS / 2), window)
        to = np.uint64(0)
        for y in range(max(y0 - radius, 1), min(y0 + radius, rows - 2) + 1):
            i = y - y0
            # The columns where both coordinates are within reach of the centre.
            first, last = float(-radius), float(radius)
            for slope, base in ((cosine, -i * sine), (sine, i * cosine)):
                if abs(slope) > 1e-9:
                    left, right = (-reach - base) / slope, (reach - base) / slope
                    first, last = max(first, min(left, right)), min(last, max(left, right))
                elif abs(base) > reach:
                    last = first - 2.0
            begin = max(math.floor(first) + x0, 1)
            length = min(math.ceil(last) + x0, columns - 2) - begin + 1
            if length <= 0:
                continue
            n = np.uint64(length)
            at = np.uint64((int(frames[row, 0]) * rows + y) * columns + begin)
            weight, across = window[i + radius], np.uint64(begin - x0 + radius)
            for j in range(n):
                s[to + j] = pixels[at + j + _1] - pixels[at + j - _1]
                s[to + j + _B] = pixels[at + j - width] - pixels[at + j + width]
            for j in range(n):
                s[to + j + _C] = weight * window[across + j]
            dr, dc = np.float32(sine), np.float32(cosine)
            # Cells count from one, because the one before the first gets votes too.
            r = np.float32((begin - x0) * sine + i * cosine + _CELLS / 2 + 0.5)
            c = np.float32((begin - x0) * cosine - i * sine + _CELLS / 2 + 0.5)
            for j in range(n):
                away = np.float32(np.int32(j))
                s[to + j + _D] = r + away * dr
                s[to + j + _E] = c + away * dc
            to += n
        for j in range(to):
            dx, dy = s[j], s[j + _B]
            s[j + _C] *= np.sqrt(dx * dx + dy * dy)
            o = _turns(dx, dy) - own
            o = np.float32(_DIRECTIONS) * (o + one if o < zero else o)
            r, c = s[j + _D], s[j + _E]
            r0, c0, o0 = np.floor(r), np.floor(c), np.floor(o)
            s[j + _D], s[j + _E], s[j] = r - r0, c - c0, o - o0
            inside = (r0 >= zero) & (r0 <= np.float32(_CELLS))
            inside &= (c0 >= zero) & (c0 <= np.float32(_CELLS))
            place = ((r0 * np.float32(_CELLS + 1) + c0) * np.float32(_ROUND) + o0) * np.float32(4)
            s[j + _B] = place if inside else np.float32(_OUTSIDE)
        votes[:] = 0
        for j in range(to):
            p = np.uint64(s[j + _B])
            v = s[j + _C]
            lower = v * s[j + _D]
            upper = v - lower
            b, d = upper * s[j + _E], lower * s[j + _E]
            a, c = upper - b, lower - d
            f = s[j]
            e = one - f
            # The four cells, then the four again in the next direction, side by side.
            votes[p] += e * a
            votes[p + _1] += e * b
            votes[p + _2] += e * c
            votes[p + _3] += e * d
            votes[p + _4] += f * a
            votes[p + _5] += f * b
            votes[p + _6] += f * c
            votes[p + _7] += f * d
        _finish(votes, np.float32(cap), out[row])


@kernel(cache=False)
def _finish(votes, cap, out):  # type: ignore[no-untyped-def]
    """Sum votes to cells, cap them at ``cap`` of the length, scale them to length 512, round."""
    for i in range(_CELLS):
        for j in range(_CELLS):
            # Votes are stored by their first cell, four numbers each: the shares of that cell, of
            # the one to the right, of the one below, and of the one right of that.
            a, b = _begin(i + 1, j + 1), _begin(i + 1, j) + 1
            c, d = _begin(i, j + 1) + 2, _begin(i, j) + 3
            k = (i * _CELLS + j) * _DIRECTIONS
            for o in range(_ROUND):
                p = 4 * o
                vote = (votes[a + p] + votes[b + p]) + (votes[c + p] + votes[d + p])
                if o < _DIRECTIONS:
                    out[k + o] = vote
                else:
                    out[k + o - _DIRECTIONS] += vote
    square = np.float32(0.0)
    for i in range(out.shape[0]):
        square += out[i] * out[i]
    most = np.sqrt(square) * cap
    square = np.float32(0.0)
    for i in range(out.shape[0]):
        out[i] = min(out[i], most)
        square += out[i] * out[i]
    scale = np.float32(512.0) / max(np.sqrt(square), np.float32(1e-7))
    for i in range(out.shape[0]):
        out[i] = min(np.rint(out[i] * scale), np.float32(255.0))


@kernel(cache=False, inline="always")
def _begin(r, c):  # type: ignore[no-untyped-def]
    """Return the position of a cell's votes; cells count from one before the first."""
    return (r * (_CELLS + 1) + c) * _ROUND * 4
