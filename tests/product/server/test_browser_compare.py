"""Compare with a purpose, in a browser: all in sight, a goal, the gain, and answers that wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import pytest

from likewise.collection.collection import Collection
from tests.product.collection.pictures import write_pictures
from tests.product.server import browser as driving
from tests.product.server.browser import Served, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Ten answers of Ann and nine of the owner: one more makes ten, and twenty for the map."""
    folder: Path = tmp_path_factory.mktemp("compare")
    for at, path in enumerate(write_pictures(folder / "pictures", views=3)):
        # Squares and upright ones need most room.
        size = (520, 520) if at % 2 else (390, 520)
        cv2.imwrite(str(path), cv2.resize(cv2.imread(str(path)), size))
    with Collection.create(folder / "photos.lw", words={"n_words": 60}, deep=False) as col:
        col.add(folder / "pictures", workers=0)
        for at, ask in enumerate(col.comparisons.suggest(19, seed=1)):
            col.compare(*ask, person="Ann" if at < 10 else None)
    with driving.served(folder / "photos.lw") as started:
        yield started


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["900 px high", "phone"])
def test_both_candidates_and_skip_are_always_in_sight(
    chrome: Browser, server: Served, screen: dict[str, Any]
) -> None:
    page, wrong = visit(chrome, server, **screen)
    page.goto("/?view=compare")
    for _ in range(3):
        page.locator(".pick img").nth(1).wait_for()
        page.wait_for_function("() => [...document.images].every((one) => one.complete)")
        page.evaluate(
            """() => { const { gain } = window.likewise.compare;
                 gain.hidden = false; gain.textContent = "What they bring. ".repeat(6); }"""
        )
        seen = page.evaluate(
            """() => [".anchor img", ".pick.left", ".pick.right", ".compare-body .buttons button"]
                 .map((which) => document.querySelector(which))
                 .map((one) => {
                   const { left, top, bottom, width, height } = one.getBoundingClientRect();
                   const at = document.elementFromPoint(left + width / 2, bottom - 4);
                   return { top, bottom, height, room: innerHeight, covered: !one.contains(at) };
                 })"""
        )
        assert len(seen) == 4
        for one in seen:
            assert 0 <= one["top"] < one["bottom"] <= one["room"], seen
            assert not one["covered"], seen
        assert min(one["height"] for one in seen[:3]) > 120, "large enough to tell apart"
        page.get_by_role("button", name="Skip").click()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
    assert wrong == []


def test_what_a_guest_said_waits_until_it_is_taken_in(chrome: Browser, server: Served) -> None:
    page, wrong = visit(chrome, server, **DESK)
    first = server.ask("/api/pictures?limit=1")["items"][0]["id"]
    asked = {"query": {"picture": first}, "limit": 10}

    def ranked() -> list[tuple[str, float]]:
        return [(one["id"], one["score"]) for one in server.ask("/api/search", asked)["items"]]

    before = ranked()
    assert server.ask("/api/profiles/default/log")["items"] == []
    page.goto("/?view=compare")
    waiting = page.get_by_role("region", name="Answers not used yet")
    waiting.get_by_text("10 answers from Ann").wait_for()
    waiting.get_by_text("9 answers of yours").wait_for()
    waiting.get_by_role("button", name="Use in searches: 10 answers from Ann").click()
    toast = page.get_by_text("Searches now use 10 answers from Ann.")
    toast.wait_for()
    waiting.get_by_text("10 answers from Ann").wait_for(state="detached")
    (line,) = server.ask("/api/profiles/default/log")["items"]
    assert (line["kind"], line["person"], line["answers"]) == ("merge", "Ann", 10)
    taught = ranked()
    page.get_by_role("button", name="Undo").last.click()
    waiting.get_by_text("10 answers from Ann").wait_for()
    assert ranked() == before
    assert before != taught
    # The versions name who taught what, counted without gaps.
    page.goto("/?view=learned&profile=default")
    page.get_by_text("Used 10 answers from Ann").wait_for()
    assert page.locator(".log .number").all_inner_texts() == ["2", "1", "0"]
    page.get_by_text("Went back to the beginning").wait_for()
    # What only holds answers is told as what it is, behind what somebody made.
    offered = page.get_by_label("Profile", exact=True).locator("option").all_inner_texts()
    assert offered[1:] == ["ann-answers: answers from Ann", "answers: answers of yours"]
    page.goto(f"/?q={first}")
    group = page.locator('#by optgroup[label="Answers not used yet"] option')
    group.first.wait_for(state="attached")
    assert group.all_text_contents() == offered[1:]
    page.context.close()
    assert wrong == []


def test_twenty_answers_redraw_the_map_and_ten_tell_their_gain(
    chrome: Browser, server: Served
) -> None:
    page, wrong = visit(chrome, server, **DESK)
    assert server.ask("/api/models")["items"] == []
    page.goto("/?view=compare")
    page.get_by_text("1 more answer redraws your map").wait_for()
    page.locator(".pick").first.click()
    page.get_by_role("status").filter(has_text="10 answers. ").wait_for()
    page.get_by_role("status").filter(has_text="looks alone agree with").wait_for()
    page.get_by_text("20 more answers redraw your map").wait_for()
    (made,) = server.ask("/api/models")["items"]
    assert (made["name"], made["kind"]) == ("map", "map")
    page.context.close()
    assert wrong == []
