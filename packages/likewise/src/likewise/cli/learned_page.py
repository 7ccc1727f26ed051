"""The page of what was learned: words or directions, pictures that moved, the curve, versions."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli.feedback_output import (
    describe_line,
    describe_place,
    describe_times,
    format_time,
    summarize_profile,
)
from likewise.cli.learning_curve import CURVE_STYLE, draw_curve
from likewise.cli.output import plural
from likewise.cli.page import Thumbnail, document, escape_html, thumbnail
from likewise.errors import ImageError

if TYPE_CHECKING:
    from likewise.learning.learned_directions import Direction, Example, Move
    from likewise.learning.learned_report import LearnedReport, LearnedWord
    from likewise.learning.log import LogLine

_PATCH = 160
_SMALL = 96
_AROUND = 2.2
"""A patch is cut with so many times its own side, so that one sees what it is part of."""
_LEAST = 72
"""Pixels a patch is cut with at least."""
_LINES = 30
"""Newest lines of the log with pictures; older ones are counted."""
_FACES = 8
"""Pictures shown of one judgement's liked ones, and of its disliked ones."""

STYLE = """
ol.words { list-style: none; margin: .8rem 0 0; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
.patches { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 2px;
  background: var(--well); }
.patch { position: relative; aspect-ratio: 1; display: block; background: var(--well);
  overflow: hidden; }
.patch img { width: 100%; height: 100%; object-fit: cover; display: block; }
.patch i { position: absolute; border: 2px solid #fff; border-radius: 3px;
  box-shadow: 0 0 0 1px rgb(0 0 0 / .65), inset 0 0 0 1px rgb(0 0 0 / .4); }
.ends { display: grid; grid-template-columns: 1fr auto 1fr; gap: .5rem; align-items: center; }
.ends .patches { grid-template-columns: repeat(2, minmax(0, 1fr)); align-self: start; }
.ends .to { color: var(--soft); font-size: .85rem; }
ol.moves { list-style: none; margin: .8rem 0 0; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); }
.moves .patches { grid-template-columns: 2fr 1fr; }
.none { padding: 1rem; color: var(--soft); font-size: .85rem; text-align: center; }
.up b.by { color: var(--good); } .down b.by { color: var(--bad); }
.up .bar i { background: var(--good); } .down .bar i { background: var(--bad); }
ol.log { list-style: none; margin: .8rem 0 0; padding: 0; max-width: 60rem; }
ol.log li { border-top: 1px solid var(--line); padding: .6rem 0; display: grid; gap: .2rem 1rem;
  grid-template-columns: 7.5rem minmax(0, 1fr) auto; }
ol.log li > :first-child { font-variant-numeric: tabular-nums; }
ol.log .when { display: block; color: var(--soft); font-size: .8rem; }
ol.log .state { font-size: .8rem; color: var(--good); white-space: nowrap; }
ol.log .off .state { color: var(--bad); } ol.log .off .what { color: var(--soft); }
ol.log .off .faces { opacity: .45; }
.faces { display: flex; flex-wrap: wrap; gap: 4px; margin-top: .35rem; }
.faces img, .faces .blank { width: 3.4rem; height: 3.4rem; object-fit: cover; border-radius: .35rem;
  border: 3px solid var(--line); background: var(--well); display: block; }
.faces .q { border-color: var(--accent); } .faces .y { border-color: var(--good); }
.faces .n { border-color: var(--bad); }
@media (max-width: 40rem) { ol.log li { grid-template-columns: minmax(0, 1fr) auto; }
  ol.log li > .what { grid-column: 1 / -1; grid-row: 2; } ol.log .when { display: inline; } }
"""


Alike = Callable[["Move"], bool]
"""Whether the picture of a move belongs to what was asked about, where that is known."""


