"""Recognise the format of a picture, and its announced size, by the first bytes."""

from __future__ import annotations

import re
from typing import IO

from likewise.errors import NotAnImage

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF", "HEIC", "RAW")

_MAGIC = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
    (b"FUJIFILMCCD-RAW ", "RAW"),
)
_BMP_HEADERS = (12, 16, 40, 52, 56, 64, 108, 124)
_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}

# Recognised only to give a better reason than "not a picture".
_FOREIGN = (
    (b"IIRO", "an Olympus RAW file (ORF), whose preview is not read here"),
    (b"IIRS", "an Olympus RAW file (ORF), whose preview is not read here"),
    (b"IIU\x00", "a Panasonic RAW file (RW2), whose preview is not read here"),
    (b"%PDF", "a PDF document"),
    (b"8BPS", "a Photoshop file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (b"<svg", "an SVG drawing"),
    (b"<?xml", "an XML file"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
)


def recognise_format(stream: IO[bytes], name: str) -> str:
    """Return the format by the first bytes; leave the stream at its start."""
    head = stream.read(64)
    stream.seek(0)
    if not head:
        raise NotAnImage(name, "the file is empty")
    for magic, format_ in _MAGIC:
        if head.startswith(magic):
            return format_
    # Two letters are not much to go by; the size of the header that follows makes it sure.
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "BMP"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        # The box lists a major brand and the compatible ones; AVIF files may lead with mif1.
        size = min(int.from_bytes(head[:4], "big"), len(head))
        brands = {head[i : i + 4] for i in (8, *range(16, size - 3, 4))}
        if brands & _AVIF_BRANDS:
            return "AVIF"
        if brands & _HEIC_BRANDS:
            return "HEIC"
        if b"crx " in brands:
            raise NotAnImage(name, "is a Canon RAW file (CR3), whose preview is not read here")
        raise NotAnImage(name, "is a film or another MP4-like file, not a picture")
    for magic, what in _FOREIGN:
        if head.lower().startswith(magic.lower()):
            raise NotAnImage(name, f"is {what}; Likewise decodes {', '.join(FORMATS)}")
    raise NotAnImage(name, f"is not a picture; Likewise decodes {', '.join(FORMATS)}")


def announced_size(stream: IO[bytes], format_: str) -> tuple[int, int]:
    """Return the size in a WebP, HEIC or AVIF header; (0, 0) if it is not found."""
    if format_ not in ("WEBP", "HEIC", "AVIF"):
        return 0, 0
    head = stream.read(1 << 16)
    stream.seek(0)
    if format_ == "WEBP":
        return _webp_size(head)
    # Image Spatial Extents: four bytes of version and flags, then width and height.  A picture
    # made of tiles has one for the tiles and one for the whole.
    largest = (0, 0)
    for found in re.finditer(rb"ispe.{4}(.{4})(.{4})", head, flags=re.DOTALL):
        width, height = (int.from_bytes(side, "big") for side in found.groups())
        largest = max(largest, (width, height), key=lambda size: size[0] * size[1])
    return largest


def _webp_size(head: bytes) -> tuple[int, int]:
    kind, body = head[12:16], head[20:30]
    if len(body) < 10:
        return 0, 0
    if kind == b"VP8X":
        return (int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1)
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
    return width & 0x3FFF, height & 0x3FFF
