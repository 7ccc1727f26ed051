"""The page in a real browser: index, search, judge, undo, roll back; by keyboard, on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from likewise.collection.collection import Collection
from tests.product.collection.pictures import small_scenes, write, write_pictures
from tests.product.private import store_of
from tests.product.server import browser as driving
from tests.product.server.browser import Served, drop, order, settle, visit
from tests.product.server.conftest import Process

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER)

PHONE = {"viewport": {"width": 360, "height": 720}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "pictures"
    write_pictures(folder, views=4)
    return folder


@pytest.fixture(scope="module")
def server(pictures: Path) -> Iterator[Served]:
    root = pictures.parent / "photos.lw"
    with Collection.create(root, deep=False) as col:
        col.add(pictures, workers=0)
    with driving.served(root) as started:
        yield started


@pytest.fixture
def profile(server: Served, request: pytest.FixtureRequest) -> str:
    """A profile of its own for each test: they share a server, not what it learns."""
    name = re.sub(r"\W", "-", request.node.name)[:40]
    server.ask("/api/profiles", {"name": name, "base": "words"})
    return name


@pytest.fixture
def page(chrome: Browser, server: Served) -> Iterator[Page]:
    page, wrong = visit(chrome, server)
    yield page
    page.context.close()
    assert wrong == []


def ask_about(page: Page, server: Served, name: str, **more: Any) -> None:
    """Open the page on a question."""
    extra = "".join(f"&{key}={value}" for key, value in more.items())
    page.goto(f"/?q={server.picture(name)['id']}{extra}")
    page.wait_for_selector(".grid.asked")
    settle(page)


def said(page: Page, text: str) -> None:
    """Wait for a message."""
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def test_a_folder_is_indexed_from_the_page(chrome: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    for name, pixels in list(small_scenes().items())[:3]:
        write(folder / f"{name}.jpg", pixels)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 this is cut off")
    Collection.create(tmp_path / "photos.lw", deep=False).close()
    with driving.served(tmp_path / "photos.lw") as server:
        page, wrong = visit(chrome, server)
        page.context.clear_cookies()
        page.goto(server.entrance)
        assert page.url == f"{server.url}/", "the ticket left the address"
        page.get_by_role("heading", name="No pictures yet.").wait_for()
        assert page.get_by_role("region", name="Search by picture or words").count() == 0
        page.get_by_role("button", name="Add a folder").click()
        assert page.evaluate("document.activeElement.id") == "add-folder"
        page.keyboard.insert_text(str(folder))
        page.get_by_role("button", name="Add", exact=True).click()
        said(page, "3 pictures added, 1 file skipped")
        reasons = page.get_by_role("listitem").filter(has_text="broken.jpg")
        assert len(reasons.inner_text()) > len(str(folder / "broken.jpg")) + 10, "with a reason"
        page.get_by_role("button", name="Check every file").click()
        page.get_by_text("No damage found.").wait_for()
        # The news of a change settles while another view is on the page.
        page.wait_for_function("() => window.likewise.search.key === ''")
        page.get_by_role("link", name="Search", exact=True).click()
        page.get_by_role("heading", name="3 pictures").wait_for()
        settle(page)
        assert sorted(order(page)) == sorted(p.name for p in folder.glob("[!b]*.jpg"))
        page.context.close()
        assert wrong == []


@pytest.mark.slow
def test_the_page_is_there_while_a_folder_is_taken_in(
    chrome: Browser,
    tmp_path: Path,
    start: Callable[..., Process],
) -> None:
    """``likewise open`` shows the page at once; pictures come, and nobody has to reload."""
    for name, pixels in list(small_scenes().items())[:3]:
        write(tmp_path / "pictures" / f"{name}.jpg", pixels)
    with Collection.create(tmp_path / "pictures.lw", deep=False) as col:
        col.pictures.secret()  # the one thing a server writes before it listens
        # Whoever writes holds the job up, as a slow disk would.
        with store_of(col).write():
            process = start("open", "pictures", "--no-browser")
            server = Served(
                process.base, process.said["url"], process.said["key"], tmp_path / "pictures.lw"
            )
            page, wrong = visit(chrome, server)
            page.goto("/")
            page.get_by_role("heading", name="Reading your pictures.").wait_for()
            page.get_by_text("Looking for pictures").first.wait_for()
            assert page.get_by_role("button", name="Add a folder").count() == 0
        page.get_by_role("heading", name="3 pictures").wait_for()
        page.locator(".working").wait_for(state="hidden")
        settle(page)
        assert sorted(order(page)) == sorted(p.name for p in (tmp_path / "pictures").iterdir())
        page.context.close()
        assert wrong == []
    assert process.ended() == 0


HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.mark.slow
def test_a_tab_that_did_not_hear_the_end_learns_of_it(
    chrome: Browser,
    tmp_path: Path,
    start: Callable[..., Process],
) -> None:
    write(tmp_path / "pictures" / "rocket.jpg", small_scenes()["rocket"])
    with Collection.create(tmp_path / "pictures.lw", deep=False) as col:
        col.pictures.secret()
        with store_of(col).write():
            process = start("open", "pictures", "--no-browser")
            server = Served(
                process.base, process.said["url"], process.said["key"], tmp_path / "pictures.lw"
            )
            page, wrong = visit(chrome, server)
            page.goto("/")
            page.locator(".working").wait_for()
            page.evaluate(HIDE, True)
        while server.ask("/api/collection")["job"] is not None:
            page.wait_for_timeout(50)
        assert page.locator(".working").is_visible(), "a hidden tab hears nothing"
        page.evaluate(HIDE, False)
        page.locator(".working").wait_for(state="hidden")
        page.get_by_role("heading", name="1 picture", exact=True).wait_for()
        page.context.close()
        assert wrong == []


@pytest.mark.slow
def test_what_never_ceases_is_shown_all_the_same(page: Page) -> None:
    """Changes that come faster than the pause must not put it off for ever."""
    page.goto("/")
    before = page.evaluate(
        """async () => {
          const { settled } = await import('/page/dom.js');
          let shown = 0;
          const change = settled(() => { shown += 1; }, 300, 600);
          for (let i = 0; i < 30; i++) {
            change();
            await new Promise((done) => setTimeout(done, 50));
          }
          return shown;
        }"""
    )
    assert before > 0


@pytest.mark.slow
def test_a_dropped_picture_finds_its_like(page: Page, pictures: Path, tmp_path: Path) -> None:
    page.goto("/")
    settle(page)
    pixels = small_scenes()["chelsea"]
    outside = write(tmp_path / "holiday.jpg", pixels[4:-8, 6:-3])
    drop(page, outside)
    page.wait_for_url("**/?up=*")
    settle(page)
    assert {name.split("-")[0] for name in order(page, 3)} == {"chelsea"}
    assert page.get_by_role("img", name="Your picture").is_visible()
    kept = order(page)
    page.reload()
    settle(page)
    assert order(page) == kept, "the question is in the address"
    page.go_back()
    page.get_by_role("heading", name=re.compile(r"^\d+ pictures$")).wait_for()
    settle(page)
    assert order(page) != kept


def test_a_dropped_text_is_refused_with_a_reason(
    chrome: Browser, server: Served, tmp_path: Path
) -> None:
    page, wrong = visit(chrome, server)
    page.goto("/")
    settle(page)
    (tmp_path / "notes.jpg").write_text("no picture at all")
    drop(page, tmp_path / "notes.jpg")
    page.locator(".toast.bad").wait_for()
    assert page.locator(".toast.bad").inner_text().strip().startswith("notes.jpg: ")
    assert "up=" not in page.url
    page.context.close()
    assert len(wrong) == 1, "the browser notes the refusal, and nothing else went wrong"
    assert "415" in wrong[0]


@pytest.mark.slow
def test_judging_moves_pictures_and_undo_brings_them_back(
    page: Page, server: Served, profile: str
) -> None:
    page.add_init_script(
        "window.moved = 0; const plain = Element.prototype.animate;"
        "Element.prototype.animate = function (...all) {"
        " window.moved += 1; return plain.apply(this, all); }"
    )
    ask_about(page, server, "china-0.jpg", by=profile)
    before = order(page, 31)
    chosen = next(name for name in before[12:] if not name.startswith("china"))
    tile = page.locator(".tile", has=page.locator(f'.pic[aria-label^="{chosen},"]'))
    tile.hover()
    tile.get_by_role("button", name=f"More like this: {chosen}").click()
    said(page, f"More like {chosen}. 1 judgement so far.")
    settle(page)
    after = order(page, 31)
    assert after.index(chosen) < before.index(chosen)
    assert page.evaluate("moved") > 0, "and one sees them move"
    assert page.locator(f'.tile.liked .pic[aria-label^="{chosen},"]').count() == 1
    assert page.get_by_label("Judgements about this picture").inner_text().startswith("1 more")

    refused = after[1]
    tile = page.locator(".tile", has=page.locator(f'.pic[aria-label^="{refused},"]'))
    tile.hover()
    tile.get_by_role("button", name=f"Not this: {refused}").click()
    said(page, f"Not {refused}. 2 judgements so far.")
    settle(page)
    assert order(page, 31).index(refused) > 1

    page.keyboard.press("u")
    said(page, "undone")
    settle(page)
    assert order(page, 31) == after
    page.get_by_role("button", name="Undo").first.click()
    page.wait_for_function("n => document.querySelectorAll('.liked').length === n", arg=0)
    settle(page)
    assert order(page, 31) == before


@pytest.mark.slow
def test_rolling_back_returns_to_an_earlier_order(page: Page, server: Served, profile: str) -> None:
    query = server.picture("coffee-0.jpg")["id"]
    liked = [server.picture(f"{name}-1.jpg")["id"] for name in ("rocket", "coins")]
    ask_about(page, server, "coffee-0.jpg", by=profile)
    plain = order(page, 31)
    for one in liked:
        said_now = {"query": {"picture": query}, "liked": [one], "profile": profile}
        server.ask("/api/judge", said_now)
        # Tags are lines of the same log; versions are counted without them.
        server.ask("/api/tags/set", {"pictures": [one], "add": [profile]})
    page.goto(f"/?view=learned&profile={profile}")
    page.get_by_role("heading", name="Versions").wait_for()
    # Two judgements say nothing of its accuracy yet: no curve, but what it takes.
    page.get_by_text("to see how accurate it is").wait_for()
    assert page.get_by_role("img", name=re.compile("After 2 judgements")).count() == 0
    assert page.locator(".log .number").all_inner_texts() == ["2", "1", "0"]
    page.get_by_role("button", name="Go back to version 1").click()
    dialog = page.get_by_role("dialog", name="Go back to version 1?")
    dialog.get_by_role("button", name="Go back", exact=True).click()
    said(page, "Back at version 1.")
    page.get_by_text("Went back to version 1").wait_for()
    ask_about(page, server, "coffee-0.jpg", by=profile)
    assert page.locator(".tile.liked").count() == 1

    page.goto(f"/?view=learned&profile={profile}")
    page.get_by_role("button", name="Go back to version 0").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back", exact=True).click()
    said(page, "Back at the beginning.")
    ask_about(page, server, "coffee-0.jpg", by=profile)
    assert order(page, 31) == plain


def test_everything_by_keyboard(page: Page, server: Served, profile: str) -> None:
    """Not one click: search, judge, undo, why, look, a part, filters, back, help."""
    # Heard from the beginning: the browser is told to hand over its file dialogs some time later.
    page.on("filechooser", lambda _: None)
    page.goto(f"/?by={profile}")
    settle(page)
    press = page.keyboard.press

    def focused() -> str:
        return page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")

    def at_home() -> None:
        page.wait_for_function("() => !document.querySelector('dialog[open]')")

    press("/")
    assert page.evaluate("document.activeElement.id") == "words"
    press("Tab")
    assert focused() == "Search by picture"
    with page.expect_file_chooser():
        press("Enter")
    for _ in range(20):
        press("Tab")
        if page.evaluate("document.activeElement.classList.contains('pic')"):
            break
    first = order(page, 3)
    assert focused().startswith(first[0])
    press("ArrowRight")
    press("ArrowRight")
    assert focused().startswith(first[2])
    press("End")
    press("Home")
    assert focused().startswith(first[0])
    press("ArrowDown")
    below = focused()
    press("Enter")
    page.wait_for_url("**/?q=*")
    page.wait_for_selector(".grid.asked .tile")
    page.wait_for_function("() => document.activeElement.classList.contains('pic')")
    settle(page)
    assert (
        page.get_by_label("The picture you searched with", exact=True)
        .get_by_text(below.split(",")[0])
        .is_visible()
    )
    before = order(page, 31)
    assert focused().startswith(before[0]), "on from the best answer"

    press("Control+End")
    press("+")
    said(page, "1 judgement so far")
    settle(page)
    assert order(page, 31) != before
    press("u")
    said(page, "undone")
    settle(page)
    assert order(page, 31) == before

    press("w")
    page.get_by_role("dialog", name="Why it matched").wait_for()
    press("Escape")
    at_home()
    press("o")
    page.wait_for_url("**&look=*")
    page.get_by_role("button", name="Find similar").wait_for()
    press("Escape")
    at_home()
    press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    assert keys.get_by_text("more like this").is_visible()
    press("Escape")
    at_home()

    press("r")
    press("Shift+ArrowRight")
    press("ArrowDown")
    press("Enter")
    page.wait_for_url("**region=*")
    press("f")
    page.wait_for_function("() => document.activeElement.id === 'folder'")
    press("Tab")
    page.keyboard.type("nothing has this tag")
    page.get_by_role("heading", name="No picture matches these filters.").wait_for()
    press("Escape")
    press("5")
    page.get_by_role("heading", name="What it learned", exact=True).wait_for()
    press("6")
    page.get_by_role("heading", name="photos.lw").wait_for()
    page.go_back()
    page.get_by_role("heading", name="What it learned", exact=True).wait_for()
    press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_part_being_chosen_outlasts_news_of_the_page(page: Page, server: Served) -> None:
    """The asked picture is fetched again with every step; its answer must not undo the choice."""
    ask_about(page, server, "rocket-0.jpg", by="holistic")
    page.keyboard.press("r")
    page.keyboard.press("Shift+ArrowRight")
    chosen = page.locator(".frame").get_attribute("style")
    asked = server.picture("rocket-0.jpg")["id"]
    with page.expect_response(f"**/api/pictures/{asked}"):
        page.keyboard.press("d")
    page.wait_for_url("**dates=1*")
    settle(page)
    assert page.locator(".frame").is_visible()
    assert page.locator(".frame").get_attribute("style") == chosen
    page.keyboard.press("Enter")
    page.wait_for_url("**region=*")


@pytest.mark.slow
def test_an_order_that_does_not_fit_is_not_asked_for(page: Page, server: Served) -> None:
    page.goto("/?sort=sideways&order=up")
    settle(page)
    assert order(page)
    page.goto(f"/?q={server.picture('rocket-0.jpg')['id']}&sort=name&order=asc")
    settle(page)
    assert order(page)


@pytest.mark.slow
def test_the_address_holds_everything(page: Page, server: Served) -> None:
    ask_about(page, server, "rocket-0.jpg", by="holistic")
    whole = order(page)
    box = page.locator(".region").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_url("**region=*")
    settle(page)
    part = order(page)
    page.locator("#cut").focus()
    for _ in range(8):
        page.keyboard.press("PageUp")
    page.wait_for_url("**above=*")
    page.get_by_role("heading", name=re.compile("above the minimum similarity")).wait_for()
    settle(page)
    cut = order(page)
    assert 0 < len(cut) < 31
    assert cut == part[: len(cut)]
    page.get_by_label("Order").select_option("date")
    page.wait_for_url("**sort=date*")
    settle(page)
    page.reload()
    settle(page)
    assert sorted(order(page)) == sorted(cut)
    page.go_back()
    page.go_back()
    page.wait_for_function("() => !location.search.includes('region')")
    page.wait_for_function("() => document.querySelectorAll('.tile').length > 20")
    settle(page)
    assert order(page) == whole


def test_pictures_stay_still_for_who_asks_for_it(
    chrome: Browser, server: Served, profile: str
) -> None:
    page, wrong = visit(chrome, server, reduced_motion="reduce", color_scheme="dark")
    page.add_init_script(
        "window.moved = 0; Element.prototype.animate = () => { window.moved += 1; }"
    )
    ask_about(page, server, "flower-0.jpg", by=profile)
    page.locator(".pic").nth(9).focus()
    page.keyboard.press("-")
    said(page, "1 judgement so far")
    assert page.evaluate("moved") == 0
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 120, "dark as the system"
    page.context.close()
    assert wrong == []


@pytest.mark.slow
def test_a_phone_is_wide_enough(chrome: Browser, server: Served, profile: str) -> None:
    page, wrong = visit(chrome, server, **PHONE)
    query = server.picture("coins-0.jpg")["id"]
    for place in ("/", f"/?q={query}&by={profile}", "/?view=learned", "/?view=collection"):
        page.goto(place)
        page.get_by_role("heading", level=1).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    page.goto(f"/?q={query}&by={profile}")
    settle(page)
    page.locator(".tile .plus").nth(3).tap()
    said(page, "1 judgement so far")
    settle(page)
    assert page.locator(".tile.liked").count() == 1
    page.locator(".tile:not(.own) .look").nth(2).tap()
    page.get_by_role("dialog").get_by_role("button", name="Why it matched").tap()
    why = page.get_by_role("dialog", name="Why it matched")
    why.get_by_role("button", name="Close", exact=True).tap()
    page.wait_for_function("() => !location.search.includes('why') && !history.state?.opens")
    page.get_by_role("button", name="Ranking and minimum similarity").tap()
    assert page.get_by_label("Rank by").is_visible()
    page.get_by_role("link", name="Collection", exact=True).tap()
    page.get_by_role("heading", name="photos.lw").wait_for()
    page.context.close()
    assert wrong == []


def test_ten_thousand_results_are_a_window(page: Page, server: Served) -> None:
    """The page alone, with answers made up here: only what is in sight is in the document."""
    one = server.picture("astronaut-0.jpg")

    def answer(route: Any) -> None:
        asked = route.request.post_data_json
        places = range(asked["offset"], asked["offset"] + asked["limit"])
        items = [
            {**one, "id": f"x{n}", "name": f"{n}.jpg", "score": 1 - n / 1e4, "verdict": None,
             "width": 200 + 50 * (n % 5)}
            for n in places
        ]  # fmt: skip
        route.fulfill(
            json={
                "total": 10_000, "items": items, "by": "words", "profile": None, "ms": 1.0,
                "learned": {"liked": 0, "disliked": 0}, "scores": {"highest": 1.0, "lowest": 0.0},
            }
        )  # fmt: skip

    page.route("**/api/search", answer)
    ask_about(page, server, "astronaut-0.jpg")
    assert page.locator(".tile").count() < 150
    page.locator(".pic").first.focus()
    page.keyboard.press("Control+End")
    page.wait_for_function(
        "() => document.activeElement.getAttribute('aria-label')?.startsWith('9999.jpg')"
    )
    assert page.locator(".tile").count() < 150
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.pic')].some((one) =>"
        " Math.abs(parseInt(one.getAttribute('aria-label')) - 5000) < 300)"
    )


def made_up(one: dict[str, Any], total: int) -> dict[str, Any]:
    """An answer of the list of pictures, with one picture under many names."""
    return {
        "total": total,
        "items": [{**one, "id": f"x{n}" if n else one["id"], "name": f"{n}.jpg"}
                  for n in range(total)],
    }  # fmt: skip


@pytest.mark.slow
def test_after_going_back_further_pages_still_come(page: Page, server: Served) -> None:
    whole = made_up(server.picture("astronaut-0.jpg"), 500)

    def answer(route: Any) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        first, many = int(asked["offset"][0]), int(asked["limit"][0])
        route.fulfill(json={**whole, "items": whole["items"][first : first + many]})

    page.route("**/api/pictures?*", answer)
    page.goto("/")
    settle(page)
    page.locator(".pic").first.click()
    page.wait_for_selector(".grid.asked .tile")
    settle(page)
    page.go_back()
    page.get_by_role("heading", name="500 pictures").wait_for()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.locator('.pic[aria-label^="499.jpg"]').wait_for()
    assert page.locator(".toast").count() == 0


def test_judgements_in_quick_succession_all_count(page: Page, server: Served, profile: str) -> None:
    ask_about(page, server, "rocket-0.jpg", by=profile)
    held: list[Any] = []
    page.route("**/api/judge", lambda route: held.append(route))

    def sent(number: int) -> dict[str, Any]:
        for _ in range(1000):
            if len(held) >= number:
                break
            page.wait_for_timeout(20)
        body: dict[str, Any] = held[number - 1].request.post_data_json
        return body

    page.locator(".pic").nth(9).focus()
    page.keyboard.press("+")
    liked = sent(1)["liked"]
    page.keyboard.press("+")  # the same again, while it is on its way: no second judgement
    page.keyboard.press("ArrowRight")
    page.keyboard.press("-")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("-")
    page.keyboard.press("u")
    assert len(held) == 1, "one after the other"
    held[0].continue_()
    disliked = sent(2)["disliked"]
    held[1].continue_()
    sent(3)
    held[2].continue_()
    said(page, "undone")
    settle(page)
    assert len(held) == 3
    learned = server.ask(f"/api/profiles/{profile}/learned")
    standing = [line for line in learned["versions"] if line["stands"] and line["kind"] != "undo"]
    assert [one["id"] for line in standing for one in line["liked"]] == liked
    assert [one["id"] for line in standing for one in line["disliked"]] == disliked
    assert page.locator(".tile.liked").count() == page.locator(".tile.disliked").count() == 1

    # What is learned is shown of the profile one searched by, and one line of it is now.
    page.keyboard.press("5")
    page.get_by_role("heading", name="Versions").wait_for()
    assert page.get_by_label("Profile", exact=True).input_value() == profile
    assert page.get_by_text("now", exact=True).count() == 1


def test_judgements_outlive_the_page(page: Page, server: Served, profile: str) -> None:
    """Who presses fast and leaves at once has said it all, in requests with their session."""
    ask_about(page, server, "rocket-0.jpg", by=profile)
    names = page.evaluate(
        """() => {
          const some = [...document.querySelectorAll('.pic')].slice(5, 9);
          for (const one of some) {
            one.focus({ preventScroll: true });
            one.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
          }
          location.href = 'about:blank';
          return some.map((one) => one.getAttribute('aria-label').split(',')[0]);
        }"""
    )
    page.wait_for_url("about:blank")
    for _ in range(1000):
        lines = server.ask(f"/api/profiles/{profile}/log")["items"]
        if len(lines) >= len(names):
            break
        page.wait_for_timeout(20)
    assert sorted(one["name"] for line in lines for one in line["liked"]) == sorted(names)


@pytest.mark.slow
def test_what_an_address_says_in_vain_is_told(chrome: Browser, server: Served) -> None:
    page, wrong = visit(chrome, server)
    page.goto("/?colour=red&stars=9&sort=name&developer=0")
    page.get_by_text("names something unknown, which was ignored: colour=red, stars=9").wait_for()
    page.goto("/?after=abc")
    page.get_by_text("After is 'abc'; a date such as 2019, 2019-07 or").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    settle(page)
    assert page.locator(".toast").count() == 0
    page.context.close()
    assert len(wrong) == 1, "the browser's own word about the date"
    assert "422" in wrong[0]


@pytest.mark.slow
def test_closing_a_picture_leaves_no_step(page: Page, server: Served) -> None:
    page.goto("/")
    settle(page)
    ask_about(page, server, "coins-0.jpg")
    asked = page.url
    steps = page.evaluate("history.length")
    page.locator(".pic").nth(3).focus()
    for key in ("o", "w", "o"):
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")
    page.wait_for_url(asked)
    assert page.evaluate("history.length") <= steps + 1, "at most the one that leads forward"
    page.go_back()
    page.wait_for_url("**/")


@pytest.mark.slow
def test_keys_in_a_hurry_leave_no_step_either(page: Page, server: Served) -> None:
    page.goto("/")
    settle(page)
    ask_about(page, server, "coins-0.jpg")
    asked = page.url
    steps = page.evaluate("history.length")
    page.locator(".pic").nth(3).focus()
    for key in "owoowwowo":
        page.keyboard.press(key)
        page.keyboard.press("Escape")
    page.wait_for_url(asked)
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.evaluate("history.length") <= steps + 1


AWAY = """
  let away = false;
  Object.defineProperty(document, 'hidden', { get: () => away });
  window.turn = (gone) => { away = gone; document.dispatchEvent(new Event('visibilitychange')); };