def learned_page(found: LearnedReport, collection: str, alike: Alike | None = None) -> str:
    """The page as one string; with ``alike`` it says which moves are for the better."""
    title = f"What profile {found.profile} has learned"
    facts = "".join(f"<li>{escape_html(text)}</li>" for text in summarize_profile(found))
    begins = ""
    if found.parent is not None:
        source, position = found.parent
        begins = f"<li>begins with what {escape_html(source)} had at version {position:,}</li>"
    body = (
        f"<h1>{escape_html(title)}</h1>"
        f'<p class="soft">Version {found.position:,}, in {escape_html(collection)} '
        f"({plural(found.pictures, 'picture')}); ranks by "
        f"{escape_html(' + '.join(found.spaces))}.</p><ul>{facts}{begins}</ul>"
        f"{_curve(found)}{_words(found)}{_directions(found)}{_moves(found, alike)}"
        f"{_versions(found)}"
    )
    # One sheet of style: what this page adds comes after what all pages share.
    return document(title, body).replace("</style>", f"{STYLE}{CURVE_STYLE}</style>", 1)


# -- the curve ------------------------------------------------------------------------------


def _curve(found: LearnedReport) -> str:
    if not found.curve:
        return ""
    lead = (
        "Each judgement is a test before it is a lesson: would the profile have ranked the liked "
        "picture above the other one? The curve is the share of yes so far, with the weights "
        "learned up to then, and with equal weights."
    )
    return f"<h2>Before each judgement</h2><p>{escape_html(lead)}</p>{draw_curve(found.curve)}"


# -- words ----------------------------------------------------------------------------------


def _words(found: LearnedReport) -> str:
    if found.space is None or found.figures.units != "words":
        return ""
    if not (found.gained or found.lost):
        return "<h2>Words</h2><p>No word has changed its weight yet.</p>"
    located = any(e.box for w in (*found.gained, *found.lost) for e in w.examples)
    if located:
        lead = "A visual word is a kind of image patch; a square marks it in each example."
    else:
        lead = (
            f"A word of space {found.space} has no place in a picture; the examples are the "
            "pictures that have most of it."
        )
    parts: list[str] = []
    for heading, kind, words, n in (
        (
            f"Words that count {'more' if found.start else 'most'}",
            "up",
            found.gained,
            found.n_gained,
        ),
        ("Words that count less", "down", found.lost, found.n_lost),
    ):
        if not words:
            continue
        most = max(abs(word.change) for word in words)
        cards = "".join(_word(word, kind, most) for word in words)
        shown = f"{len(words)} of {n:,}" if n > len(words) else f"{n:,}"
        said = "" if parts else f'<p class="soft">{escape_html(lead)}</p>'
        parts.append(
            f'<h2>{heading} <span class="soft">({shown})</span></h2>{said}'
            f'<ol class="words">{cards}</ol>'
        )
    return "".join(parts)


def _word(word: LearnedWord, kind: str, most: float) -> str:
    patches = "".join(_example(example) for example in word.examples)
    shown = (
        f'<div class="patches">{patches}</div>'
        if patches
        else '<div class="none">no picture here has it</div>'
    )
    return (
        f'<li class="card {kind}">{shown}<div class="facts"><div class="score">'
        f'<span class="rank">word {word.word:,}</span><b class="by">{word.change:+.3f}</b></div>'
        f'<div class="bar"><i style="width:{100 * abs(word.change) / most:.1f}%"></i></div>'
        f"weight {word.weight:.3f} · in {plural(word.pictures, 'picture')}</div></li>"
    )


# -- directions and moves -------------------------------------------------------------------


