"""A corpus of odd and broken picture files, generated: nothing here is anybody's photograph.

``ODD`` must decode, ``BROKEN`` must be refused with the named error; both map a file name (whose
extension often lies) to a function that gives the bytes.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pillow_heif
from PIL import Image, ImageCms

from likewise.errors import DamagedImage, ImageError, ImageTooLarge, NotAnImage

pillow_heif.register_heif_opener()

Maker = Callable[[], bytes]

MAY_ALL = os.name == "nt" or os.geteuid() == 0
"""Whether a file's mode keeps nobody out: before root, and on Windows."""

WIDE_RAMP = np.arange(256, dtype=np.int32)[None] * 9999


def quarters(width: int = 60, height: int = 40) -> Image.Image:
    """Red, green / blue, white: every flip and turn of it is different."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = (255, 0, 0)
    pixels[: height // 2, width // 2 :] = (0, 255, 0)
    pixels[height // 2 :, : width // 2] = (0, 0, 255)
    pixels[height // 2 :, width // 2 :] = 255
    return Image.fromarray(pixels)


def saved(image: Image.Image, format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def ramp16(height: int = 32, width: int = 64) -> np.ndarray:
    return np.linspace(0, 65535, height * width).reshape(height, width).astype(np.uint16)


def png(width: int, height: int, bit_depth: int, colour: int, raw: bytes) -> bytes:
    """A PNG written by hand: what no encoder at hand will write (lies, 16-bit RGB)."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, bit_depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def rgb16_png() -> bytes:
    values = np.zeros((8, 8, 3), ">u2")
    values[..., 0] = 0x80FF
    rows = b"".join(b"\x00" + row.tobytes() for row in values)
    return png(8, 8, 16, 2, rows)


def late_exif_jpeg() -> bytes:
    exif = Image.Exif()
    exif[0x0132] = "not a date"
    exif[0x0112] = 77
    return saved(quarters(), "JPEG", exif=exif)


def transparent_palette_gif() -> bytes:
    image = Image.new("P", (16, 16), 0)
    image.putpalette([255, 0, 0, 0, 255, 0] + [0] * 762)
    image.paste(1, (8, 0, 16, 16))
    return saved(image, "GIF", transparency=0)


def animation(format_: str) -> bytes:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "green", "blue")]
    return saved(frames[0], format_, save_all=True, append_images=frames[1:], duration=50)


def lab_tiff() -> bytes:
    lab = ImageCms.createProfile("LAB")
    srgb = ImageCms.createProfile("sRGB")
    return saved(ImageCms.profileToProfile(quarters(), srgb, lab, outputMode="LAB"), "TIFF")


def bmp_claiming(width: int, height: int) -> bytes:
    data = bytearray(saved(Image.new("RGB", (4, 4)), "BMP"))
    data[18:26] = struct.pack("<ii", width, height)
    return bytes(data)


def gif_claiming(width: int, height: int) -> bytes:
    data = bytearray(saved(Image.new("P", (4, 4)), "GIF"))
    data[6:10] = struct.pack("<HH", width, height)
    return bytes(data)


def webp_claiming(width: int, height: int) -> bytes:
    data = bytearray(saved(quarters(), "WEBP", lossless=True))
    assert data[12:16] == b"VP8L"
    (bits,) = struct.unpack_from("<I", data, 21)
    bits = (bits & ~0xFFFFFFF) | (width - 1) | (height - 1) << 14
    struct.pack_into("<I", data, 21, bits)
    return bytes(data)


def jpeg_claiming(width: int, height: int) -> bytes:
    data = bytearray(saved(quarters(), "JPEG"))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def ispe_claiming(format_: str, width: int, height: int) -> bytes:
    data = bytearray(saved(quarters(), format_))
    at = data.index(b"ispe")
    data[at + 8 : at + 16] = struct.pack(">II", width, height)
    return bytes(data)


RAMP12 = np.linspace(0, 4095, 32 * 64).reshape(32, 64).astype(np.uint16)