"""


@pytest.mark.slow
def test_many_tabs_leave_the_server_free(chrome: Browser, server: Served) -> None:
    first, wrong = visit(chrome, server)
    first.context.add_init_script(AWAY)
    tabs = [first, *(first.context.new_page() for _ in range(6))]
    for tab in tabs:
        tab.goto("/")
        tab.get_by_role("heading", name=re.compile(r"^\d+ pictures$")).wait_for()
        tab.evaluate("turn(true)")
    with first.expect_request("**/api/events"), first.expect_request("**/api/pictures?*"):
        first.evaluate("turn(false)")
    first.context.close()
    assert wrong == []


@pytest.mark.slow
def test_who_loses_the_server_is_told_until_it_is_back(chrome: Browser, tmp_path: Path) -> None:
    Collection.create(tmp_path / "photos.lw", deep=False).close()
    with driving.served(tmp_path / "photos.lw") as server:
        page, _ = visit(chrome, server)
        told = page.locator("#away")
        page.goto("/")
        page.get_by_role("heading", name="No pictures yet.").wait_for()
        page.wait_for_selector("symbol#icon-plus", state="attached")
        assert told.inner_text() == ""
        page.route("**/api/events", lambda route: route.abort())
        page.reload()
        told.filter(has_text="Likewise does not respond.").wait_for()
        page.unroute("**/api/events")
        said(page, "Likewise is back.")
        assert told.inner_text() == ""
    told.filter(has_text="Likewise does not respond.").wait_for()
    page.get_by_role("link", name="Collection", exact=True).click()
    page.get_by_role("heading", name="That did not work.").wait_for()
    drawn = page.locator(".empty > .icon use").evaluate("one => one.getBBox().width")
    assert drawn > 0, "icons need no server"
    page.context.close()


@pytest.mark.slow
def test_everything_has_a_name_and_a_role(page: Page, server: Served, profile: str) -> None:
    ask_about(page, server, "motorcycle_left-0.jpg", by=profile)
    page.locator(".pic").first.focus()
    snapshot = page.locator("body").aria_snapshot()
    for part in (
        "- banner", '- navigation "Views"', "- main",
        '- complementary "The picture you searched with"',
        '- grid "Similar pictures"', "- row", "- gridcell", '- combobox "Rank by"',
        '- slider "Minimum similarity"', '- combobox "Order"', "- status",
    ):  # fmt: skip
        assert part in snapshot, part
    grid = page.get_by_role("grid")
    assert int(grid.get_attribute("aria-rowcount") or 0) >= grid.get_by_role("row").count() > 0
    assert page.locator(".pic[tabindex='0']").count() == 1, "one stop for the tab key"
    for place in (page.url, "/", f"/?view=learned&profile={profile}", "/?view=collection"):
        page.goto(place)
        page.get_by_role("heading", level=1).wait_for()
        assert nameless(page) == [], place
        assert page.evaluate("document.title") != ""


def nameless(page: Page) -> list[str]:
    """Things one can act on, or pictures, that a screen reader has no word for."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    wanted = {"button", "link", "textbox", "combobox", "slider", "Date", "image", "grid", "dialog"}
    return [
        node["role"]["value"]
        for node in tree["nodes"]
        if not node["ignored"]
        and node["role"]["value"] in wanted
        and not node.get("name", {}).get("value")
    ]
