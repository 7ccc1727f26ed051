"""What judged pairs taught, in a real browser: directions with their ends, pictures that moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from likewise.collection.collection import Collection
from tests.product.collection.pair_cases import PROFILE, make_collection, teach
from tests.product.server import browser as driving
from tests.product.server.browser import Served, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

PLACE = f"/?view=learned&profile={PROFILE}"


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
    assert found["figures"]["needed"] == 0
    low, high = (round(100 * end) for end in found["figures"]["interval"])
    assert f"{low} to {high}%" in figures
    for way in ("Less", "More"):
        # What tells two ends apart counts for more: they are less similar.
        heading = f"{way} similar now"
        wanted = [one for one in found["directions"] if (one["value"] > 1) == (way == "Less")]
        section = page.locator("section").filter(has=page.get_by_role("heading", name=heading))
        shown = section.locator("li")
        assert shown.count() == len(wanted)
        if not wanted:
            continue
        for at, one in enumerate(wanted):
            against = " against being similar" if one["value"] < 0 else ""
            title = f"counts {abs(one['value']):.2f} times{against}"
            assert shown.nth(at).get_attribute("title") == title
            ends = [
                shown.nth(at).get_by_role("group", name=f"{end} end") for end in ("one", "other")
            ]
            for end, key in zip(ends, ("one_end", "other_end"), strict=True):
                assert end.locator("img").count() == len(one[key])
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
    claims = {"better": "better by", "worse": "worse by", "unclear": "no clear difference yet"}
    assert f"({low} to {high}%)" in said
    assert claims[found["figures"]["verdict"]] in said
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


def test_nothing_is_said_about_accuracy_after_three_clicks(
    chrome: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = make_collection(tmp_path_factory.mktemp("few"))
    with Collection.open(root) as col:
        teach(col, 3)
    with driving.served(root) as few:
        page, wrong = visit(chrome, few)
        page.goto(PLACE)
        page.get_by_text("Judge 9 more with").wait_for()
        assert "accuracy" not in page.locator(".figures").inner_text().lower()
        page.goto(f"/?q={few.ask('/api/pictures?limit=1')['items'][0]['id']}&by={PROFILE}")
        settle(page)
        said = page.locator(".figures-said").inner_text()
        assert "3 judgements. Judge 9 more with" in said
        assert "%" not in said
        page.context.close()
        assert wrong == []
