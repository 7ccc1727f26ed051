"""The field for typed words in a real browser: reasons, striking them out, learning, saving."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from likewise.collection.collection import Collection
from likewise.vision.deep.network import is_installed
from likewise.vision.text import text_model_status
from tests.product.collection.pictures import small_scenes
from tests.product.server import browser as driving
from tests.product.server.browser import Served, drop, order, settle, visit
from tests.product.server.conftest import photograph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

PHONE = {"viewport": {"width": 360, "height": 720}, "has_touch": True, "is_mobile": True}


def fill(folder: Path, deep: bool) -> Path:
    """Two views each of eight scenes, in two folders; the cats and the coffees are tagged."""
    for day, (name, pixels) in enumerate(small_scenes().items(), 1):
        where = folder / "pictures" / ("harbour" if day % 2 else "garden")
        photograph(where / f"{name}-0.jpg", pixels, day)
        photograph(where / f"{name}-1.jpg", pixels[8:, 6:], None)
    root = folder / "photos.lw"
    with Collection.create(root, deep=deep) as col:
        col.add(folder / "pictures", workers=0)
        for row in col.pictures.page(limit=100)[1]:
            for scene, tag in (("chelsea", "cat"), ("coffee", "breakfast")):
                if scene in row.path:
                    col.tag(row.id, tag)
    return root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Without a network: what people wrote answers, and the page says what would be better."""
    with driving.served(fill(tmp_path_factory.mktemp("words"), deep=False)) as started:
        yield started


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    page, wrong = visit(chrome, server)
    yield page
    page.context.close()
    assert wrong == []


def search(page: Page, text: str) -> None:
    """Type into the field, from wherever one is, and wait for the answer."""
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.get_by_role("grid", name=f"Pictures for {text}").wait_for()
    settle(page)


