"""The page's second half in a real browser: tag, select, compare, ask others, map, models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from tests.product.server import browser as driving
from tests.product.server.browser import Served, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

PHONE = {"viewport": {"width": 360, "height": 720}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def server(scenes_server: Served) -> Served:
    return scenes_server


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    page, wrong = visit(chrome, server)
    yield page
    page.context.close()
    assert wrong == []


def said(page: Page, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def tags_of(server: Served, picture: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = server.ask(f"/api/pictures/{picture}/tags")["tags"]
    return found


# -- tag ---------------------------------------------------------------------------------------


def test_suggestions_are_accepted_rejected_and_undone_by_keyboard(
    page: Page, server: Served
) -> None:
    page.goto("/?view=tag")
    page.locator(".suggestions li").first.wait_for()
    picture = server.ask("/api/tags/untagged?limit=1")["items"][0]
    first = page.locator(".suggestions li").first
    assert first.locator(".faces img").count() >= 1, "with the pictures behind it"
    tag = first.locator("b").inner_text()
    assert "%" in first.inner_text()
    page.keyboard.press("a")
    said(page, f"Tagged “{tag}”.")
    page.get_by_role("list", name="Tags of this picture").get_by_text(tag).wait_for()
    assert tags_of(server, picture["id"]) == {tag: ["accepted"]}
    page.keyboard.press("u")
    page.locator(".tags-had li").first.wait_for(state="detached")
    assert tags_of(server, picture["id"]) == {}

    page.locator(".suggestions li").first.wait_for()
    page.keyboard.press("x")
    said(page, f"Not “{tag}”.")
    page.wait_for_function(
        "tag => [...document.querySelectorAll('.suggestions b')].every(b => b.textContent !== tag)",
        arg=tag,
    )
    assert server.ask(f"/api/pictures/{picture['id']}/tags")["refused"] == [tag]
    page.keyboard.press("u")
    page.wait_for_function(
        "tag => [...document.querySelectorAll('.suggestions b')].some(b => b.textContent === tag)",
        arg=tag,
    )


def test_a_key_in_a_hurry_says_nothing_of_the_wrong_picture(page: Page, server: Served) -> None:
    page.goto("/?view=tag")
    page.locator(".suggestions li").first.wait_for()
    before = server.ask("/api/tags/untagged?limit=1")["total"]
    page.evaluate(
        """() => { for (const key of ['n', 'a'])
             document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); }"""
    )
    page.wait_for_function("() => document.querySelectorAll('.suggestions li').length > 0")
    assert server.ask("/api/tags/untagged?limit=1")["total"] == before
    place = page.url
    assert "look=" in place, "the picture is in the address"
    name = page.locator(".tag-picture .soft").first.inner_text()
    page.reload()
    page.locator(".suggestions li").first.wait_for()
    assert page.locator(".tag-picture .soft").first.inner_text() == name


def test_a_new_tag_is_typed_and_completed(page: Page, server: Served) -> None:
    page.goto("/?view=tag")
    page.locator(".suggestions li").first.wait_for()
    shown = page.locator(".tag-picture .soft").first.inner_text()
    page.keyboard.press("n")
    page.wait_for_function(
        "name => document.querySelector('.tag-picture .soft').textContent !== name", arg=shown
    )
    name = page.locator(".tag-picture .soft").first.inner_text()
    page.keyboard.press("e")
    page.keyboard.type("coi")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.tag-new option')].some(o => o.value === 'coins')"
    )
    page.keyboard.type("ns of old")
    page.keyboard.press("Enter")
    said(page, "Tagged “coins of old”.")
    assert "coins of old" in tags_of(server, server.picture(name)["id"])
    page.keyboard.press("Escape")
    cloud = page.get_by_role("link", name="coins of old 1")
    cloud.click()
    page.wait_for_url("**tag=coins*")
    settle(page)
    assert page.locator(".tile").count() == 1
    page.get_by_role("button", name="Remove the filter tagged coins of old").wait_for()


def test_many_are_selected_and_tagged_once(page: Page, server: Served) -> None:
    page.goto("/?sort=name&order=asc")
    settle(page)
    names = driving.order(page, 8)
    page.keyboard.press("s")
    page.locator(".pic").nth(1).click()
    page.locator(".pic").nth(4).click(modifiers=["Shift"])
    page.get_by_text("4 pictures selected").wait_for()
    page.locator(".pic").nth(2).click()
    page.get_by_text("3 pictures selected").wait_for()
    page.get_by_label("Tag for the selected pictures").fill("picked")
    page.keyboard.press("Enter")
    said(page, "Tagged 3 pictures “picked”.")
    found = server.ask("/api/pictures?tag=picked")["items"]
    assert {one["name"] for one in found} == {names[1], names[3], names[4]}
    assert page.locator(".tile.selected").count() == 0, "a bulk action ends the selection"
    page.get_by_role("button", name="Undo", exact=True).click()
    said(page, "Undone for 3 pictures.")
    assert server.ask("/api/pictures?tag=picked")["total"] == 0


def test_a_lasso_in_the_grid_selects_what_it_touches(page: Page) -> None:
    page.goto("/?sort=name&order=asc")
    settle(page)
    page.get_by_role("button", name="Select", exact=True).click()
    first = page.locator(".tile").nth(0).bounding_box()
    third = page.locator(".tile").nth(2).bounding_box()
    assert first is not None
    assert third is not None
    page.mouse.move(first["x"] + 12, first["y"] + 12)
    page.mouse.down()
    page.mouse.move(third["x"] + 10, third["y"] + third["height"] - 12, steps=6)
    page.mouse.up()
    page.get_by_text("3 pictures selected").wait_for()
    assert "q=" not in page.url, "a drag asks about nothing"
    fifth = page.locator(".tile").nth(4).bounding_box()
    assert fifth is not None
    page.keyboard.down("Shift")
    page.mouse.move(fifth["x"] + 12, fifth["y"] + 12)
    page.mouse.down()
    page.mouse.move(fifth["x"] + 60, fifth["y"] + 60, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.get_by_text("3 + 1 pictures selected").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('.tile.selected')")


def test_a_picture_looked_at_closely_shows_its_tags(page: Page, server: Served) -> None:
    picture = server.picture("coins-0.jpg")["id"]
    page.goto(f"/?look={picture}")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("link", name="coins", exact=True).wait_for()
    dialog.get_by_label("New tag").fill("metal")
    page.keyboard.press("Enter")
    dialog.get_by_role("link", name="metal").wait_for()
    dialog.get_by_role("button", name="Remove tag metal").click()
    dialog.get_by_role("link", name="metal").wait_for(state="detached")
    assert "metal" not in tags_of(server, picture)


def test_sidecars_are_written_from_the_page(page: Page, tmp_path: Path) -> None:
    page.goto("/?view=tag")
    # By keyboard: while pictures come in above, what is below moves.
    page.get_by_role("button", name="Write sidecars…").press("Enter")
    page.get_by_label("Folder for the sidecars").fill(str(tmp_path))
    page.get_by_role("button", name=re.compile("Write [0-9]+ files")).click()
    said(page, "sidecars written")
    made = sorted(tmp_path.rglob("*.xmp"))
    assert len(made) >= 8
    assert all(ElementTree.parse(file).getroot() is not None for file in made)


# -- compare -----------------------------------------------------------------------------------


def test_questions_are_answered_with_one_key_each(page: Page, server: Served) -> None:
    before = server.ask("/api/compare/questions?n=1")["progress"]["all"]
    page.goto("/?view=compare")
    page.locator(".pick img").first.wait_for()
    seen = set()
    for key in ("ArrowLeft", "ArrowRight", "0", "ArrowLeft"):
        page.locator(".pick img").first.wait_for()
        now = page.locator(".anchor img, .pick img").evaluate_all("all => all.map(i => i.src)")
        seen.add(tuple(now))
        # Skipping asks the server for nothing while there are questions left.
        asked = page.expect_response("**/api/compare/**") if key != "0" else nullcontext()
        with asked:
            page.keyboard.press(key)
        page.wait_for_function(
            """before => { const now = [...document.querySelectorAll('.anchor img, .pick img')]
                 .map(i => i.src); return now.length === 3 && now.join() !== before; }""",
            arg=",".join(now),
        )
    assert len(seen) == 4, "four different questions"
    said(page, f"{before + 3} answers")
    page.keyboard.press("u")
    said(page, f"{before + 2} answers")
    assert server.ask("/api/compare/questions?n=1")["progress"]["all"] == before + 2


def test_fast_keys_lose_no_answer_and_skipping_goes_on(page: Page, server: Served) -> None:
    before = server.ask("/api/compare/questions?n=1")["progress"]["all"]
    page.goto("/?view=compare")
    page.locator(".pick img").first.wait_for()
    for _ in range(6):
        page.keyboard.press("0")
        page.locator(".pick img").first.wait_for()
    # What was skipped is not asked again, and few pictures have few questions: begin anew.
    page.reload()
    page.wait_for_function("() => window.likewise?.compare?.questions.length >= 3")
    page.evaluate(
        """() => { for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowLeft'])
             document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); }"""
    )
    said(page, f"{before + 3} answers")
    assert server.ask("/api/compare/questions?n=1")["progress"]["all"] == before + 3


def test_somebody_else_answers_through_a_link(chrome: Browser, page: Page, server: Served) -> None:
    page.goto("/?view=compare")
    page.get_by_role("button", name="Ask others").click()
    page.get_by_label("Name of the person who answers").fill("Grace")
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Link for Grace").input_value()
    context = chrome.new_context(**PHONE)
    context.set_default_timeout(60_000)
    other = context.new_page()
    wrong: list[str] = []
    other.on("pageerror", lambda error: wrong.append(str(error)))
    other.goto(link)
    assert "token" not in other.url
    other.locator(".pick img").first.wait_for()
    said(other, "Grace: ")
    assert not other.get_by_role("navigation").is_visible()
    other.locator(".pick").first.tap()
    said(other, "Grace: 1 answer")
    assert other.evaluate("() => fetch('/api/collection').then(a => a.status)") == 403
    assert other.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert wrong == []
    page.get_by_role("button", name="Done").click()
    page.reload()
    page.get_by_role("rowheader", name="Grace").wait_for()
    server.ask("/api/compare/unshare", {"name": "Grace"})


# -- map ---------------------------------------------------------------------------------------


def drawn(page: Page) -> None:
    """Wait until the map shows pictures: a canvas has no elements to ask for."""
    page.wait_for_function("() => Number(document.querySelector('.chart')?.dataset.seen) > 4")


def test_the_map_is_moved_zoomed_and_asked(page: Page) -> None:
    page.goto("/?view=map")
    drawn(page)
    page.get_by_text("There are no comparisons yet").wait_for()
    page.locator(".chart").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**at=*")
    place = page.url
    page.reload()
    drawn(page)
    assert page.url == place, "where one was is in the address"
    page.locator(".chart").focus()
    page.keyboard.press("0")
    page.keyboard.press("ArrowLeft")
    page.locator(".chart-name").filter(has_text=".jpg").wait_for()
    name = page.locator(".chart-name").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid.asked")
    settle(page)
    assert page.locator(".rail, .search").filter(has_text=name).count() > 0


def test_a_click_on_the_map_asks_and_a_lasso_selects(page: Page, server: Served) -> None:
    page.goto("/?view=map")
    drawn(page)
    box = page.locator(".chart").bounding_box()
    assert box is not None
    corners = [(5, 5), (box["width"] - 5, 5), (box["width"] - 5, box["height"] - 5),
               (5, box["height"] - 5), (5, 8)]  # fmt: skip
    page.locator(".chart").focus()
    page.keyboard.press("-")
    page.wait_for_function("() => !window.likewise.map.chart.goal")
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    total = server.ask("/api/pictures?limit=1")["total"]
    page.get_by_text(f"{total} pictures selected").wait_for()
    page.get_by_role("button", name="Clear selection").click()

    page.locator(".chart").focus()
    page.keyboard.press("0")
    page.wait_for_function("() => !window.likewise.map.chart.goal")
    spot = page.evaluate("() => { const { chart } = window.likewise.map; return chart.at(0); }")
    page.mouse.click(box["x"] + spot[0], box["y"] + spot[1])
    page.wait_for_selector(".grid.asked")
    first = server.ask("/api/maps/map")["ids"][0]
    assert f"q={first}" in page.url


def test_pictures_glide_between_side_by_side_and_true_places(page: Page) -> None:
    page.goto("/?view=map")
    drawn(page)
    tidy = page.evaluate("() => [...window.likewise.map.chart.x]")
    page.locator(".chart").focus()
    page.keyboard.press("g")
    page.wait_for_url("**lay=true*")
    page.wait_for_function("() => !window.likewise.map.chart.way")
    assert page.evaluate("() => window.likewise.map.chart.room") is None
    assert page.evaluate("() => [...window.likewise.map.chart.x]") != tidy
    page.keyboard.press("g")
    page.wait_for_function("() => window.likewise.map.chart.room === 1")
    page.wait_for_function("() => !window.likewise.map.chart.way")
    assert page.evaluate("() => [...window.likewise.map.chart.x]") == tidy


def test_what_is_selected_is_framed_in_the_page_s_own_colour(page: Page) -> None:
    page.goto("/?view=map")
    drawn(page)
    accent = page.evaluate("() => window.likewise.map.chart.accent")
    assert accent == "rgb(224, 138, 30)", "worked out, not a word a canvas does not know"
    page.keyboard.press("t")
    page.keyboard.press("t")
    page.wait_for_function("() => window.likewise.map.chart.accent === 'rgb(242, 165, 74)'")


def test_a_map_that_was_forgotten_is_not_shown(page: Page) -> None:
    page.goto("/?view=map")
    drawn(page)
    page.keyboard.press("5")
    page.get_by_role("button", name="Delete map").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("rowheader", name="map", exact=True).wait_for(state="detached")
    page.keyboard.press("4")
    page.get_by_role("heading", name="No map yet.").wait_for()
    page.get_by_role("button", name="Draw the map").click()
    drawn(page)


def test_the_map_is_coloured_by_tag_and_by_likeness(page: Page, server: Served) -> None:
    page.goto("/?view=map")
    drawn(page)
    page.get_by_label("Colour by").select_option("tags")
    page.get_by_text("coins (1)", exact=True).wait_for()
    assert "paint=tags" in page.url
    picture = server.picture("coins-0.jpg")["id"]
    page.goto(f"/?view=map&q={picture}&paint=likeness")
    page.locator(".legend li").filter(has_text="most similar").wait_for()


# -- models ------------------------------------------------------------------------------------


def test_a_metric_is_learned_and_two_rankings_compared(page: Page, server: Served) -> None:
    page.goto("/?view=learned")
    page.get_by_role("rowheader", name="map", exact=True).wait_for()
    page.get_by_role("button", name="Learn a metric").click()
    page.get_by_role("rowheader", name="metric", exact=True).wait_for()
    page.get_by_role("button", name="Take any picture").click()
    page.get_by_label("Left", exact=True).select_option("holistic")
    page.get_by_label("Right", exact=True).select_option("map")
    page.wait_for_url("**left=holistic*")
    page.locator(".versus").get_by_text("are the same; the others are framed").wait_for()
    assert page.locator(".versus-hits li").count() >= 16
    page.get_by_role("button", name="Delete metric").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("rowheader", name="metric", exact=True).wait_for(state="detached")
    assert [one["name"] for one in server.ask("/api/models")["items"]] == ["map"]


@pytest.mark.parametrize("view", ["tag", "compare", "map", "learned"])
def test_views_fit_a_phone_and_the_dark(chrome: Browser, server: Served, view: str) -> None:
    page, wrong = visit(chrome, server, color_scheme="dark", **PHONE)
    page.goto(f"/?view={view}")
    ready = {"tag": ".suggestions li", "compare": ".pick img", "map": ".chart", "learned": "table"}
    page.wait_for_selector(ready[view])
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= PHONE["viewport"]["width"], "nothing to the side"  # type: ignore[index]
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(20, 19, 18)"
    page.context.close()
    assert wrong == []
