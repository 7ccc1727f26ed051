"""XXH64, the checksum of block files, as a kernel for whole 32-bit words.

It runs at memory speed, so checking a block at its first use takes milliseconds.
"""

from __future__ import annotations

import numpy as np

from likewise_methods.kernels import kernel

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


@kernel(inline="always")
def _rotate(x, r):  # type: ignore[no-untyped-def]
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))


@kernel(inline="always")
def _round(lane, x):  # type: ignore[no-untyped-def]
    return _rotate(lane + x * _P2, 31) * _P1


@kernel(inline="always")
def _pair(words, i):  # type: ignore[no-untyped-def]
    return np.uint64(words[i]) | (np.uint64(words[i + 1]) << np.uint64(32))


@kernel
def xxh64(words, low, high):  # type: ignore[no-untyped-def]
    """Return the XXH64 (seed 0) of ``words[low:high]``, an array of uint32."""
    i = low
    if high - low >= 8:
        a = _P1 + _P2
        b = _P2
        c = np.uint64(0)
        d = np.uint64(0) - _P1
        while i + 8 <= high:
            a = _round(a, _pair(words, i))
            b = _round(b, _pair(words, i + 2))
            c = _round(c, _pair(words, i + 4))
            d = _round(d, _pair(words, i + 6))
            i += 8
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        for lane in (a, b, c, d):
            h = (h ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        h = _P5
    h += np.uint64(4 * (high - low))
    while i + 2 <= high:
        h = _rotate(h ^ _round(np.uint64(0), _pair(words, i)), 27) * _P1 + _P4
        i += 2
    if i < high:
        h = _rotate(h ^ (np.uint64(words[i]) * _P1), 23) * _P2 + _P3
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))
