"""Search by colour: how much of a picture has the wanted colours.

Each picture is stored as a grid of 12 x 12 colours in CIE L*a*b*, where distances match what
people see: 432 bytes a picture.  Grids are made from thumbnails at the first search by colour, and
from new pictures at each later one.  They are a cache in one file next to the thumbnails.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.cache import FOLDER
from likewise.catalog.filters import plain_where
from likewise.catalog.store import Store
from likewise.catalog.thumbnails import FIRST_SIDE, thumbnail
from likewise.errors import InvalidInput, LikewiseError
from likewise.images.decode import Source, decode, small_jpeg
from likewise.search.query import DecodePixels
from likewise.search.rank import Hit, Hits
from likewise_methods.durable_files import private_folder
from likewise_methods.validation import whole

GRID = 12
"""Cells of a side: fine enough for a coin in a corner, not for an eye."""
NEAR = 16.0
"""Distance in L*a*b* at which a cell counts 0.6."""
MAX_COLOURS = 5
"""Colours of one search."""
_FILE = "colours.npy"
_CHUNK = 4096
_ROW = np.dtype([("image", "<i8"), ("known", "u1"), ("lab", "i1", (GRID * GRID, 3))])
_HEX = re.compile(r"#?([0-9a-fA-F]{6})")
# sRGB to XYZ under D65, divided by the white point.
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
) / np.array([[0.95047], [1.0], [1.08883]])

Floats = NDArray[np.float32]


def to_lab(rgb: NDArray[Any]) -> NDArray[np.float64]:
    """Convert sRGB values from 0 to 255 to CIE L*a*b*, along the last axis.

    >>> import numpy as np
    >>> to_lab(np.array([255, 255, 255])).round(1) + 0.0
    array([100.,   0.,   0.])
    """
    part = np.asarray(rgb, np.float64) / 255.0
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T
    cube = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    x, y, z = np.moveaxis(cube, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def parse_colour(text: str) -> tuple[int, int, int]:
    """Parse ``#rrggbb`` into red, green and blue."""
    found = _HEX.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput(f"a colour is {text!r}; #rrggbb expected, such as #d02020")
    red, green, blue = bytes.fromhex(found.group(1))
    return red, green, blue


