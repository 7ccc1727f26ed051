"""The page of one search: the query, its hits with scores, and where they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from likewise.cli.answers import Answer, PageQuery
from likewise.cli.output import day, plural, size
from likewise.cli.page import Thumbnail, document, escape_html, thumbnail, view

if TYPE_CHECKING:
    from likewise.search.explain import HeatMap

_SIDE = 420
_HEIGHT = 300.0
_GAP = 12.0
_PLACES = 8
"""Places drawn of one word in one picture: a word of a texture may have a hundred."""

# Colours that can be told apart by most eyes and on most pictures (Okabe and Ito, brightened).
_COLOURS = (
    "#ffb000", "#56b4e9", "#2ee6a6", "#f0e442", "#ff6d3a", "#ff8ad1", "#8f9bff", "#c6ff6b",
    "#ff5470", "#5ef2ff",
)  # fmt: skip


_WORDS_LEGEND = (
    "Rings of one colour are one visual word in both pictures; a line joins them where the word "
    "has a single place in each."
)
_HEAT_LEGEND = (
    "Clear places make the pictures alike; dark ones add nothing, or speak against it. All places "
    "of a picture together add up to the score."
)
_DARKEST = 0.74


def search_page(asked: PageQuery, answers: Sequence[Answer]) -> str:
    """The page as one string."""
    name = Path(asked.path).name
    thumb = thumbnail(asked.path, _SIDE)
    explained = any(answer.why for answer in answers)
    place = escape_html(Path(asked.collection).name)
    facts = [
        ("Searched", f"{plural(asked.pictures, 'picture')} in {place}"),
        ("Ranked by", escape_html(asked.by)),
    ]
    if asked.region:
        facts.append(("Region", escape_html(", ".join(f"{side:g}" for side in asked.region))))
    facts += [(escape_html(key), escape_html(value)) for key, value in asked.where.items()]
    # Names, not places: a page is made to be shown, and where pictures lie is their owner's.
    facts.append(("Picture", escape_html(name)))
    listed = "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in facts)
    best = max((answer.hit.score for answer in answers), default=0.0)
    cards = "".join(
        _card(number, answer, best, asked, thumb) for number, answer in enumerate(answers, 1)
    )
    legend = ""
    if explained:
        by_place = any(answer.why.in_query for answer in answers if answer.why)
        legend = f'<p class="soft">{_HEAT_LEGEND if by_place else _WORDS_LEGEND}</p>'
    shared = _shared_query(thumb) if explained and not thumb.problem else ""
    body = (
        f"<h1>Pictures like {escape_html(name)}</h1>{shared}"
        f'<div class="query"><figure class="card">{_query_view(asked, thumb, name)}</figure>'
        f"<dl>{listed}</dl></div>"
        f"<h2>{plural(len(answers), 'hit') if answers else 'No hits'}</h2>{legend}"
        f'<ol class="hits{" pairs" if explained else ""}">{cards}</ol>'
    )
    return document(f"Like {name}", body)


def _query_view(asked: PageQuery, thumb: Thumbnail, name: str) -> str:
    if thumb.problem or not asked.region:
        return view(thumb, name)
    x, y, w, h = asked.region
    scale = thumb.width / asked.frame[0]
    box = f'x="{x * scale:.1f}" y="{y * scale:.1f}" width="{w * scale:.1f}"'
    return (
        f'<div class="view"><svg viewBox="0 0 {thumb.width} {thumb.height}" role="img" '
        f'aria-label="{escape_html(name)} with the region searched for">'
        f'<image href="{thumb.uri}" width="{thumb.width}" height="{thumb.height}"/>'
        f'<rect {box} height="{h * scale:.1f}" fill="none" stroke="#fff" stroke-width="5"/>'
        f'<rect {box} height="{h * scale:.1f}" fill="none" stroke="#2b6bd9" stroke-width="2.5"/>'
        "</svg></div>"
    )


def _shared_query(thumb: Thumbnail) -> str:
    """The query once, for every pair that shows it beside its hit."""
    return (
        '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>'
        f'<image id="query" href="{thumb.uri}" width="{thumb.width}" height="{thumb.height}"/>'
        "</defs></svg>"
    )


def _card(number: int, answer: Answer, best: float, asked: PageQuery, query: Thumbnail) -> str:
    row, hit = answer.row, answer.hit
    place = Path(row.path)
    thumb = thumbnail(row.path, _SIDE)
    if answer.why and not (thumb.problem or query.problem):
        shown = _pair(answer, asked, query, thumb)
    else:
        shown = view(thumb, place.name)
    bar = ""
    if 0 < hit.score <= best:
        bar = f'<div class="bar"><i style="width:{100 * hit.score / best:.1f}%"></i></div>'
    facts = [f"{row.width} x {row.height}", row.format, size(row.n_bytes)]
    if row.date:
        facts.append(day(row.date, row.date_source))
    why = ""
    if answer.why and answer.why.in_query is not None:
        where = areas_in_words(answer.why.in_query), areas_in_words(answer.why.in_hit)
        why = f"<div>Alike where: {where[0]} of the query; {where[1]} of this</div>"
    elif answer.why:
        total = sum(word.contribution for word in answer.why.words)
        share = total / answer.why.score if answer.why.score > 0 else 0.0
        why = (
            f"<div>{plural(answer.why.n_shared, 'shared word')}; the "
            f"{len(answer.why.words)} drawn make {share:.0%} of their score "
            f"({answer.why.score:.3f})</div>"
        )
    return (
        f'<li class="card">{shown}<div class="facts"><div class="score">'
        f'<span class="rank">{number}</span><b>{hit.score:.4f}</b></div>{bar}'
        f"<b>{escape_html(place.name)}</b><div>{escape_html(' · '.join(facts))} · "
        f"id {row.id}</div>"
        f"{why}</div></li>"
    )


def _pair(answer: Answer, asked: PageQuery, query: Thumbnail, thumb: Thumbnail) -> str:
    """Query and hit side by side at one height, with the shared words drawn over both."""
    assert answer.why is not None
    left, right = _HEIGHT / query.height, _HEIGHT / thumb.height
    wide = query.width * left
    start = wide + _GAP
    total = start + thumb.width * right
    to_query = wide / asked.frame[0]
    to_hit = thumb.width * right / answer.row.width
    drawn = []
    if answer.why.in_query is not None and answer.why.in_hit is not None:
        drawn += _shadows(answer.why.in_query, 0.0, to_query)
        drawn += _shadows(answer.why.in_hit, start, to_hit)
    for word, colour in zip(answer.why.words, _COLOURS, strict=False):
        one = [(x * to_query, y * to_query) for x, y in word.in_query[:_PLACES].tolist()]
        other = [(start + x * to_hit, y * to_hit) for x, y in word.in_hit[:_PLACES].tolist()]
        if len(word.in_query) == len(word.in_hit) == 1:
            (x1, y1), (x2, y2) = one[0], other[0]
            drawn.append(
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                f'stroke="{colour}" stroke-width="1.6" stroke-opacity=".85"/>'
            )
        for x, y in (*one, *other):
            ring = f'cx="{x:.1f}" cy="{y:.1f}" r="7" fill="none"'
            drawn.append(f'<circle {ring} stroke="#000" stroke-opacity=".6" stroke-width="4.5"/>')
            drawn.append(f'<circle {ring} stroke="{colour}" stroke-width="2.4"/>')
    name = Path(answer.row.path).name
    return (
        f'<div class="view"><svg viewBox="0 0 {total:.1f} {_HEIGHT:g}" role="img" '
        f'aria-label="where the query is alike to {escape_html(name)}">'
        f'<use href="#query" transform="scale({left:.5f})"/>'
        f'<image href="{thumb.uri}" x="{start:.1f}" width="{thumb.width * right:.1f}" '
        f'height="{_HEIGHT:g}"/>{"".join(drawn)}</svg></div>'
    )


def areas_in_words(heat: HeatMap | None) -> str:
    """Where a heat map is warm: ``top left 41 %, middle 20 %``."""
    found = heat.areas() if heat is not None else []
    return ", ".join(f"{area.name} {area.share:.0%}" for area in found) or "nowhere"


def _shadows(heat: HeatMap, start: float, scale: float) -> list[str]:
    """Cells that add little, darkened; ``scale`` and ``start`` bring pixels onto the drawing."""
    n_rows, n_columns = heat.cells.shape
    x, y, width, height = (side * scale for side in heat.box)
    step_x, step_y = width / n_columns, height / n_rows
    most = float(heat.cells.max())
    drawn = []
    for (row, column), value in np.ndenumerate(heat.cells):
        warmth = max(0.0, float(value) / most) if most > 0 else 0.0
        dark = _DARKEST * max(0.0, 1 - 1.6 * warmth)
        if dark > 0:
            drawn.append(
                f'<rect x="{start + x + column * step_x:.1f}" y="{y + row * step_y:.1f}" '
                f'width="{step_x:.1f}" height="{step_y:.1f}" fill="#0a0c18" '
                f'fill-opacity="{dark:.2f}"/>'
            )
    return drawn
