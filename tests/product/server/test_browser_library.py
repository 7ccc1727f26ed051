"""The library in a real browser: timeline, folders, marks with Undo, albums, places, duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageOps

from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes
from tests.product.collection.test_library import photograph
from tests.product.server import browser as driving
from tests.product.server.axe import NO_AXE, axe_script, violations
from tests.product.server.browser import Served, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True,
}  # fmt: skip
MUNICH, SYDNEY = (48.14, 11.58), (-33.87, 151.21)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Eight scenes in three months and two nested folders, and two copies of one of them."""
    top = tmp_path_factory.mktemp("library") / "pictures"
    for i, name in enumerate(small_scenes()):
        folder = top / "Travel" / ("Alps" if i % 2 else "Rome")
        taken = f"20{18 + i % 3}:07:{i + 1:02d} 10:00:00"
        place = (MUNICH, SYDNEY)[i % 2] if i < 5 else None
        photograph(folder / f"{name}.jpg", name, taken=taken, place=place)
    rocket = Image.fromarray(small_scenes()["rocket"])
    (top / "Copies").mkdir()
    ImageOps.mirror(rocket).save(top / "Copies" / "IMG_20200801_120000.jpg")
    rocket.save(top / "Copies" / "IMG-20200802-WA0001.jpg", quality=40)
    with Collection.create(top.parent / "photos.lw", deep=False) as col:
        col.add(top, workers=0)
    with driving.served(top.parent / "photos.lw") as started:
        yield started


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    page, wrong = visit(chrome, server)
    yield page
    page.context.close()
    everything = [one["id"] for one in server.ask("/api/pictures?hidden=any")["items"]]
    plain = {"stars": 0, "favourite": False, "hidden": False}
    server.ask("/api/library/marks", {"pictures": everything, **plain})
    assert wrong == []


def said(page: Page, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def tiles(page: Page) -> Locator:
    return page.locator(".library .tile.seen")


def undo(page: Page) -> None:
    # What an undo before it said may still be there: the answer counts.
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Undo").last.click()
    said(page, "Undone")


def total(server: Served, filters: str = "") -> int:
    found: int = server.ask(f"/api/library/months{filters}")["total"]
    return found


def test_months_have_headings_and_folders_filter(page: Page) -> None:
    page.goto("/?view=library")
    headings = page.locator(".row.head h2")
    headings.first.wait_for()
    assert headings.all_inner_texts() == ["August 2020", "July 2020", "July 2019", "July 2018"]
    assert "2 by file name" in page.locator(".row.head").first.inner_text()
    page.locator('.tile[data-source="name"]').first.wait_for()
    assert page.get_by_role("link", name="by file name").count() == 2

    tree = page.get_by_label("Folders", exact=True)
    tree.get_by_role("button", name="Alps, 4 pictures", exact=True).click()
    page.get_by_text("4 pictures", exact=True).wait_for()
    assert "folder=" in page.url
    tree.get_by_role("button", name="Folders in Travel").click()
    assert tree.get_by_role("button", name="Alps, 4 pictures", exact=True).count() == 0
    tree.get_by_role("button", name="Travel, 8 pictures", exact=True).click()
    page.get_by_text("8 pictures", exact=True).wait_for()
    page.get_by_role("button", name="Remove the filter in Travel").click()
    page.get_by_text("10 pictures", exact=True).wait_for()


def test_the_scrubber_leads_to_a_month(page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 420})
    page.goto("/?view=library")
    scrubber = page.get_by_role("slider", name="Month")
    scrubber.wait_for()
    assert scrubber.get_attribute("aria-valuetext") == "August 2020, 2 pictures"
    scrubber.press("End")
    assert scrubber.get_attribute("aria-valuetext", timeout=5000) == "July 2018, 3 pictures"
    page.wait_for_function("scrollY > 100")
    # Rows are drawn anew while one scrolls: the page itself is asked.
    page.wait_for_function(
        """() => [...document.querySelectorAll('.row.head')].some(
             row => row.textContent.includes('July 2018')
               && row.getBoundingClientRect().top < 420)"""
    )


def test_days_of_a_big_month_are_steps_of_the_scrubber(page: Page) -> None:
    def tell_days(route: Route) -> None:
        # A hundred pictures make a month big: here three do.
        answer = route.fetch()
        told = answer.json()
        told["items"] = [one for one in told["items"] if one["month"] == "2018-07"]
        told["total"] = 3
        told["items"][0]["days"] = [{"day": day, "pictures": 1} for day in (7, 4, 1)]
        route.fulfill(response=answer, json=told)

    page.route("**/api/library/months", tell_days)
    page.goto("/?view=library")
    scrubber = page.get_by_role("slider", name="Month")
    scrubber.wait_for()
    assert page.locator(".scrub-years span").all_inner_texts() == ["7", "4", "1"]
    assert scrubber.get_attribute("aria-valuetext") == "Jul 7, 2018, 1 picture"
    scrubber.press("ArrowDown")
    assert scrubber.get_attribute("aria-valuetext") == "Jul 4, 2018, 1 picture"
    box = scrubber.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 5, box["y"] + 0.9 * box["height"])
    assert scrubber.get_attribute("aria-valuetext") == "Jul 1, 2018, 1 picture"