def field(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Search by words")


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile", has=page.locator(f'.pic[aria-label^="{name},"]'))


def without(page: Page) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get("without", [""])[0].split("\n")


def said(page: Page, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def test_words_are_typed_and_answers_say_why(page: Page) -> None:
    page.goto("/?view=tag")
    field(page).click()
    page.keyboard.type("cat harbour")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?text=cat+harbour")
    settle(page)
    assert page.title() == "cat harbour in photos.lw · Likewise"
    first = order(page, 2)
    assert set(first) == {"chelsea-0.jpg", "chelsea-1.jpg"}
    chips = tile(page, first[0]).locator(".reason").all_inner_texts()
    assert chips[0] == "tagged cat"
    label = page.locator(".pic").first.get_attribute("aria-label")
    assert label is not None
    assert "tagged cat" in label, "heard as well as seen"
    # Nothing here reads words, and the page says what would.
    hint = page.get_by_role("region", name="Why these pictures")
    assert "Only tags, names and dates were searched" in hint.inner_text()
    assert "likewise admin spaces add" in hint.inner_text()
    kept = order(page)
    page.reload()
    settle(page)
    assert order(page) == kept, "the question is in the address"
    assert field(page).input_value() == "cat harbour"
    page.go_back()
    page.get_by_role("heading", name="Tags", exact=True).wait_for()
    assert page.title() == "Tags · Likewise"
    assert field(page).input_value() == ""


def test_a_reason_is_struck_out_and_counted_again(page: Page) -> None:
    page.goto("/")
    settle(page)
    search(page, "cat harbour")
    before = order(page, 16)
    cats = [name for name in before if name.startswith("chelsea")]
    assert len(cats) == 2
    first = tile(page, cats[0])
    first.hover()
    first.get_by_role("button", name="Ignore: tagged cat").click()
    page.get_by_role("button", name="Use again: tagged cat").wait_for()
    settle(page)
    assert without(page) == ["tag:cat"]
    assert order(page, 16) == [name for name in before if name not in cats]
    page.reload()
    again = page.get_by_role("button", name="Use again: tagged cat")
    again.wait_for()
    again.click()
    again.wait_for(state="detached")
    settle(page)
    assert without(page) == [""]
    assert order(page, 16) == before
    # All reasons there are stand above the pictures too, for who does not hover.
    bar = page.get_by_role("region", name="Why these pictures")
    folder = bar.get_by_role("button", name=re.compile("Ignore: folder .*harbour"))
    folder.click()
    bar.get_by_role("button", name=re.compile("Use again: folder .*harbour")).wait_for()
    settle(page)
    assert order(page) == cats


def test_words_learn_and_become_a_tag(page: Page, server: Served) -> None:
    page.goto("/")
    settle(page)
    search(page, "garden things")
    before = order(page, 16)
    save = page.get_by_role("button", name="Save as tag")
    assert save.is_disabled(), "nothing is liked yet"
    chosen, refused = before[-1], before[0]
    tile(page, chosen).hover()
    page.get_by_role("button", name=f"More like this: {chosen}").click()
    said(page, f"More like {chosen}.")
    settle(page)
    assert order(page, 16)[0] == chosen
    tile(page, refused).hover()
    page.get_by_role("button", name=f"Not this: {refused}").click()
    said(page, f"Not {refused}.")
    settle(page)
    assert order(page, 16).index(refused) > 0
    page.keyboard.press("u")
    said(page, "undone")
    page.wait_for_function("() => !document.querySelector('.tile.disliked')")

    save.click()
    dialog = page.get_by_role("dialog", name="Save as tag")
    dialog.get_by_role("combobox", name="Tag").fill("outside")
    dialog.get_by_role("button", name="Save").click()
    said(page, "Tagged 1 picture outside, suggested for ")
    tags = {one["tag"]: one for one in server.ask("/api/tags")["items"]}
    assert tags["outside"]["sources"]["accepted"] == 1
    page.get_by_role("button", name="Undo", exact=True).last.click()
    said(page, "Tag outside removed again.")
    assert "outside" not in {one["tag"] for one in server.ask("/api/tags")["items"]}

    page.get_by_role("link", name="What it learned", exact=True).first.click()
    page.get_by_text("“garden things”").first.wait_for()
    page.go_back()
    settle(page)
    assert order(page, 16)[0] == chosen, "it is remembered"
    page.keyboard.press("u")
    said(page, "undone")
    page.wait_for_function("() => !document.querySelector('.tile.liked')")
    settle(page)
    assert order(page, 16) == before


def test_everything_about_words_by_keyboard(page: Page) -> None:
    """Not one click: type, judge, undo, why, strike out, save as tag, close."""
    page.goto("/")
    settle(page)
    press = page.keyboard.press

    def focused() -> str:
        return page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
        )

    def tab_to(name: str) -> None:
        for _ in range(60):
            if focused().startswith(name):
                return
            press("Tab")
        pytest.fail(f"no Tab leads to {name}; the last was {focused()}")

    search(page, "breakfast")
    page.wait_for_function("() => document.activeElement.classList.contains('pic')")
    first = order(page, 1)[0]
    assert focused().startswith(first), "from the field one goes on among the answers"
    press("+")
    said(page, f"More like {first}.")
    settle(page)
    press("w")
    dialog = page.get_by_role("dialog", name="Why it matched")
    dialog.get_by_text("tagged breakfast").wait_for()
    press("Escape")
    dialog.wait_for(state="detached")

    press("/")
    tab_to("Save as tag")
    press("Enter")
    page.get_by_role("dialog", name="Save as tag").wait_for()
    page.keyboard.insert_text("morning")
    press("Enter")
    said(page, "Tagged 1 picture morning")
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator(".toast").last.get_by_role("button", name="Undo").focus()
    press("Enter")
    said(page, "Tag morning removed again.")

    press("/")
    tab_to("Ignore: tagged breakfast")
    press("Enter")
    page.get_by_role("button", name="Use again: tagged breakfast").wait_for()
    press("/")
    tab_to("Use again: tagged breakfast")
    press("Enter")
    page.get_by_role("button", name="Ignore: tagged breakfast").first.wait_for()
    press("u")
    said(page, "undone")
    page.wait_for_function("() => !document.querySelector('.tile.liked')")
    # Escape leaves what was begun, then the search.
    press("/")
    page.keyboard.type("something else")
    press("Escape")
    assert field(page).input_value() == "breakfast"
    press("Escape")
    press("Escape")
    page.get_by_role("heading", name="16 pictures", exact=True).wait_for()
    assert urlsplit(page.url).query == ""


def test_words_join_a_picture_filters_and_minus_words(page: Page, server: Served) -> None:
    picture = server.picture("rocket-0.jpg")["id"]
    page.goto(f"/?q={picture}")
    settle(page)
    words = field(page)
    assert words.get_attribute("placeholder") == "Add words: with people, -snow"
    search(page, "cat")
    asked = parse_qs(urlsplit(page.url).query)
    assert (asked["q"], asked["text"]) == ([picture], ["cat"])
    assert order(page, 1)[0].startswith("chelsea"), "certain things come first"
    assert "rocket-1.jpg" in order(page, 4), "and then what is like the picture"
    page.get_by_role("button", name="Remove the words").click()
    page.wait_for_url(f"**/?q={picture}")
    settle(page)
    assert order(page, 2)[1] == "rocket-1.jpg" or order(page, 1)[0] == "rocket-1.jpg"

    page.goto("/?folder=nowhere")
    page.get_by_role("heading", name="No picture matches these filters.").wait_for()
    page.goto("/?tag=cat&text=garden")
    settle(page)
    assert set(order(page)) <= {"chelsea-0.jpg", "chelsea-1.jpg"}
    page.goto("/?text=garden+-cat")
    settle(page)
    assert not any(name.startswith("chelsea") for name in order(page, 16))


def test_the_field_still_takes_pictures(page: Page, tmp_path: Path) -> None:
    page.goto("/")
    settle(page)
    search(page, "cat")
    page.keyboard.press("/")
    drop(page, photograph(tmp_path / "mine.jpg", small_scenes()["rocket"][4:], None))
    page.wait_for_url("**/?up=*")
    settle(page)
    assert "text=" not in page.url, "another question"
    assert order(page, 1)[0].startswith("rocket")


def test_tags_are_completed_and_nothing_found_says_so(page: Page) -> None:
    page.goto("/")
    settle(page)
    page.keyboard.press("/")
    page.keyboard.type("garden -bre")
    page.wait_for_function(
        "() => document.querySelector('#words-known option')?.value === 'garden -breakfast'"
    )
    page.keyboard.press("Escape")
    page.goto("/?text=zzzz")
    page.get_by_role("heading", name="Nothing found for “zzzz”.").wait_for()
    page.get_by_text("Only tags, names and dates were searched").wait_for()
    page.get_by_role("button", name="Close search").last.click()
    page.get_by_role("heading", name="16 pictures", exact=True).wait_for()


def test_words_fit_a_phone(chrome: Browser, server: Served) -> None:
    page, wrong = visit(chrome, server, **PHONE)
    page.goto("/?text=cat+harbour+garden&without=tag%3Abreakfast")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = field(page).bounding_box()
    assert box is not None
    assert box["width"] > 120, "wide enough to read what was typed"
    top = page.locator(".tile").first
    acts, reason = (
        top.locator(".acts").first.bounding_box(),
        top.locator(".reason").first.bounding_box(),
    )
    assert acts is not None
    assert reason is not None
    assert acts["y"] + acts["height"] <= reason["y"] + 1, "a finger finds both"
    page.context.close()
    assert wrong == []


@pytest.mark.skipif(not is_installed(), reason="the network cannot run here")
@pytest.mark.skipif(not text_model_status().available, reason="there is no text model here")
def test_pictures_are_found_by_what_they_look_like(chrome: Browser, tmp_path: Path) -> None:
    with driving.served(fill(tmp_path, deep=True)) as server:
        page, wrong = visit(chrome, server)
        page.goto("/")
        settle(page)
        search(page, "motorbike")
        assert all(name.startswith("motorcycle") for name in order(page, 2))
        bar = page.get_by_role("region", name="Why these pictures")
        strike = bar.get_by_role("button", name=re.compile("Ignore: looks like: "))
        names = [one.get_attribute("aria-label") for one in strike.all()]
        assert len(names) > 1, "each name it looks like can be struck out"
        strike.first.click()
        bar.get_by_role("button", name=re.compile("Use again: looks like: ")).wait_for()
        settle(page)
        assert names[0] not in [one.get_attribute("aria-label") for one in strike.all()]
        page.context.close()
        assert wrong == []
