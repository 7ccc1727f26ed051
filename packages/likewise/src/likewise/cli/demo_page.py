"""The page the demo leaves behind: figures, and queries with what was found for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.output import plural
from likewise.cli.page import Thumbnail, document, escape_html, thumbnail, view

if TYPE_CHECKING:
    from likewise.catalog.store import ImageRow
    from likewise.demo import DemoHit, DemoQuery, DemoResult
    from likewise.demo.demo import LearnedQuery
    from likewise.demo.lesson import Gain

_SIDE = 200
_MARKS = {True: ("right", "✓"), False: ("wrong", "✗"), None: ("", "")}


def demo_page(result: DemoResult) -> str:
    """The page as one string."""
    truth = bool(result.means)
    title = "Likewise on planted views" if truth else "Likewise on your pictures"
    if truth:
        lead = (
            f"{result.pictures:,} views of known photographs (crops, perspective, scale, light, "
            "blur, noise, JPEG). What is right is known, so every answer is marked, and every "
            "figure here was computed from the answers of this run."
        )
    else:
        lead = (
            f"{plural(result.pictures, 'picture')}, a few of them drawn by seed and searched "
            "among all others by each similarity. Nobody said which are alike, so nothing is "
            "marked right or wrong."
        )
    times = ", ".join(f"{ms:.1f} ms by {by}" for by, ms in result.search_ms.items())
    rows = "".join(_row(asked, alone=len(asked.found) == 1) for asked in result.asked)
    if truth:
        shown = (
            "<h2>Views of the same photograph</h2><p>Nothing was taught for this. The last "
            f"{_worst(result)} are those that went worst.</p>{_table(result)}{rows}"
        )
    else:
        shown = f"<h2>{plural(len(result.asked), 'query', 'queries')}</h2>{rows}"
    body = (
        f"<h1>{title}</h1><p>{escape_html(lead)}</p>{_key(truth)}"
        f'<p class="soft">A search takes {escape_html(times)}; with a picture that is new to the '
        f"collection {result.new_picture_ms:.0f} ms.</p>"
        f"{_first(result)}{_typed(result)}{_lesson(result)}{shown}"
    )
    return document(title, body)


def _key(truth: bool) -> str:
    """What the frames mean, by their own colours: a page is light or dark."""
    frames = [("accent", "the query")]
    if truth:
        frames += [("good", "✓ right, or liked"), ("bad", "✗ wrong, or disliked")]
    return '<p class="soft">' + "".join(
        f'<span class="key" style="border-color:var(--{colour})"></span>{text} &ensp;'
        for colour, text in frames
    ) + "</p>"  # fmt: skip


def _worst(result: DemoResult) -> str:
    from likewise.demo.demo import SHOWN_WORST

    return plural(min(SHOWN_WORST, len(result.asked)), "query", "queries")


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
        "<table><thead><tr><th>mean average precision, by how the query was made</th>"
        f"{heads}</tr></thead><tbody>{lines}</tbody>"
        f"<tfoot><tr><td>all</td>{total}</tr></tfoot></table>"
    )


def _first(result: DemoResult) -> str:
    """One query nobody judged, before and after, and what it is an example of."""
    lesson = result.lesson
    if lesson is None or not result.gained:
        return ""
    best = result.gained[0]
    theme, gain = best.other.query.group, lesson.gain()
    return (
        f"<h2>It learns what you mean</h2><p>{plural(lesson.clicks, 'click')} said what belongs "
        "together. About this picture nobody said anything, only about another view of its "
        f"photograph; it belongs to “{escape_html(theme)}”. "
        "Shown are its first answers of other photographs, without any that was clicked. It is "
        "the query that gained most; over all "
        f"{plural(gain.queries, 'query', 'queries')} of such themes that nobody judged, mean "
        f"average precision went from {gain.before:.2f} to {gain.after:.2f} "
        '(<a href="#learned">all figures</a>).</p>'
        f"{_learned(best)}"
    )


def _typed(result: DemoResult) -> str:
    """What was typed, and what three likes made of it."""
    if not result.typed:
        return f"<p>{escape_html(result.hint)}</p>" if result.hint else ""
    rows = []
    for one in result.typed:
        query = one.query
        before, after = query.found
        likes = plural(len(query.liked), "like")
        strips = f'<div class="strip">{"".join(map(_hit, one.before))}</div>'
        said = f"{before:.0%} right"
        # What was right at once has nothing to mend, and what nobody could like was not taught.
        if before < 1 and query.liked:
            said += f", after {likes} {after:.0%}"
            strips += (
                f"<h4>after {likes}, without them</h4>"
                f'<div class="strip">{"".join(map(_hit, one.after))}</div>'
            )
        rows.append(
            f'<section class="row"><h3>“{escape_html(query.text)}”: {said}</h3>'
            f'<p class="soft">{escape_html(query.why)}</p>{strips}</section>'
        )
    return (
        "<h2>Type a word, teach it by three clicks</h2><p>Nothing here is tagged, and no file is "
        "named so: what pictures show answers. The texts were chosen to show what happens: right "
        "at once, mended by three likes, mended in part. Likes go to the first right answers "
        "among twenty; counted are as many answers as there are right pictures nobody liked.</p>"
        + "".join(rows)
    )


def _lesson(result: DemoResult) -> str:
    """What a handful of judgements changed for queries nobody judged."""
    lesson = result.lesson
    if lesson is None:
        return ""
    from likewise.demo.lesson import CLICKS, LOOKED_AT

    gains = [(name, lesson.gain([name])) for name in lesson.groups]
    lines = "".join(_gain(name, gain) for name, gain in gains)
    more = _gain("only pictures nobody clicked", lesson.unseen) + _gain(
        "photographs of no theme, about which nobody said anything", lesson.elsewhere
    )
    head = (
        '<h2 id="learned">Queries nobody judged get better</h2><p>A network finds views of one '
        "photograph alike; that you keep bricks, grass and gravel together it cannot know. So "
        "somebody who knows asks each of these photographs once, looks at "
        f"{LOOKED_AT} answers, dislikes the first {CLICKS} that do not belong and likes "
        f"the first {CLICKS} that do and came after one of those: "
        f"{plural(len(lesson.judged), 'judgement')}, {plural(lesson.clicks, 'click')}. Then all "
        "other views are asked.</p><table><thead><tr><th>mean average precision, all of the theme "
        "being right</th><th>queries nobody judged</th><th>before</th><th>after</th></tr></thead>"
        f"<tbody>{lines}{_gain('all of these themes', lesson.gain())}{more}</tbody></table>"
        '<p class="soft">The line “only pictures nobody clicked” leaves out every picture that '
        "was asked with, liked or disliked, as a query and as an answer: nothing in it was "
        'pointed at.</p><p><a href="learned.html">The page of what was learned</a></p>'
    )
    said = "".join(
        f'<section class="row"><h3>What was said about {escape_html(group.name)}</h3>'
        + "".join(_clicks(*one) for one in group.clicks)
        + "</section>"
        for group in result.taught
    )
    shown = "".join(map(_learned, result.gained[1:]))
    if shown:
        shown = (
            "<h3>Of each other theme the query that gained most</h3><p>First answers of other "
            f"photographs, without any that was clicked.</p>{shown}"
        )
    if result.lost is not None:
        shown += (
            "<h3>And the query that lost most of all</h3><p>Learning helps on the whole, not "
            f"every query.</p>{_learned(result.lost)}"
        )
    else:
        shown += f"<p>None of the {len(lesson.others):,} queries lost average precision.</p>"
    return f"{head}{shown}{said}"


def _gain(name: str, gain: Gain) -> str:
    if not gain.queries:
        return ""
    return (
        f"<tr><td>{escape_html(name)}</td><td>{gain.queries:,}</td>"
        f"<td>{gain.before:.3f}</td><td>{gain.after:.3f}</td></tr>"
    )


def _learned(one: LearnedQuery) -> str:
    name = Path(one.row.path).name
    query = _figure(one.row, "asked", "query")
    strips = "".join(
        f'<h4>{when}</h4><div class="strip">{query}{"".join(map(_hit, found))}</div>'
        for when, found in (("before", one.before), ("after", one.after))
    )
    return (
        f'<section class="row"><h3>{escape_html(name)} ({escape_html(one.other.query.group)}): '
        f"average precision {one.other.value_before:.3f} to {one.other.value_after:.3f}</h3>"
        f"{strips}</section>"
    )


def _clicks(row: ImageRow, liked: Sequence[ImageRow], disliked: Sequence[ImageRow]) -> str:
    figures = [_figure(row, "asked", "query")]
    figures += [_figure(one, "right", "liked") for one in liked]
    figures += [_figure(one, "wrong", "disliked") for one in disliked]
    return f'<div class="strip">{"".join(figures)}</div>'


def _figure(row: ImageRow, kind: str, said: str) -> str:
    name = Path(row.path).name
    return (
        f'<figure class="{kind}">{view(_thumb(row.path), name)}'
        f"<figcaption><b>{said}</b></figcaption></figure>"
    )


def _row(asked: DemoQuery, *, alone: bool) -> str:
    name = Path(asked.row.path).name
    query = _figure(asked.row, "asked", "query")
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