def _directions(found: LearnedReport) -> str:
    if found.figures.units != "directions":
        return ""
    if not found.directions:
        return "<h2>Directions</h2><p>No direction counts otherwise yet.</p>"
    lead = (
        "Pictures differ in many ways at once. Each card is one of them, from the pictures at its "
        "one end to those at the other. Where it counts more, pictures of the two ends are less "
        "alike than before; where it counts less, they are more alike. 1 time is as without "
        "learning, 0 times not at all."
    )
    if any(one.value < 0 for one in found.directions):
        lead += (
            " Where it counts against being alike, its sense is turned round: a picture at the "
            "same end as the one asked about loses by that, and one at the other end gains."
        )
    lead += (
        " Taken over all judgements: around one picture those about similar ones count most, and "
        "a question moves by its own length at most."
    )
    parts: list[str] = []
    for heading, kind in (("more", "up"), ("less", "down")):
        shown = [one for one in found.directions if (one.value > 1) == (kind == "up")]
        if not shown:
            continue
        most = max(abs(one.value - 1) for one in shown)
        cards = "".join(_direction(one, kind, most) for one in shown)
        said = "" if parts else f'<p class="soft">{escape_html(lead)}</p>'
        parts.append(
            f'<h2>Directions that count {heading} now</h2>{said}<ol class="words">{cards}</ol>'
        )
    return "".join(parts)


def _direction(one: Direction, kind: str, most: float) -> str:
    ends = [
        f'<div class="patches">{"".join(map(_example, end))}</div>'
        if end
        else '<div class="none">no picture here</div>'
        for end in (one.one_end, one.other_end)
    ]
    return (
        f'<li class="card {kind}"><div class="ends">{ends[0]}<span class="to">to</span>{ends[1]}'
        f'</div><div class="facts"><b class="by">{escape_html(describe_times(one.value))}</b>'
        f'<div class="bar"><i style="width:{100 * abs(one.value - 1) / most:.1f}%"></i></div>'
        "</div></li>"
    )


def _moves(found: LearnedReport, alike: Alike | None) -> str:
    if not found.moved:
        return ""
    lead = (
        "Places among the answers, without learning and now; 1 is the first. What was said about "
        "the very picture asked about is left out: this is what the profile does for every "
        "picture. "
    )
    if alike is None:
        lead += (
            "A picture that rose is taken for more alike than before, one that fell for less. That "
            "is better where you would say so too: nobody told it."
        )
    else:
        better = sum(_is_better(move, alike) for move in found.moved)
        lead += (
            f"What belongs together is known here: {better} of the {len(found.moved)} are for the "
            "better, since what belongs rose or what does not belong fell."
        )
    cards = "".join(_move(move, alike) for move in found.moved)
    return (
        f'<h2>Pictures that moved most</h2><p class="soft">{escape_html(lead)}</p>'
        f'<ol class="moves">{cards}</ol>'
    )


def _is_better(move: Move, alike: Alike) -> bool:
    return alike(move) == move.rose


def _move(move: Move, alike: Alike | None) -> str:
    way = "rose" if move.rose else "fell"
    places = f"{way} from {describe_place(move.before)} to {describe_place(move.after)}"
    # Green and red say better and worse; where nobody knows, neither is said.
    kind = ""
    if alike is not None:
        better = _is_better(move, alike)
        kind, verdict = ("up", "better") if better else ("down", "worse")
        belongs = "belongs to it" if alike(move) else "does not belong to it"
        places += f": {verdict}, it {belongs}"
    asked = Path(move.query.path).name
    return (
        f'<li class="card {kind}"><div class="patches">{_example(move.picture)}'
        f'{_example(move.query, "asked about: ")}</div><div class="facts">'
        f'<b class="by">{escape_html(places)}</b><br>{escape_html(Path(move.picture.path).name)}, '
        f'<span class="soft">asked about {escape_html(asked)}</span></div></li>'
    )


def _example(example: Example, said: str = "") -> str:
    name = said + Path(example.path).name
    made = _whole(example.path) if example.box is None else _patch(example.path, example.box)
    if made is None:
        return f'<span class="patch" title="{escape_html(name)}"></span>'
    uri, mark = made
    return (
        f'<span class="patch" title="{escape_html(name)}">'
        f'<img src="{uri}" alt="{escape_html(name)}">{mark}</span>'
    )


