"""The page of what was learned: words or directions, pictures that moved, the curve, versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from likewise.cli.feedback_output import (
    describe_line,
    describe_place,
    describe_times,
    format_time,
    summarize_profile,
)
from likewise.cli.output import plural
from likewise.cli.pages import jpeg_uri, render, thumbnail
from likewise.errors import ImageError

if TYPE_CHECKING:
    from likewise.learning.learned_directions import Example, Move
    from likewise.learning.learned_report import CurvePoint, LearnedReport

_PATCH = 160
_SMALL = 96
_AROUND = 2.2
"""A patch is cut with so many times its own side, so that one sees what it is part of."""
_LEAST = 72
"""Pixels a patch is cut with at least."""
_LINES = 30
"""Newest lines of the log with pictures; older ones are counted."""

Alike = Callable[["Move"], bool]
"""Whether the picture of a move belongs to the query, where that is known."""


def learned_page(found: LearnedReport, collection: str, alike: Alike | None = None) -> str:
    """Return the page as one string; with ``alike`` it marks which moves are improvements."""
    from markupsafe import Markup

    words = (
        (f"Words that count {'more' if found.start else 'most'}", "up",
         found.gained, found.n_gained),
        ("Words that count less", "down", found.lost, found.n_lost),
    )  # fmt: skip
    more = [one for one in found.directions if one.value > 1]
    less = [one for one in found.directions if not one.value > 1]
    return render(
        "learned.html",
        title=f"What profile {found.profile} has learned",
        found=found,
        collection=collection,
        facts=summarize_profile(found),
        curve=Markup(draw_curve(found.curve)) if found.curve else "",
        word_groups=[group for group in words if group[2]],
        located=any(e.box for w in (*found.gained, *found.lost) for e in w.examples),
        direction_groups=[
            group for group in (("more", "up", more), ("less", "down", less)) if group[2]
        ],
        negative=any(one.value < 0 for one in found.directions),
        moves=[_move(move, alike) for move in found.moved],
        better=None if alike is None else sum(alike(move) == move.rose for move in found.moved),
        newest=found.log[: -_LINES - 1 : -1],
        earlier=max(0, len(found.log) - _LINES),
        sketches={number: _sketch(jpeg) for number, jpeg in found.sketches.items()},
        cut_patch=_cut_patch,
        describe_line=describe_line,
        describe_times=describe_times,
        format_time=format_time,
    )


def _move(move: Move, alike: Alike | None) -> dict[str, Any]:
    way = "rose" if move.rose else "fell"
    text = f"{way} from {describe_place(move.before)} to {describe_place(move.after)}"
    kind = ""
    if alike is not None:
        belongs = alike(move)
        kind, verdict = ("up", "better") if belongs == move.rose else ("down", "worse")
        text += f": {verdict}, it {'belongs' if belongs else 'does not belong'} to it"
    return {"kind": kind, "text": text, "picture": move.picture, "query": move.query}


def _cut_patch(example: Example) -> dict[str, str] | None:
    """Return an example as a data URI, with the mark of its place if it has one."""
    if example.box is not None:
        return _patch(example.path, example.box)
    thumb = thumbnail(example.path, _PATCH)
    return None if thumb.problem else {"uri": thumb.uri, "mark": ""}


def _patch(path: str, box: tuple[float, float, float, float]) -> dict[str, str] | None:
    """Cut a square around a place, and mark the place in it."""
    from likewise.images.decode import small_jpeg

    pixels = _pixels(path)
    if pixels is None:
        return None
    height, width = pixels.shape[:2]
    x, y, w, h = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    side = min(max(_AROUND * w, _AROUND * h, _LEAST), width, height)
    left = min(max(x + w / 2 - side / 2, 0.0), width - side)
    top = min(max(y + h / 2 - side / 2, 0.0), height - side)
    column, row, size = int(left), int(top), max(1, int(side))
    cut = pixels[row : row + size, column : column + size]
    sides = (x - column, y - row, x - column + w, y - row + h)
    x1, y1, x2, y2 = (min(max(100 * at / size, 0.0), 100.0) for at in sides)
    mark = f"left:{x1:.1f}%;top:{y1:.1f}%;width:{x2 - x1:.1f}%;height:{y2 - y1:.1f}%"
    return {"uri": jpeg_uri(small_jpeg(cut, _PATCH)), "mark": mark}


@lru_cache(maxsize=16)
def _pixels(path: str) -> Any:
    from likewise.collection.decoding import decoders
    from likewise.spaces.base import DECODE_SIDE

    try:
        return decoders().pixels(path, DECODE_SIDE, None)
    except ImageError:
        return None


def _sketch(jpeg: bytes) -> str:
    """Shrink the picture that the log keeps of a query outside the collection."""
    from likewise.images.decode import decode, small_jpeg

    return jpeg_uri(small_jpeg(decode(jpeg, max_side=_SMALL).pixels, _SMALL))


# -- the learning curve ----------------------------------------------------------------------

_WIDTH, _HEIGHT = 640.0, 260.0
_LEFT, _BOTTOM, _TOP, _RIGHT = 52.0, 34.0, 8.0, 8.0
_POINTS = 240
"""Points drawn at most; more could not be told apart."""


def draw_curve(points: Sequence[CurvePoint]) -> str:
    """Draw the shares right so far, learned and plain, after each judgement."""
    last = points[-1]
    kept = pick_evenly(len(points), _POINTS)
    values = [v for i in kept for v in (points[i].learned, points[i].plain)]
    low, high = _range(min(values), max(values))
    across = max(len(points) - 1, 1)

    def height(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - (value - low) / (high - low))

    def place(i: int, value: float) -> str:
        return f"{_LEFT + (_WIDTH - _LEFT - _RIGHT) * (i / across):.1f} {height(value):.1f}"

    lines = []
    for kind in ("plain", "learned"):
        spots = [place(i, getattr(points[i], kind)) for i in kept]
        # A single judgement is a dot: a line of no length with round ends.
        lines.append((kind, " L".join(spots if len(spots) > 1 else spots * 2)))
    tenths = range(round(low * 10), round(high * 10) + 1)
    return render(
        "curve.html",
        width=f"{_WIDTH:g}",
        height=round(_HEIGHT),
        left=round(_LEFT),
        right=round(_WIDTH - _RIGHT),
        keys=[
            ("learned", "learned weights", f"{last.learned:.1%}"),
            ("plain", "plain weights", f"{last.plain:.1%}"),
        ],
        label=f"After {plural(len(points), 'judgement')}: {last.learned:.1%} right with learned "
        f"weights, {last.plain:.1%} with plain weights",
        grid=[
            (round(height(tenth / 10), 1), tenth * 10)
            for tenth in tenths[:: 2 if len(tenths) > 6 else 1]
        ],
        lines=lines,
        n=len(points),
    )


def pick_evenly(n: int, most: int) -> list[int]:
    """Return at most so many of 0 .. n - 1, evenly spaced, with the first and the last.

    >>> pick_evenly(3, 10), pick_evenly(101, 5)
    ([0, 1, 2], [0, 25, 50, 75, 100])
    """
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]


def _range(low: float, high: float) -> tuple[float, float]:
    """Return a range of whole tenths around the values, at least three tenths wide."""
    bottom, top = int(low * 10), min(10, int(high * 10) + 1)
    while top - bottom < 3:
        bottom, top = max(0, bottom - 1), min(10, top + 1)
    return bottom / 10, top / 10
