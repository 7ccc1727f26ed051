"""The only place that decodes pictures: bytes of unknown origin in, RGB pixels or an error out.

The format is recognised by the first bytes, never by the file's name, and only its decoder is
started.  The limits of pixels and memory are checked on the header, before any pixel is decoded.
Every failure is an :class:`~likewise.errors.ImageError` with the picture and the reason.
"""

from __future__ import annotations

import importlib
import io
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from likewise.errors import (
    DamagedImage,
    ImageError,
    ImageTooLarge,
    InvalidInput,
    MissingDecoder,
    NotAnImage,
    UnreadableImage,
)
from likewise.images.decoding_memory import decoding_memory, memory_limit, opening_memory
from likewise.images.jpegs import plain_pixels, write_jpeg
from likewise.images.raw_previews import Preview, find_preview
from likewise.images.recognition import FORMATS as FORMATS
from likewise.images.recognition import announced_size, recognise_format
from likewise.images.shots import Shot, read_camera, read_date, read_shot
from likewise.lazy_imports import cv2

if TYPE_CHECKING:
    from PIL import Image, ImageFile

Source = str | os.PathLike[str] | bytes

MAX_PIXELS = 250_000_000
"""The largest phone photos (200 megapixels) pass, a decompression bomb does not.

TIFF and WebP are held by Pillow's own, process-wide limit as well: 179 million pixels unless
``PIL.Image.MAX_IMAGE_PIXELS`` says otherwise.
"""

MAX_BYTES = 1 << 31
"""2 GiB: some decoders read the whole file, so a file must fit in memory whatever it claims."""

_STRIP = 1 << 18
"""Pixels that are converted at a time."""

# How many times the wanted side a JPEG is decoded to at least: a little more, so that the last
# resampling step still has detail to average over.
_JPEG_GAP = 1.1
# The same for the means over whole pixels that shorten a resampling: ours, and Pillow's.
_MEANS_GAP, _PILLOW_GAP = 1.4, 2.0

