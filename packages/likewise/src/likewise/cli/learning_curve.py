"""The learning curve as a drawing: two lines over judgements, in the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.cli.output import plural

if TYPE_CHECKING:
    from likewise.learning.learned_report import CurvePoint

CURVE_STYLE = """
.curve { background: var(--card); border: 1px solid var(--line); border-radius: .7rem;
  padding: .8rem .9rem .5rem; max-width: 46rem; margin: .8rem 0 0; }
.curve svg { display: block; width: 100%; height: auto; overflow: visible; }
.curve text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.curve .grid { stroke: var(--line); } .curve path { fill: none; stroke-linejoin: round;
  stroke-linecap: round; } .curve .plain { stroke: var(--soft); stroke-width: 2;
  stroke-dasharray: 5 4; } .curve .learned { stroke: var(--accent); stroke-width: 2.6; }
.curve figcaption { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; font-size: .9rem;
  margin-bottom: .5rem; } .curve figcaption b { font-variant-numeric: tabular-nums; }
.curve figcaption svg { display: inline-block; width: 1.6rem; height: .7rem;
  vertical-align: .02rem; margin-right: .4rem; }
@media (max-width: 40rem) { .curve text { font-size: 18px; } }
"""

_WIDTH, _HEIGHT = 640.0, 260.0
_LEFT, _BOTTOM, _TOP, _RIGHT = 52.0, 34.0, 8.0, 8.0
_POINTS = 240
"""Points drawn at most; more could not be told apart."""


def draw_curve(points: Sequence[CurvePoint]) -> str:
    """The figure: shares right so far, learned and plain, after each judgement."""
    last = points[-1]
    kept = pick_evenly(len(points), _POINTS)
    values = [v for i in kept for v in (points[i].learned, points[i].plain)]
    low, high = _range(min(values), max(values))
    across = max(len(points) - 1, 1)

    def place(i: int, value: float) -> str:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * (i / across)
        y = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - (value - low) / (high - low))
        return f"{x:.1f} {y:.1f}"

    lines = []
    for kind in ("plain", "learned"):
        spots = [place(i, getattr(points[i], kind)) for i in kept]
        # A single judgement is a dot: a line of no length with round ends.
        path = " L".join(spots if len(spots) > 1 else spots * 2)
        lines.append(f'<path class="{kind}" d="M{path}"/>')
    said = (
        f"After {plural(len(points), 'judgement')}: {last.learned:.1%} right with learned "
        f"weights, {last.plain:.1%} with plain weights"
    )
    return (
        f'<figure class="curve"><figcaption>{_key("learned", "learned weights", last.learned)}'
        f"{_key('plain', 'plain weights', last.plain)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{said}">'
        f"{_grid(low, high)}{''.join(lines)}{_below(points)}</svg></figure>"
    )


def pick_evenly(n: int, most: int) -> list[int]:
    """At most so many of 0 .. n - 1, evenly, first and last among them.

    >>> pick_evenly(3, 10), pick_evenly(101, 5)
    ([0, 1, 2], [0, 25, 50, 75, 100])
    """
    if n <= most:
        return list(range(n))
    return [round(i * (n - 1) / (most - 1)) for i in range(most)]


def _range(low: float, high: float) -> tuple[float, float]:
    """Whole tenths around the values, at least three of them."""
    bottom, top = int(low * 10), min(10, int(high * 10) + 1)
    while top - bottom < 3:
        bottom, top = max(0, bottom - 1), min(10, top + 1)
    return bottom / 10, top / 10


def _grid(low: float, high: float) -> str:
    tenths = range(round(low * 10), round(high * 10) + 1)
    step = 2 if len(tenths) > 6 else 1
    drawn = []
    for tenth in tenths[::step]:
        y = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - (tenth / 10 - low) / (high - low))
        drawn.append(
            f'<path class="grid" d="M{_LEFT:g} {y:.1f} H{_WIDTH - _RIGHT:g}"/>'
            f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{tenth * 10} %</text>'
        )
    return "".join(drawn)


def _below(points: Sequence[CurvePoint]) -> str:
    y = _HEIGHT - 10
    first = f'<text x="{_LEFT:g}" y="{y:g}">1</text>' if len(points) > 1 else ""
    return (
        f'{first}<text x="{_WIDTH - _RIGHT:g}" y="{y:g}" text-anchor="end">'
        f"{plural(len(points), 'judgement')}</text>"
    )


def _key(kind: str, text: str, share: float) -> str:
    return (
        f'<span><svg viewBox="0 0 26 10" aria-hidden="true"><path class="{kind}" d="M2 5 L24 5"/>'
        f"</svg>{text} <b>{share:.1%}</b></span>"
    )