def tiff(
    values: np.ndarray,
    *,
    bits: int = 16,
    photometric: int = 1,
    sample_format: int = 1,
    claim: tuple[int, int] | None = None,
) -> bytes:
    """An uncompressed grey TIFF written by hand: what no encoder at hand will write."""
    height, width = values.shape
    if bits == 12:
        # Two values share three bytes.
        a, b = values.reshape(-1, 2).astype(np.uint32).T
        body = (
            np.stack([a >> 4, (a & 15) << 4 | b >> 8, b & 255], axis=1).astype(np.uint8).tobytes()
        )
    else:
        body = values.astype(values.dtype.newbyteorder("<")).tobytes()
    if claim is not None:
        width, height = claim
    tags = [
        (256, 4, width), (257, 4, height), (258, 3, bits), (259, 3, 1), (262, 3, photometric),
        (273, 4, 8), (277, 3, 1), (278, 4, height), (279, 4, len(body)), (339, 3, sample_format),
    ]  # fmt: skip
    entries = b"".join(
        struct.pack("<HHI", tag, kind, 1)
        + struct.pack("<I" if kind == 4 else "<HH", *((value,) if kind == 4 else (value, 0)))
        for tag, kind, value in tags
    )
    ifd = struct.pack("<H", len(tags)) + entries + b"\0\0\0\0"
    return b"II*\0" + struct.pack("<I", 8 + len(body)) + body + ifd


def float64_tiff() -> bytes:
    return tiff(np.eye(16), bits=64, sample_format=3)


def late_exif_png() -> bytes:
    """Orientation 6 in an eXIf chunk behind the pixels, where the format allows it too."""
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(quarters(40, 60), "PNG")
    body = exif.tobytes().removeprefix(b"Exif\0\0")
    chunk = struct.pack(">I", len(body)) + b"eXIf" + body
    chunk += struct.pack(">I", zlib.crc32(b"eXIf" + body))
    return data[:-12] + chunk + data[-12:]


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def noisy(width: int = 200, height: int = 150) -> Image.Image:
    """Hard to compress, so that half a file is really half a picture."""
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


ODD: dict[str, Maker] = {
    "plain.jpg": lambda: saved(quarters(), "JPEG"),
    "progressive.jpg": lambda: saved(quarters(), "JPEG", progressive=True),
    "grey.jpg": lambda: saved(quarters().convert("L"), "JPEG"),
    "cmyk.jpg": lambda: saved(quarters().convert("CMYK"), "JPEG"),
    "cmyk.tif": lambda: saved(quarters().convert("CMYK"), "TIFF"),
    "bad-exif-values.jpg": late_exif_jpeg,
    "mpo.jpg": lambda: saved(quarters(), "MPO", save_all=True, append_images=[quarters()]),
    "plain.png": lambda: saved(quarters(), "PNG"),
    "bilevel.png": lambda: saved(quarters().convert("1"), "PNG"),
    "grey-alpha.png": lambda: saved(quarters().convert("LA"), "PNG"),
    "alpha.png": lambda: saved(quarters().convert("RGBA"), "PNG"),
    "palette.png": lambda: saved(quarters().convert("P"), "PNG"),
    "palette-transparent.png": lambda: saved(quarters().convert("P"), "PNG", transparency=0),
    "grey16.png": lambda: saved(Image.fromarray(ramp16()), "PNG"),
    "rgb16.png": rgb16_png,
    "animated.png": lambda: animation("PNG"),
    "plain.webp": lambda: saved(quarters(), "WEBP"),
    "lossless-alpha.webp": lambda: saved(quarters().convert("RGBA"), "WEBP", lossless=True),
    "animated.webp": lambda: animation("WEBP"),
    "plain.gif": lambda: saved(quarters(), "GIF"),
    "transparent.gif": transparent_palette_gif,
    "animated.gif": lambda: animation("GIF"),
    "plain.tif": lambda: saved(quarters(), "TIFF"),
    "lzw.tif": lambda: saved(quarters(), "TIFF", compression="tiff_lzw"),
    "grey16.tif": lambda: saved(Image.fromarray(ramp16()), "TIFF"),
    "float.tif": lambda: saved(Image.fromarray(np.eye(16, dtype=np.float32)), "TIFF"),
    "int32.tif": lambda: saved(
        Image.fromarray(np.arange(256, dtype=np.int32)[None] * 9999), "TIFF"
    ),
    "grey12.tif": lambda: tiff(RAMP12, bits=12),
    "white-is-zero16.tif": lambda: tiff(ramp16(), photometric=0),
    "uint32.tif": lambda: tiff(np.arange(256, dtype=np.uint32)[None] * 16_000_000, bits=32),
    "late-exif.png": late_exif_png,
    "lab.tif": lab_tiff,
    "pages.tif": lambda: animation("TIFF"),
    "plain.bmp": lambda: saved(quarters(), "BMP"),
    "plain.heic": lambda: saved(quarters(), "HEIF"),
    "plain.avif": lambda: saved(quarters(), "AVIF"),
    "1x1.png": lambda: saved(Image.new("RGB", (1, 1), "red"), "PNG"),
    "1x1.jpg": lambda: saved(Image.new("RGB", (1, 1), "red"), "JPEG"),
    "1x100000.png": lambda: saved(Image.new("RGB", (1, 100_000), "red"), "PNG"),
    "65500x1.jpg": lambda: saved(Image.new("RGB", (65_500, 1), "red"), "JPEG"),
    "really-a-png.jpg": lambda: saved(quarters(), "PNG"),
    "really-a-jpeg.txt": lambda: saved(quarters(), "JPEG"),
    "no-extension": lambda: saved(quarters(), "WEBP"),
    "trailing-junk.jpg": lambda: saved(quarters(), "JPEG") + b"\x00" * 1000,
}

