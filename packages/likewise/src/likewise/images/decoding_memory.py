"""How much memory decoding a picture takes, from its header alone.

A header of forty bytes may announce gigabytes.  The bytes per pixel of decoders, of Pillow and of
our conversions were measured by format and mode, and a test measures them again.
"""

from __future__ import annotations

import os

from likewise_methods.validation import number

LIMIT = 600 << 20
"""Bytes that decoding one picture may take; ``LIKEWISE_PICTURE_MB`` sets it, in MiB."""

# What Pillow stores a pixel in; other modes take four bytes, RGB among them.
_STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
# Further bytes a pixel that a decoder holds: an animation's two canvases and a copy of the
# frame (WebP), planes of up to two bytes before they become RGB (HEIC, AVIF).
_DECODER = {"WEBP": 12, "HEIC": 7, "AVIF": 10}
_KEEPS = {"WEBP": 8}
"""Of these, bytes a pixel that stay until the picture is closed."""
_READS_WHOLE = ("WEBP", "HEIC", "AVIF")
_ALPHA = ("LA", "La", "PA", "RGBa")
_GREYS = ("I", "F")
_CHANNELS = {"L": 1, "CMYK": 4}
_WHOLE = 3
"""Bytes a pixel of the array where a picture is wanted in its full size."""


def memory_limit() -> int:
    """Return the bytes that decoding one picture may take."""
    given = os.environ.get("LIKEWISE_PICTURE_MB", "")
    if not given:
        return LIMIT
    try:
        wanted = number(float(given), "LIKEWISE_PICTURE_MB", above=0)
    except ValueError:
        wanted = number(given, "LIKEWISE_PICTURE_MB", above=0)
    return int(wanted * (1 << 20))


def opening_memory(format_: str, pixels: int, n_bytes: int) -> int:
    """Return the bytes that a decoder takes when it opens a picture."""
    canvases = pixels * (_DECODER[format_] + 4) if format_ == "WEBP" else 0
    return canvases + (2 * n_bytes if format_ in _READS_WHOLE else 0)


def decoding_memory(
    format_: str,
    mode: str,
    pixels: int,
    *,
    drawn: int,
    full_size: bool,
    transparent: bool,
    progressive: bool,
    n_bytes: int,
    in_memory: bool,
    buffered: int = 0,
) -> int:
    """Return the peak memory of decoding, in bytes.

    ``drawn`` is how many of the ``pixels`` the decoder makes (a JPEG may be reduced);
    ``transparent``: one colour counts as transparent; ``n_bytes`` is the length of the file,
    ``in_memory``: it is in memory already; ``buffered`` is the largest piece that is unpacked as a
    whole.
    """
    held = n_bytes * (int(in_memory) + 2 * int(format_ in _READS_WHOLE))
    # All scans of a progressive JPEG are collected, two bytes a coefficient, before one pixel is.
    if format_ == "JPEG" and progressive:
        held += 2 * _CHANNELS.get(mode, 3) * pixels
    stored = _STORED.get(mode, 4)
    decoding = stored + _DECODER.get(format_, 0)
    converting = stored + _KEEPS.get(format_, 0) + _conversion(mode, transparent, full_size)
    return held + max(buffered + drawn * decoding, drawn * converting)


def _conversion(mode: str, transparent: bool, full_size: bool) -> int:
    """Return the bytes a pixel that converting to 8-bit RGB adds, at most."""
    whole = _WHOLE if full_size else 0
    if mode in _ALPHA or (transparent and mode in ("L", "P", "RGB")):
        return 8 + whole  # RGBA, and once more with its colours multiplied or on paper
    if mode == "RGBA" or mode == "LAB":
        return 4 + whole + int(full_size)
    if mode == "P":
        return 4 + whole
    if mode in ("1", *_GREYS) or mode.startswith("I;16"):
        return 2 + whole + int(full_size)
    if mode == "L":
        return whole + int(full_size)
    if mode == "RGB":
        return whole
    return 4 + whole
