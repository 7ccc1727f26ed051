"""The map of a collection as one page: the served page's canvas, with every picture on it.

Pictures travel inside as sheets of small JPEGs made from pixels alone: no metadata, no paths but
the names of files.  The script is ours and named by its hash; nothing else may run or load.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from likewise.cli.pages import render
from likewise.errors import ImageError
from likewise_methods.ordinal import fit_to_square, place_on_grid

SHEET = 1_536
"""Pixels a side of a sheet of small pictures."""
SIDES = ((600, 128), (2_000, 96), (6_000, 64), (10**9, 48))
"""Up to so many pictures, each is so many pixels a side: a page stays within some 25 MB."""
_IMPORT = 'import { Chart } from "../../server/page/chart.js";\n'
_EXPORT = re.compile(r"^export (?=class |function |const )", re.MULTILINE)
_QUALITY = 74
_GREY = 128


@dataclass(frozen=True)
class MapPicture:
    """A picture of the map: its file and its position."""

    path: str
    x: float
    y: float


def map_page(
    title: str,
    notes: Sequence[str],
    pictures: Sequence[MapPicture],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> str:
    """Return the page as one string."""
    side = next(size for most, size in SIDES if len(pictures) <= most)
    places = fit_to_square([(one.x, one.y) for one in pictures])
    cells, columns, rows = place_on_grid(places)
    sheets, frames = _sheets([one.path for one in pictures], side, report)
    data = {
        "side": side,
        "sheet": SHEET,
        "columns": columns,
        "rows": rows,
        "names": [_name(one.path) for one in pictures],
        # Integers are short, and precise enough for any screen.
        "places": np.rint(places * 60_000).astype(int).ravel().tolist(),
        "cells": cells.ravel().tolist(),
        "frames": [number for frame in frames for number in frame],
    }
    return _document(title, notes, data, sheets)


def _sheets(
    paths: Sequence[str], side: int, report: Callable[[int, int], None]
) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Return the sheets as data URIs, and width, height and mean colour of each picture."""
    from likewise.collection.decoding import decoders
    from likewise.images.decode import small_jpeg

    across = SHEET // side
    per_sheet = across * across
    sheets: list[str] = []
    frames: list[tuple[int, int, int]] = []
    canvas: NDArray[np.uint8] = np.full((SHEET, SHEET, 3), _GREY, np.uint8)
    for number, path in enumerate(paths):
        place = number % per_sheet
        try:
            pixels = decoders().pixels(path, side, None)[:side, :side]
            if pixels.ndim == 2:
                pixels = np.repeat(pixels[:, :, None], 3, axis=2)
            height, width = pixels.shape[:2]
            y, x = side * (place // across), side * (place % across)
            canvas[y : y + height, x : x + width] = pixels
            red, green, blue = pixels.reshape(-1, 3).mean(axis=0).astype(int).tolist()
            frames.append((width, height, (red << 16) | (green << 8) | blue))
        except ImageError:
            # A deleted file keeps its position on the map, as an empty frame.
            frames.append((0, 0, (_GREY << 16) | (_GREY << 8) | _GREY))
        report(number + 1, len(paths))
        if place == per_sheet - 1 or number == len(paths) - 1:
            used = side * (place // across + 1)
            jpeg = small_jpeg(canvas[:used], SHEET, quality=_QUALITY)
            sheets.append(f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}")
            canvas[:] = _GREY
    return sheets, frames


def _name(path: str) -> str:
    """Return the name of a file without its folder; undecodable bytes become question marks."""
    return Path(path).name.encode("utf-8", "replace").decode("utf-8")


def _document(title: str, notes: Sequence[str], data: dict[str, Any], sheets: list[str]) -> str:
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # Inside a script element nothing but "<" can end it.
    text = json.dumps({**data, "sheets": sheets}, separators=(",", ":")).replace("<", "\\u003c")
    return render(
        "map.html",
        title=title,
        notes=notes,
        digest=digest,
        data=Markup(text),
        script=Markup(script),
    )


def _script() -> str:
    """Return the script of the page, preceded by the one it imports: the canvas of the served page.

    A page in one file can import nothing, so the imported module becomes a function.
    """
    own = files("likewise.cli").joinpath("templates", "map.js").read_text(encoding="utf-8")
    chart = files("likewise.server").joinpath("page", "chart.js").read_text(encoding="utf-8")
    inside = f"(() => {{\n{_EXPORT.sub('', chart)}\nreturn {{ Chart }};\n}})()"
    return f"const {{ Chart }} = {inside};\n{own.replace(_IMPORT, '')}"