_DECODERS = {
    # JpegImageFile and not Pillow's factory: the first picture of a multi-picture file is the
    # plain JPEG at its start.
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "WEBP": ("PIL.WebPImagePlugin", "WebPImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
    "TIFF": ("PIL.TiffImagePlugin", "TiffImageFile"),
    "BMP": ("PIL.BmpImagePlugin", "BmpImageFile"),
    "AVIF": ("PIL.AvifImagePlugin", "AvifImageFile"),
    "HEIC": ("pillow_heif", "HeifImageFile"),
}
# EXIF orientation -> how to flip the picture (OpenCV's code: 0 top to bottom, 1 left to right, -1
# both) to bring it upright; from 5 on rows and columns change places first.
_FLIP = {2: 1, 3: -1, 4: 0, 5: None, 6: 1, 7: -1, 8: 0}
_TAG_ORIENTATION = 0x0112
_TIFF_BITS, _TIFF_PHOTOMETRIC, _TIFF_SAMPLES = 258, 262, 339
_TIFF_ROWS, _TIFF_TILE_WIDTH, _TIFF_TILE_HEIGHT = 278, 322, 323
_TIFF_IPTC, _PHOTOSHOP_IPTC = 33723, 0x0404
_LATE_EXIF = "PNG"


@dataclass(frozen=True)
class ImageInfo:
    """What the header says.

    Width and height are those of the upright picture; ``orientation`` (1 to 8, as in EXIF) is the
    turn that the stored pixels need.
    """

    source: str
    format: str
    width: int
    height: int
    mode: str
    orientation: int
    date: datetime | None
    n_bytes: int
    camera: str | None = None
    shot: Shot | None = None


@dataclass(frozen=True)
class CameraFacts(Shot):
    """How a picture was taken, and facts about its file.

    ``orientation`` is the turn that the stored pixels need, as in EXIF; ``taken`` is an ISO date,
    with the offset from UTC if the camera wrote one.
    """

    format: str = ""
    n_bytes: int = 0
    orientation: int = 1
    camera: str | None = None
    taken: str | None = None


@dataclass(frozen=True)
class EmbeddedMetadata:
    """The XMP and IPTC that a file carries, unparsed."""

    xmp: bytes = b""
    iptc: bytes = b""


@dataclass(frozen=True)
class Picture:
    """A decoded picture: ``pixels`` is (height, width, 3) uint8 RGB, upright.

    ``pixels`` may be smaller than ``info`` says, where a ``max_side`` was given.
    """

    pixels: NDArray[np.uint8]
    info: ImageInfo
    embedded: EmbeddedMetadata = EmbeddedMetadata()

    @property
    def scale(self) -> float:
        """The size of a pixel of the file, in pixels of this array (1 or less)."""
        return float(max(self.pixels.shape[:2]) / max(self.info.width, self.info.height))


def probe(source: Source, *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
    """Format, upright size and date of a picture, from its header alone.

    Parameters
    ----------
    source : path or bytes
        A file or its content.
    max_pixels : int, optional
        Larger pictures are refused.

    Returns
    -------
    ImageInfo
        What the header says.

    See Also
    --------
    decode : the pixels too.
    """
    with _open_image(source, max_pixels) as (_, info):
        return info


def read_camera_facts(source: Source) -> CameraFacts:
    """Return the facts of one file, from its header; an ``ImageError`` if it is no picture."""
    info = probe(source)
    return CameraFacts(
        **asdict(info.shot or Shot()),
        format=info.format,
        n_bytes=info.n_bytes,
        orientation=info.orientation,
        camera=info.camera,
        taken=None if info.date is None else info.date.isoformat(),
    )


def embedded_metadata(source: Source, *, max_pixels: int = MAX_PIXELS) -> EmbeddedMetadata:
    """Return the XMP and IPTC in a file's header.

    A PNG may have them after the pixels, where only :func:`decode` finds them.
    """
    with _open_image(source, max_pixels) as (image, _):
        return _embedded(image)


def recognise(source: Source) -> str:
    """Return the format of a picture by its first bytes; an :class:`ImageError` if it has none."""
    name, stream, _ = _stream(source)
    with stream:
        return recognise_format(stream, name)


def read_recognised(path: str, most: int) -> bytes | Path:
    """Return the content of a picture file, or its path if it has more than ``most`` bytes."""
    name, stream, n_bytes = _stream(path)
    with stream:
        try:
            recognise_format(stream, name)
            return Path(path) if n_bytes > most else stream.read()
        except OSError as error:
            raise UnreadableImage(name, f"cannot be read: {error.strerror}") from error


def decode(
    source: Source,
    *,
    max_side: int | None = None,
    slack: float = 1.0,
    max_pixels: int = MAX_PIXELS,
) -> Picture:
    """Decode a path or the bytes of a picture to upright 8-bit RGB.

    The first frame of an animation and the first page of a document are taken.  Transparent
    parts become white.  16-bit greys keep their high byte; other integer or float greys are
    stretched to their own range.  CMYK is converted without a colour profile.

    Parameters
    ----------
    source : path or bytes
        A file or its content.
    max_side : int, optional
        Shrinks the picture to that longer side (never enlarges it); a large JPEG is then decoded at
        a half, a quarter or an eighth of its size to begin with.
    slack : float, default=1.0
        Keep pixels that are no more than so many times ``max_side``, for callers that resample
        them anyway.
    max_pixels : int, optional
        Larger pictures are refused.

    Returns
    -------
    Picture
        Pixels, and what the header says.

    Raises
    ------
    ImageError
        Whatever is wrong with the content.

    See Also
    --------
    probe : the header only.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> buffer = io.BytesIO()
    >>> Image.new("RGB", (640, 480), "red").save(buffer, "PNG")
    >>> picture = decode(buffer.getvalue(), max_side=320)
    >>> picture.pixels.shape, picture.info.width, picture.scale
    ((240, 320, 3), 640, 0.5)
    """
    if max_side is not None and max_side < 1:
        raise InvalidInput(f"max_side is {max_side}; a positive number of pixels expected")
    with _open_image(source, max_pixels) as (image, info):
        _check_memory(image, info, max_side, in_memory=not isinstance(source, str | os.PathLike))
        pixels = None
        # Below twice the side that is wanted libjpeg reduces nothing.
        as_it_is = max_side is None or max(image.size) <= min(slack, 2.0) * max_side
        if as_it_is and info.format == "JPEG" and isinstance(source, bytes):
            pixels = plain_pixels(source, image.mode, image.size)
        if pixels is None:
            size, extent = _load(image, _coding(info.format), max_side)
            if max_side is not None and slack > 1 and max(image.size) <= slack * max_side:
                size = extent = image.size
            if info.format == _LATE_EXIF and info.orientation == 1 and info.date is None:
                # A PNG may carry its EXIF behind the pixels, where only a full read finds it.
                info = _info(image, info.source, info.format, info.n_bytes)
            pixels = _three_channels(_sampled(_simple(image), size, extent))
        return Picture(_upright(pixels, info.orientation), info, _embedded(image))


@contextmanager
def _open_image(source: Source, max_pixels: int) -> Iterator[tuple[ImageFile.ImageFile, ImageInfo]]:
    """Open a picture lazily; every failure inside the ``with`` becomes an ImageError."""
    name, stream, n_bytes = _stream(source)
    with stream:
        format_ = ""
        try:
            format_ = recognise_format(stream, name)
            if format_ in ("TIFF", "RAW"):
                preview = find_preview(stream, n_bytes)
                if preview is not None:
                    with _open_preview(name, stream, preview, n_bytes, max_pixels) as opened:
                        yield opened
                    return
                if format_ == "RAW":
                    raise NotAnImage(name, "is a RAW file without a preview that can be read")
            # Some decoders allocate, or refuse for reasons of their own, as soon as they open.
            announced = announced_size(stream, format_)
            _check_size(name, announced, max_pixels)
            _refuse_beyond(
                name, announced, opening_memory(format_, announced[0] * announced[1], n_bytes)
            )
            image = _decoder(format_)(stream, None)
            _check_size(name, image.size, max_pixels)
            yield image, _info(image, name, format_, n_bytes)
        except ImageError:
            raise
        except MemoryError as error:
            raise ImageTooLarge(name, f"not enough memory to decode this {format_}") from error
        except Exception as error:
            # Deliberately everything: decoders fed with broken bytes raise OSError, SyntaxError,
            # ValueError, EOFError, struct.error, KeyError and more, and one bad picture must
            # never stop a run.  The cause stays attached.
            raise _as_image_error(name, format_, error) from error


def _coding(format_: str) -> str:
    """Return the format of the decoder: for RAW the preview is decoded."""
    return "JPEG" if format_ == "RAW" else format_


@contextmanager
def _open_preview(
    name: str, stream: IO[bytes], preview: Preview, n_bytes: int, max_pixels: int
) -> Iterator[tuple[ImageFile.ImageFile, ImageInfo]]:
    """Open the JPEG in a RAW file, with the date, camera and orientation of the RAW file."""
    from PIL import Image

    stream.seek(preview.at)
    image = _decoder("JPEG")(io.BytesIO(stream.read(preview.length)), None)
    _check_size(name, image.size, max_pixels)
    info = replace(_info(image, name, "JPEG", n_bytes), format="RAW")
    if preview.tables:
        exif = Image.Exif()
        with suppress(Exception):
            stream.seek(0)
            exif.load_from_fp(stream)
            turn = exif.get(_TAG_ORIENTATION, 1)
            # Previews lie as the sensor saw them; one that says its own turn is believed first.
            if info.orientation == 1 and turn in _FLIP:
                width, height = image.size if turn < 5 else image.size[::-1]
                info = replace(info, orientation=turn, width=width, height=height)
            info = replace(
                info,
                date=read_date(exif) or info.date,
                camera=read_camera(exif) or info.camera,
                shot=read_shot(exif) or info.shot,
            )
    yield image, info


def _check_size(name: str, size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise ImageTooLarge(
            name,
            f"{width} x {height} pixels, more than the limit of {max_pixels:,}; "
            "raise max_pixels if you trust it",
        )


def _check_memory(
    image: ImageFile.ImageFile, info: ImageInfo, max_side: int | None, *, in_memory: bool
) -> None:
    """Refuse a picture whose decoding would take too much memory."""
    pixels = drawn = image.size[0] * image.size[1]
    if _coding(info.format) == "JPEG" and max_side is not None and max(image.size) > max_side:
        # As libjpeg reduces it: by 8, 4 or 2, and never below what is wanted.
        step = max(1, int(max(image.size) / (_JPEG_GAP * max_side)))
        drawn //= next(n for n in (8, 4, 2, 1) if n <= step) ** 2
    needed = decoding_memory(
        _coding(info.format),
        image.mode,
        pixels,
        drawn=drawn,
        full_size=max_side is None or max(image.size) <= max_side,
        transparent="transparency" in image.info,
        progressive=bool(image.info.get("progressive")),
        n_bytes=info.n_bytes,
        in_memory=in_memory,
        buffered=_largest_strip(image) if info.format == "TIFF" else 0,
    )
    _refuse_beyond(info.source, image.size, needed)


def _refuse_beyond(name: str, size: tuple[int, int], needed: int) -> None:
    limit = memory_limit()
    if needed > limit:
        raise ImageTooLarge(
            name,
            f"{size[0]} x {size[1]} pixels take {needed >> 20:,} MiB to decode, more than the "
            f"limit of {limit >> 20:,}; set LIKEWISE_PICTURE_MB higher if you trust it",
        )


def _expand_home(name: str) -> Path:
    """Expand ``~`` and ``~/…``; ``~strange.jpg`` is an ordinary file."""
    path = Path(name)
    return path.expanduser() if path.parts[:1] == ("~",) else path


def _stream(source: Source) -> tuple[str, IO[bytes], int]:
    if isinstance(source, bytes | bytearray | memoryview):
        return f"<{len(source)} bytes>", io.BytesIO(source), len(source)
    if not isinstance(source, str | os.PathLike):
        raise InvalidInput(f"a picture is given as a path or as bytes; got {type(source).__name__}")
    name = os.fspath(source)
    try:
        path = _expand_home(name)
        status = path.stat()
        # Opening a pipe or a device would wait for ever.
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise UnreadableImage(name, f"is {kind}")
        if status.st_size > MAX_BYTES:
            raise ImageTooLarge(
                name, f"{status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}"
            )
        return name, path.open("rb"), status.st_size
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableImage(name, f"cannot be read: {reason}") from error


@cache
def _decoder(format_: str) -> Callable[[IO[bytes], str | None], ImageFile.ImageFile]:
    module, name = _DECODERS[format_]
    # An ImportError says nothing about the picture.
    return cast(
        "Callable[[IO[bytes], str | None], ImageFile.ImageFile]",
        getattr(importlib.import_module(module), name),
    )


def _as_image_error(name: str, format_: str, error: Exception) -> ImageError:
    from PIL import Image

    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        allowed = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        return ImageTooLarge(
            name,
            f"more than the {allowed:,} pixels Pillow allows this process for a {format_}; "
            "set PIL.Image.MAX_IMAGE_PIXELS higher if you trust it",
        )
    detail = str(error) or type(error).__name__
    if isinstance(error, ImportError) or "support not installed" in detail:
        return MissingDecoder(name, f"is a {format_}, whose decoder cannot be used here ({detail})")
    if "unknown pixel mode" in detail or "not supported" in detail or "unsupported" in detail:
        return NotAnImage(name, f"is a {format_} of a kind Likewise does not decode ({detail})")
    return DamagedImage(name, f"is a truncated or corrupt {format_} ({detail})")


def _info(image: ImageFile.ImageFile, name: str, format_: str, n_bytes: int) -> ImageInfo:
    exif = _exif(image, format_)
    orientation = exif.get(_TAG_ORIENTATION, 1) if exif else 1
    # These two arrive upright: Pillow turns a TIFF as it loads it, and the rotation of a HEIC is
    # a property of its container, which libheif applies (EXIF only repeats it there).
    if orientation not in _FLIP or format_ in ("TIFF", "HEIC"):
        orientation = 1
    width, height = image.size
    if orientation >= 5:
        width, height = height, width
    return ImageInfo(
        source=name,
        format=format_,
        width=width,
        height=height,
        mode=image.mode,
        orientation=orientation,
        date=read_date(exif),
        n_bytes=n_bytes,
        camera=read_camera(exif),
        shot=read_shot(exif),
    )


def _exif(image: ImageFile.ImageFile, format_: str) -> Image.Exif | None:
    """Return the EXIF in the header, if it can be read."""
    # PngImageFile.getexif() decodes the picture to look behind the pixels; the header must do.
    if format_ != "TIFF" and not {"exif", "Raw profile type exif"} & set(image.info):
        return None
    with suppress(Exception):
        return image.getexif()
    return None


def _embedded(image: Image.Image) -> EmbeddedMetadata:
    """Return the XMP and IPTC, as far as they can be read."""
    xmp, iptc = b"", b""
    with suppress(Exception):
        found = image.info.get("xmp", image.info.get("XML:com.adobe.xmp", b""))
        xmp = found.encode() if isinstance(found, str) else bytes(found)
    with suppress(Exception):
        resources = image.info.get("photoshop")
        if isinstance(resources, dict):
            iptc = bytes(resources.get(_PHOTOSHOP_IPTC, b""))
        tags = getattr(image, "tag_v2", None)
        if tags is not None and _TIFF_IPTC in tags:
            found = tags[_TIFF_IPTC]
            found = found if isinstance(found, tuple) else (found,)
            if isinstance(found[0], int):
                # Many programs declare these bytes as 32-bit numbers; undo the reading.
                way = "<" if tags.prefix == b"II" else ">"
                found = (struct.pack(f"{way}{len(found)}I", *found),)
            iptc = found[0] if isinstance(found[0], bytes) else b""
    return EmbeddedMetadata(xmp, iptc)


def _load(
    image: ImageFile.ImageFile, format_: str, max_side: int | None
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Decode the pixels, of a JPEG no more than needed.

    Return the size to shrink them to, and how much of them is picture: a JPEG of 481 rows has 240.5
    rows at half its size, and 241 are decoded.
    """
    if format_ != "JPEG" or max_side is None or max(image.size) <= max_side:
        image.load()  # this may turn the picture: its size is known only now
        return _size_within(image.size, max_side), image.size
    size = _size_within(_rounded_from(image.size, max_side), max_side)
    # In the picture's own proportion: Pillow reduces no further than either side allows.
    factor = _JPEG_GAP * max_side / max(image.size)
    width, height = (max(1, int(side * factor)) for side in image.size)
    drafted = image.draft(None, (width, height))
    image.load()
    return size, image.size if drafted is None else drafted[1][2:]


def _rounded_from(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    """Return the sides of a JPEG that its shrunk size is rounded from.

    They are those at the strongest reduction that leaves twice ``max_side``, though only 1.1 times
    is decoded, so that sizes stay as they were in earlier versions.
    """
    factor = 2.0 * max_side / max(size)
    most = min(side // max(1, int(side * factor)) for side in size)
    step = next(step for step in (8, 4, 2, 1) if step <= max(most, 1))
    width, height = (-(-side // step) for side in size)
    return width, height


def _simple(image: Image.Image) -> Image.Image:
    """Return the picture in a mode that can be resampled: L, RGB, RGBA, CMYK or the like."""
    mode = image.mode
    if mode in ("L", "RGB"):
        # One colour may be declared see-through.
        return image.convert("RGBA") if "transparency" in image.info else image
    if mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if mode in ("PA", "LA", "La", "RGBa"):
        return image.convert("RGBA")
    if mode == "1":
        return image.convert("L")
    from PIL import Image

    if mode.startswith("I;16"):
        return Image.fromarray(_high_byte(image))
    if mode in ("I", "F"):
        return Image.fromarray(_stretch_greys(image))
    if mode == "LAB":
        from PIL import ImageCms

        lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(image, lab, srgb, outputMode="RGB")
        return cast("Image.Image", converted)
    return image


def _strips(image: Image.Image) -> Iterator[tuple[slice, Image.Image]]:
    """Yield a picture in strips of full width, to save memory."""
    width, height = image.size
    rows = max(1, _STRIP // max(1, width))
    if rows >= height:
        yield slice(0, height), image
        return
    for top in range(0, height, rows):
        bottom = min(height, top + rows)
        yield slice(top, bottom), image.crop((0, top, width, bottom))


def _high_byte(image: Image.Image) -> NDArray[np.uint8]:
    """Return the eight highest bits of a grey picture; white may be zero."""
    bits = _tiff_tag(image, _TIFF_BITS, 16)
    shift = bits - 8 if 8 < bits <= 16 else 8
    inverted = _tiff_tag(image, _TIFF_PHOTOMETRIC, 1) == 0
    greys = np.empty((image.height, image.width), np.uint8)
    for rows, strip in _strips(image):
        found = np.minimum(np.asarray(strip).astype(np.uint16) >> shift, 255)
        greys[rows] = 255 - found if inverted else found
    return greys


def _tiff_tag(image: Image.Image, tag: int, default: int) -> int:
    value = getattr(image, "tag_v2", {}).get(tag, default)
    return int(value[0] if isinstance(value, tuple) else value)


def _largest_strip(image: Image.Image) -> int:
    """Return the bytes of the largest strip or tile of a TIFF."""
    bits = getattr(image, "tag_v2", {}).get(_TIFF_BITS, 8)
    depth = sum(bits) if isinstance(bits, tuple) else int(bits)
    width, height = image.size
    if _tiff_tag(image, _TIFF_TILE_WIDTH, 0):
        width = _tiff_tag(image, _TIFF_TILE_WIDTH, 0)
        height = _tiff_tag(image, _TIFF_TILE_HEIGHT, 0)
    else:
        height = min(height, _tiff_tag(image, _TIFF_ROWS, height))
    return width * height * max(8, depth) // 8


def _stretch_greys(image: Image.Image) -> NDArray[np.uint8]:
    """Scale greys without a fixed range to 0..255: 16-bit ones by their high byte, else min-max."""
    # Pillow has no mode for unsigned 32 bits.
    unsigned = image.mode == "I" and _tiff_tag(image, _TIFF_SAMPLES, 2) == 1

    def values_of(strip: Image.Image) -> NDArray[Any]:
        values = np.asarray(strip)
        return values.view(np.uint32) if unsigned else values

    def finite(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)

    low, high = np.inf, -np.inf
    for _, strip in _strips(image):
        found = finite(values_of(strip))
        low, high = min(low, float(found.min())), max(high, float(found.max()))
    by_byte = image.mode == "I" and low >= 0 and 255 < high <= 0xFFFF
    if image.mode == "F" and low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0  # the usual convention for float pictures
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    span = high - low or 1.0
    greys = np.empty((image.height, image.width), np.uint8)
    for rows, strip in _strips(image):
        values = values_of(strip)
        if by_byte:
            greys[rows] = values >> 8
        else:
            greys[rows] = np.rint((finite(values) - low) * (255.0 / span))
    return greys


def _sampled(
    image: Image.Image, size: tuple[int, int], extent: tuple[float, float]
) -> NDArray[np.uint8]:
    """Return the pixels in that size: grey or RGB."""
    plain = image.mode in ("L", "RGB") or (
        image.mode == "RGBA" and image.getchannel("A").getextrema() == (255, 255)
    )
    means = [max(1, int(old / new / _MEANS_GAP)) for old, new in zip(extent, size, strict=True)]
    whole = all(side % mean == 0 for side, mean in zip(extent, means, strict=True))
    if not plain or not whole:
        # What shows through and what is printed have rules of their own for averaging, and
        # Pillow alone knows parts of a pixel at the edge.
        image = _rgb(_resized(image, size, extent))
    if image.size == size:
        return _pixels(image)
    if max(means) > 1:
        image = image.reduce((means[0], means[1]))
    # Plain linear interpolation looks at two pixels, where a step of r pixels ought to average
    # over r of them: its sharpness would change along the row.  Three weights (w, 1 - 2w, w)
    # before it, of variance 2w = (r^2 - 1) / 10, make up for that at a fifth of the price of a
    # filter of the right width; at r = 1 they do nothing.
    across, down = (
        np.array([w, 1.0 - 2.0 * w, w])
        for old, new in zip(image.size, size, strict=True)
        for w in [min(((old / new) ** 2 - 1.0) / 20.0, 1.0 / 3.0)]
    )
    smooth = cv2.sepFilter2D(_pixels(image), -1, across, down, borderType=cv2.BORDER_REPLICATE)
    # The exact variant gives the same bits on every processor.
    small = cv2.resize(smooth, size, interpolation=cv2.INTER_LINEAR_EXACT)
    return cast("NDArray[np.uint8]", small)


def _upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Turn the pixels upright, in place where possible."""
    if orientation >= 5:
        pixels = cast("NDArray[np.uint8]", cv2.transpose(pixels))
    flip = _FLIP.get(orientation)
    return pixels if flip is None else cast("NDArray[np.uint8]", cv2.flip(pixels, flip, dst=pixels))


def _three_channels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return RGB pixels."""
    if pixels.ndim == 3 and pixels.shape[2] == 3:
        return pixels
    return cast("NDArray[np.uint8]", cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB))


def _pixels(image: Image.Image) -> NDArray[np.uint8]:
    """Return the pixels of an L, RGB or opaque RGBA picture."""
    shape = (image.height, image.width) + ((3,) if image.mode != "L" else ())
    pixels = np.empty(shape, np.uint8)
    for rows, strip in _strips(image):
        pixels[rows] = np.asarray(strip.convert("RGB") if strip.mode == "RGBA" else strip)
    return pixels


def shrink(
    pixels: NDArray[np.uint8], max_side: int, *, slack: float = 1.0, rough: bool = False
) -> NDArray[np.uint8]:
    """Shrink decoded pixels to ``max_side`` by averaging.

    ``slack`` as in :func:`decode`.  ``rough`` uses linear interpolation where the step is below
    two, which takes a fifth of the time.
    """
    height, width = pixels.shape[:2]
    size = _size_within((width, height), max_side)
    if size == (width, height) or max(height, width) <= slack * max_side:
        return pixels
    few = rough and max(height, width) < 2 * max_side
    way = cv2.INTER_LINEAR if few else cv2.INTER_AREA
    return cast("NDArray[np.uint8]", cv2.resize(pixels, size, interpolation=way))


def small_jpeg(pixels: NDArray[np.uint8], max_side: int, *, quality: int = 85) -> bytes:
    """Return a small JPEG of pixels, without metadata."""
    return write_jpeg(_three_channels(shrink(pixels, max_side, rough=True)), quality)


def _size_within(size: tuple[int, int], max_side: int | None) -> tuple[int, int]:
    """Return the size with at most ``max_side`` on the longer side, and no side below one pixel."""
    longer = max(size)
    if max_side is None or longer <= max_side:
        return size
    width, height = (max(1, round(side * max_side / longer)) for side in size)
    return width, height


def _resized(image: Image.Image, size: tuple[int, int], extent: tuple[float, float]) -> Image.Image:
    """Resize any mode, and any part of the pixels, with Pillow."""
    from PIL import Image

    if image.size == size:
        return image
    box = (0, 0, *extent)
    return image.resize(size, Image.Resampling.HAMMING, box, reducing_gap=_PILLOW_GAP)


def _rgb(image: Image.Image) -> Image.Image:
    """Draw transparent parts on white and convert to RGB."""
    from PIL import Image

    if image.mode == "RGBA":
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        return paper
    return image if image.mode == "RGB" else image.convert("RGB")