def test_without_tags_suggestions_say_what_to_do(page: Page) -> None:
    page.goto("/?view=tag")
    page.get_by_text("Tag a few pictures first").wait_for()
    assert page.get_by_role("button", name="Apply suggestions").is_disabled()


def test_numbers_lead_to_views_and_are_stars_on_a_picture(page: Page, server: Served) -> None:
    page.goto("/?view=library")
    tiles(page).first.wait_for()
    for key, heading in (("8", "Places"), ("9", "Duplicates"), ("7", "Library")):
        page.keyboard.press(key)
        page.get_by_role("heading", name=heading, level=1).wait_for()
    tiles(page).first.wait_for()
    page.locator(".library .pic").first.focus()
    page.keyboard.press("2")
    said(page, "1 picture: 2 stars.")
    assert total(server, "?stars=2") == 1
    page.goto("/")
    page.locator(".search .tile-marks b").filter(has_text="★★").wait_for()


def test_stars_favourites_and_hiding_by_keyboard_with_undo(page: Page, server: Served) -> None:
    page.goto("/?view=library")
    tiles(page).first.wait_for()
    page.locator(".library .pic").first.focus()
    page.keyboard.press("4")
    said(page, "1 picture: 4 stars.")
    assert page.locator(".tile-marks b").first.inner_text() == "★★★★"
    assert total(server, "?stars=4") == 1
    undo(page)
    assert total(server, "?stars=1") == 0
    page.locator(".library .pic").first.focus()
    page.keyboard.press("v")
    said(page, "added to favourites")
    page.get_by_role("button", name="Favourites").click()
    page.get_by_text("1 picture", exact=True).wait_for()
    page.locator(".library .pic").first.focus()
    page.keyboard.press("v")
    said(page, "removed from favourites")
    page.get_by_text("No picture matches these filters.").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    tiles(page).first.wait_for()
    page.locator(".library .pic").first.focus()
    page.keyboard.press("h")
    said(page, "1 picture hidden.")
    page.get_by_text("9 pictures", exact=True).wait_for()
    undo(page)
    page.get_by_text("10 pictures", exact=True).wait_for()


def test_a_selection_is_put_into_an_album_and_hidden(page: Page, server: Served) -> None:
    page.goto("/?view=library")
    tiles(page).nth(3).wait_for()
    mode = page.get_by_role("button", name="Select", exact=True)

    def select() -> None:
        assert mode.get_attribute("aria-pressed") == "false", "a bulk action ends it"
        mode.click()
        for i in range(3):
            page.locator(".library .pic").nth(i).click()
        said(page, "3 pictures selected")

    select()
    bar = page.get_by_role("group", name="Mark the selected pictures")
    bar.get_by_role("button", name="Add to an album").click()
    page.get_by_label("New album").fill("Summer")
    page.get_by_role("button", name="Create").click()
    said(page, "3 pictures added to “Summer”.")
    assert total(server, "?album=Summer") == 3
    assert page.locator(".tile.selected").count() == 0, "a bulk action ends the selection"
    undo(page)
    assert server.ask("/api/library/albums")["items"] == []
    server.ask("/api/library/albums/add", {"album": "Sommer", "pictures": []})
    page.goto("/?view=library&album=Sommer")
    page.get_by_role("button", name="Rename album “Sommer”").click()
    page.get_by_label("New name").fill("Winter")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**album=Winter")
    said(page, "Renamed to “Winter”.")
    page.get_by_role("button", name="Album Winter, 0 pictures").wait_for()
    server.ask("/api/library/albums/delete", {"album": "Winter"})
    page.goto("/?view=library")
    tiles(page).nth(3).wait_for()
    select()
    bar.get_by_label("Stars for the selected pictures").select_option("5")
    said(page, "3 pictures: 5 stars.")
    page.locator(".tile-marks b").nth(2).wait_for()
    undo(page)
    page.locator(".tile-marks b").first.wait_for(state="detached")
    select()
    bar.get_by_role("button", name="Hide").click()
    said(page, "3 pictures hidden.")
    assert total(server) == 7
    undo(page)
    assert total(server) == 10


