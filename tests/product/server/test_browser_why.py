"""Why it matched, in a browser: what ranked explains, as light over both pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from likewise.collection.collection import Collection
from tests.product.collection.pictures import write_pictures
from tests.product.server import browser as driving
from tests.product.server.browser import Served, visit
from tests.product.vision.deep_cases import needs_deep

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
    needs_deep,
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """16 pictures described by the network, and by visual words too."""
    root: Path = tmp_path_factory.mktemp("why")
    write_pictures(root / "pictures", views=2)
    with Collection.create(root / "photos.lw", words={"n_words": 100}) as col:
        col.add(root / "pictures", workers=0)
    with driving.served(root / "photos.lw") as server:
        yield server


@pytest.mark.slow
def test_light_shows_where_what_ranked_sees_them_alike(chrome: Browser, served: Served) -> None:
    page, wrong = visit(chrome, served)
    first, second = (served.picture(f"china-{n}.jpg")["id"] for n in (0, 1))
    page.goto(f"/?q={first}&why={second}")
    why = page.get_by_role("dialog", name="Why it matched")
    why.locator("canvas").nth(1).wait_for()
    # The network ranked: no lines between words, though the collection has words.
    assert why.locator("svg.matches").count() == 0
    assert why.get_by_text("by how they look").count() == 1
    label = why.get_by_role(
        "img", name=re.compile("^The picture you searched with: Mostly")
    ).get_attribute("aria-label")
    assert label is not None
    assert re.search(r"(top|middle|bottom)", label)
    # A pixel a cell, not all of one colour, lying exactly over its picture.
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".heat")].map((heat) => {
          const canvas = heat.querySelector("canvas");
          const [wide, high] = [canvas.width, canvas.height];
          const data = canvas.getContext("2d").getImageData(0, 0, wide, high).data;
          const alphas = new Set([...data].filter((_, i) => i % 4 === 3)).size;
          const [a, b] = [canvas, heat.querySelector("img")].map((x) => x.getBoundingClientRect());
          const apart = ["left", "top", "width", "height"].map((k) => Math.abs(a[k] - b[k]));
          return { size: [wide, high], alphas, apart: Math.max(...apart) };
        })"""
    )
    for one in drawn:
        assert one["size"] == [7, 7]
        assert one["alphas"] > 5
        assert one["apart"] < 2
    toggle = why.get_by_role("button", name="Show where")
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    # Where words rank, they are drawn.
    page.goto(f"/?q={first}&why={second}&by=words")
    page.locator("svg.matches line").first.wait_for()
    assert page.locator(".heat").count() == 0
    page.context.close()
    assert wrong == []
