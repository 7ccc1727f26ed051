"""The page of some questions: an anchor, and the two pictures that are compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.page import document, escape_html, thumbnail, view

if TYPE_CHECKING:
    from likewise.catalog.store import ImageRow

_SIDE = 420


def compare_page(questions: Sequence[Sequence[ImageRow]], before: int = 0) -> str:
    """The questions in the order they are asked in the terminal."""
    body = "".join(_question(before + n, rows) for n, rows in enumerate(questions, 1))
    return document(
        "Which is nearer?",
        "<h1>Which is nearer?</h1><p class=soft>Answer in the terminal: l for the left picture, r "
        f"for the right one, s to skip, q to quit.</p>{body}",
    )


def _question(number: int, rows: Sequence[ImageRow]) -> str:
    parts = []
    for what, row in zip(("the picture", "left", "right"), rows, strict=True):
        name = Path(row.path).name
        kind = "asked" if what == "the picture" else ""
        parts.append(
            f'<figure class="{kind}">{view(thumbnail(row.path, _SIDE), name)}'
            f"<figcaption><b>{what}</b> {escape_html(name)}</figcaption></figure>"
        )
    return (
        f'<section class="row"><h3>Question {number}</h3><div class="strip" '
        f'style="grid-template-columns:repeat(3,minmax(0,1fr))">{"".join(parts)}</div></section>'
    )
