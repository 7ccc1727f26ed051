"""Pictures a collection is made difficult with: copies of photographs, scanned pages, drawings.

A copy is what a phone, a chat or a web site makes of a picture: its edges cut by 1 to 5 %, a little
lighter or darker, compressed anew.  Pages and drawings are rendered: each kind has its layout and
its hand (Hershey's fonts), and no two have the same words or lines.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance

from likewise.images.decode import decode
from likewise.spaces.base import DECODE_SIDE

Pixels = NDArray[np.uint8]
Draw = Callable[[Pixels, np.random.Generator], None]
_WIDTH, _HEIGHT = 480, 640
_LETTERS = np.array(list("aabcdeeefghiiklmnnoopqrrsstttuvwxyz"))


def copy_of(path: Path, rng: np.random.Generator) -> Pixels:
    """A near-duplicate of a picture in a file."""
    picture = Image.open(path).convert("RGB")
    width, height = picture.size
    left, top, right, bottom = rng.uniform(0.01, 0.025, 4)
    box = (left * width, top * height, (1 - right) * width, (1 - bottom) * height)
    cut = picture.crop((int(box[0]), int(box[1]), int(box[2]), int(box[3])))
    lit = ImageEnhance.Brightness(cut).enhance(float(rng.uniform(0.9, 1.1)))
    file = io.BytesIO()
    lit.save(file, "JPEG", quality=int(rng.integers(60, 95)))
    return np.asarray(decode(file.getvalue(), max_side=DECODE_SIDE).pixels)


def page(kind: str, rng: np.random.Generator) -> Pixels:
    """A scan of this kind: paper that is not quite white, slightly turned."""
    sheet = np.full((_HEIGHT, _WIDTH, 3), rng.integers(235, 256), np.uint8)
    KINDS[kind](sheet, rng)
    turn = cv2.getRotationMatrix2D((_WIDTH / 2, _HEIGHT / 2), float(rng.uniform(-2, 2)), 1.0)
    paper = (int(sheet[0, 0, 0]),) * 3
    turned = cv2.warpAffine(sheet, turn, (_WIDTH, _HEIGHT), borderValue=paper)
    noisy = turned + rng.normal(0, 3, turned.shape)
    return np.asarray(np.clip(noisy, 0, 255), np.uint8)


# -- what is on a sheet -------------------------------------------------------------------------


def _words(rng: np.random.Generator, n_letters: int) -> str:
    """So many letters, in words of 2 to 9."""
    words: list[str] = []
    while sum(map(len, words)) + len(words) < n_letters:
        words.append("".join(rng.choice(_LETTERS, rng.integers(2, 10))))
    return " ".join(words)[:n_letters]


def _write(
    sheet: Pixels, text: str, x: int, y: int, *, font: int, scale: float = 0.4, thick: int = 1
) -> None:
    cv2.putText(sheet, text, (x, y), font, scale, (30, 30, 30), thick, cv2.LINE_AA)


def _column(
    sheet: Pixels, rng: np.random.Generator, x: int, letters: int, top: int, font: int
) -> None:
    """Lines from ``top`` on, now and then a paragraph's short last one."""
    for y in range(top, _HEIGHT - int(rng.integers(30, 120)), 16):
        _write(
            sheet, _words(rng, letters if rng.random() > 0.15 else letters // 3), x, y, font=font
        )


def _letter(sheet: Pixels, rng: np.random.Generator) -> None:
    for y in range(40, 90, 16):
        _write(sheet, _words(rng, 18), 300, y, font=cv2.FONT_HERSHEY_COMPLEX)
    _column(sheet, rng, 40, 48, int(rng.integers(130, 200)), cv2.FONT_HERSHEY_COMPLEX)


def _article(sheet: Pixels, rng: np.random.Generator) -> None:
    _write(sheet, _words(rng, 20), 60, 50, font=cv2.FONT_HERSHEY_SIMPLEX, scale=1.0, thick=2)
    for x in (30, 255):
        _column(sheet, rng, x, 26, 90, cv2.FONT_HERSHEY_SIMPLEX)


def _handwriting(sheet: Pixels, rng: np.random.Generator) -> None:
    for y in range(60, _HEIGHT - int(rng.integers(30, 200)), 34):
        text = _words(rng, int(rng.integers(18, 28)))
        _write(sheet, text, 40, y, font=cv2.FONT_HERSHEY_SCRIPT_SIMPLEX, scale=0.8)


def _title_page(sheet: Pixels, rng: np.random.Generator) -> None:
    for i in range(int(rng.integers(2, 5))):
        font = cv2.FONT_HERSHEY_TRIPLEX
        _write(sheet, _words(rng, 14), 70, 180 + 55 * i, font=font, scale=1.2, thick=2)
    _write(sheet, _words(rng, 24), 120, 560, font=cv2.FONT_HERSHEY_COMPLEX)


def _table(sheet: Pixels, rng: np.random.Generator) -> None:
    columns, step = int(rng.integers(4, 8)), int(rng.integers(20, 34))
    left, right, bottom = 30, _WIDTH - 30, _HEIGHT - 50
    for y in range(60, bottom, step):
        cv2.line(sheet, (left, y), (right, y), (60, 60, 60), 1)
    for x in np.linspace(left, right, columns + 1).astype(int):
        cv2.line(sheet, (int(x), 60), (int(x), bottom), (60, 60, 60), 1)
        if x < right:
            for y in range(60 + step - 6, bottom, step):
                number = str(rng.integers(1, 9_999))
                _write(sheet, number, int(x) + 5, y, font=cv2.FONT_HERSHEY_PLAIN, scale=0.8)


def _form(sheet: Pixels, rng: np.random.Generator) -> None:
    for y in range(60, _HEIGHT - 60, int(rng.integers(44, 60))):
        _write(sheet, _words(rng, 12), 30, y, font=cv2.FONT_HERSHEY_SIMPLEX)
        width = int(rng.integers(120, 260))
        cv2.rectangle(sheet, (170, y - 20), (170 + width, y + 8), (60, 60, 60), 1)
        if rng.random() < 0.6:
            font = cv2.FONT_HERSHEY_SCRIPT_SIMPLEX
            _write(sheet, _words(rng, 9), 178, y, font=font, scale=0.6)


def _chart(sheet: Pixels, rng: np.random.Generator) -> None:
    bars = int(rng.integers(5, 14))
    for x, height in zip(np.linspace(70, 400, bars), rng.integers(40, 420, bars), strict=True):
        corners = (int(x), 560 - int(height)), (int(x) + 250 // bars, 560)
        cv2.rectangle(sheet, *corners, (90, 90, 90), -1 if rng.random() < 0.5 else 1)
    cv2.line(sheet, (50, 560), (440, 560), (30, 30, 30), 2)
    cv2.line(sheet, (50, 90), (50, 560), (30, 30, 30), 2)


def _plan(sheet: Pixels, rng: np.random.Generator) -> None:
    """Rooms: a rectangle cut again and again."""
    rooms = [(50, 80, 430, 560)]
    for _ in range(int(rng.integers(5, 10))):
        left, top, right, bottom = rooms.pop(0)
        share = rng.uniform(0.35, 0.65)
        if right - left > bottom - top:
            middle = int(left + share * (right - left))
            rooms += [(left, top, middle, bottom), (middle, top, right, bottom)]
        else:
            middle = int(top + share * (bottom - top))
            rooms += [(left, top, right, middle), (left, middle, right, bottom)]
    for left, top, right, bottom in rooms:
        cv2.rectangle(sheet, (left, top), (right, bottom), (30, 30, 30), 3)
        if rng.random() < 0.7:
            cv2.ellipse(sheet, (left, bottom), (30, 30), 0, 270, 360, (90, 90, 90), 1)


def _sketch(sheet: Pixels, rng: np.random.Generator) -> None:
    """Closed wavy lines, one inside the other."""
    angle = np.linspace(0, 2 * np.pi, 80)
    centre = rng.uniform(200, 320, 2)
    waves = rng.normal(0, 0.12, 6)
    for radius in np.linspace(40, 190, int(rng.integers(3, 8))):
        wavy = radius * (1 + sum(w * np.sin((i + 1) * angle) for i, w in enumerate(waves)))
        line = centre + np.stack([wavy * np.cos(angle), wavy * np.sin(angle)], axis=1)
        cv2.polylines(sheet, [line.astype(np.int32)], True, (40, 40, 40), 2, cv2.LINE_AA)


def _music(sheet: Pixels, rng: np.random.Generator) -> None:
    for top in range(70, _HEIGHT - 90, int(rng.integers(80, 100))):
        for i in range(5):
            cv2.line(sheet, (30, top + 9 * i), (450, top + 9 * i), (40, 40, 40), 1)
        for x in np.sort(rng.uniform(50, 430, int(rng.integers(6, 18)))).astype(int):
            y = top + int(rng.integers(0, 9)) * 9 // 2
            cv2.ellipse(sheet, (int(x), y), (6, 4), -20, 0, 360, (20, 20, 20), -1)
            cv2.line(sheet, (int(x) + 5, y), (int(x) + 5, y - 28), (20, 20, 20), 1)


KINDS: dict[str, Draw] = {
    "letter": _letter,
    "article": _article,
    "handwriting": _handwriting,
    "title page": _title_page,
    "table": _table,
    "form": _form,
    "chart": _chart,
    "plan": _plan,
    "sketch": _sketch,
    "music": _music,
}
