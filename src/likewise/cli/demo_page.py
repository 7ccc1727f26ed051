"""The page the demo leaves behind: figures, and queries with what was found for them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.output import plural
from likewise.cli.page import Thumbnail, document, escape_html, thumbnail, view

if TYPE_CHECKING:
    from likewise.demo import DemoHit, DemoQuery, DemoResult

_SIDE = 200
_MARKS = {True: ("right", "✓"), False: ("wrong", "✗"), None: ("", "")}


def demo_page(result: DemoResult) -> str:
    """The page as one string."""
    truth = bool(result.means)
    title = "Likewise on planted views" if truth else "Likewise on your pictures"
    if truth:
        lead = (
            f"{result.pictures:,} views of known scenes (crops, perspective, scale, light, blur, "
            "noise, JPEG), each searched among all others. The query has a blue frame, a view of "
            "the same scene a green one (✓), another scene a red one (✗). "
            "The last four queries are those that went worst."
        )
    else:
        lead = (
            f"{plural(result.pictures, 'picture')}, a few of them drawn by seed and searched "
            "among all others by each similarity. Nobody said which are alike, so nothing is "
            "marked right or wrong."
        )
    times = ", ".join(f"{ms:.1f} ms by {by}" for by, ms in result.search_ms.items())
    rows = "".join(_row(asked, alone=len(asked.found) == 1) for asked in result.asked)
    shown = f"<h2>{plural(len(result.asked), 'query', 'queries')}</h2>{rows}"
    body = (
        f"<h1>{title}</h1><p>{escape_html(lead)}</p>"
        f'<p class="soft">A search takes {escape_html(times)}; with a picture that is new to the '
        f"collection {result.new_picture_ms:.0f} ms.</p>{_typed(result)}"
        f"{_lesson(result)}{_table(result) if truth else ''}{shown}"
    )
    return document(title, body)


def _table(result: DemoResult) -> str:
    names = list(result.means)
    heads = "".join(f"<th>{escape_html(name)}</th>" for name in names)
    kinds = sorted(result.by_kind.items(), key=lambda item: -sum(item[1].values()))
    lines = "".join(
        f"<tr><td>{escape_html(kind)}</td>"
        + "".join(f"<td>{values[name]:.3f}</td>" for name in names)
        + "</tr>"
        for kind, values in kinds
    )
    total = "".join(f"<td>{result.means[name]:.3f}</td>" for name in names)
    return (
        "<h2>Mean average precision, by how the query was made</h2>"
        f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{lines}</tbody>"
        f"<tfoot><tr><td>all</td>{total}</tr></tfoot></table>"
    )


def _typed(result: DemoResult) -> str:
    """What was typed, and what three likes made of it."""
    if not result.typed:
        return f"<p>{escape_html(result.hint)}</p>" if result.hint else ""
    rows = []
    for one in result.typed:
        query = one.query
        strips = f'<div class="strip">{"".join(map(_hit, one.before))}</div>'
        if query.found[1] > query.found[0]:
            strips += (
                f"<h4>after {plural(len(query.liked), 'like')}, without them</h4>"
                f'<div class="strip">{"".join(map(_hit, one.after))}</div>'
            )
        rows.append(
            f'<section class="row"><h3>“{escape_html(query.text)}”: {query.found[0]:.0%} right, '
            f"after {plural(len(query.liked), 'like')} {query.found[1]:.0%}</h3>"
            f'<p class="soft">{escape_html(query.why)}</p>{strips}</section>'
        )
    return (
        "<h2>Typed words</h2><p>Nothing here is tagged, and no file is named so: what pictures "
        "show answers. Counted are as many answers as there are right pictures nobody liked.</p>"
        + "".join(rows)
    )


def _lesson(result: DemoResult) -> str:
    """What a handful of judgements changed."""
    lesson = result.lesson
    if lesson is None:
        return ""
    n = len(lesson.judged)
    head = (
        f"<h2>It learns: {plural(n, 'judgement')}</h2><p>The queries that went worst were judged "
        "once each: at most five right and five wrong answers among the first twenty. "
        "Only pictures nobody judged are counted below.</p>"
        "<table><thead><tr><th></th><th>before</th><th>after</th></tr></thead><tbody>"
        f"<tr><td>judged queries, mAP on pictures not judged</td>"
        f"<td>{lesson.residual_before:.3f}</td><td>{lesson.residual_after:.3f}</td></tr>"
        f"<tr><td>queries nobody judged, mAP (what the profile learned)</td>"
        f"<td>{lesson.others_before:.3f}</td><td>{lesson.others_after:.3f}</td></tr>"
        '</tbody></table><p><a href="learned.html">The page of what was learned</a></p>'
    )
    rows = []
    for one in result.taught:
        query = (
            f'<figure class="asked">{view(_thumb(one.row.path), Path(one.row.path).name)}'
            "<figcaption><b>query</b></figcaption></figure>"
        )
        strips = "".join(
            f'<h4>{when}</h4><div class="strip">{query}{"".join(map(_hit, found))}</div>'
            for when, found in (("before", one.before), ("after", one.after))
        )
        name = Path(one.row.path).name
        said = f"{one.liked} liked, {one.disliked} disliked"
        rows.append(
            f'<section class="row"><h3>{escape_html(name)}: {said}, average precision of the rest '
            f"{one.residual_before:.3f} to {one.residual_after:.3f}</h3>{strips}</section>"
        )
    return head + "".join(rows)


def _row(asked: DemoQuery, *, alone: bool) -> str:
    name = Path(asked.row.path).name
    query = (
        f'<figure class="asked">{view(_thumb(asked.row.path), name)}'
        "<figcaption><b>query</b></figcaption></figure>"
    )
    strips = []
    for by, found in asked.found.items():
        head = "" if alone else f"<h4>by {escape_html(by)}</h4>"
        strips.append(f'{head}<div class="strip">{query}{"".join(map(_hit, found))}</div>')
    if asked.average_precision is not None:
        name = f"{name}, average precision {asked.average_precision:.3f}"
    return f'<section class="row"><h3>{escape_html(name)}</h3>{"".join(strips)}</section>'


def _hit(found: DemoHit) -> str:
    name = Path(found.row.path).name
    kind, mark = _MARKS[found.right]
    return (
        f'<figure class="{kind}">{view(_thumb(found.row.path), name)}<figcaption>'
        f"<b>{mark} {found.hit.score:.3f}</b><br>{escape_html(name)}</figcaption></figure>"
    )


@lru_cache(maxsize=512)
def _thumb(path: str) -> Thumbnail:
    return thumbnail(path, _SIDE)
