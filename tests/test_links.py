"""Links between the pages of the repository lead to files and headings that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for folder in ("", "docs", "docs/start", "docs/methods", "docs/results", "deploy")
    for path in (ROOT / folder).glob("*.md")
)
MADE = ("docs/api/", "docs/gallery/")
"""Pages that exist only in the built site."""


def prose(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as code hosts and MyST make them."""
    lines = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in lines)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page(page: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if re.match(r"[a-z]+:", link) or str(target.relative_to(ROOT)).startswith(MADE):
            continue
        known = target.exists() and (not anchor or anchor in headings(target))
        wrong += [] if known else [link]
    assert not wrong