BROKEN: dict[str, tuple[Maker, type[ImageError]]] = {
    "empty.jpg": (lambda: b"", NotAnImage),
    "text.jpg": (lambda: b"this is not a picture at all", NotAnImage),
    "zeros.png": (lambda: bytes(1000), NotAnImage),
    "noise.gif": (lambda: np.random.default_rng(1).bytes(5000), NotAnImage),
    "document.jpg": (lambda: b"%PDF-1.7\n" + b" " * 100, NotAnImage),
    "drawing.png": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>", NotAnImage),
    "film.heic": (lambda: b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2", NotAnImage),
    "only-magic.jpg": (lambda: b"\xff\xd8\xff", DamagedImage),
    "only-magic.png": (lambda: b"\x89PNG\r\n\x1a\n", DamagedImage),
    "only-magic.gif": (lambda: b"GIF89a", DamagedImage),
    "only-magic.tif": (lambda: b"II*\x00", DamagedImage),
    "only-magic.bmp": (lambda: saved(Image.new("RGB", (4, 4)), "BMP")[:18], DamagedImage),
    "bmw.txt": (lambda: b"BMW is a maker of cars, not a bitmap", NotAnImage),
    "float64.tif": (float64_tiff, NotAnImage),
    "only-magic.webp": (lambda: b"RIFF\x00\x00\x00\x00WEBP", DamagedImage),
    "only-magic.heic": (lambda: b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", DamagedImage),
    "only-magic.avif": (lambda: b"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00mif1avif", DamagedImage),
    "half.jpg": (lambda: half(saved(noisy(), "JPEG")), DamagedImage),
    "half.png": (lambda: half(saved(noisy(), "PNG")), DamagedImage),
    "half.gif": (lambda: half(saved(noisy(), "GIF")), DamagedImage),
    "half.tif": (lambda: half(saved(noisy(), "TIFF")), DamagedImage),
    "half.bmp": (lambda: half(saved(noisy(), "BMP")), DamagedImage),
    "half.webp": (lambda: half(saved(noisy(), "WEBP")), DamagedImage),
    "half.heic": (lambda: half(saved(noisy(), "HEIF")), DamagedImage),
    "half.avif": (lambda: half(saved(noisy(), "AVIF")), DamagedImage),
    "no-width.png": (lambda: png(0, 10, 8, 2, b""), DamagedImage),
    "short-data.png": (lambda: png(100, 100, 8, 2, b"\x00" * 50), DamagedImage),
    "bomb.png": (lambda: png(100_000, 100_000, 8, 2, b"\x00" * 1000), ImageTooLarge),
    "bomb.bmp": (lambda: bmp_claiming(60_000, 60_000), ImageTooLarge),
    "bomb.gif": (lambda: gif_claiming(65_000, 65_000), ImageTooLarge),
    "bomb.jpg": (lambda: jpeg_claiming(65_000, 65_000), ImageTooLarge),
    "bomb.webp": (lambda: webp_claiming(16_383, 16_383), ImageTooLarge),
    "bomb.tif": (lambda: tiff(ramp16(), claim=(100_000, 100_000)), ImageTooLarge),
    "bomb.heic": (lambda: ispe_claiming("HEIF", 100_000, 100_000), ImageTooLarge),
    "bomb.avif": (lambda: ispe_claiming("AVIF", 100_000, 100_000), ImageTooLarge),
}