class Colours:
    """Searches pictures by their colours.

    >>> from likewise import Collection
    >>> Collection.colours  # doctest: +ELLIPSIS
    <...part object at ...>
    """

    def __init__(self, store: Store, decode_pixels: DecodePixels) -> None:
        self._store, self._decode_pixels = store, decode_pixels
        self._root = Path(store.root)
        self._lock = threading.Lock()
        self._rows: NDArray[Any] | None = None
        self._revision = -1

    def search(
        self, colours: Iterable[str], k: int = 20, *, where: Mapping[str, Any] | None = None
    ) -> Hits:
        """Find the k pictures with most of these colours (``#rrggbb``), best first.

        The score is the share of a picture that has a colour, near ones counted in part; with
        several colours, the geometric mean of their shares: a picture must have them all.
        """
        ids, scores = self.rank(colours, k, where=where)
        paths = self._store.paths(ids)
        found = zip(ids, scores, strict=True)
        made = Hits()
        made += [Hit(i, paths[i], score) for i, score in found if i in paths]
        return made

    def rank(
        self,
        colours: Iterable[str],
        k: int,
        *,
        where: Mapping[str, Any] | None = None,
        above: float | None = None,
    ) -> tuple[list[int], list[float]]:
        """Return ids and scores of the k pictures with most of these colours, best first."""
        k = whole(k, "k")
        asked = [parse_colour(one) for one in colours]
        if not 0 < len(asked) <= MAX_COLOURS:
            raise InvalidInput(f"{len(asked)} colours in one search; 1 to {MAX_COLOURS} expected")
        allowed = self._store.matching(plain_where(where)) if where else None
        rows = self._update()
        rows = rows[rows["known"] > 0]
        if allowed is not None:
            rows = rows[np.isin(rows["image"], np.fromiter(allowed, np.int64, len(allowed)))]
        elif hidden := self._store.hidden():
            rows = rows[~np.isin(rows["image"], np.fromiter(hidden, np.int64, len(hidden)))]
        scores = np.exp(np.mean([np.log(_shares(rows["lab"], one)) for one in asked], axis=0))
        keep = np.flatnonzero(scores >= above) if above is not None else np.arange(len(rows))
        order = keep[np.lexsort((rows["image"][keep], -scores[keep]))][:k]
        return rows["image"][order].tolist(), scores[order].astype(float).tolist()

    def _update(self) -> NDArray[Any]:
        """Return the grids of all pictures; missing ones are made and stored."""
        with self._lock:
            revision = self._store.revision
            if self._rows is not None and self._revision == revision:
                return self._rows
            rows = self._read() if self._rows is None else self._rows
            there = {
                int(row[0]): bytes(row[1]) for row in self._store.all("SELECT id, hash FROM images")
            }
            kept = rows[np.isin(rows["image"], np.fromiter(there, np.int64, len(there)))]
            missing = sorted(there.keys() - set(kept["image"].tolist()))
            made = np.zeros(len(missing), _ROW)
            for at, image in enumerate(missing):
                made[at] = self._describe(image, there[image])
            changed = bool(missing) or len(kept) < len(rows)
            rows = np.concatenate([kept, made])
            if changed:
                self._keep(rows)
            self._rows, self._revision = rows, revision
            return rows

    def _describe(self, image: int, key: bytes) -> tuple[int, int, NDArray[np.int8]]:
        """Compute a picture's row from its thumbnail; one that cannot be read has no colours."""
        try:
            content = thumbnail(
                self._root, key, lambda: self._store.paths([image])[image], FIRST_SIDE, self._small
            )
            return image, 1, grid_of(decode(content, max_side=4 * GRID).pixels)
        except (LikewiseError, OSError, KeyError):
            return image, 0, np.zeros((GRID * GRID, 3), np.int8)

    def _small(self, source: Source, side: int) -> bytes:
        return small_jpeg(self._decode_pixels(source, side, None), side)

    def _read(self) -> NDArray[Any]:
        """Read stored grids; a file that does not fit is ignored."""
        with suppress(OSError, ValueError, EOFError):
            found = np.load(self._root / FOLDER / _FILE, allow_pickle=False)
            if found.dtype == _ROW and found.ndim == 1:
                return cast("NDArray[Any]", found)
        return np.zeros(0, _ROW)

    def _keep(self, rows: NDArray[Any]) -> None:
        place = self._root / FOLDER / _FILE
        part = place.with_name(f"{_FILE}.{secrets.token_hex(4)}")
        try:
            private_folder(place.parent)
            with part.open("wb") as stream:
                np.save(stream, rows, allow_pickle=False)
            os.replace(part, place)
        except OSError:
            # On a full or read-only disk the grids are made again next time.
            with suppress(OSError):
                part.unlink(missing_ok=True)


def grid_of(pixels: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Compute the colours of a picture's cells, row by row: (144, 3), L* less 50, a* and b*."""
    height, width = pixels.shape[:2]
    down = np.arange(GRID + 1) * height // GRID
    across = np.arange(GRID + 1) * width // GRID
    cells = np.empty((GRID, GRID, 3))
    for i in range(GRID):
        for j in range(GRID):
            top, left = min(down[i], height - 1), min(across[j], width - 1)
            cell = pixels[top : max(down[i + 1], top + 1), left : max(across[j + 1], left + 1)]
            cells[i, j] = cell.reshape(-1, 3).mean(axis=0)
    lab = to_lab(cells.reshape(-1, 3)) - [50, 0, 0]
    return np.clip(np.rint(lab), -127, 127).astype(np.int8)


def _shares(labs: NDArray[np.int8], colour: tuple[int, int, int]) -> Floats:
    """Return the share of each picture that has a colour; above 0, for its logarithm."""
    wanted = (to_lab(np.array(colour)) - [50, 0, 0]).astype(np.float32)
    found = np.empty(len(labs), np.float32)
    for first in range(0, len(labs), _CHUNK):
        away = labs[first : first + _CHUNK].astype(np.float32) - wanted
        nearness = np.exp(np.einsum("nij,nij->ni", away, away) / np.float32(-2 * NEAR**2))
        found[first : first + _CHUNK] = nearness.mean(axis=1)
    return np.maximum(found, np.float32(1e-9))
