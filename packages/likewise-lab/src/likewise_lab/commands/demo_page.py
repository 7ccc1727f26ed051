"""The page the demo leaves behind: figures, and queries with what was found for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.cli.pages import render

if TYPE_CHECKING:
    from likewise_lab.demo import DemoResult

_MARKS = {True: ("right", "✓"), False: ("wrong", "✗"), None: ("", "")}


def demo_page(result: DemoResult) -> str:
    """Return the page as one string."""
    from likewise_lab.demo.demo import SHOWN_WORST
    from likewise_lab.demo.lesson import CLICKS, LOOKED_AT

    truth = bool(result.means)
    return render(
        "demo.html",
        package="likewise_lab",
        title="Likewise on planted views" if truth else "Likewise on your pictures",
        result=result,
        lesson=result.lesson,
        truth=truth,
        times=", ".join(f"{ms:.1f} ms by {by}" for by, ms in result.search_ms.items()),
        marks=_MARKS,
        looked_at=LOOKED_AT,
        clicks=CLICKS,
        worst=min(SHOWN_WORST, len(result.asked)),
        kinds=sorted(result.by_kind.items(), key=lambda item: -sum(item[1].values())),
    )
