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
from numpy.typing import NDArray

from likewise.cli.page import escape_html
from likewise.errors import ImageError
from likewise_methods.ordinal import fit_to_square, place_on_grid

SHEET = 1_536
"""Pixels a side of a sheet of small pictures."""
SIDES = ((600, 128), (2_000, 96), (6_000, 64), (10**9, 48))
"""Up to so many pictures, each is so many pixels a side: a page stays within some 25 MB."""
_IMPORT = 'import { Chart } from "../server/page/chart.js";\n'
_EXPORT = re.compile(r"^export (?=class |function |const )", re.MULTILINE)
_QUALITY = 74
_GREY = 128


@dataclass(frozen=True)
class MapPicture:
    """A picture of the map: its file, and its place."""

    path: str
    x: float
    y: float


def map_page(
    title: str,
    notes: Sequence[str],
    pictures: Sequence[MapPicture],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> str:
    """The page as one string."""
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
        # Whole numbers are short, and finer than any screen.
        "places": np.rint(places * 60_000).astype(int).ravel().tolist(),
        "cells": cells.ravel().tolist(),
        "frames": [number for frame in frames for number in frame],
    }
    return _document(title, notes, data, sheets)


def _sheets(
    paths: Sequence[str], side: int, report: Callable[[int, int], None]
) -> tuple[list[str], list[tuple[int, int, int]]]:
    """(sheets as data URIs; width, height and mean colour of each picture), in order."""
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
            # A file that has gone keeps its place on the map, as an empty frame.
            frames.append((0, 0, (_GREY << 16) | (_GREY << 8) | _GREY))
        report(number + 1, len(paths))
        if place == per_sheet - 1 or number == len(paths) - 1:
            used = side * (place // across + 1)
            jpeg = small_jpeg(canvas[:used], SHEET, quality=_QUALITY)
            sheets.append(f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}")
            canvas[:] = _GREY
    return sheets, frames


def _name(path: str) -> str:
    """The name of a file and nothing of where it lies; undecodable bytes become signs."""
    return Path(path).name.encode("utf-8", "replace").decode("utf-8")


def _document(title: str, notes: Sequence[str], data: dict[str, Any], sheets: list[str]) -> str:
    from likewise import __version__

    script = _script()
    style = files("likewise.cli").joinpath("map_page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    said = json.dumps({**data, "sheets": sheets}, separators=(",", ":"))
    # Inside a script element nothing but this can end it.
    said = said.replace("<", "\\u003c")
    lines = "".join(f"<p>{escape_html(note)}</p>" for note in notes)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape_html(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<canvas id="map" tabindex="0" role="img" aria-label="{escape_html(title)}"></canvas>\n'
        f"<header><h1>{escape_html(title)}</h1><details><summary>About this map</summary>{lines}"
        f'<p class="soft">Made by Likewise {escape_html(__version__)}.</p></details></header>\n'
        '<form id="find" role="search"><label for="text">Find a name</label>'
        '<input id="text" type="search" placeholder="Find a name" autocomplete="off" '
        'spellcheck="false">'
        '<output id="found"></output></form>\n'
        '<nav aria-label="Map"><button id="in" title="Zoom in (+)">+</button>'
        '<button id="out" title="Zoom out (-)">&minus;</button>'
        '<button id="fit" title="Show all (0)">&#x2922;</button>'
        '<button id="tidy" aria-pressed="true" title="Side by side, or true places (g)">'
        "&#x25a6;</button></nav>\n"
        '<aside id="card" hidden><canvas id="big"></canvas><div><b id="name"></b>'
        '<p class="soft">Nearest on the map</p><div id="near"></div></div>'
        '<button id="close" title="Close (Escape)" aria-label="Close">&times;</button></aside>\n'
        '<p id="said" role="status" class="unseen"></p>\n'
        f'<script id="data" type="application/json">{said}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _script() -> str:
    """The page's own script behind the one it imports: the canvas of the served page.

    A page that is one file can import nothing, so that the module becomes a function of its own.
    """
    own = files("likewise.cli").joinpath("map_page.js").read_text(encoding="utf-8")
    chart = files("likewise.server").joinpath("page", "chart.js").read_text(encoding="utf-8")
    inside = f"(() => {{\n{_EXPORT.sub('', chart)}\nreturn {{ Chart }};\n}})()"
    return f"const {{ Chart }} = {inside};\n{own.replace(_IMPORT, '')}"
