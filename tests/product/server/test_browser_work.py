"""Long work as the page shows it: one line on every view, the grid that grows, stopping."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from likewise.catalog.jobs import ADDING, Progress, Report
from likewise.collection.collection import Collection
from likewise.ingest.add import AddResult
from likewise.server.access import Access, allowed_hosts
from likewise.server.app import make_app
from likewise.server.sessions import Sessions
from tests.product.collection.pictures import small_scenes, write
from tests.product.server import browser as driving
from tests.product.server.browser import Served, order, settle, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("playwright.sync_api", reason="playwright is missing: 'make setup' has it")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driving.chromium() is None, reason=driving.NO_BROWSER),
]

KEY = "a-key-for-tests-only"
Step = Callable[[Collection, Report], object]


class StepByStep:
    """A job that does what it is told when it is told, and reports in between as all jobs do."""

    def __init__(self) -> None:
        self._steps: queue.Queue[Step | None] = queue.Queue()
        self._done = threading.Event()
        self.result = AddResult()

    def __call__(self, col: Collection, report: Report) -> AddResult:
        last = Progress("looking for pictures", 0, 0)

        def remember(progress: Progress) -> None:
            nonlocal last
            last = progress
            report(progress)

        while True:
            try:
                step = self._steps.get(timeout=0.05)
            except queue.Empty:
                report(last)
                continue
            if step is None:
                return self.result
            step(col, remember)
            self._done.set()

    def do(self, step: Step) -> None:
        self._done.clear()
        self._steps.put(step)
        assert self._done.wait(60), "the step did not end"

    def tell(self, progress: Progress) -> None:
        self.do(lambda _, report: report(progress))

    def end(self) -> None:
        self._steps.put(None)


@contextmanager
def working_server(root: Path, job: StepByStep | None = None) -> Iterator[Served]:
    """A server in this process, so that what its job does can be told from here."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        guarded, app = make_app(
            root, Access(allowed_hosts("127.0.0.1", port), KEY, sessions=Sessions(root))
        )
        config = uvicorn.Config(guarded, log_level="warning", access_log=False, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            if job is not None:
                app.state.work.start("add", Collection.open(root), job)
            yield Served(f"http://127.0.0.1:{port}", "", KEY, root)
        finally:
            app.state.events.closing.set()
            app.state.work.stop(30)
            server.should_exit = True
            thread.join(30)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six pictures, described by colours and edges alone."""
    for name, pixels in list(small_scenes().items())[:6]:
        write(tmp_path / "pictures" / f"{name}.jpg", pixels)
    (tmp_path / "pictures" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut off")
    with Collection.create(tmp_path / "photos.lw", deep=False) as col:
        col.spaces.drop("words")
        col.add(tmp_path / "pictures", workers=0)
    return tmp_path / "photos.lw"


def line(page: Page) -> str:
    return page.get_by_role("region", name="Work in progress").locator("p").first.inner_text()


def said(page: Page, text: str) -> None:
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def test_one_line_on_every_view_and_in_the_title(chrome: Browser, root: Path) -> None:
    job = StepByStep()
    job.result.added, job.result.skipped = 6, [(str(root), "of no use")]
    with working_server(root, job) as server:
        # Told before any page was there: who joins late sees it all the same.
        job.tell(Progress(ADDING, 1240, 3068, problems=2, rate=7.6, note="learning 60 words"))
        page, wrong = visit(chrome, server)
        words = "1,240 of 3,068 searchable, 4 min left"
        others = ("Tags", "Compare", "Similarity map", "What it learned", "Collection")
        for view in ("Search", *others):
            if view == "Search":
                page.goto("/")
            else:
                page.get_by_role("link", name=view, exact=True).click()
            page.get_by_text(words, exact=True).first.wait_for()
            assert line(page) == f"{words} 7.6 per second, 2 skipped, learning 60 words"
            assert page.title() == f"{words} · Likewise"
            assert page.locator(".working progress").evaluate("one => one.value") == 1240
        assert page.get_by_role("button", name="Rescan folders").is_disabled()
        told = Progress(ADDING, 1240, 3068, problems=2, rate=7.6, note="learning 60 words")
        terminal = f"{words}, 7.6 per second, 2 skipped (learning 60 words)"
        assert str(told) == terminal, "the terminal says the same"
        hours = Progress(ADDING, 1250, 90_000, rate=5.0)
        job.tell(hours)
        page.get_by_text(str(hours).rsplit(", ", 1)[0], exact=True).first.wait_for()

        # A stage never takes the count back.
        job.tell(Progress(ADDING, 1200, 3068, rate=7.6))
        job.tell(Progress(ADDING, 1300, 3068, rate=80.0))
        page.get_by_text("1,300 of 3,068 searchable, 22 sec left", exact=True).first.wait_for()
        assert line(page).endswith("80 per second")

        job.end()
        page.locator(".working").wait_for(state="hidden")
        said(page, "6 pictures added, 1 file skipped")
        assert page.title() == "Collection · Likewise"
        page.get_by_role("link", name="Similarity map", exact=True).click()
        page.get_by_role("button", name="Show skipped files").click()
        skipped = page.get_by_role("region", name="Skipped files")
        skipped.get_by_role("listitem").filter(has_text="broken.jpg").wait_for()
        page.context.close()
        assert wrong == []


def test_the_grid_grows_for_who_is_at_its_top(chrome: Browser, root: Path, tmp_path: Path) -> None:
    scenes = list(small_scenes().items())
    for at, (name, pixels) in enumerate(scenes):
        for view in range(8):
            folder = tmp_path / "more" / ("first" if at < 6 else "second" if at < 7 else "third")
            write(folder / f"{name}-{view}.jpg", pixels[view + 1 :, view:])
    job = StepByStep()

    def adding(folder: str) -> Step:
        return lambda col, report: col.add(tmp_path / "more" / folder, workers=0, report=report)

    with working_server(root, job) as server:
        page, wrong = visit(chrome, server)
        page.goto("/")
        page.get_by_role("heading", name="6 pictures").wait_for()
        # More than a windowful, and then more.
        job.do(adding("first"))
        page.get_by_role("heading", name="54 pictures").wait_for()
        job.do(adding("second"))
        page.get_by_role("heading", name="62 pictures").wait_for()
        settle(page)

        page.set_viewport_size({"width": 700, "height": 500})
        page.mouse.wheel(0, 600)
        page.wait_for_function("() => scrollY > 300")
        before = order(page)
        job.do(adding("third"))
        page.get_by_role("button", name="The collection changed. Show changes").wait_for()
        assert page.get_by_role("heading", name="62 pictures").count() == 1
        assert order(page) == before, "nothing slips away under who reads deeper"
        page.get_by_role("button", name="The collection changed. Show changes").click()
        page.get_by_role("heading", name=f"{6 + 8 * len(scenes)} pictures").wait_for()
        page.context.close()
        assert wrong == []


def test_work_is_stopped_from_the_page(chrome: Browser, root: Path, tmp_path: Path) -> None:
    extra = write(tmp_path / "extra.jpg", next(iter(small_scenes().values()))[3:])
    job = StepByStep()
    with working_server(root, job) as server:
        page, wrong = visit(chrome, server)
        page.goto("/?view=tag")
        job.do(lambda col, _: col.add(extra, workers=0))
        job.tell(Progress(ADDING, 1, 3000, rate=1.0))
        page.get_by_text("1 of 3,000 searchable, 50 min left").first.wait_for()
        page.get_by_role("button", name="Stop").focus()
        page.keyboard.press("Enter")
        said(page, "Stopped. Finished parts are kept.")
        page.locator(".working").wait_for(state="hidden")
        assert page.title() == "Tags · Likewise"
        about = server.ask("/api/collection")
        assert about["job"] is None
        assert about["pictures"] == 7, "what was added stays"
        page.context.close()
        assert wrong == []


def test_who_asks_why_without_words_is_offered_them(chrome: Browser, root: Path) -> None:
    with working_server(root) as server:
        page, wrong = visit(chrome, server)
        first, second = (server.picture(f"{name}.jpg")["id"] for name in list(small_scenes())[:2])
        page.goto(f"/?q={first}&why={second}")
        dialog = page.get_by_role("dialog", name="Why it matched")
        dialog.get_by_text("They take 0.05 to 0.2 s per picture").wait_for()
        wrong.clear()  # the browser notes that there was nothing to explain by
        dialog.get_by_role("button", name="Describe by visual words too").click()
        dialog.wait_for(state="detached")
        said(page, "6 pictures described by visual words too.")
        page.goto(f"/?q={first}&why={second}&by=words")
        page.get_by_text("visual word").first.wait_for()
        page.goto("/?view=collection")
        page.get_by_role("rowheader", name="words").wait_for()
        assert page.get_by_role("button", name="Describe by visual words too").count() == 0
        page.context.close()
        assert wrong == []


def test_visual_words_are_added_from_the_collection_view(chrome: Browser, root: Path) -> None:
    with working_server(root) as server:
        page, wrong = visit(chrome, server)
        page.goto("/?view=collection")
        page.get_by_role("button", name="Describe by visual words too").click()
        said(page, "6 pictures described by visual words too, in ")
        page.get_by_role("rowheader", name="words").wait_for()
        page.get_by_role("button", name="Describe by visual words too").wait_for(state="hidden")
        assert "words" in {one["name"] for one in server.ask("/api/collection")["spaces"]}
        page.context.close()
        assert wrong == []
