"""The viewer in a real browser: keys, zoom to the original's pixels, touch, judging, tags; and
axe-core over every view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from likewise.collection.collection import Collection
from tests.product.server import browser as driving
from tests.product.server.axe import NO_AXE, axe_script, violations
from tests.product.server.browser import Served, settle, visit
from tests.product.server.conftest import photograph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("viewer")
    random = np.random.default_rng(5)
    for i in range(5):
        small = random.integers(0, 255, (6, 8, 3), dtype=np.uint8)
        pixels = np.asarray(Image.fromarray(small).resize((160, 120)))
        photograph(folder / "pictures" / f"{i}.jpg", pixels, i + 1)
    large = np.asarray(Image.fromarray(random.integers(0, 255, (9, 12, 3), dtype=np.uint8)))
    photograph(folder / "pictures" / "large.jpg", np.kron(large, np.ones((256, 256, 1), "u1")), 9)
    (folder / "pictures" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more than this")
    root = folder / "photos.lw"
    with Collection.create(root, words={"n_words": 20}, deep=False) as col:
        col.add(folder / "pictures", workers=0)
        col.tag(1, "first")
        # Something of everything: judgements, one taken back, a map.
        col.judge(1, liked=[2])
        col.judge(1, disliked=[3])
        col.undo()
        col.models.learn_map("map")
    with driving.served(root) as started:
        yield started


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    page, wrong = visit(chrome, server, viewport={"width": 1280, "height": 800})
    yield page
    page.context.close()
    assert wrong == []


def look_at(page: Page, server: Served, name: str, more: str = "") -> Any:
    page.goto(f"/?{more}look={server.picture(name)['id']}")
    viewer = page.get_by_role("dialog", name=name)
    viewer.wait_for()
    return viewer


def test_arrows_zoom_and_details(page: Page, server: Served) -> None:
    page.goto("/")
    settle(page)
    page.locator(".pic").first.focus()
    page.keyboard.press("o")
    page.get_by_role("dialog", name="large.jpg").wait_for()
    with page.expect_response("**/original") as asked:
        page.keyboard.press("z")
    assert asked.value.headers["content-type"] == "image/jpeg"
    page.wait_for_function(
        "() => { const img = document.querySelector('.stage img');"
        " return img.src.endsWith('/original') && img.naturalWidth === 3072"
        " && Math.abs(img.getBoundingClientRect().width - 3072 / devicePixelRatio) < 2; }"
    )
    before = page.locator(".stage img").bounding_box()
    page.keyboard.press("ArrowRight")
    after = page.locator(".stage img").bounding_box()
    assert before is not None
    assert after is not None
    assert after["x"] < before["x"], "zoomed in, an arrow moves the picture"
    page.keyboard.press("z")
    page.keyboard.press("ArrowRight")
    page.get_by_role("dialog", name="4.jpg").wait_for()
    details = page.get_by_role("complementary", name="Details")
    details.get_by_text("SECRET CAMERA").wait_for()
    page.keyboard.press("i")
    details.wait_for(state="hidden")
    with page.expect_download() as saved:
        page.keyboard.press("i")
        details.get_by_role("link", name="Download").click()
    assert saved.value.suggested_filename == "4.jpg"
    saved.value.path()  # a step back would wait for a download that has just begun
    page.keyboard.press("o")
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.url.endswith("/"), "closing takes the step back"


def test_judging_and_tagging_from_the_viewer(page: Page, server: Served) -> None:
    asked = server.picture("0.jpg")["id"]
    viewer = look_at(page, server, "2.jpg", f"q={asked}&")
    settle(page)
    with page.expect_response("**/api/judge"):
        page.keyboard.press("+")
    more = viewer.get_by_role("button", name="More like this", exact=True)
    page.wait_for_function(
        "() => document.querySelector('.viewer-tools [aria-label=\"More like this\"]')"
        ".getAttribute('aria-pressed') === 'true'"
    )
    assert more.get_attribute("aria-pressed") == "true"
    page.keyboard.press("e")
    page.keyboard.type("mine\n")
    viewer.get_by_role("link", name="mine").wait_for()
    page.keyboard.press("Escape")  # out of the field
    assert viewer.is_visible()
    page.keyboard.press("i")  # and keys are heard again
    page.get_by_role("complementary", name="Details").wait_for(state="hidden")
    page.keyboard.press("Escape")
    viewer.wait_for(state="detached")


def test_the_slideshow_goes_on_and_stops_at_the_end(page: Page, server: Served) -> None:
    page.clock.install()
    viewer = look_at(page, server, "1.jpg")
    settle(page)
    page.keyboard.press(" ")
    page.clock.run_for(4100)
    page.get_by_role("dialog", name="0.jpg").wait_for()
    page.clock.run_for(4100)
    page.wait_for_selector('.viewer-tools [aria-label="Slideshow"][aria-pressed="false"]')
    assert not viewer.is_visible()


def test_a_finger_swipes_and_two_pinch(chrome: Browser, server: Served) -> None:
    page, wrong = visit(
        chrome, server, viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True
    )
    look_at(page, server, "2.jpg")
    settle(page)
    page.wait_for_function("() => document.querySelector('.stage img').complete")
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[int, int]) -> None:
        said = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": said})

    fingers("touchStart", (300, 400))
    fingers("touchMove", (200, 400))
    fingers("touchMove", (120, 402))
    fingers("touchEnd")
    page.get_by_role("dialog", name="1.jpg").wait_for()
    fingers("touchStart", (180, 400), (210, 400))
    fingers("touchMove", (100, 400), (290, 400))
    fingers("touchEnd")
    page.wait_for_selector(".stage.zoomed")
    page.context.close()
    assert wrong == []


def test_f_fills_the_screen_and_leaves_it(page: Page, server: Served) -> None:
    look_at(page, server, "3.jpg")
    page.locator("dialog.viewer .stage img").wait_for()
    page.keyboard.press("f")
    page.wait_for_function("() => document.fullscreenElement")
    top = "document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('dialog.viewer')"
    assert page.evaluate(f"() => Boolean({top})"), "the picture is what fills it"
    page.keyboard.press("f")
    page.wait_for_function("() => !document.fullscreenElement")
    page.keyboard.press("f")
    page.wait_for_function("() => document.fullscreenElement")
    page.keyboard.press("o")  # what closes the picture leaves the full screen too
    page.wait_for_function("() => !document.fullscreenElement")
    page.get_by_role("dialog").wait_for(state="detached")


def test_filters_by_album_stars_and_camera_are_shown_and_removed(
    page: Page, server: Served
) -> None:
    ids = [server.picture(f"{i}.jpg")["id"] for i in (1, 2)]
    server.ask("/api/library/albums/add", {"album": "Best", "pictures": ids})
    server.ask("/api/library/marks", {"pictures": ids[:1], "stars": 4})
    page.goto("/")
    settle(page)
    assert page.locator(".tile-marks b").all_inner_texts() == ["★★★★"]
    page.keyboard.press("f")
    filters = page.get_by_role("group", name="Filters")
    filters.get_by_label("Album").select_option("Best")
    page.get_by_role("heading", name="2 pictures", exact=True).wait_for()
    filters.get_by_label("Stars").select_option("3")
    page.get_by_role("heading", name="1 picture", exact=True).wait_for()
    filters.get_by_label("Camera").fill("secret")
    page.get_by_role("button", name="Filters (3)").wait_for()
    # They stay while one searches with a picture, seen all the time.
    page.locator(".pic").first.click()
    page.wait_for_url("**q=*")
    page.get_by_role("button", name="Remove the filter album Best").click()
    page.get_by_role("button", name="Remove the filter ★★★ or more").click()
    page.get_by_role("heading", name="5 pictures by similarity").wait_for()
    page.get_by_role("button", name="Remove the filter camera secret").click()
    page.wait_for_function("() => !location.search.includes('camera')")
    server.ask("/api/library/albums/delete", {"album": "Best"})
    server.ask("/api/library/marks", {"pictures": ids[:1], "stars": 0})


def test_f_closes_the_filters_it_opened(page: Page) -> None:
    page.goto("/")
    settle(page)
    page.keyboard.press("f")
    filters = page.get_by_role("group", name="Filters")
    filters.wait_for()
    assert page.evaluate("document.activeElement.id") == "folder"
    page.keyboard.press("f")
    filters.wait_for(state="hidden")
    page.keyboard.press("f")
    page.get_by_label("Tag", exact=True).focus()
    page.keyboard.press("f")
    assert page.get_by_label("Tag", exact=True).input_value() == "f", "there it is a letter"
    page.keyboard.press("Escape")
    filters.wait_for(state="hidden")


def test_a_selection_is_searched_with_and_taken_apart(page: Page) -> None:
    page.goto("/")
    settle(page)
    page.locator(".pic").nth(1).focus()
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    page.get_by_role("button", name="Find similar to these").click()
    page.get_by_role("heading", name="2 pictures together").wait_for()
    settle(page)
    assert page.locator(".tile").count() == 4, "what is asked with is no answer"
    page.locator(".tile").first.hover()
    assert page.locator(".tile .plus:visible").count() == 0, "several cannot be judged"
    page.get_by_text("Results of several pictures cannot be marked").first.wait_for()
    for key in ("+", "w"):
        page.locator(".pic").first.focus()
        page.keyboard.press(key)
        said = page.get_by_role("status").filter(has_text="Results of several pictures cannot")
        said.wait_for()
        said.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Remove 4.jpg from the search").click()
    page.wait_for_url("**/?q=*")
    page.go_back()
    page.get_by_role("heading", name="2 pictures together").wait_for()


def test_colours_are_chosen_and_searched_for(page: Page) -> None:
    page.goto("/")
    settle(page)
    page.get_by_role("button", name="Search by colour").click()
    dialog = page.get_by_role("dialog", name="Search by colour")
    dialog.get_by_role("button", name="Red", exact=True).click()
    dialog.get_by_role("button", name="Teal", exact=True).click()
    dialog.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("heading", name="6 pictures by colour").wait_for()
    assert "colours=d02020%2C1fa79b" in page.url
    page.get_by_role("button", name="Remove Teal from the search").click()
    page.get_by_role("heading", name="1 colour", exact=True).wait_for()
    page.get_by_role("button", name="Close search").click()
    page.get_by_role("heading", name="6 pictures", exact=True).wait_for()


def test_settings_change_the_grid_and_are_kept(page: Page) -> None:
    page.goto("/")
    settle(page)
    tile = page.locator(".tile").first
    before = tile.bounding_box()
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_label("Size of pictures").select_option("small")
    dialog.get_by_label("Theme").select_option("dark")
    dialog.get_by_label("Show times").check()
    page.keyboard.press("Escape")
    page.reload()
    settle(page)
    after = tile.bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] < before["height"]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto("/?text=first")
    page.locator(".toolbar .soft").filter(has_text=" ms").wait_for()


def test_the_page_can_be_installed(page: Page) -> None:
    page.goto("/")
    place = page.locator("link[rel=manifest]").get_attribute("href")
    said = page.evaluate("async (place) => (await fetch(place)).json()", place)
    assert (said["start_url"], said["display"]) == ("/", "standalone")
    for one in said["icons"]:
        size = page.evaluate(
            """async (place) => { const img = new Image(); img.src = place; await img.decode();
               return [img.naturalWidth, img.naturalHeight].join('x'); }""",
            one["src"],
        )
        assert one["sizes"] in ("any", size)


def test_keys_of_the_map_work_without_a_click(page: Page) -> None:
    page.goto("/?view=map")
    page.locator(".chart").wait_for()
    page.wait_for_function("() => window.likewise.map.chart.window && window.likewise.map.map")
    page.keyboard.press("+")
    page.wait_for_function("() => window.likewise.map.chart.window.zoom > 1")
    page.locator("body").click(position={"x": 5, "y": 790})
    page.keyboard.press("l")
    page.wait_for_selector('.map-head button[aria-pressed="true"]:has-text("Lasso")')


_QUIET = """() => document.querySelector('main').childElementCount
  && !document.querySelector('[aria-busy], .skeleton')
  && ![...document.querySelectorAll('[role=status]')].some((one) => one.textContent.endsWith('…'))
  && document.getAnimations().every((one) => one.playState !== 'running')"""
"""Whether a view has come: what is still on its way ends in three dots."""


def every_view(page: Page, server: Served) -> Iterator[str]:
    """Addresses of everything there is to see: the views in the bar, and what opens over them."""
    page.goto("/")
    page.get_by_role("heading", level=1).wait_for()
    yield from page.eval_on_selector_all(
        ".views a[data-view]", "all => all.map(one => one.getAttribute('href'))"
    )
    one, other = (server.picture(f"{i}.jpg")["id"] for i in (3, 4))
    yield f"/?q={one}&by=words"
    yield f"/?q={one}&by=words&why={other}"
    yield f"/?q={one}&look={other}"
    yield f"/?like={one},{other}"
    yield "/?colours=d02020,ffffff"
    yield "/?text=first"
    yield "/?folder=/nowhere"
    yield f"/?view=map&paint=likeness&q={one}"


def every_dialog(page: Page) -> Iterator[str]:
    """Names of what opens over the page, each open while it is looked at."""
    page.goto("/")
    settle(page)
    page.keyboard.press("f")  # the filters are not over the page, but opened as well
    page.get_by_role("group", name="Filters").wait_for()
    yield "Filters"
    page.keyboard.press("f")
    for i in (0, 1):
        page.locator(".pic").nth(i).focus()
        page.keyboard.press("x")
    for name, button in (
        ("Keyboard shortcuts", "Keyboard shortcuts"),
        ("Settings", "Settings"),
        ("Recent actions", "Recent actions"),
        ("Search by colour", "Search by colour"),
        ("Add to an album", "Add to an album"),
        ("Remove 2 pictures from the collection?", "Remove…"),
    ):
        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_role("dialog", name=name).wait_for()
        page.wait_for_function(_QUIET)
        yield name
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
    for view, button in (("tag", "Write sidecars…"), ("learned", "New profile"),
                         ("compare", "Ask others")):  # fmt: skip
        page.goto(f"/?view={view}")
        page.wait_for_function(_QUIET)
        page.get_by_role("button", name=button).press("Enter")
        page.get_by_role("dialog").wait_for()
        page.wait_for_function(_QUIET)
        yield button


@pytest.mark.skipif(axe_script() is None, reason=NO_AXE)
@pytest.mark.parametrize("how", ["light", "dark", "phone"])
def test_axe_finds_nothing_that_keeps_people_out(chrome: Browser, server: Served, how: str) -> None:
    phone = {"viewport": {"width": 360, "height": 780}, "has_touch": True, "is_mobile": True}
    page, wrong = visit(chrome, server, **(phone if how == "phone" else {"color_scheme": how}))
    found = []
    for place in every_view(page, server):
        page.goto(place)
        page.wait_for_function(_QUIET)
        found += [f"{place}: {line}" for line in violations(page)]
    for dialog in every_dialog(page) if how != "phone" else ():
        found += [f"{dialog}: {line}" for line in violations(page)]
    page.context.close()
    assert found == []
    assert wrong == []
