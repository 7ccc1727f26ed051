"""Bulk actions in a real browser: what is selected is what is acted on, and all of it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.product.server import browser as driving
from tests.product.server.axe import axe_script, violations
from tests.product.server.browser import Served, settle, visit
from tests.product.server.conftest import SCENES as N

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]


@pytest.fixture(scope="module")
def server(scenes_server: Served) -> Served:
    return scenes_server


@pytest.fixture(scope="module")
def home(scenes: Path) -> Path:
    """Where the pictures are: what is moved out of there or written there is taken back."""
    return scenes


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    """On a collection as it was at first: what a test did in bulk is undone, which it must bear."""
    made, wrong = visit(chrome, server)
    yield made
    made.context.close()
    for one in server.ask("/api/actions")["items"]:
        if one["undone"] is None:
            server.ask("/api/actions/undo", {"action": one["id"]})
    assert wrong == []


def said(page: Page, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def tagged(server: Served, tag: str) -> int:
    found: int = server.ask(f"/api/pictures?tag={tag}")["total"]
    return found


def newest(server: Served) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("/api/actions")["items"][0]
    return found


def lasso(page: Page, left: float, right: float, *, shift: bool = False) -> None:
    """Around a part of the map, from one share of its width to another."""
    box = page.locator(".chart").bounding_box()
    assert box is not None
    xs = [box["x"] + 3 + share * (box["width"] - 6) for share in (left, right)]
    ys = box["y"] + 3, box["y"] + box["height"] - 3
    page.keyboard.down("Shift") if shift else page.get_by_role("button", name="Lasso").click()
    page.mouse.move(xs[0], ys[0])
    page.mouse.down()
    for x, y in ((xs[1], ys[0]), (xs[1], ys[1]), (xs[0], ys[1]), (xs[0], ys[0] + 4)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def test_a_second_lasso_says_what_it_adds_and_a_bulk_action_ends_the_selection(
    page: Page, server: Served
) -> None:
    page.goto("/?view=map")
    page.wait_for_function("() => window.likewise?.map.chart.x.length > 0")
    page.locator(".chart").focus()
    page.keyboard.press("-")
    page.wait_for_function("() => !window.likewise.map.chart.goal")
    bar = page.get_by_role("form", name="Selected pictures")

    lasso(page, 0, 1)
    bar.get_by_text(f"{N} pictures selected").wait_for()
    lasso(page, 0, 0.5)
    page.wait_for_function(f"() => window.likewise.map.chart.selected.size < {N}")
    first = int(page.evaluate("() => window.likewise.map.chart.selected.size"))
    assert 0 < first < N, "a plain lasso begins anew"
    bar.get_by_text(f"{first} pictures selected").wait_for()
    lasso(page, 0.4, 1, shift=True)
    bar.get_by_text(f"{first} + {N - first} pictures selected").wait_for()
    assert bar.get_by_role("button", name=f"Tag {N}", exact=True).count() == 1

    page.get_by_label("Tag for the selected pictures").fill("all")
    page.keyboard.press("Enter")
    said(page, f"Tagged {N} pictures “all”.")
    bar.wait_for(state="hidden")
    assert page.evaluate("() => window.likewise.map.chart.selected.size") == 0
    # What the next lasso says is what is tagged.
    lasso(page, 0, 0.5, shift=True)
    bar.get_by_text(f"{first} pictures selected").wait_for()
    page.get_by_label("Tag for the selected pictures").fill("left")
    page.keyboard.press("Enter")
    said(page, f"Tagged {first} pictures “left”.")
    assert tagged(server, "left") == first
    page.get_by_role("button", name="Undo", exact=True).last.click()
    said(page, f"Undone for {first} pictures.")
    assert tagged(server, "left") == 0
    assert tagged(server, "all") == N


def test_recent_actions_are_listed_and_undone_from_any_view(page: Page, server: Served) -> None:
    ids = [one["id"] for one in server.ask("/api/pictures?limit=5")["items"]]
    server.ask("/api/tags/set", {"pictures": ids, "add": ["listed"]})
    server.ask("/api/tags/reject", {"picture": ids[0], "tag": "listed"})
    page.goto("/?view=collection")
    page.get_by_role("button", name="Recent actions").click()
    dialog = page.get_by_role("dialog", name="Recent actions")
    row = dialog.get_by_role("listitem").filter(has_text="Tagged “listed”")
    row.filter(has_text="5 pictures").filter(has_text="by the page").wait_for()
    row.get_by_role("button", name="Undo: Tagged “listed”").click()
    said(page, "Undone for 4 pictures. 1 picture was changed later and left as is.")
    row.get_by_text("undone", exact=True).wait_for()
    assert row.get_by_role("button").count() == 0
    assert tagged(server, "listed") == 0


def test_what_is_undone_in_the_list_is_no_longer_offered(page: Page, server: Served) -> None:
    page.goto("/?sort=name&order=asc")
    settle(page)
    for i in range(2):
        page.locator(".pic").nth(i).focus()
        page.keyboard.press("x")
    page.get_by_label("Tag for the selected pictures").fill("brief")
    page.keyboard.press("Enter")
    said(page, "Tagged 2 pictures “brief”.")
    page.get_by_role("button", name="Recent actions").click()
    page.get_by_role("button", name="Undo: Tagged “brief”").click()
    said(page, "Undone for 2 pictures.")
    assert page.locator(".toast").all_inner_texts() == ["Undone for 2 pictures."]
    assert tagged(server, "brief") == 0


def test_many_lose_a_tag_and_get_it_back(page: Page, server: Served) -> None:
    ids = [one["id"] for one in server.ask("/api/pictures?limit=6")["items"]]
    server.ask("/api/tags/set", {"pictures": ids, "add": ["fades"]})
    page.goto("/?tag=fades")
    settle(page)
    page.keyboard.press("s")
    page.locator(".pic").nth(0).click()
    page.locator(".pic").nth(5).click(modifiers=["Shift"])
    page.get_by_text("6 pictures selected").wait_for()
    page.get_by_label("Tag for the selected pictures").fill("fades")
    page.get_by_role("button", name="Remove tag").click()
    said(page, "Removed “fades” from 6 pictures.")
    select = page.get_by_role("button", name="Select", exact=True)
    assert select.get_attribute("aria-pressed") == "false", "a click is a question again"
    assert tagged(server, "fades") == 0
    page.get_by_role("button", name="Undo", exact=True).click()
    said(page, "Undone for 6 pictures.")
    assert tagged(server, "fades") == 6


# -- removing -------------------------------------------------------------------------------


def select_two(page: Page) -> list[str]:
    page.goto("/?sort=name&order=asc")
    settle(page)
    names = driving.order(page, 2)
    page.keyboard.press("s")
    page.locator(".pic").nth(0).click()
    page.locator(".pic").nth(1).click()
    page.get_by_text("2 pictures selected").wait_for()
    return names


def test_pictures_are_removed_from_the_collection_and_come_back(
    page: Page, server: Served, home: Path
) -> None:
    names = select_two(page)
    tags = server.ask(f"/api/pictures/{server.picture(names[0])['id']}/tags")["tags"]
    assert tags
    page.get_by_role("button", name="Remove…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("heading", name="Remove 2 pictures from the collection?").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert server.ask("/api/pictures")["total"] == N, "asked, and not wanted"

    page.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    said(page, "Removed 2 pictures from the collection.")
    page.get_by_role("heading", name=f"{N - 2} pictures").wait_for()
    assert page.get_by_role("form", name="Selected pictures").count() == 0
    assert newest(server)["pictures"] == 2
    assert all((home / "pictures" / name).is_file() for name in names)
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("heading", name=f"{N} pictures").wait_for()
    again = server.ask(f"/api/pictures/{server.picture(names[0])['id']}/tags")["tags"]
    assert again == tags


def test_files_are_moved_only_after_a_second_question(
    page: Page, server: Served, home: Path
) -> None:
    names = select_two(page)
    files = [home / "pictures" / name for name in names]
    page.get_by_role("button", name="Remove…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Also move their files out of their folders").check()
    dialog.get_by_role("button", name="Remove and move files…").click()
    dialog.get_by_role("heading", name="Move the files of 2 pictures?").wait_for()
    assert all(file.is_file() for file in files), "asked twice, answered once"
    assert server.ask("/api/pictures")["total"] == N
    dialog.get_by_role("button", name="Move the files").click()
    said(page, "Removed 2 pictures from the collection. 2 files moved.")
    assert not any(file.exists() for file in files)
    assert newest(server)["what"].startswith("Removed from the collection, files moved")
    page.get_by_role("button", name="Undo", exact=True).click()
    said(page, "Undone for 2 pictures.")
    assert all(file.is_file() for file in files)
    page.get_by_role("heading", name=f"{N} pictures").wait_for()


# -- sidecars -------------------------------------------------------------------------------


def test_sidecars_are_counted_asked_about_and_taken_back(
    page: Page, server: Served, home: Path, tmp_path: Path
) -> None:
    page.goto("/?view=tag")
    page.get_by_role("button", name="Write sidecars…").press("Enter")
    dialog = page.get_by_role("dialog", name="Write sidecars")
    count = server.ask("/api/tags/export/plan", {"place": "beside"})["new"]
    assert count >= 8
    dialog.get_by_text(f"{count} new files").wait_for()
    dialog.get_by_text(str(home / "pictures")).wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert list(home.rglob("*.xmp")) == [], "nothing without an answer"

    page.get_by_role("button", name="Write sidecars…").press("Enter")
    dialog.get_by_label("In another folder").check()
    dialog.get_by_text("Enter a folder on this computer.").wait_for()
    assert dialog.get_by_role("button", name="Write", exact=True).is_disabled()
    dialog.get_by_label("Folder for the sidecars").fill(str(tmp_path / "there"))
    dialog.get_by_text(str(tmp_path / "there")).wait_for()
    dialog.get_by_role("button", name=f"Write {count} files").click()
    said(page, f"{count} sidecars written")
    assert list(home.rglob("*.xmp")) == []
    made = sorted((tmp_path / "there").rglob("*.xmp"))
    assert len(made) == count
    made[0].write_text("somebody was here")
    page.get_by_role("button", name="Undo", exact=True).click()
    said(page, f"Undone for {count - 1} sidecars. 1 sidecar was changed later and left as is.")
    assert sorted((tmp_path / "there").rglob("*.xmp")) == made[:1]


# -- suggestions ----------------------------------------------------------------------------


def test_suggestions_of_a_tag_are_accepted_but_for_those_struck_out(
    page: Page, server: Served
) -> None:
    ids = [one["id"] for one in server.ask(f"/api/pictures?limit={N}&sort=name&order=asc")["items"]]
    server.ask("/api/tags/set", {"pictures": ids[::2], "add": ["even"]})
    page.goto("/?view=tag")
    page.locator("#tag-above").evaluate(
        "one => { one.min = 0.01; one.value = 0.01; one.dispatchEvent(new Event('input')); }"
    )
    before = server.ask("/api/tags/suggested?tag=even")["total"]
    assert before == 0
    page.locator(".in-line:has(#tag-above) button").click()
    said(page, "review them above")
    total = server.ask("/api/tags/suggested?tag=even")["total"]
    assert total >= 3
    page.get_by_role("list", name="Tags with suggestions").get_by_role(
        "button", name="even"
    ).click()
    page.wait_for_url("**settle=even*")
    grid = page.get_by_role("list", name="Suggested pictures")
    page.wait_for_function(
        f"() => document.querySelectorAll('.suggested-grid li').length === {total}"
    )
    if axe_script() is not None:
        assert violations(page) == []
    wrong = grid.get_by_role("button").nth(1)
    name = (wrong.get_attribute("title")) or ""
    wrong.click()
    assert wrong.get_attribute("aria-pressed") == "true"
    page.get_by_text("1 rejected").wait_for()
    page.get_by_role("button", name="Accept all but 1").click()
    said(page, f"Accepted “even” for {total - 1} pictures, rejected for 1.")
    page.get_by_text("No picture has “even” as a suggestion now.").wait_for()
    refused = server.ask(f"/api/pictures/{server.picture(name)['id']}/tags")["refused"]
    assert "even" in refused
    assert newest(server)["pictures"] == total
    page.get_by_role("button", name="Undo", exact=True).last.click()
    page.wait_for_function(
        f"() => document.querySelectorAll('.suggested-grid li').length === {total}"
    )
    page.reload()
    page.get_by_role("heading", name="Suggested: even").wait_for()
    page.get_by_role("button", name="Recent actions").click()
    page.get_by_role("button", name="Undo: Suggested tags").first.click()
    said(page, "Undone for")
    assert server.ask("/api/tags/suggested?tag=even")["total"] == 0