def _whole(path: str) -> tuple[str, str] | None:
    thumb = _thumb(path, _PATCH)
    return None if thumb.problem else (thumb.uri, "")


def _patch(path: str, box: tuple[float, float, float, float]) -> tuple[str, str] | None:
    """A square around a place, as a data URI, and the mark of the place in it."""
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
    mark = (
        f'<i style="left:{x1:.1f}%;top:{y1:.1f}%;width:{x2 - x1:.1f}%;height:{y2 - y1:.1f}%"></i>'
    )
    return _uri(small_jpeg(cut, _PATCH)), mark


def _uri(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


@lru_cache(maxsize=16)
def _pixels(path: str) -> Any:
    from likewise.collection.decoding import decoders
    from likewise.spaces.base import DECODE_SIDE

    try:
        return decoders().pixels(path, DECODE_SIDE, None)
    except ImageError:
        return None


@lru_cache(maxsize=256)
def _thumb(path: str, side: int) -> Thumbnail:
    return thumbnail(path, side)


# -- versions -------------------------------------------------------------------------------


def _versions(found: LearnedReport) -> str:
    lines = found.log
    newest = list(reversed(lines[-_LINES:]))
    if not newest:
        return "<h2>Versions</h2><p>The log of this profile is empty.</p>"
    items = "".join(_line(found, line) for line in newest)
    more = ""
    if len(lines) > len(newest):
        more = f'<p class="soft">and {plural(len(lines) - len(newest), "earlier line")}</p>'
    key = "".join(
        f'<span class="key" style="border-color:var(--{colour})"></span>{text} &ensp;'
        for colour, text in (("accent", "query"), ("good", "liked"), ("bad", "disliked"))
    )
    return (
        "<h2>Versions</h2><p>Every line is a version; <code>likewise models profile rollback N"
        f'</code> returns to it, 0 is the beginning.</p><p class="soft">{key}</p>'
        f'<ol class="log">{items}</ol>{more}'
    )


def _line(found: LearnedReport, line: LogLine) -> str:
    state = "counts" if line.stands else "undone"
    if line.kind in ("undo", "rollback"):
        state = ""
    return (
        f"<li{'' if line.stands else ' class=off'}><div><b>{line.number:,}</b> "
        f'<span class="when">{escape_html(format_time(line.made))}</span></div>'
        f'<div class="what">{escape_html(describe_line(line))}{_faces(found, line)}</div>'
        f'<div class="state">{state}</div></li>'
    )


def _faces(found: LearnedReport, line: LogLine) -> str:
    """The pictures of a judgement, small: query, liked, disliked."""
    if not (line.liked or line.disliked):
        return ""
    sketch = found.sketches.get(line.number)
    if line.query is not None:
        faces = [_face(found, line.query, "q")]
    elif sketch is not None:
        faces = [f'<img class="q" src="{_sketch(sketch)}" alt="query outside the collection">']
    else:
        faces = ['<span class="blank q"></span>']
    for kind, images in (("y", line.liked), ("n", line.disliked)):
        faces += _some(found, images, kind)
    return f'<div class="faces">{"".join(faces)}</div>'


def _sketch(jpeg: bytes) -> str:
    """The picture the log keeps of a query outside the collection, smaller still."""
    from likewise.images.decode import decode, small_jpeg

    return _uri(small_jpeg(decode(jpeg, max_side=_SMALL).pixels, _SMALL))


def _some(found: LearnedReport, images: Sequence[int], kind: str) -> list[str]:
    return [_face(found, image, kind) for image in images[:_FACES]]


def _face(found: LearnedReport, image: int, kind: str) -> str:
    path = found.paths.get(image, "")
    thumb = _thumb(path, _SMALL) if path else None
    if thumb is None or thumb.problem:
        return f'<span class="blank {kind}" title="picture {image}"></span>'
    name = escape_html(f"picture {image}, {Path(path).name}")
    return f'<img class="{kind}" src="{thumb.uri}" alt="{name}" title="{name}">'
