"""The page of one search: the query, its hits with scores, and the places that match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.cli.output import day, plural, size
from likewise.cli.pages import Thumbnail, render, thumbnail

if TYPE_CHECKING:
    from likewise.cli.search import Answer, PageQuery
    from likewise.search.explain import HeatMap

_SIDE = 420
_HEIGHT = 300.0
_GAP = 12.0
_PLACES = 8
"""Places drawn of one word in one picture: a word of a texture may have a hundred."""

# Colours that are distinct for most people and on most pictures (Okabe and Ito, brightened).
_COLOURS = (
    "#ffb000", "#56b4e9", "#2ee6a6", "#f0e442", "#ff6d3a", "#ff8ad1", "#8f9bff", "#c6ff6b",
    "#ff5470", "#5ef2ff",
)  # fmt: skip
_DARKEST = 0.74


def search_page(asked: PageQuery, answers: Sequence[Answer]) -> str:
    """Return the page as one string."""
    query = thumbnail(asked.path, _SIDE)
    # Names of files and folders, not paths: pages are made to be shared.
    facts = [
        ("Searched", f"{plural(asked.pictures, 'picture')} in {Path(asked.collection).name}"),
        ("Ranked by", asked.by),
        *([("Region", ", ".join(f"{side:g}" for side in asked.region))] if asked.region else []),
        *asked.where.items(),
        ("Picture", Path(asked.path).name),
    ]
    best = max((answer.hit.score for answer in answers), default=0.0)
    scale = query.width / asked.frame[0]
    return render(
        "search.html",
        title=f"Like {Path(asked.path).name}",
        asked=asked,
        query=query,
        facts=facts,
        explained=any(answer.why for answer in answers),
        by_place=any(answer.why.in_query for answer in answers if answer.why),
        region=asked.region
        and {key: f"{side * scale:.1f}" for key, side in zip("xywh", asked.region, strict=True)},
        cards=[_card(answer, best, asked, query) for answer in answers],
    )


def _card(answer: Answer, best: float, asked: PageQuery, query: Thumbnail) -> dict[str, Any]:
    row, score = answer.row, answer.hit.score
    thumb = thumbnail(row.path, _SIDE)
    facts = [f"{row.width} x {row.height}", row.format, size(row.n_bytes)]
    if row.date:
        facts.append(day(row.date, row.date_source))
    drawn = answer.why and not (thumb.problem or query.problem)
    return {
        "thumb": thumb,
        "name": Path(row.path).name,
        "score": f"{score:.4f}",
        "bar": f"{100 * score / best:.1f}" if 0 < score <= best else "",
        "facts": " · ".join([*facts, f"id {row.id}"]),
        "why": _explain(answer),
        "pair": _pair(answer, asked, query, thumb) if drawn else None,
    }


def _explain(answer: Answer) -> str:
    why = answer.why
    if why is None:
        return ""
    if why.in_query is not None:
        query, hit = areas_in_words(why.in_query), areas_in_words(why.in_hit)
        return f"Matching places: {query} of the query; {hit} of this"
    total = sum(word.contribution for word in why.words)
    share = total / why.score if why.score > 0 else 0.0
    return (
        f"{plural(why.n_shared, 'shared word')}; the {len(why.words)} drawn make {share:.0%} of "
        f"their score ({why.score:.3f})"
    )


def _pair(answer: Answer, asked: PageQuery, query: Thumbnail, thumb: Thumbnail) -> dict[str, Any]:
    """Place query and hit side by side at one height, with what they share drawn over both."""
    assert answer.why is not None
    left, right = _HEIGHT / query.height, _HEIGHT / thumb.height
    wide = query.width * left
    start = wide + _GAP
    to_query = wide / asked.frame[0]
    to_hit = thumb.width * right / answer.row.width
    shades: list[tuple[str, ...]] = []
    if answer.why.in_query is not None and answer.why.in_hit is not None:
        shades += _shades(answer.why.in_query, 0.0, to_query)
        shades += _shades(answer.why.in_hit, start, to_hit)
    lines, rings = [], []
    for word, colour in zip(answer.why.words, _COLOURS, strict=False):
        ends = [(x * to_query, y * to_query) for x, y in word.in_query[:_PLACES].tolist()]
        ends += [(start + x * to_hit, y * to_hit) for x, y in word.in_hit[:_PLACES].tolist()]
        spots = [(f"{x:.1f}", f"{y:.1f}") for x, y in ends]
        if len(word.in_query) == len(word.in_hit) == 1:
            lines.append((*spots[0], *spots[1], colour))
        rings += [(x, y, colour) for x, y in spots]
    return {
        "width": f"{start + thumb.width * right:.1f}", "height": f"{_HEIGHT:g}",
        "scale": f"{left:.5f}", "x": f"{start:.1f}", "hit_width": f"{thumb.width * right:.1f}",
        "shades": shades, "lines": lines, "rings": rings,
    }  # fmt: skip


def areas_in_words(heat: HeatMap | None) -> str:
    """Describe where a heat map is warm: ``top left 41 %, middle 20 %``."""
    found = heat.areas() if heat is not None else []
    return ", ".join(f"{area.name} {area.share:.0%}" for area in found) or "nowhere"


def _shades(heat: HeatMap, start: float, scale: float) -> Iterator[tuple[str, ...]]:
    """Yield dark rectangles over cells that add little: x, y, width, height, opacity."""
    n_rows, n_columns = heat.cells.shape
    x, y, width, height = (side * scale for side in heat.box)
    step_x, step_y = width / n_columns, height / n_rows
    most = float(heat.cells.max())
    for (row, column), value in np.ndenumerate(heat.cells):
        warmth = max(0.0, float(value) / most) if most > 0 else 0.0
        dark = _DARKEST * max(0.0, 1 - 1.6 * warmth)
        if dark > 0:
            place = (start + x + column * step_x, y + row * step_y, step_x, step_y)
            yield (*(f"{side:.1f}" for side in place), f"{dark:.2f}")
