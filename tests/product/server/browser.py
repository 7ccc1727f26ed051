"""A server on a free port and a real Chromium in front of it, for tests and screenshots.

The browser is the system's, driven over playwright's protocol; nothing is downloaded and nothing
outside the machine is asked for.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import Request, urlopen

from likewise.server.sessions import Sessions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

T = TypeVar("T")

NO_BROWSER = "no chromium here: 'make browser' installs it (or set LIKEWISE_BROWSER to one)"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    # The same shapes of letters wherever it runs.
    "--font-render-hinting=none",
)
PATIENCE = 60_000
"""Milliseconds the browser waits for something: a busy machine is slow, not wrong."""


def chromium() -> str | None:
    """The path of a Chromium, where there is one."""
    named = os.environ.get("LIKEWISE_BROWSER")
    if named:
        return named
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


_open: list[Playwright] = []


@contextmanager
def driver() -> Iterator[Playwright]:
    """What starts browsers: the one that is open, for a process can have one at a time."""
    from playwright.sync_api import sync_playwright

    if _open:
        yield _open[0]
        return
    with sync_playwright() as started:
        _open.append(started)
        try:
            yield started
        finally:
            _open.clear()


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with driver() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        try:
            yield started
        finally:
            started.close()


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` in a thread: while a browser is open, this one's loop is taken."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


@dataclass(frozen=True)
class Served:
    """A running server: its address, the one that lets a browser in once, the key of programs.

    ``root`` is its collection, whose secret signs browsers in.
    """

    url: str
    entrance: str
    key: str
    root: Path

    def ask(self, path: str, body: Any = None) -> Any:
        """A request of the API, as a program makes it."""
        request = Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.key}", "content-type": "application/json"},
        )
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def picture(self, name: str) -> dict[str, Any]:
        """The picture with this file name."""
        listed = self.ask("/api/pictures?limit=1000")["items"]
        return next(one for one in listed if one["name"] == name)


@contextmanager
def served(root: Path) -> Iterator[Served]:
    """``likewise serve`` in a process of its own, ended with Ctrl-C."""
    key = "a-key-for-tests-only"
    command = [sys.executable, "-m", "likewise", "serve", "-C", str(root), "--port", "0"]
    with subprocess.Popen(
        [*command, "--key", key, "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            told = _first_object(process.stdout)
            yield Served(f"http://127.0.0.1:{told['port']}", told["url"], key, root)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _first_object(lines: Iterable[str]) -> dict[str, Any]:
    """The first JSON object of an output, on one line or on several."""
    said = ""
    for line in lines:
        said += line
        try:
            found: dict[str, Any] = json.loads(said)
        except ValueError:
            continue
        return found
    raise RuntimeError(f"the server ended without an address; it said {said!r}")


def visit(browser: Browser, server: Served, **how: Any) -> tuple[Page, list[str]]:
    """A fresh visitor with the key, and the list that what goes wrong in the page is added to."""
    how.setdefault("viewport", {"width": 1280, "height": 1200})
    context = browser.new_context(base_url=server.url, **how)
    known = Sessions(server.root)
    context.add_cookies([{"name": known.cookie, "value": known.issue(), "url": server.url}])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None,
    )
    return page, wrong


def settle(page: Page) -> None:
    """Wait until all pictures in sight are shown, nothing is loading and nothing moves."""
    page.wait_for_selector(".tile.seen")
    page.wait_for_function(
        """() => !document.querySelector('[aria-busy]') && !document.querySelector('.waiting')
          && [...document.querySelectorAll('.tile:not(.seen, .gone)')].every((tile) => {
               const { top, bottom } = tile.getBoundingClientRect();
               return bottom < 0 || top > innerHeight; })
          && document.getAnimations().every(one => one.playState !== 'running'
             || one.effect.getTiming().iterations === Infinity)"""
    )


def order(page: Page, n: int = 12) -> list[str]:
    """File names of the first pictures, in the order in which they stand."""
    labels = page.eval_on_selector_all(
        ".tile .pic", "all => all.map(one => one.getAttribute('aria-label'))"
    )
    return [label.split(",")[0] for label in labels[:n]]


def drop(page: Page, path: Path) -> None:
    """Drop a file from outside onto the page."""
    page.evaluate(
        """([name, content]) => {
          const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
          const carried = new DataTransfer();
          carried.items.add(new File([bytes], name, { type: 'image/jpeg' }));
          for (const kind of ['dragenter', 'dragover', 'drop']) {
            document.body.dispatchEvent(new DragEvent(kind,
              { dataTransfer: carried, bubbles: true, cancelable: true }));
          }
        }""",
        [path.name, base64.b64encode(path.read_bytes()).decode()],
    )