def test_the_viewer_marks_its_picture_and_goes_on_when_it_is_hidden(
    page: Page, server: Served
) -> None:
    page.goto("/?view=library")
    tiles(page).nth(1).wait_for()
    page.locator(".library .pic").first.click()
    viewer = page.locator("dialog.viewer")
    name = viewer.get_by_role("heading").first.inner_text()
    page.locator(".mark-buttons [aria-label=Favourite][aria-pressed=false]").wait_for()
    page.keyboard.press("v")
    said(page, "1 picture added to favourites.")
    viewer.locator("[aria-label=Favourite][aria-pressed=true]").wait_for()
    page.keyboard.press("3")
    said(page, "1 picture: 3 stars.")
    assert total(server, "?stars=3&favourite=true") == 1
    page.keyboard.press("h")
    said(page, "1 picture hidden.")
    page.wait_for_function(
        "name => document.querySelector('dialog.viewer h2').textContent !== name", arg=name
    )
    assert total(server) == 9
    undo(page)
    assert total(server) == 10
    page.keyboard.press("Escape")
    page.get_by_text("10 pictures", exact=True).wait_for()


def test_places_show_clusters_and_lead_to_their_pictures(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/?view=places")
    chart = page.get_by_role("application", name="Places of 5 pictures")
    chart.wait_for()
    page.get_by_role("button", name="Show these 5 pictures").wait_for()
    box = chart.bounding_box()
    assert box is not None
    # Two places: the one in the south-east is the lower right.
    clusters = page.evaluate("likewise.places.clusters.map(c => [c.x, c.y, c.points.length])")
    assert sorted(n for _, _, n in clusters) == [2, 3]
    x, y, _ = max(clusters)
    tools = page.locator(".places-tools").bounding_box()
    assert tools is not None
    assert box["x"] + x + 30 < tools["x"], "no cluster lies under the buttons"
    assert y > min(clusters)[1]
    chart.click(position={"x": x, "y": y})
    page.locator(".row.head h2").first.wait_for()
    assert "box=" in page.url
    page.get_by_text("2 pictures", exact=True).wait_for()
    page.get_by_role("button", name="Remove the filter in this place").click()
    page.get_by_text("10 pictures", exact=True).wait_for()
    own = page.url.split("/?")[0]
    assert all(url.startswith((own, "data:", "blob:")) for url in asked), "nothing from elsewhere"


def test_duplicates_are_found_and_the_rest_hidden_with_undo(page: Page, server: Served) -> None:
    page.goto("/?view=duplicates")
    page.get_by_role("button", name="Find duplicates").click()
    page.locator(".copies li").nth(2).wait_for()
    assert page.locator(".duplicate-list > li").count() == 1
    kept = page.locator(".copies .keep")
    assert "rocket.jpg" in kept.inner_text()
    assert page.get_by_text(", mirrored").count() == 1
    page.get_by_role("button", name="Keep this one: IMG_20200801_120000.jpg").click()
    assert "IMG_20200801" in page.locator(".copies .keep").inner_text()
    page.get_by_role("button", name="Keep this one: rocket.jpg").click()
    page.get_by_role("button", name="Keep the best, hide the rest of group 1").click()
    said(page, "2 pictures hidden.")
    page.get_by_text("No duplicates.", exact=True).wait_for()
    assert total(server) == 8
    undo(page)
    page.locator(".copies li").nth(2).wait_for()
    assert total(server) == 10


@pytest.mark.skipif(axe_script() is None, reason=NO_AXE)
@pytest.mark.parametrize("how", ["light", "dark", "phone"])
def test_axe_finds_nothing_in_places_and_duplicates(
    chrome: Browser, server: Served, how: str
) -> None:
    page, wrong = visit(chrome, server, **(PHONE if how == "phone" else {"color_scheme": how}))
    found = []
    page.goto("/?view=places")
    page.get_by_role("button", name="Show these 5 pictures").wait_for()
    found += violations(page)
    page.goto("/?view=duplicates")
    if server.ask("/api/library/duplicates")["looked"] is None:
        page.get_by_role("button", name="Find duplicates").click()
    page.locator(".copies li").nth(2).wait_for()
    page.locator(".job").wait_for(state="hidden")
    found += violations(page)
    page.context.close()
    assert found == []
    assert wrong == []


def test_the_library_fits_a_phone(chrome: Browser, server: Served) -> None:
    page, wrong = visit(chrome, server, **PHONE)
    for view in ("library", "places", "duplicates"):
        page.goto(f"/?view={view}")
        page.get_by_role("navigation", name="Library").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    page.goto("/?view=library")
    tiles(page).first.wait_for()
    right = page.evaluate(
        """Math.max(...[...document.querySelectorAll('.tile')].map(
             tile => tile.getBoundingClientRect().right))"""
    )
    scrubber = page.get_by_role("slider", name="Month").bounding_box()
    assert scrubber is not None
    assert right <= scrubber["x"], "the scrubber covers no picture"
    field = page.get_by_label("Search by words")
    assert field.get_attribute("placeholder") == "Search"
    page.context.close()
    assert wrong == []
