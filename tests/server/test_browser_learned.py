"""What judged pairs taught, in a real browser: directions with their ends, pictures that moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from likewise.collection.collection import Collection
from tests.collection.pair_cases import PROFILE, make_collection, teach
from tests.server import browser as driving
from tests.server.browser import Served, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER)

PLACE = f"/?view=learned&profile={PROFILE}"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with driving.browser() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = make_collection(tmp_path_factory.mktemp("pairs"))
    with Collection.open(root) as col:
        teach(col, 20)
    with driving.served(root) as started:
        yield started


def test_directions_and_moves_are_shown_and_lead_to_their_pictures(
    chrome: Browser, server: Served
) -> None:
    page, wrong = visit(chrome, server)
    page.goto(PLACE)
    found = server.ask(f"/api/profiles/{PROFILE}/learned")
    page.get_by_role("heading", name="Pictures that moved most").wait_for()
    figures = page.locator(".figures").inner_text()
    assert "on judgements left out" in figures
    assert "of the directions" in figures
    assert "words" not in figures
    for way in ("more", "less"):
        heading = f"Differences that count {way} now"
        wanted = [one for one in found["directions"] if (one["value"] > 1) == (way == "more")]
        section = page.locator("section").filter(has=page.get_by_role("heading", name=heading))
        shown = section.locator("li")
        assert shown.count() == len(wanted)
        if not wanted:
            continue
        for at, one in enumerate(wanted):
            assert f"counts {one['value']:.2f} times" in shown.nth(at).inner_text()
            names = [img.get_attribute("alt") for img in shown.nth(at).locator("img").all()]
            assert names == [picture["name"] for picture in (*one["one_end"], *one["other_end"])]
    moves = page.locator(".moves li")
    assert moves.count() == len(found["moved"]) > 0
    first = found["moved"][0]
    assert f"Up from {first['before']} to {first['after']}" in moves.first.inner_text()
    assert moves.first.get_by_alt_text(f"Searched with: {first['query']['name']}").is_visible()
    # Every picture leads to what is like it; the sentence beside it knows what is learned.
    moves.first.get_by_role("link", name=first["picture"]["name"], exact=True).click()
    page.wait_for_url(f"**q={first['picture']['id']}*")
    page.goto(f"/?q={first['picture']['id']}&by={PROFILE}")
    settle(page)
    said = page.locator(".figures-said").inner_text()
    assert "on judgements left out" in said
    page.context.close()
    assert wrong == []


def test_it_fits_a_phone(chrome: Browser, server: Served) -> None:
    phone = {"viewport": {"width": 360, "height": 720}, "has_touch": True, "is_mobile": True}
    page, wrong = visit(chrome, server, color_scheme="dark", **phone)
    page.goto(PLACE)
    page.locator(".moves li").first.wait_for()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    page.context.close()
    assert wrong == []
